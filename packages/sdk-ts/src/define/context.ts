/** The second argument of a handler. The worker implements it; it is declared here so that definitions can name it. */
import type { AddedSteps } from "../workflows/builder.ts";
import type { AddedStepCount, AddStepsOptions } from "../workflows/workflow.ts";
import type { EnqueueOptions, JobDefinition, JobInput } from "./definition.ts";
import type { DurableContext } from "./durable.ts";
import type { RunSchedule } from "./schedule.ts";

/** Writes a line: a message, or fields and a message. */
export interface LogMethod {
  (message: string): void;
  (fields: object, message?: string): void;
}

export interface JobLogger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
}

export interface JobContext extends DurableContext {
  readonly id: string;
  readonly type: string;
  readonly tenantId: string;
  /** The number of this run, 1 for the first. It is part of the fence of every write. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly traceId: string;
  readonly subject: string | undefined;
  readonly tags: readonly string[];
  readonly runAt: Date;
  readonly createdAt: Date;
  /** When the run of a schedule was due; undefined for other jobs. */
  readonly scheduledFor: Date | undefined;
  /** The schedule that created this job; undefined for other jobs. */
  readonly schedule: RunSchedule | undefined;
  /** Aborted on timeout, cancel, lost lease and at the end of a shutdown's grace time. Its reason says which. */
  readonly signal: AbortSignal;
  readonly log: JobLogger;
  /** The W3C trace context header that links an outbound call to this run. */
  readonly traceparent: string;
  /** Reports the progress of the run, as any JSON value. */
  progress(value: unknown): Promise<void>;
  /** Ends this run and runs the job again later. It counts as an execution unless `counts` is false. Never returns. */
  defer(
    options: { readonly at: Date } | { readonly inMs: number },
    counts?: { readonly counts?: boolean },
  ): never;
  /** Ends the job as failed, without retries. Never returns. */
  fail(message: string, details?: Readonly<Record<string, unknown>>): never;
  /**
   * Fails this run and retries the job at the given time instead of the time that the policy says. If the job is a run
   * of a schedule that does not retry its runs, it fails, and the next run is due at that time. The reason is stored as
   * the error of this run. With `atLeast`, the policy's wait counts if it is longer. Never returns.
   */
  retryAfter(
    delay: number | Date,
    reason?: string | Error,
    options?: { readonly atLeast?: boolean | undefined },
  ): never;
  /**
   * Lets no other job with the concurrency key of this job start before a time, at most a day ahead: for a server that
   * asks all its callers to wait. Running jobs continue. For a job without a key, the call does nothing.
   */
  holdKey(until: number | Date, reason?: string): Promise<void>;
  /**
   * Sets when the schedule runs next, however this run ends: at a time, or in a number of milliseconds. The last call
   * counts. A dynamic schedule has no next run if its handler succeeds without calling this. For a job without a
   * schedule, the call does nothing.
   */
  nextRun(when: number | Date): void;
  /** Adds to the cost of this run, in cents. */
  cost(cents: number): void;
  /** Adds a child job. It is enqueued only if this run succeeds, in the same commit. */
  enqueue<D extends JobDefinition>(
    job: D,
    input: JobInput<D>,
    options?: Omit<EnqueueOptions, "tenantId">,
  ): void;
  /**
   * Adds steps to the workflow of which this job is a step. They are added only if this run succeeds, in the same
   * commit. What needs this step waits for them as well. Several calls in a run make one list.
   */
  addSteps(build: (w: AddedSteps) => void, options?: AddStepsOptions): void;
  /**
   * Adds steps to the workflow at once, however this run ends. A step that an earlier attempt has added with the same
   * definition is not added again.
   */
  addStepsNow(build: (w: AddedSteps) => void, options?: AddStepsOptions): Promise<AddedStepCount>;
  /**
   * Runs the handler's own writes and the successful end of the job in one transaction. The job has succeeded when this
   * resolves. `client` is the connection of the worker's Postgres transport, usually a client of `pg`. Annotate it with
   * the type that your library needs: `job.transaction(async (client: pg.PoolClient) => …)`.
   */
  transaction<T, Client = RunConnection>(work: (client: Client) => Promise<T>): Promise<T>;
}

/** The part of a `pg` client that needs no types of `pg`. `forge.with(client)` takes it. */
export interface RunConnection {
  query<Row = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}
