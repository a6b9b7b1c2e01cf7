/** What a handler is given in addition to its input. Everything except plain facts is created on demand. */
import {
  type ChildCall,
  type ChildrenOptions,
  type JobContext,
  type JobLogger,
  NotSupportedError,
  type PreviousRun,
  type RunSchedule,
} from "@jobforge/sdk-ts";
import { clean, describeError, isError } from "@jobforge/sdk-ts/internal";
import type { Backend, DatabaseParts } from "../backend.ts";
import type { ClaimedJob, SettleResponse } from "../claiming/protocol.ts";
import { isNotHeld } from "../errors.ts";
import type { WorkerLog } from "../reporting/log.ts";
import { plainTraceparent } from "../reporting/trace.ts";
import { addSteps, addStepsNow } from "./adding.ts";
import { requireDelay, requireTime } from "./argument-checks.ts";
import { childJson } from "./children.ts";
import { DurableSteps } from "./durable.ts";
import type { Run, Verdict } from "./run.ts";
import { endInTransaction, leave, requireRunning } from "./transaction.ts";

/** What a run's context needs from its worker. */
export interface ContextServices {
  readonly backend: Backend;
  readonly log: WorkerLog;
  /** Whether large results go to the artifact store. */
  readonly offload: boolean;
  /** The database says that this worker no longer holds the job. */
  lost(run: Run): void;
  cancel(run: Run): void;
  /** The run's end was committed together with the handler's writes. */
  settled(run: Run, response: SettleResponse): void;
  /** The handler waits: ends the run with this verdict, although the handler does not return. */
  suspend(run: Run, verdict: Verdict): void;
  /** The handler stops for good, because its run was aborted or has ended. */
  leave(run: Run): void;
}

/** Methods are getters that return functions, so that `({ signal, log, progress })` works in a handler's parameters. */
export class RunContext implements JobContext {
  readonly #run: Run;
  readonly #services: ContextServices;
  #log: JobLogger | undefined;
  #traceparent: string | undefined;
  #durable: DurableSteps | undefined;

  constructor(run: Run, services: ContextServices) {
    this.#run = run;
    this.#services = services;
  }

  get id(): string {
    return this.#run.job.id;
  }

  get type(): string {
    return this.#run.job.type;
  }

  get tenantId(): string {
    return this.#run.job.tenant_id;
  }

  get attempt(): number {
    return this.#run.job.attempts;
  }

  get maxAttempts(): number {
    return this.#run.job.max_attempts;
  }

  get traceId(): string {
    return this.#run.job.trace_id;
  }

  get subject(): string | undefined {
    return this.#run.job.subject;
  }

  get tags(): readonly string[] {
    return this.#run.job.tags ?? [];
  }

