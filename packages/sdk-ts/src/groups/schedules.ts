/** Recurring work: schedules that an application creates and changes while it runs. */
import { checkTenant, checkText } from "../arguments.ts";
import { checkDates, scheduleJson } from "../define/define-schedule.ts";
import type { JobDefinition } from "../define/definition.ts";
import type {
  EnsuredSchedule,
  Schedule,
  ScheduleChanges,
  ScheduleOf,
  ScheduleOptions,
} from "../define/schedule.ts";
import { checkPayload } from "../enqueue/payload.ts";
import type { Job, OfTenant } from "../jobs/job.ts";
import { checkedPageSize, filterKeys, type List, listRows, type PageOptions, typesOf } from "../jobs/list.ts";
import { fromRow, toKeys } from "../rows.ts";
import type { CallArguments, Transport } from "../transport/transport.ts";
import type { JobStatus } from "../words.ts";

/** Selects schedules. A schedule must match all given options. */
export interface ScheduleListOptions<D extends JobDefinition = JobDefinition> extends PageOptions {
  /** Without it: the schedules of all tenants, for operators. */
  readonly tenantId?: string | undefined;
  /** Only schedules of this definition, or of these. It also types the items. */
  readonly job?: D | readonly D[] | undefined;
  readonly enabled?: boolean | undefined;
  /** Whether the last run failed. */
  readonly failing?: boolean | undefined;
}

export interface ScheduleRunsOptions extends OfTenant, PageOptions {
  readonly status?: JobStatus | readonly JobStatus[] | undefined;
}

/**
 * A schedule is named by its job, its key and its tenant. Calls that need an existing schedule reject with a
 * ScheduleNotFoundError if there is none.
 */
export class Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Creates the schedule, or changes it so that it has these options. Idempotent, from any number of processes. An
   * existing schedule keeps its next run and stays enabled or disabled, unless the options set these or change the
   * rhythm. Rejects with an InvalidScheduleError that names the invalid option.
   */
  async ensure<D extends JobDefinition>(
    job: D,
    key: string,
    options: ScheduleOptions<D>,
  ): Promise<EnsuredSchedule<D>> {
    checkReference(key, options);
    checkDates(options);
    const p_options = await scheduleJson(job, options);
    return fromRow(await call(this.#transport, "jobforge_ensure_schedule", job, key, options, { p_options }));
  }

  /** Changes the given options and leaves the others. */
  async update<D extends JobDefinition>(
    job: D,
    key: string,
    changes: ScheduleChanges<D>,
    tenant: OfTenant,
  ): Promise<Schedule<D>> {
    checkDates(changes);
    if (changes.payload !== undefined) await checkPayload(job.input, changes.payload, "payload").checked;
    return steer(this.#transport, "jobforge_update_schedule", job, key, tenant, {
      p_changes: toKeys(changes),
    });
  }

  /** The schedule as it is now; undefined if there is none. */
  async get<D extends JobDefinition>(
    job: D,
    key: string,
    tenant: OfTenant,
  ): Promise<Schedule<D> | undefined> {
    const [row] = await call<object[]>(this.#transport, "jobforge_get_schedule", job, key, tenant);
    return row === undefined ? undefined : fromRow<Schedule<D>>(row);
  }

  /** The schedules of a tenant, or for operators of all tenants, ordered by tenant, type and key. */
  list<D extends JobDefinition = JobDefinition>(options: ScheduleListOptions<D> = {}): List<ScheduleOf<D>> {
    const { tenantId, job, enabled, failing } = options;
    if (tenantId !== undefined) checkTenant(tenantId);
    const filters = toKeys({ type: typesOf(job), enabled, failing });
    return listRows(checkedPageSize(options), (page) =>
      this.#transport.call("jobforge_list_schedules", {
        p_tenant_id: tenantId,
        p_filters: { ...filters, ...page },
      }),
    );
  }

  /** The runs of a schedule, newest first, as far as its type keeps history. */
  runs<D extends JobDefinition>(job: D, key: string, options: ScheduleRunsOptions): List<Job<D>> {
    checkReference(key, options);
    const filters = filterKeys({ status: options.status });
    return listRows(checkedPageSize(options), (page) =>
      call(this.#transport, "jobforge_list_schedule_runs", job, key, options, {
        p_filters: { ...filters, ...page },
      }),
    );
  }

  /** Enables the schedule: it runs at its next time, or at once if that has passed. */
  enable<D extends JobDefinition>(job: D, key: string, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_enable_schedule", job, key, tenant);
  }

  /** Disables the schedule. It keeps its `nextRunAt`. A running run goes on; a queued one is removed from the queue. */
  disable<D extends JobDefinition>(job: D, key: string, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_disable_schedule", job, key, tenant);
  }

  /** Enables or disables the schedule. If the decision depends on other rows, lock the schedule first. */
  setEnabled<D extends JobDefinition>(
    job: D,
    key: string,
    enabled: boolean,
    tenant: OfTenant,
  ): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_set_schedule_enabled", job, key, tenant, { p_enabled: enabled });
  }

  /** Requests a run now, in addition to the next one. During a run, the requested run follows right after it. */
  run<D extends JobDefinition>(job: D, key: string, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_run_schedule", job, key, tenant);
  }

  /** Deletes the schedule. A running run goes on. */
  async delete(job: JobDefinition, key: string, tenant: OfTenant): Promise<void> {
    await call(this.#transport, "jobforge_delete_schedule", job, key, tenant);
  }
}

/** The same calls in a transaction, and `lock`, which needs one. */
export class TransactionSchedules extends Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /**
   * Locks the schedule until the transaction ends, so that what the next statement reads is still true when the
   * transaction changes the schedule. Waits for other applications that hold the lock. No worker waits for it.
   */
  lock<D extends JobDefinition>(job: D, key: string, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_lock_schedule", job, key, tenant);
  }
}

function checkReference(key: string, { tenantId }: OfTenant): void {
  checkText(key, "key");
  checkTenant(tenantId);
}

async function call<T extends object>(
  transport: Transport,
  name: string,
  job: JobDefinition,
  key: string,
  tenant: OfTenant,
  more: CallArguments = {},
): Promise<T> {
  checkReference(key, tenant);
  const args = { p_tenant_id: tenant.tenantId, p_type: job.type, p_key: key, ...more };
  return await transport.call<T>(name, args);
}

/** A call that returns the schedule. */
async function steer<D extends JobDefinition>(
  transport: Transport,
  name: string,
  job: D,
  key: string,
  tenant: OfTenant,
  more: CallArguments = {},
): Promise<Schedule<D>> {
  return fromRow<Schedule<D>>(await call(transport, name, job, key, tenant, more));
}
