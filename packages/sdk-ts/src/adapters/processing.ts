/** The queue of the processing-jobs design on JobForge: its names and signatures, and another implementation in memory. */
import { checkDate } from "../arguments.ts";
import type { JobForgeClient } from "../client.ts";
import { defineJob } from "../define-job.ts";
import type { Job } from "../job.ts";
import { toStorableJson } from "../json.ts";
import { jobArguments, prepareJob } from "../prepare.ts";
import { fromRow } from "../rows.ts";
import { Courses, childKey, type StageHold } from "./course.ts";
import { HeldJobs } from "./held.ts";

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

interface DatabaseHold extends StageHold {
  /** The database's clock less this machine's, in milliseconds, as the claim showed it. */
  readonly skew: number;
}

/**
 * The queue on JobForge: org_id is the tenant, call_id the subject, the stage the type. It ends what this very object has claimed; any
 * other id is a JobNotHeldError.
 *
 * A stage that enqueues the next one for its own call does so once, however often it is repeated: the n-th job of a stage that a
 * run enqueues has a key of its own. So a crash between enqueue and complete makes no second job. The run is known by the asynchronous
 * course of its claim: `await queue.claim()` and what follows it. What other code enqueues for the call has no such key.
 */
export class JobForgeJobQueue implements StageQueue {
  readonly #forge: JobForgeClient;
  readonly #held = new HeldJobs<DatabaseHold>();
  readonly #courses = new Courses(this.#held);

  constructor(forge: JobForgeClient) {
    this.#forge = forge;
  }

  async enqueue(
    job: Omit<QueueJob, "id" | "attempts">,
    { delaySeconds }: { readonly delaySeconds?: number } = {},
  ): Promise<void> {
    const parent = this.#courses.parentOf(job);
    const child = parent && childKey(parent, job.stage);
    try {
      await this.#enqueue(
        job,
        child?.key,
        delaySeconds === undefined ? undefined : secondsFrom(delaySeconds, "delaySeconds", parent?.skew),
      );
    } catch (error) {
      child?.giveBack();
      throw error;
    }
  }

  async #enqueue(
    job: Omit<QueueJob, "id" | "attempts">,
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
    return await this.#courses.claim(() => this.#claim(workerId));
  }

  async #claim(workerId: string): Promise<DatabaseHold | null> {
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
    return {
      job,
      workerId,
      attempt: claimed.attempts,
      skew: (claimed.lockedAt?.getTime() ?? Date.now()) - Date.now(),
      enqueued: new Map(),
    };
  }

  async complete(jobId: string): Promise<void> {
    await this.#held.end(jobId, (hold) => {
      const fence = fenceOf(hold);
      if (hold.deferredBySeconds === undefined)
        return this.#forge.transport.call("jobforge_complete_job", { ...fence, p_status: "succeeded" });
      const runAt = secondsFrom(hold.deferredBySeconds, "delaySeconds", hold.skew);
      return this.#forge.transport.call("jobforge_defer_job", { ...fence, p_run_at: runAt });
    });
  }

  async fail(jobId: string, error: string, backoffSeconds: number): Promise<void> {
    await this.#held.end(jobId, (hold) =>
      this.#forge.transport.call("jobforge_complete_job", {
        ...fenceOf(hold),
        p_status: "failed",
        p_error: toStorableJson({ message: error }, "error"),
        p_retry_at: secondsFrom(backoffSeconds, "backoffSeconds", hold.skew),
      }),
    );
  }

  async defer(jobId: string, delaySeconds: number): Promise<void> {
    secondsFrom(delaySeconds, "delaySeconds");
    this.#held.get(jobId).deferredBySeconds = delaySeconds;
  }

  /** Says that a long stage is alive. Without it, a claim is lost after five minutes. */
  async heartbeat(jobId: string): Promise<void> {
    await this.#forge.transport.call("jobforge_heartbeat_job", fenceOf(this.#held.get(jobId)));
  }
}

function fenceOf({ job, workerId, attempt }: StageHold): Record<string, unknown> {
  return { p_job_id: job.id, p_worker_id: workerId, p_attempt: attempt };
}

/** A time on the database's clock. Fails, naming the field, for what is no number of seconds. */
function secondsFrom(seconds: number, field: string, skew = 0): Date {
  const time = new Date(Date.now() + skew + seconds * 1000);
  checkDate(time, field);
  return time;
}
