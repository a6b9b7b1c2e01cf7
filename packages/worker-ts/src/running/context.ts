/** What a handler is given in addition to its input. Everything except plain facts is created on demand. */
import {
  type ChildCall,
  type EnqueueOptions,
  type JobContext,
  type JobDefinition,
  type JobLogger,
  JobNotHeldError,
  jobJson,
  NotSupportedError,
  type PreviousRun,
  prepareJob,
  type RunSchedule,
  type Transport,
} from "@jobforge/sdk-ts";
import type { Backend, DatabaseParts } from "../backend.ts";
import type { ClaimedJob, SettleResponse } from "../claiming/protocol.ts";
import { clean, describeError, isError, isNotHeld, RunOver } from "../errors.ts";
import type { WorkerLog } from "../reporting/log.ts";
import { plainTraceparent } from "../reporting/trace.ts";
import { DurableSteps } from "./durable.ts";
import { concludeSuccess, endRun } from "./ending.ts";
import type { Run, Verdict } from "./run.ts";

/** What a run's context needs from its worker. */
export interface ContextServices {
  readonly backend: Backend;
  readonly log: WorkerLog;
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
    return (delay, reason = "The handler asked for a retry") => {
      const retry_at = this.#timeOf(delay);
      const error = isError(reason) ? describeError(reason) : { name: "RetryAfter", message: clean(reason) };
      // This time replaces one that nextRun() has set before.
      this.#run.nextRunAt = undefined;
      return this.#leave({ status: "failed", retry_at, error });
    };
  }

  get nextRun(): JobContext["nextRun"] {
    return (when) => {
      const run = this.#running("nextRun()");
      if (this.#services.backend.database === undefined)
        throw new NotSupportedError("nextRun() is not supported: schedules are only in Postgres", {
          hint: "Enqueue the next job with runAt, or keep this type on Postgres.",
        });
      run.nextRunAt = this.#timeOf(when);
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
    return (job, input, options = {}) => ({ job, input, options });
  }

  get run(): JobContext["run"] {
    return (job, input, options) => this.#steps.run(job, input, options);
  }

  get all(): JobContext["all"] {
    return (calls: readonly ChildCall[], options?: { readonly settled: true }) =>
      this.#steps.all(calls, options);
  }

  get version(): JobContext["version"] {
    return (name) => this.#steps.version(name);
  }

  get saga(): JobContext["saga"] {
    return (work) => this.#steps.saga(work);
  }

  get transaction(): JobContext["transaction"] {
    return async (work) => {
      const run = this.#running("transaction()");
      const database = this.#database();
      const { transport, connections } = database;
      const ending = { hasBegun: false };
      try {
        const { result, response } = await connections.run(
          () => run.signal,
          () => {
            if (transport.transaction === undefined) {
              throw new Error(
                "transaction() needs a worker that is connected to Postgres itself, not over HTTP",
              );
            }
            return transport.transaction(async (client, inside) => {
              // The run may have ended while it waited for a connection.
              this.#requireOpen(run);
              // The caller says of which type the connection is.
              const result = await work(client as never);
              return { result, response: await this.#endInside(database, inside, run, result, ending) };
            });
          },
        );
        this.#services.settled(run, response);
        return result;
      } catch (error) {
        // The transaction was rolled back, or its fate is unknown. The run goes on, and if its end was committed after
        // all, the database says so when the run is settled.
        if (ending.hasBegun) run.continueRunning();
        if (isNotHeld(error)) this.#services.lost(run);
        throw error;
      }
    };
  }

  /**
   * Ends the run in the transaction of the handler's writes. Throws, so that these are rolled back, unless the run
   * succeeds.
   */
  async #endInside(
    database: DatabaseParts,
    inside: Transport,
    run: Run,
    result: unknown,
    ending: { hasBegun: boolean },
  ): Promise<SettleResponse> {
    const end = await concludeSuccess(run, result);
    this.#requireOpen(run);
    if (end.status !== "succeeded") return this.#leave(end);
    endRun(run, end);
    if (run.end?.status !== "succeeded") return this.#leave(run.end ?? end);
    // From now on, heartbeats may report that this worker no longer holds the run.
    run.beginEnding();
    ending.hasBegun = true;
    const response = await database.settleIn(inside, run.endJson);
    requireUnended(run);
    const [reply] = response.settled;
    if (reply?.outcome !== "ok") throw new JobNotHeldError();
    if (reply.status !== "succeeded" && reply.status !== "canceled") {
      throw new Error(`The result of transaction() was refused: the job would be ${reply.status}`);
    }
    return response;
  }

  #database(): DatabaseParts {
    const { database } = this.#services.backend;
    if (database !== undefined) return database;
    throw new NotSupportedError("transaction() is not supported: this worker's jobs are not in Postgres", {
      hint: "Write to your own database first, then return. The handler must be safe to repeat.",
    });
  }

  /** Throws when the run can no longer succeed. */
  #requireOpen(run: Run): void {
    requireUnended(run);
    this.#running("transaction()");
  }

  /** A time, given as such or as milliseconds from now on the database's clock. */
  #timeOf(when: number | Date): string {
    return when instanceof Date ? when.toISOString() : this.#services.backend.clock.in(when);
  }

  #leave(verdict: Verdict): never {
    this.#running(verdict.status === "deferred" ? "defer()" : "fail()").verdict = verdict;
    throw new RunOver(`The run has ended: ${verdict.error?.message ?? verdict.status}`);
  }

  #running(method: string): Run {
    if (this.#run.state !== "running") throw new Error(`${method} was called too late: this run has ended`);
    return this.#run;
  }
}

/** A run that timed out has failed, and a run that lost its lease may belong to another worker: neither may succeed. */
function requireUnended({ aborted }: Run): void {
  if (aborted?.kind === "timeout" || aborted?.kind === "lost") throw aborted;
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

/** A child in the form that the database takes. */
async function childJson(job: JobDefinition, input: unknown, options: EnqueueOptions): Promise<unknown> {
  return JSON.parse(jobJson(await prepareJob(job, input, options)).text);
}
