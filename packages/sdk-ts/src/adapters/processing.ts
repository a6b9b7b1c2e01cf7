/** The queue of the processing-jobs design on JobForge: its names and signatures, and another implementation in memory. */
import type { JobForgeClient } from "../client.ts";
import { defineJob } from "../define-job.ts";
import type { Job } from "../job.ts";
import { jobArguments, prepareJob } from "../prepare.ts";
import { fromRow } from "../rows.ts";
import { HeldJobs, type Hold } from "./held.ts";

export interface QueueJob {
  id: string;
  org_id: string;
  call_id: string;
  stage: "extract_audio" | "transcribe_start" | "transcribe_poll" | "analyze";
  payload: Record<string, unknown>;
  /** Executions before this one. */
  attempts: number;
  max_attempts: number;
}

export interface JobQueue {
  enqueue(job: Omit<QueueJob, "id" | "attempts">): Promise<void>;
  claim(workerId: string): Promise<QueueJob | null>;
  complete(jobId: string): Promise<void>;
  fail(jobId: string, error: string, backoffSeconds: number): Promise<void>;
}

/** What stages may use beyond the design's interface, whatever the implementation. */
export interface StageQueue extends JobQueue {
  enqueue(
    job: Omit<QueueJob, "id" | "attempts">,
    options?: { readonly delaySeconds?: number },
  ): Promise<void>;
  /**
   * Puts the job off when its stage returns: `complete` then queues it again, to run after so many seconds, as one execution of those it
   * has. For a stage that waits for something elsewhere.
   */
  defer(jobId: string, delaySeconds: number): Promise<void>;
}

export const stages: readonly QueueJob["stage"][] = [
  "extract_audio",
  "transcribe_start",
  "transcribe_poll",
  "analyze",
];

interface StageHold extends Hold {
  readonly job: QueueJob;
  /** The database's clock less this machine's, in milliseconds, as the claim showed it. */
  readonly skew: number;
  /** How many jobs of each stage it has enqueued. */
  readonly enqueued: Map<string, number>;
  deferredBySeconds?: number;
}

/**
 * The queue on JobForge: org_id is the tenant, call_id the subject, the stage the type. It ends what this very object has claimed; any
 * other id is a JobNotHeldError.
 *
 * A stage that enqueues the next one for its own call does so once, however often it is repeated: the n-th job of a stage that a
 * run enqueues has a key of its own. So a crash between enqueue and complete makes no second job.
 */
export class JobForgeJobQueue implements StageQueue {
  readonly #forge: JobForgeClient;
  readonly #held = new HeldJobs<StageHold>();

  constructor(forge: JobForgeClient) {
    this.#forge = forge;
  }

  async enqueue(
    job: Omit<QueueJob, "id" | "attempts">,
    { delaySeconds }: { readonly delaySeconds?: number } = {},
  ): Promise<void> {
    const parent = this.#holdOf(job);
    const prepared = await prepareJob(defineJob({ type: job.stage }), job.payload, {
      tenantId: job.org_id,
      subject: job.call_id,
      maxAttempts: job.max_attempts,
      idempotencyKey: parent && childKey(parent, job.stage),
      runAt: delaySeconds === undefined ? undefined : secondsFrom(delaySeconds, parent?.skew),
    });
    await this.#forge.transport.call("jobforge_enqueue_job", jobArguments(prepared));
    parent?.enqueued.set(job.stage, (parent.enqueued.get(job.stage) ?? 0) + 1);
  }

  async claim(workerId: string): Promise<QueueJob | null> {
    const [row] = await this.#forge.transport.call<object[]>("jobforge_claim_jobs", {
      p_worker_id: workerId,
      p_limit: 1,
      p_types: stages,
    });
    if (row === undefined) return null;
    const claimed = fromRow<Job>(row);
    const job: QueueJob = {
      id: claimed.id,
      org_id: claimed.tenantId,
      call_id: claimed.subject ?? "",
      stage: claimed.type as QueueJob["stage"],
      payload: claimed.payload as Record<string, unknown>,
      attempts: claimed.attempts - claimed.uncounted - 1,
      max_attempts: claimed.maxAttempts,
    };
    this.#held.add(job.id, {
      job,
      workerId,
      attempt: claimed.attempts,
      skew: (claimed.lockedAt?.getTime() ?? Date.now()) - Date.now(),
      enqueued: new Map(),
    });
    return job;
  }

  async complete(jobId: string): Promise<void> {
    await this.#held.end(jobId, (hold) => {
      const fence = fenceOf(hold);
      if (hold.deferredBySeconds === undefined)
        return this.#forge.transport.call("jobforge_complete_job", { ...fence, p_status: "succeeded" });
      const runAt = secondsFrom(hold.deferredBySeconds, hold.skew);
      return this.#forge.transport.call("jobforge_defer_job", { ...fence, p_run_at: runAt });
    });
  }

  async fail(jobId: string, error: string, backoffSeconds: number): Promise<void> {
    await this.#held.end(jobId, (hold) =>
      this.#forge.transport.call("jobforge_complete_job", {
        ...fenceOf(hold),
        p_status: "failed",
        p_error: { message: error },
        p_retry_at: secondsFrom(backoffSeconds, hold.skew),
      }),
    );
  }

  async defer(jobId: string, delaySeconds: number): Promise<void> {
    this.#held.get(jobId).deferredBySeconds = delaySeconds;
  }

  /** Says that a long stage is alive. Without it, a claim is lost after five minutes. */
  async heartbeat(jobId: string): Promise<void> {
    await this.#forge.transport.call("jobforge_heartbeat_job", fenceOf(this.#held.get(jobId)));
  }

  /** The run that enqueues this job: the one of the same call. */
  #holdOf(job: Omit<QueueJob, "id" | "attempts">): StageHold | undefined {
    for (const [, hold] of this.#held.values())
      if (hold.job.org_id === job.org_id && hold.job.call_id === job.call_id) return hold;
    return undefined;
  }
}

function childKey(parent: StageHold, stage: string): string {
  return `${parent.job.id}:${stage}:${parent.enqueued.get(stage) ?? 0}`;
}

function fenceOf({ job, workerId, attempt }: StageHold): Record<string, unknown> {
  return { p_job_id: job.id, p_worker_id: workerId, p_attempt: attempt };
}

/** A time on the database's clock. */
function secondsFrom(seconds: number, skew = 0): Date {
  return new Date(Date.now() + skew + seconds * 1000);
}
