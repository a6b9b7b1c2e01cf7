/** Recurring work: schedules that an application creates and changes while it runs. */
import { checkDefinitionOf, checkTenant, checkTenantOf } from "../arguments/names.ts";
import { checkDate, checkOneOf, checkRange, checkText, checkUuid } from "../arguments/values.ts";
import { checkTimes, scheduleJson } from "../define/define-schedule.ts";
import type { JobDefinition } from "../define/definition.ts";
import type {
  EnsuredSchedule,
  Schedule,
  ScheduleChanges,
  ScheduleOf,
  ScheduleOptions,
} from "../define/schedule.ts";
import { checkPayload } from "../enqueue/payload.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Job, OfTenant } from "../jobs/job.ts";
import { checkedPageSize, filterKeys, type List, listRows, type PageOptions, typesOf } from "../jobs/list.ts";
import { knownOptions } from "../option-names.ts";
import { fromRow, fromRows, toKeys } from "../rows.ts";
import type { CallArguments, Transport } from "../transport/transport.ts";
import { bounds, type JobStatus, type ScheduleOrder, scheduleOrders } from "../words.ts";

/** What a call names a schedule by: its key, or its id, which its runs have as `scheduleId`. */
export type ScheduleKey = string | { readonly id: string };

/** Selects schedules. A schedule must match all given filters. */
export interface ScheduleFilters<D extends JobDefinition = JobDefinition> {
  /** Only schedules of this definition, or of these. It also types the items. */
  readonly job?: D | readonly D[] | undefined;
  readonly enabled?: boolean | undefined;
  /** Whether the last run failed. */
  readonly failing?: boolean | undefined;
  /** Whether its time has come, and no worker has made a run of it. */
  readonly due?: boolean | undefined;
  /** Whether it is due for more than a minute. */
  readonly overdue?: boolean | undefined;
  /** Whether a worker runs it. */
  readonly running?: boolean | undefined;
  /** Schedules that have all of these tags. */
  readonly tags?: readonly string[] | undefined;
  readonly subject?: string | undefined;
  /** How the key begins. */
  readonly keyPrefix?: string | undefined;
  /** Schedules that were not changed, and had no run, since then. */
  readonly updatedBefore?: Date | undefined;
}

export interface ScheduleListOptions<D extends JobDefinition = JobDefinition>
  extends ScheduleFilters<D>,
    PageOptions {
  /** Without it: the schedules of all tenants, for operators. */
  readonly tenantId?: string | undefined;
  /** Default `name`: by tenant, type and key. `next_run_at`: the earliest first, those without a next run last. */
  readonly order?: ScheduleOrder | undefined;
}

/** Selects the schedules to delete. At least one filter must be given. */
export interface ScheduleBulkFilters extends ScheduleFilters, OfTenant {
  /** The most schedules to delete, 1 to 1000. Default 1000. */
  readonly limit?: number | undefined;
}

export interface ScheduleBulkResult {
  readonly matched: number;
  /** Fewer than matched if other transactions held some of them. */
  readonly changed: number;
}

/** How many schedules of a type there are, and what they do. */
export interface ScheduleCount {
  readonly type: string;
  readonly schedules: number;
  readonly enabled: number;
  /** Those whose time has come, and of which no worker has made a run. */
  readonly due: number;
  /** Those that are due for more than a minute. */
  readonly overdue: number;
  readonly running: number;
  readonly failing: number;
  readonly oldestDueAt: Date | undefined;
  /** False if there are more than 100,000 schedules: then the first of them are counted. */
  readonly exact: boolean;
}

export interface ScheduleRunsOptions extends OfTenant, PageOptions {
  readonly status?: JobStatus | readonly JobStatus[] | undefined;
}

