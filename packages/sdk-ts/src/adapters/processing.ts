/**
 * The queue of the processing-jobs design, on JobForge: its names and signatures. memory-queue.ts has the same in
 * memory.
 */
import type { JobForgeClient } from "../client.ts";
import { defineJob } from "../define/define-job.ts";
import { jobArguments, prepareJob } from "../enqueue/prepare.ts";
import type { Job } from "../jobs/job.ts";
import { toStorableJson } from "../json.ts";
import { fromRow } from "../rows.ts";
import { fenceOf, HeldJobs } from "./held.ts";
import { timeIn } from "./seconds.ts";
import { childKey, parentOf, type StageHold } from "./stage-run.ts";

export interface QueueJob {
  id: string;
  org_id: string;
  call_id: string;
  stage: "extract_audio" | "transcribe_start" | "transcribe_poll" | "analyze";
  payload: Record<string, unknown>;
  /** The number of executions before this one. */
  attempts: number;
  max_attempts: number;
}

/** A job to enqueue. */
export type NewQueueJob = Omit<QueueJob, "id" | "attempts">;

export interface JobQueue {
  enqueue(job: NewQueueJob): Promise<void>;
  claim(workerId: string): Promise<QueueJob | null>;
  complete(jobId: string): Promise<void>;
  fail(jobId: string, error: string, backoffSeconds: number): Promise<void>;
  /**
   * Renews the claim of a job that takes long, in queues whose claims run out. Not part of the design, whose claims
   * last for ever.
   */
  heartbeat?(jobId: string): Promise<void>;
}

export interface StageOptions {
  /**
   * The job whose run enqueues this one, as `claim` returned it. When that run is repeated, no second job is created.
   * Default: the only job of the same call that this queue object holds. If it holds none or several, there is no
   * parent.
   */
  readonly parent?: QueueJob | undefined;
  /** How many seconds later the job becomes due. */
  readonly delaySeconds?: number | undefined;
}

/** The design's interface, with what stages may use in addition. Every implementation here has it. */
export interface StageQueue extends JobQueue {
  enqueue(job: NewQueueJob, options?: StageOptions): Promise<void>;
  /**
   * Postpones the job when its stage returns: `complete` then queues it again, to run after `delaySeconds`. This counts
   * as one of its executions. For a stage that waits for something elsewhere.
   */
  defer(jobId: string, delaySeconds: number): Promise<void>;
}

export const stages: readonly QueueJob["stage"][] = [
  "extract_audio",
  "transcribe_start",
  "transcribe_poll",
  "analyze",
];

interface DatabaseHold extends StageHold {
  /** The database's clock minus this machine's, in milliseconds, at the claim. */
  readonly skew: number;
}

/**
 * The queue on JobForge: org_id is the tenant, call_id the subject, the stage the type. It ends only jobs that this
 * very object has claimed; any other id is a JobNotHeldError.
 *
 * A run that enqueues jobs of the next stage creates each of them once, however often the run is repeated. So a crash
 * between `enqueue` and `complete` creates no second job. For this, the n-th job of a stage that a run enqueues has an
 * idempotency key made from n and from the run's own job, the parent.
 *
 * Pass the parent with `enqueue(job, { parent })`. Without it, the parent is the one job of the same org_id and call_id
 * that this object holds at that time. If it holds none or several, there is no parent and no key, and every call
 * creates a job. So name the parent in two cases: if one object runs several jobs of a call at once, and if other code
 * enqueues for a call through the same object while a stage of that call runs.
 */
export class JobForgeJobQueue implements StageQueue {
  readonly #forge: JobForgeClient;
  readonly #held = new HeldJobs<DatabaseHold>();

  constructor(forge: JobForgeClient) {
    this.#forge = forge;
  }

  async enqueue(job: NewQueueJob, { parent, delaySeconds }: StageOptions = {}): Promise<void> {
    const run = parentOf(this.#held, job, parent);
    const child = run && childKey(run, job.stage);
    try {
      await this.#enqueue(
        job,
        child?.key,
        delaySeconds === undefined ? undefined : timeIn(delaySeconds, "delaySeconds", databaseNow(run?.hold)),
      );
    } catch (error) {
      child?.giveBack();
      throw error;
    }
  }

  async #enqueue(
    job: NewQueueJob,
    idempotencyKey: string | undefined,
    runAt: Date | undefined,
  ): Promise<void> {
    const prepared = await prepareJob(defineJob({ type: job.stage }), job.payload, {
      tenantId: job.org_id,
      subject: job.call_id,
      maxAttempts: job.max_attempts,
      idempotencyKey,
      runAt,
    });
    await this.#forge.transport.call("jobforge_enqueue_job", jobArguments(prepared));
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
      job: { ...job },
      workerId,
      attempt: claimed.attempts,
      skew: (claimed.lockedAt?.getTime() ?? Date.now()) - Date.now(),
      enqueued: new Map(),
    });
    return job;
  }

  async complete(jobId: string): Promise<void> {
    await this.#held.end(jobId, (hold) => {
      const fence = fenceOf(jobId, hold);
      if (hold.deferredBySeconds === undefined)
        return this.#forge.transport.call("jobforge_complete_job", { ...fence, p_status: "succeeded" });
      const runAt = timeIn(hold.deferredBySeconds, "delaySeconds", databaseNow(hold));
      return this.#forge.transport.call("jobforge_defer_job", { ...fence, p_run_at: runAt });
    });
  }

  async fail(jobId: string, error: string, backoffSeconds: number): Promise<void> {
    await this.#held.end(jobId, (hold) =>
      this.#forge.transport.call("jobforge_complete_job", {
        ...fenceOf(jobId, hold),
        p_status: "failed",
        p_error: toStorableJson({ message: error }, "error"),
        p_retry_at: timeIn(backoffSeconds, "backoffSeconds", databaseNow(hold)),
      }),
    );
  }

  async defer(jobId: string, delaySeconds: number): Promise<void> {
    timeIn(delaySeconds, "delaySeconds", Date.now());
    this.#held.get(jobId).deferredBySeconds = delaySeconds;
  }

  /** Extends the lease of a long stage. Without a heartbeat, a claim is lost after five minutes. */
  async heartbeat(jobId: string): Promise<void> {
    await this.#forge.transport.call("jobforge_heartbeat_job", fenceOf(jobId, this.#held.get(jobId)));
  }
}

/** The database's clock as the run knows it; this machine's without a run. */
function databaseNow(hold: DatabaseHold | undefined): number {
  return Date.now() + (hold?.skew ?? 0);
}
