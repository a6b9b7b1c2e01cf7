/**
 * The queue of the processing-jobs design on Redis: org_id is the tenant, call_id the subject, the stage the type. It
 * ends only jobs that this very object has claimed; any other id is a JobNotHeldError. See `JobForgeJobQueue` of the
 * SDK for the parents of jobs.
 */
import { defineJob, InvalidArgumentError, JobNotHeldError, prepareJob } from "@jobforge/sdk-ts";
import {
  childKey,
  HeldJobs,
  type NewQueueJob,
  parentOf,
  type QueueJob,
  type StageHold,
  type StageOptions,
  type StageQueue,
  stages,
} from "@jobforge/sdk-ts/adapters";
import type { RunEnd } from "@jobforge/worker-ts/runtime";
import type { BullForge } from "../bull-forge.ts";
import { newBullJob } from "../document.ts";
import type { Queues } from "../queues.ts";
import { Claims } from "../worker/claims.ts";
import { endRun } from "../worker/endings.ts";
import type { BullRun } from "../worker/held.ts";

interface BullHold extends StageHold {
  readonly run: BullRun;
}

export interface BullJobQueueOptions {
  /** How long a claim lasts without a heartbeat, in milliseconds. Default: five minutes, as on Postgres. */
  readonly leaseMs?: number | undefined;
}

const longestSeconds = 315_360_000;

export class BullJobQueue implements StageQueue {
  readonly #forge: BullForge;
  readonly #held = new HeldJobs<BullHold>();
  readonly #claims = new Map<string, Claims>();

  readonly #queues: Queues;
  readonly #leaseMs: number;

  constructor(forge: BullForge, { leaseMs = 300_000 }: BullJobQueueOptions = {}) {
    this.#forge = forge;
    this.#leaseMs = leaseMs;
    this.#queues = forge.queuesWithLease(leaseMs);
  }

  async enqueue(job: NewQueueJob, { parent, delaySeconds = 0 }: StageOptions = {}): Promise<void> {
    const run = parentOf(this.#held, job, parent);
    const child = run && childKey(run, job.stage);
    try {
      const delayMs = milliseconds(delaySeconds, "delaySeconds");
      const { org_id: tenantId, call_id: subject, max_attempts: maxAttempts } = job;
      const options = { tenantId, subject, maxAttempts, delayMs, idempotencyKey: child?.key };
      const prepared = await prepareJob(defineJob({ type: job.stage }), job.payload, options);
      await this.#forge.add([newBullJob(prepared)]);
    } catch (error) {
      child?.giveBack();
      throw error;
    }
  }

  async claim(workerId: string): Promise<QueueJob | null> {
    await this.#forge.ready();
    const { connection } = this.#forge;
    // Jobs of workers that have died go back to their queues.
    const all = this.#queues.all(stages);
    await Promise.all(all.map(({ store }) => store.moveStalledJobsToWait()));
    const claims = this.#claims.get(workerId) ?? new Claims(connection.client, workerId, all, new Map());
    this.#claims.set(workerId, claims);
    for (const queue of all) claims.wake(queue);
    const [run] = (await claims.claim(1, stages)).runs;
    if (run === undefined) return null;
    const { document, counted, stored, queue } = run;
    const job: QueueJob = {
      id: run.id,
      org_id: document.tenantId,
      call_id: document.subject ?? "",
      stage: queue.type as QueueJob["stage"],
      payload: document.payload as Record<string, unknown>,
      attempts: counted,
      max_attempts: stored.opts.attempts ?? 1,
    };
    this.#held.add(job.id, { job: { ...job }, workerId, attempt: run.attempt, run, enqueued: new Map() });
    return job;
  }

  async complete(jobId: string): Promise<void> {
    await this.#held.end(jobId, ({ run, deferredBySeconds }) =>
      deferredBySeconds === undefined
        ? this.#end(run, { status: "succeeded" })
        : this.#end(run, { status: "deferred", run_at: timeIn(deferredBySeconds, "delaySeconds") }),
    );
  }

  async fail(jobId: string, error: string, backoffSeconds: number): Promise<void> {
    await this.#held.end(jobId, ({ run }) =>
      this.#end(run, {
        status: "failed",
        error: { name: "Error", message: error },
        retry_at: timeIn(backoffSeconds, "backoffSeconds"),
      }),
    );
  }

  async defer(jobId: string, delaySeconds: number): Promise<void> {
    const hold = this.#held.get(jobId);
    milliseconds(delaySeconds, "delaySeconds");
    hold.deferredBySeconds = delaySeconds;
  }

  /** Keeps a job that takes longer than the lease. */
  async heartbeat(jobId: string): Promise<void> {
    const { run } = this.#held.get(jobId);
    const kept = await run.queue.store.extendLock(run.id, run.token, this.#leaseMs);
    if (kept !== 1) throw new JobNotHeldError();
  }

  async #end(run: BullRun, end: Omit<RunEnd, "id" | "attempt">): Promise<void> {
    const whole = { id: run.id, attempt: run.attempt, ...end };
    const options = { definition: undefined, fetchNext: false };
    const { reply } = await endRun(this.#forge.connection.client, run, whole, options);
    if (reply.outcome === "stale") throw new JobNotHeldError();
  }
}

function timeIn(seconds: number, field: string): string {
  return new Date(Date.now() + milliseconds(seconds, field)).toISOString();
}

function milliseconds(seconds: number, field: string): number {
  if (typeof seconds !== "number" || !(seconds >= 0 && seconds <= longestSeconds))
    throw new InvalidArgumentError(`Invalid argument: ${field} must be from 0 to ${longestSeconds}`, {
      field,
    });
  return seconds * 1000;
}
