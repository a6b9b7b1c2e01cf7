/** What a handler is given beside its input. The worker runtime implements it; it lives here so that definitions can name it. */
import type { EnqueueOptions, JobDefinition, JobInput } from "./definition.ts";
import type { RunSchedule } from "./schedule.ts";

export interface JobLogger {
  debug(fields: object, message?: string): void;
  info(fields: object, message?: string): void;
  warn(fields: object, message?: string): void;
  error(fields: object, message?: string): void;
}

export interface JobContext {
  readonly id: string;
  readonly type: string;
  readonly tenantId: string;
  /** Number of this execution, 1 for the first; part of the fence of every write. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly traceId: string;
  readonly subject: string | undefined;
  readonly tags: readonly string[];
  readonly runAt: Date;
  readonly createdAt: Date;
  /** The time that a run of a schedule was due; undefined for other jobs. */
  readonly scheduledFor: Date | undefined;
  /** Of a run: its schedule; undefined for other jobs. */
  readonly schedule: RunSchedule | undefined;
  /** Aborted on timeout, cancel, lost lease and at the end of a shutdown's grace time; its reason says which. */
  readonly signal: AbortSignal;
  readonly log: JobLogger;
  /** W3C header that links an outbound call to this run. */
  readonly traceparent: string;
  /** Reports how far the run is, any JSON. */
  progress(value: unknown): Promise<void>;
  /** Ends this run and runs the job again later. Costs an execution unless told otherwise. Never returns. */
  defer(
    options: { readonly at: Date } | { readonly inMs: number },
    counts?: { readonly counts?: boolean },
  ): never;
  /** Ends the job as failed, without retries. Never returns. */
  fail(message: string, details?: Readonly<Record<string, unknown>>): never;
  /**
   * Fails this run and retries at the given time instead of the policy's. A run of a schedule that does not retry its runs has then failed,
   * and the next one is due at that time. Never returns.
   */
  retryAfter(delay: number | Date, message?: string): never;
  /**
   * Says when the schedule runs next, however this run ends: at a time, or so many milliseconds from now. The last word counts. A dynamic
   * schedule whose handler says nothing rests after a success. For a job that no schedule made there is nothing to say, and nothing happens.
   */
  nextRun(when: number | Date): void;
  /** Adds to what this run cost, in cents. */
  cost(cents: number): void;
  /** Adds a child that is enqueued when, and only when, this run ends well: in the same commit. */
  enqueue<D extends JobDefinition>(
    job: D,
    input: JobInput<D>,
    options?: Omit<EnqueueOptions, "tenantId">,
  ): void;
  /**
   * Runs the handler's own writes and the job's successful end in one transaction; the job has ended when it returns.
   * `client` is the connection of the worker's Postgres transport.
   */
  transaction<T>(work: (client: unknown) => Promise<T>): Promise<T>;
}
