/** Jobs, their attempts, and the filters that select jobs. */
import type { JobDefinition, JobInput } from "../define/definition.ts";
import type { AttemptStatus, JobEndReason, JobStatus, LogLevel } from "../words.ts";

/** A value after a round trip through JSON: a Date is a string, methods are gone. */
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
  /** What people call the tenant; undefined if it has no label. */
  readonly tenantLabel: string | undefined;
  readonly type: D["type"];
  /** The input, as it was enqueued. */
  readonly payload: Jsonified<JobInput<D>>;
  readonly status: JobStatus;
  readonly priority: number;
  /** How often the job was claimed. It never decreases. */
  readonly attempts: number;
  /** The total number of executions that are allowed. */
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
  /** What the handler reported last. */
  readonly progress: unknown;
  readonly cancelRequested: boolean;
  /** The error of the last failed or lost run. */
  readonly error: JobFailure | undefined;
  /** The message of that error, followed by the messages of its causes. */
  readonly lastError: string | undefined;
  readonly resultId: string | undefined;
  readonly costCents: number | undefined;
  readonly traceparent: string | undefined;
  readonly traceId: string | undefined;
  /** Why the job finished; undefined if it has not. */
  readonly reason: JobEndReason | undefined;
  /** The schedule that created the job. */
  readonly scheduleId: string | undefined;
  /** When the run of the schedule was due. */
  readonly scheduledFor: Date | undefined;
  /** The key of the schedule; undefined for other jobs, and if the schedule was deleted. */
  readonly scheduleKey: string | undefined;
}

/** A job of one of several definitions; `type` says which. */
export type JobOf<D extends JobDefinition> = D extends JobDefinition ? Job<D> : never;

/**
 * The error of a failed run. An error of a handler in JavaScript has a `name`, and a `stack`, `code`, `cause` and
 * `errors` (of an AggregateError) where the thrown error has them. Handlers may add properties.
 */
export interface JobFailure {
  readonly message: string;
  /** The message followed by the messages of the causes. Absent if there is nothing to add. */
  readonly fullMessage?: string;
  readonly attemptedAt: string;
  readonly [key: string]: unknown;
}

/** One run of a job. */
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
  /** Whether the enqueue handed the job to the worker, without a claim. */
  readonly handed: boolean;
}

/** What the handler of a job logged in one attempt. */
export interface JobLog {
  readonly jobId: string;
  readonly tenantId: string;
  readonly attemptNo: number;
  /** The last lines, at most 200 and 64 kB. */
  readonly lines: readonly LogLine[];
  /** The number of earlier lines, which are not kept. */
  readonly dropped: number;
}

export interface LogLine {
  readonly at: Date;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Whether the message was cut, or large fields were left out. */
  readonly truncated?: boolean;
}

/** The tenant of a job. */
export interface OfTenant {
  readonly tenantId: string;
}

/** Selects jobs. A job must match all given filters. */
export interface JobFilters {
  readonly status?: JobStatus | readonly JobStatus[] | undefined;
  readonly type?: string | readonly string[] | undefined;
  /** Jobs that have all of these tags. */
  readonly tags?: string | readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** A part of the error message. Case is ignored. */
  readonly errorContains?: string | undefined;
  /** Jobs with this kind of error: a group of `jobs.deadGroups()`. */
  readonly errorGroup?: string | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly finishedAfter?: Date | undefined;
  readonly finishedBefore?: Date | undefined;
}

/**
 * Why a job is not running now, what a workflow waits for, or how it finished. Limits and later versions may have other
 * codes.
 */
export interface JobReason {
  readonly code:
    | "canceling"
    | "cancel_requested"
    | "blocked"
    | "waits_for_repair"
    | "waits_for_signal"
    | "open"
    | "deciding"
    | "deadline"
    | "need_failed"
    | "skipped"
    | "expired"
    | "paused"
    | "scheduled"
    | "deferred"
    | "retrying"
    | "no_worker"
    | "suspended"
    | "behind"
    | "next"
    | "running"
    | "worker_silent"
    | "succeeded"
    | "failed"
    | "dead"
    | "canceled"
    | (string & {});
  /** For humans. */
  readonly message: string;
  /** For programs: the values behind the reason, with the names of the kernel. */
  readonly details: Readonly<Record<string, unknown>>;
}
