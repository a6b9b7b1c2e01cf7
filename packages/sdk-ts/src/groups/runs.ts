/**
 * Runs that a program claims and ends itself, without the worker of `@jobforge/worker-ts`: for scripts, tests and own
 * runtimes. Each run carries its fence, so no other call has to find it.
 */
import { checkTenant } from "../arguments/names.ts";
import { checkDate, checkRange, checkText } from "../arguments/values.ts";
import type { JobDefinition, JobInput, JobOutput } from "../define/definition.ts";
import type { PreviousRun, RunSchedule } from "../define/schedule.ts";
import { describeError } from "../jobs/describe-error.ts";
import type { Jsonified } from "../jobs/job.ts";
import { typesOf } from "../jobs/list.ts";
import { toStorableJson } from "../json.ts";
import { knownOptions } from "../option-names.ts";
import { fromRow } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds, type JobStatus } from "../words.ts";

export interface ClaimOptions<D extends JobDefinition = JobDefinition> {
  /** The name of the program that runs the jobs, part of the fence of each run. */
  readonly workerId: string;
  /** Only jobs of this definition, or of these. It also types the runs. Without it: jobs of every type. */
  readonly job?: D | readonly D[] | undefined;
  /** The most runs to claim, 1 to 1000. Default 1. */
  readonly limit?: number | undefined;
  /** Only jobs of this tenant. */
  readonly tenantId?: string | undefined;
}

/** What the end of a run may say besides its result. */
export interface RunEndOptions {
  /** The next run of the schedule. */
  readonly nextRunAt?: Date | undefined;
  readonly costCents?: number | undefined;
}

export interface RunFailureOptions extends RunEndOptions {
  /** Whether the job may be retried. Default true. */
  readonly retry?: boolean | undefined;
  /** When it is retried. Default: after the backoff of its type. */
  readonly retryAt?: Date | undefined;
}

/** The state of the job after the end of a run. */
export interface RunOutcome {
  readonly id: string;
  readonly status: JobStatus;
  readonly runAt: Date;
}

interface ClaimedRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly run_at: string;
  readonly schedule_id?: string;
  readonly scheduled_for?: string;
  readonly schedule_key?: string;
  readonly previous_run?: object | null;
}

/** A run that this program holds. Calls reject with a JobNotHeldError if its lease is lost. */
export class ClaimedRun<D extends JobDefinition = JobDefinition> {
  readonly id: string;
  readonly attempt: number;
  readonly tenantId: string;
  readonly type: D["type"];
  readonly payload: Jsonified<JobInput<D>>;
  readonly runAt: Date;
  /** The schedule of the run, and when the run was due; undefined for other jobs. */
  readonly scheduleId: string | undefined;
  readonly scheduledFor: Date | undefined;
  readonly schedule: RunSchedule | undefined;
  readonly workerId: string;
  readonly #transport: Transport;

  constructor(transport: Transport, workerId: string, row: ClaimedRow) {
    this.#transport = transport;
    this.workerId = workerId;
    this.id = row.id;
    this.attempt = row.attempts;
    this.tenantId = row.tenant_id;
    this.type = row.type;
    this.payload = row.payload as Jsonified<JobInput<D>>;
    this.runAt = new Date(row.run_at);
    this.scheduleId = row.schedule_id;
    this.scheduledFor = row.scheduled_for === undefined ? undefined : new Date(row.scheduled_for);
    this.schedule =
      row.schedule_key === undefined
        ? undefined
        : { key: row.schedule_key, previousRun: previousRunOf(row.previous_run) };
  }

  /** Ends the run as succeeded. */
  async complete(result?: JobOutput<D>, options: RunEndOptions = {}): Promise<RunOutcome> {
    const p_result = result === undefined ? undefined : toStorableJson(result, "result");
    return await this.#end({ p_status: "succeeded", p_result }, options);
  }

  /**
   * Ends the run as failed. The job is retried by its policy, and a schedule continues. The error is kept as a worker
   * keeps it: with stack, code, `details`, causes and members.
   */
  async fail(error: unknown, options: RunFailureOptions = {}): Promise<RunOutcome> {
    const { retry, retryAt, ...rest } = options;
    if (retryAt !== undefined) checkDate(retryAt, "retryAt");
    const described = describeError(error);
    // A text is the program's own reason, and not something that was thrown.
    const named = typeof error === "string" ? { ...described, name: "Error" } : described;
    const p_error = toStorableJson(named, "error");
    return await this.#end({ p_status: "failed", p_error, p_retry: retry, p_retry_at: retryAt }, rest);
  }

  /** Puts the job off. It costs an attempt, unless `counts` is false. */
  async defer(until: Date, { counts }: { readonly counts?: boolean | undefined } = {}): Promise<RunOutcome> {
    checkDate(until, "until");
    const args = { ...this.#fence(), p_run_at: until, p_counts: counts };
    return fromRow<RunOutcome>(await this.#transport.call<object>("jobforge_defer_job", args));
  }

  /** Renews the lease. Returns when it was renewed, and whether a cancellation was requested. */
  async heartbeat(): Promise<{ readonly heartbeatAt: Date; readonly cancelRequested: boolean }> {
    return fromRow(await this.#transport.call<object>("jobforge_heartbeat_job", this.#fence()));
  }

  async #end(args: object, { nextRunAt, costCents }: RunEndOptions): Promise<RunOutcome> {
    if (nextRunAt !== undefined) checkDate(nextRunAt, "nextRunAt");
    const more = { p_next_run_at: nextRunAt, p_cost_cents: costCents };
    const all = { ...this.#fence(), ...args, ...more };
    return fromRow<RunOutcome>(await this.#transport.call<object>("jobforge_complete_job", all));
  }

  #fence(): { readonly p_job_id: string; readonly p_worker_id: string; readonly p_attempt: number } {
    return { p_job_id: this.id, p_worker_id: this.workerId, p_attempt: this.attempt };
  }
}

/** For workers and operators. */
export class Runs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Claims jobs that are due, and returns their runs. A run that is neither ended nor renewed with `heartbeat()` is
   * lost after five minutes, and its job runs again.
   */
  async claim<D extends JobDefinition = JobDefinition>(
    options: ClaimOptions<D>,
  ): Promise<readonly ClaimedRun<D>[]> {
    const { workerId, job, limit = 1, tenantId } = knownOptions(options, "claim");
    checkText(workerId, "workerId");
    checkRange(limit, "limit", bounds.claimLimit);
    if (tenantId !== undefined) checkTenant(tenantId);
    const response = await this.#transport.call<{ readonly jobs: readonly ClaimedRow[] }>(
      "jobforge_settle_jobs",
      {
        p_worker_id: workerId,
        p_results: [],
        p_claim_limit: limit,
        p_types: typesOf(job),
        p_tenant_id: tenantId,
      },
    );
    return response.jobs.map((row) => new ClaimedRun<D>(this.#transport, workerId, row));
  }
}

function previousRunOf(row: object | null | undefined): PreviousRun | undefined {
  return row === null || row === undefined ? undefined : fromRow<PreviousRun>(row);
}