  get runAt(): Date {
    return new Date(this.#run.job.run_at);
  }

  get createdAt(): Date {
    return new Date(this.#run.job.created_at);
  }

  get scheduledFor(): Date | undefined {
    const { scheduled_for } = this.#run.job;
    return scheduled_for === undefined ? undefined : new Date(scheduled_for);
  }

  get schedule(): RunSchedule | undefined {
    const { schedule_key: key, previous_run } = this.#run.job;
    return key === undefined ? undefined : { key, previousRun: previousRunOf(previous_run) };
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get log(): JobLogger {
    this.#log ??= this.#services.log.forRun(this.#run, this.#services.backend.database !== undefined);
    return this.#log;
  }

  get traceparent(): string {
    this.#traceparent ??= this.#run.trace?.traceparent ?? plainTraceparent(this.#run);
    return this.#traceparent;
  }

  get progress(): JobContext["progress"] {
    return async (value) => {
      const run = this.#running("progress()");
      try {
        const response = await this.#services.backend.progress(run, value ?? null);
        if (response.cancel_requested) this.#services.cancel(run);
      } catch (error) {
        if (isNotHeld(error)) this.#services.lost(run);
        throw error;
      }
    };
  }

  get defer(): JobContext["defer"] {
    return (options, { counts } = {}) => {
      requireDelay(options);
      const run_at =
        "at" in options ? options.at.toISOString() : this.#services.backend.clock.in(options.inMs);
      return this.#leave({ status: "deferred", run_at, ...(counts === undefined ? {} : { counts }) });
    };
  }

  get fail(): JobContext["fail"] {
    return (message, details) => {
      const error = { name: "JobFailed", message: clean(message), ...(details ? { details } : {}) };
      return this.#leave({ status: "failed", retry: false, error });
    };
  }

  get retryAfter(): JobContext["retryAfter"] {
    return (delay, reason = "The handler asked for a retry", { atLeast = false } = {}) => {
      const time = this.#timeOf(delay, "retryAfter");
      const error = isError(reason) ? describeError(reason) : { name: "RetryAfter", message: clean(reason) };
      // This time replaces one that nextRun() has set before.
      this.#run.nextRunAt = undefined;
      return this.#leave({ status: "failed", [atLeast ? "not_before" : "retry_at"]: time, error });
    };
  }

  get holdKey(): JobContext["holdKey"] {
    return async (until, reason) => {
      const run = this.#running("holdKey()");
      const { database } = this.#services.backend;
      if (database === undefined)
        throw new NotSupportedError("holdKey() is not supported: concurrency keys are only in Postgres", {
          hint: "Retry this job later with retryAfter(), or keep this type on Postgres.",
        });
      try {
        await database.holdKey(run, this.#timeOf(until, "holdKey"), reason);
      } catch (error) {
        if (isNotHeld(error)) this.#services.lost(run);
        throw error;
      }
    };
  }

  get nextRun(): JobContext["nextRun"] {
    return (when) => {
      const run = this.#running("nextRun()");
      if (this.#services.backend.database === undefined)
        throw new NotSupportedError("nextRun() is not supported: schedules are only in Postgres", {
          hint: "Enqueue the next job with runAt, or keep this type on Postgres.",
        });
      run.nextRunAt = this.#timeOf(when, "nextRun");
    };
  }

  get cost(): JobContext["cost"] {
    return (cents) => {
      if (!Number.isInteger(cents) || cents < 0) throw new RangeError("cost() takes whole cents, 0 or more");
      const run = this.#running("cost()");
      run.costCents = (run.costCents ?? 0) + cents;
    };
  }

  get enqueue(): JobContext["enqueue"] {
    return (job, input, options = {}) => {
      const run = this.#running("enqueue()");
      this.#services.backend.checkChild?.(job, options);
      const child = childJson(job, input, {
        traceparent: this.traceparent,
        ...options,
        tenantId: this.tenantId,
      });
      // The end of the run awaits the child, and fails if the child is invalid.
      child.catch(() => undefined);
      run.children ??= [];
      run.children.push(child);
    };
  }

  get #steps(): DurableSteps {
    this.#durable ??= new DurableSteps(this.#run, this.#services);
    return this.#durable;
  }

  get step(): JobContext["step"] {
    return (name, work, options) => this.#steps.step(name, work, options);
  }

  get stepIn(): JobContext["stepIn"] {
    return (name, work) => this.#steps.stepIn(name, work);
  }

  get sleep(): JobContext["sleep"] {
    return (when) => this.#steps.sleep(when);
  }

  get waitFor(): JobContext["waitFor"] {
    return (signals, options) => this.#steps.waitFor(signals, options);
  }

  get call(): JobContext["call"] {
    return (definition, input, options) => ({ definition, input, options: (options ?? {}) as never });
  }

  get run(): JobContext["run"] {
    return (definition, input, options) => this.#steps.run(definition, input, options);
  }

  get all(): JobContext["all"] {
    return (
      calls: readonly ChildCall[],
      options?: ChildrenOptions & { readonly settled?: boolean | undefined },
    ) => this.#steps.all(calls, options);
  }

  get results(): JobContext["results"] {
    return (job, step) => this.#steps.results(job, step);
  }

  get version(): JobContext["version"] {
    return (name) => this.#steps.version(name);
  }

  get saga(): JobContext["saga"] {
    return (work) => this.#steps.saga(work);
  }

  get addSteps(): JobContext["addSteps"] {
    return (build, options) => addSteps(this.#services, this.#running("addSteps()"), build, options);
  }

  get addStepsNow(): JobContext["addStepsNow"] {
    return (build, options) => addStepsNow(this.#services, this.#running("addStepsNow()"), build, options);
  }

  get transaction(): JobContext["transaction"] {
    return async (work) => {
      const run = this.#running("transaction()");
      // The caller says of which type the connection is.
      return await endInTransaction(run, this.#database(), this.#services, (client) => work(client as never));
    };
  }

  #database(): DatabaseParts {
    const { database } = this.#services.backend;
    if (database !== undefined) return database;
    throw new NotSupportedError("transaction() is not supported: this worker's jobs are not in Postgres", {
      hint: "Write to your own database first, then return. The handler must be safe to repeat.",
    });
  }

  /** A time, given as such or as milliseconds from now on the database's clock. */
  #timeOf(when: number | Date, method: string): string {
    requireTime(when, method);
    return when instanceof Date ? when.toISOString() : this.#services.backend.clock.in(when);
  }

  #leave(verdict: Verdict): never {
    return leave(this.#running(verdict.status === "deferred" ? "defer()" : "fail()"), verdict);
  }

  #running(method: string): Run {
    requireRunning(this.#run, method);
    return this.#run;
  }
}

function previousRunOf(run: ClaimedJob["previous_run"]): PreviousRun | undefined {
  if (run === undefined || run === null) return undefined;
  return {
    scheduledFor: new Date(run.scheduled_for),
    finishedAt: new Date(run.finished_at),
    status: run.status,
    error: run.error ?? undefined,
    consecutiveFailures: run.consecutive_failures,
  };
}