/**
 * A schedule is named by its job, its key (or its id) and its tenant. Calls that need an existing schedule reject with
 * a ScheduleNotFoundError if the schedule does not exist.
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
    checkDefinitionOf(job);
    checkReference(key, options);
    checkTimes(knownOptions(options, "ensureSchedule"));
    const p_options = await scheduleJson(job, options);
    return fromRow(await call(this.#transport, "jobforge_ensure_schedule", job, key, options, { p_options }));
  }

  /** Changes the given options and leaves the others. */
  async update<D extends JobDefinition>(
    job: D,
    key: ScheduleKey,
    changes: ScheduleChanges<D>,
    tenant: OfTenant,
  ): Promise<Schedule<D>> {
    checkDefinitionOf(job);
    checkTimes(knownOptions(changes, "updateSchedule", "changes"));
    const { mergePayload } = changes;
    if (mergePayload !== undefined) checkPayload(undefined, mergePayload, "mergePayload");
    if (changes.payload !== undefined) await checkPayload(job.input, changes.payload, "payload").checked;
    return steer(this.#transport, "jobforge_update_schedule", job, key, tenant, {
      p_changes: toKeys(changes),
    });
  }

  /** The schedule as it is now; undefined if there is none. */
  async get<D extends JobDefinition>(
    job: D,
    key: ScheduleKey,
    tenant: OfTenant,
  ): Promise<Schedule<D> | undefined> {
    const [row] = await call<object[]>(this.#transport, "jobforge_get_schedule", job, key, tenant);
    return row === undefined ? undefined : fromRow<Schedule<D>>(row);
  }

  /** The schedules of a tenant, or for operators of all tenants. */
  list<D extends JobDefinition = JobDefinition>(options: ScheduleListOptions<D> = {}): List<ScheduleOf<D>> {
    const { tenantId, order } = knownOptions(options, "schedules");
    if (tenantId !== undefined) checkTenant(tenantId);
    if (order !== undefined) checkOneOf(order, "order", scheduleOrders);
    const filters = { ...scheduleFilterKeys(options), ...toKeys({ order }) };
    return listRows(checkedPageSize(options), (page) =>
      this.#transport.call("jobforge_list_schedules", {
        p_tenant_id: tenantId,
        p_filters: { ...filters, ...page },
      }),
    );
  }

  /** How many schedules there are of each type, and what they do. Without `tenantId`: for operators and readers. */
  async count(options: { readonly tenantId?: string | undefined } = {}): Promise<ScheduleCount[]> {
    const { tenantId } = knownOptions(options, "scheduleCount");
    if (tenantId !== undefined) checkTenant(tenantId);
    const rows = await this.#transport.call<object[]>("jobforge_count_schedules", { p_tenant_id: tenantId });
    return fromRows<ScheduleCount>(rows);
  }

  /** The runs of a schedule, newest first, as far as its type keeps history. */
  runs<D extends JobDefinition>(job: D, key: ScheduleKey, options: ScheduleRunsOptions): List<Job<D>> {
    checkDefinitionOf(job);
    checkReference(key, knownOptions(options, "scheduleRuns"));
    const filters = filterKeys({ status: options.status });
    return listRows(checkedPageSize(options), (page) =>
      call(this.#transport, "jobforge_list_schedule_runs", job, key, options, {
        p_filters: { ...filters, ...page },
      }),
    );
  }

  /** Enables the schedule: it runs at its next time, or at once if that has passed. */
  enable<D extends JobDefinition>(job: D, key: ScheduleKey, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_enable_schedule", job, key, tenant);
  }

  /** Disables the schedule. It keeps its `nextRunAt`. A running run goes on; a queued one is removed from the queue. */
  disable<D extends JobDefinition>(job: D, key: ScheduleKey, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_disable_schedule", job, key, tenant);
  }

  /** Enables or disables the schedule. If the decision depends on other rows, lock the schedule first. */
  setEnabled<D extends JobDefinition>(
    job: D,
    key: ScheduleKey,
    enabled: boolean,
    tenant: OfTenant,
  ): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_set_schedule_enabled", job, key, tenant, { p_enabled: enabled });
  }

  /** Requests a run now, in addition to the next one. During a run, the requested run follows right after it. */
  run<D extends JobDefinition>(job: D, key: ScheduleKey, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_run_schedule", job, key, tenant);
  }

  /** Deletes the schedule. A running run goes on. */
  async delete(job: JobDefinition, key: ScheduleKey, tenant: OfTenant): Promise<void> {
    await call(this.#transport, "jobforge_delete_schedule", job, key, tenant);
  }

  /** Deletes schedules that match the filters, such as those disabled long ago. Repeat it until none match. */
  async deleteMany(filters: ScheduleBulkFilters): Promise<ScheduleBulkResult> {
    const { tenantId, limit } = knownOptions(filters, "scheduleBulk", "filters");
    checkTenant(tenantId);
    if (limit !== undefined) checkRange(limit, "limit", bounds.scheduleBulkLimit);
    const p_filters = scheduleFilterKeys(filters);
    if (Object.keys(p_filters).length === 0)
      throw new InvalidArgumentError("filters must select schedules: give at least one", {
        field: "filters",
      });
    const args = { p_tenant_id: tenantId, p_filters, p_limit: limit };
    return await this.#transport.call<ScheduleBulkResult>("jobforge_delete_schedules", args);
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
  lock<D extends JobDefinition>(job: D, key: ScheduleKey, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_lock_schedule", job, key, tenant);
  }
}

function checkReference(key: ScheduleKey, tenant: OfTenant): void {
  if (typeof key === "object" && key !== null)
    checkUuid(key.id, "id", "Pass the key of a schedule, or { id }.");
  else checkText(key, "key");
  checkTenantOf(tenant);
}

/** The filters under the kernel's keys. An invalid Date serializes to null, which filters nothing. */
function scheduleFilterKeys(filters: ScheduleFilters): Record<string, unknown> {
  const { job, enabled, failing, due, overdue, running, tags, subject, keyPrefix, updatedBefore } = filters;
  if (updatedBefore !== undefined) checkDate(updatedBefore, "updatedBefore");
  const states = { enabled, failing, due, overdue, running };
  return toKeys({ type: typesOf(job), ...states, tags, subject, keyPrefix, updatedBefore });
}

async function call<T extends object>(
  transport: Transport,
  name: string,
  job: JobDefinition,
  key: ScheduleKey,
  tenant: OfTenant,
  more: CallArguments = {},
): Promise<T> {
  checkDefinitionOf(job);
  checkReference(key, tenant);
  const which = typeof key === "string" ? { p_key: key } : { p_schedule_id: key.id };
  const args = { p_tenant_id: tenant.tenantId, p_type: job.type, ...which, ...more };
  return await transport.call<T>(name, args);
}

/** A call that returns the schedule. */
async function steer<D extends JobDefinition>(
  transport: Transport,
  name: string,
  job: D,
  key: ScheduleKey,
  tenant: OfTenant,
  more: CallArguments = {},
): Promise<Schedule<D>> {
  return fromRow<Schedule<D>>(await call(transport, name, job, key, tenant, more));
}
