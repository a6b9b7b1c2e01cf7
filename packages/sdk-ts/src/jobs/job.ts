/** A job, its attempts and what can be asked of it, as the SDK shows them. */
import type { JobDefinition, JobInput } from "../define/definition.ts";
import type { AttemptStatus, JobEndReason, JobStatus } from "../words.ts";

/** A value after a trip through JSON: a Date is a text, methods are gone. */
export type Jsonified<T> = unknown extends T
  ? T
  : T extends { toJSON(): infer J }
    ? Jsonified<J>
    : T extends string | number | boolean | null | undefined
      ? T
      : T extends ((...args: never) => unknown) | symbol
        ? never
        : T extends object
          ? { [K in keyof T]: Jsonified<T[K]> }
          : T;

export interface Job<D extends JobDefinition = JobDefinition> {
  readonly id: string;
  readonly tenantId: string;
  readonly type: D["type"];
  /** What was enqueued. */
  readonly payload: Jsonified<JobInput<D>>;
  readonly status: JobStatus;
  readonly priority: number;
  /** Claims so far; never falls. */
  readonly attempts: number;
  /** Executions allowed, in total. */
  readonly maxAttempts: number;
  /** Claims that do not count against `maxAttempts`. */
  readonly uncounted: number;
  readonly runAt: Date;
  readonly lockedBy: string | undefined;
  readonly lockedAt: Date | undefined;
  readonly heartbeatAt: Date | undefined;
  readonly startedAt: Date | undefined;
  readonly finishedAt: Date | undefined;
  readonly expiresAt: Date | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly idempotencyKey: string | undefined;
  readonly dedupeKey: string | undefined;
  readonly concurrencyKey: string | undefined;
  readonly subject: string | undefined;
  readonly tags: readonly string[];
  /** What the handler last said. */
  readonly progress: unknown;
  readonly cancelRequested: boolean;
  /** Of the last failed or lost run. */
  readonly error: JobFailure | undefined;
  readonly lastError: string | undefined;
  readonly resultId: string | undefined;
  readonly costCents: number | undefined;
  readonly traceparent: string | undefined;
  readonly traceId: string | undefined;
  /** Why it ended. */
  readonly reason: JobEndReason | undefined;
  /** Of a run: the schedule that made it. */
  readonly scheduleId: string | undefined;
  /** Of a run: the time it was due. */
  readonly scheduledFor: Date | undefined;
}

/** A job of one of several definitions: `type` tells which. */
export type JobOf<D extends JobDefinition> = D extends JobDefinition ? Job<D> : never;

/** What a run that failed left behind; handlers may add to it. */
export interface JobFailure {
  readonly message: string;
  readonly attemptedAt: string;
  readonly [key: string]: unknown;
}

/** One execution of a job. */
export interface JobAttempt {
  readonly jobId: string;
  readonly tenantId: string;
  readonly attemptNo: number;
  readonly status: AttemptStatus;
  readonly workerId: string | undefined;
  readonly traceId: string;
  readonly startedAt: Date;
  readonly finishedAt: Date | undefined;
  readonly durationMs: number | undefined;
  readonly error: JobFailure | undefined;
}

/** Whose job it is. */
export interface OfTenant {
  readonly tenantId: string;
}

/** Which jobs. All that is given must hold. */
export interface JobFilters {
  readonly status?: JobStatus | readonly JobStatus[] | undefined;
  readonly type?: string | readonly string[] | undefined;
  /** Jobs that have all of them. */
  readonly tags?: string | readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** A part of the error, upper or lower case. */
  readonly errorContains?: string | undefined;
  /** Jobs with this kind of error: a group of `jobforge_list_dead_groups`. */
  readonly errorGroup?: string | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly finishedAfter?: Date | undefined;
  readonly finishedBefore?: Date | undefined;
}

/** Why a job is not running now, or what became of it. Limits and later versions may have other codes. */
export interface JobReason {
  readonly code:
    | "cancel_requested"
    | "expired"
    | "paused"
    | "scheduled"
    | "deferred"
    | "retrying"
    | "no_worker"
    | "behind"
    | "next"
    | "running"
    | "worker_silent"
    | "succeeded"
    | "failed"
    | "dead"
    | "canceled"
    | (string & {});
  /** For people. */
  readonly message: string;
  /** For programs: what the reason is about, as the kernel names it. */
  readonly details: Readonly<Record<string, unknown>>;
}
