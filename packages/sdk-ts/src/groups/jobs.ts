/** The jobs of all tenants: searching, counting, purging. */
import { checkTenant } from "../arguments/names.ts";
import { checkRange } from "../arguments/values.ts";
import type { JobDefinition } from "../define/definition.ts";
import type { JobFilters, JobOf } from "../jobs/job.ts";
import { filterKeys, type List, type SearchOptions, searchJobs } from "../jobs/list.ts";
import { type BulkFilters, type BulkResult, changeJobs } from "../jobs/steer.ts";
import { knownOptions } from "../option-names.ts";
import { fromRows } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { type BulkChange, bounds, type JobStatus } from "../words.ts";

/** Selects the jobs to count: of one tenant, or without `tenantId` of all, for operators. */
export interface CountOptions extends JobFilters {
  readonly tenantId?: string | undefined;
  /** Only jobs that this bulk change would change. */
  readonly change?: BulkChange | undefined;
}

export interface JobCount {
  readonly tenantId: string;
  readonly type: string;
  readonly status: JobStatus;
  readonly jobs: number;
  /** False if the count stopped at 100,000 jobs. */
  readonly exact: boolean;
  /** When the first of them was created. */
  readonly oldestAt: Date;
  readonly newestAt: Date;
  /** When they were counted. With it as `createdBefore`, a bulk change affects no job that came later. */
  readonly countedAt: Date;
}

export interface DeadGroupOptions extends JobFilters {
  readonly tenantId?: string | undefined;
  /** The number of groups, 1 to 1000. Default 50. */
  readonly limit?: number | undefined;
}

/** Failed and dead jobs of one type with one kind of error. */
export interface DeadGroup {
  /** The value of the filter `errorGroup` of lists and bulk changes. */
  readonly errorGroup: string;
  readonly type: string;
  /** The message of the newest job. */
  readonly message: string;
  readonly jobs: number;
  readonly tenantIds: readonly string[];
  /** What people call them, in the same order; null for a tenant without a label. */
  readonly tenantLabels: readonly (string | null)[];
  readonly firstAt: Date;
  readonly lastAt: Date;
  readonly newestJobId: string;
}

/** For operators. A tenant may count its own jobs, and group its own dead ones. */
export class AllJobs {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The jobs of all tenants, or of one, newest first. */
  search<D extends JobDefinition = JobDefinition>(options: SearchOptions<D> = {}): List<JobOf<D>> {
    const { tenantId } = knownOptions(options, "list");
    if (tenantId !== undefined) checkTenant(tenantId);
    return searchJobs<D>(this.#transport, options);
  }

  /** How many jobs match the filters, by tenant, type and status. Looks at no more than the newest 100,000. */
  async count(options: CountOptions = {}): Promise<JobCount[]> {
    const { tenantId, change, ...filters } = knownOptions(options, "count");
    if (tenantId !== undefined) checkTenant(tenantId);
    const rows = await this.#transport.call<object[]>("jobforge_count_jobs", {
      p_tenant_id: tenantId,
      p_filters: filterKeys(filters),
      p_change: change,
    });
    return fromRows<JobCount>(rows);
  }

  /**
   * Forgets finished jobs that match the filters before their retention ends, with their results, attempts and keys.
   */
  purge(filters: BulkFilters): Promise<BulkResult> {
    return changeJobs(this.#transport, "purge", filters);
  }

  /** Failed and dead jobs by type and kind of error, the largest group first. */
  async deadGroups(options: DeadGroupOptions = {}): Promise<DeadGroup[]> {
    const { tenantId, limit, ...filters } = knownOptions(options, "deadGroups");
    if (tenantId !== undefined) checkTenant(tenantId);
    if (limit !== undefined) checkRange(limit, "limit", bounds.deadGroups);
    const rows = await this.#transport.call<object[]>("jobforge_list_dead_groups", {
      p_tenant_id: tenantId,
      p_filters: { ...filterKeys(filters), limit },
    });
    return fromRows<DeadGroup>(rows);
  }
}
