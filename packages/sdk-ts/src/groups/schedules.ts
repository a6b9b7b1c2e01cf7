/** Recurring work: one schedule per task, made and steered while an application runs. */
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
import { checkValue } from "../define/schema.ts";
import { payloadJson } from "../enqueue/prepare.ts";
import type { Job, OfTenant } from "../jobs/job.ts";
import { checkedPageSize, filterKeys, type List, listRows, type PageOptions, typesOf } from "../jobs/list.ts";
import { fromRow, toKeys } from "../rows.ts";
import type { CallArguments, Transport } from "../transport/transport.ts";
import type { JobStatus } from "../words.ts";

/** Which schedules: those that have all of what is given. */
export interface ScheduleListOptions<D extends JobDefinition = JobDefinition> extends PageOptions {
  /** Without one: every tenant's, for operators. */
  readonly tenantId?: string | undefined;
  /** Only those of this definition, or of these; it also types what comes back. */
  readonly job?: D | readonly D[] | undefined;
  readonly enabled?: boolean | undefined;
  /** Whether the last run failed. */
  readonly failing?: boolean | undefined;
}

export interface ScheduleRunsOptions extends OfTenant, PageOptions {
  readonly status?: JobStatus | readonly JobStatus[] | undefined;
}

/** A schedule is named by its job, its key and its tenant. Calls that need it fail with a ScheduleNotFoundError when it is not there. */
export class Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Makes sure that a schedule is there and is as the options say. Idempotent, from any number of processes. An existing one keeps its
   * next run and whether it is enabled, unless the options say otherwise or its rhythm is another one. Fails with an
   * InvalidScheduleError that names the option.
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

  /** Changes what is named, and leaves the rest. */
  async update<D extends JobDefinition>(
    job: D,
    key: string,
    changes: ScheduleChanges<D>,
    tenant: OfTenant,
  ): Promise<Schedule<D>> {
    checkDates(changes);
    if (changes.payload !== undefined) {
      await checkValue(job.input, changes.payload, "payload");
      payloadJson(changes.payload, "payload");
    }
    return steer(this.#transport, "jobforge_update_schedule", job, key, tenant, {
      p_changes: toKeys(changes),
    });
  }

  /** The schedule as it is now; undefined when there is none. */
  async get<D extends JobDefinition>(
    job: D,
    key: string,
    tenant: OfTenant,
  ): Promise<Schedule<D> | undefined> {
    const [row] = await call<object[]>(this.#transport, "jobforge_get_schedule", job, key, tenant);
    return row === undefined ? undefined : fromRow<Schedule<D>>(row);
  }

  /** The schedules of a tenant, or of all for operators, by tenant, type and key. */
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

  /** It runs at its next time, or at once when that has passed. */
  enable<D extends JobDefinition>(job: D, key: string, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_enable_schedule", job, key, tenant);
  }

  /** It no longer runs, and keeps its `nextRunAt`. A run that has begun ends as usual; one that waits is taken out of the queue. */
  disable<D extends JobDefinition>(job: D, key: string, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_disable_schedule", job, key, tenant);
  }

  /** Either of the two. When it depends on other rows which, lock the schedule first. */
  setEnabled<D extends JobDefinition>(
    job: D,
    key: string,
    enabled: boolean,
    tenant: OfTenant,
  ): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_set_schedule_enabled", job, key, tenant, { p_enabled: enabled });
  }

  /** Asks for a run now, beside the next one. Asked for during a run, it follows right after. */
  run<D extends JobDefinition>(job: D, key: string, tenant: OfTenant): Promise<Schedule<D>> {
    return steer(this.#transport, "jobforge_run_schedule", job, key, tenant);
  }

  /** Deletes it. A run that has begun ends as usual. */
  async delete(job: JobDefinition, key: string, tenant: OfTenant): Promise<void> {
    await call(this.#transport, "jobforge_delete_schedule", job, key, tenant);
  }
}

/** The same calls in a transaction, where a lock has a meaning. */
export class TransactionSchedules extends Schedules {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /**
   * Locks the schedule until the transaction ends, so that what the next statement reads is still true when it changes the schedule. Waits
   * for other applications that hold it; no worker waits for you.
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

/** A call that answers the schedule. */
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
