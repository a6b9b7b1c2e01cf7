/** Steering jobs: the arguments and results of cancel, reschedule, update and purge, and bulk changes. */
import { checkTenant } from "../arguments/names.ts";
import { checkRange } from "../arguments/values.ts";
import type { JobDefinition, JobInput } from "../define/definition.ts";
import { knownOptions } from "../option-names.ts";
import type { Transport } from "../transport/transport.ts";
import { type BulkChange, bounds, type JobStatus } from "../words.ts";
import type { JobFilters, OfTenant } from "./job.ts";
import { filterKeys } from "./list.ts";

/** The tenant, and optionally the definition that types the result. */
export interface JobReference<D extends JobDefinition = JobDefinition> extends OfTenant {
  readonly job?: D | undefined;
}

export interface RescheduleOptions {
  /** Default: now. */
  readonly runAt?: Date | undefined;
  /** For a queued job, its new total of executions. For a finished job, how many more executions it gets. */
  readonly maxAttempts?: number | undefined;
  /** Runs with this payload instead of its own. */
  readonly payload?: unknown;
}

/** What a copy of a job has instead of the job's own values. */
export interface CopyChanges<D extends JobDefinition = JobDefinition> extends JobChanges<D> {
  readonly maxAttempts?: number | undefined;
}

/** Changes to a queued job. What is not given stays as it is. */
export interface JobChanges<D extends JobDefinition = JobDefinition> {
  readonly payload?: JobInput<D> | undefined;
  readonly priority?: number | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly runAt?: Date | undefined;
}

export interface CancelResult {
  readonly id: string;
  /** `canceled` if the job was queued; `running` if it is canceled when its run ends. */
  readonly status: "canceled" | "running";
  readonly cancelRequested: boolean;
}

export interface RescheduleResult {
  readonly id: string;
  readonly status: JobStatus;
  readonly runAt: Date;
  readonly maxAttempts: number;
}

/** At least one filter is required. `limit` is 1 to 10,000. Default 1000. */
export type BulkFilters = JobFilters & OfTenant & { readonly limit?: number | undefined };

export interface BulkResult {
  readonly matched: number;
  /**
   * Fewer than `matched` when other transactions hold some of the jobs. Call again while `matched` reaches the limit.
   */
  readonly changed: number;
}

/** Changes the jobs that match the filters, up to `limit` of them. */
export async function changeJobs(
  transport: Transport,
  change: BulkChange,
  selected: BulkFilters,
): Promise<BulkResult> {
  const { tenantId, limit, ...filters } = knownOptions(selected, "bulk", "filters");
  checkTenant(tenantId);
  if (limit !== undefined) checkRange(limit, "limit", bounds.bulkLimit);
  const args = { p_tenant_id: tenantId, p_filters: filterKeys(filters), p_limit: limit };
  return await transport.call<BulkResult>(`jobforge_${change}_jobs`, args);
}
