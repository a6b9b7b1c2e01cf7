/** Changes to many jobs of a tenant at once. */
import { checkRange, checkTenant } from "../arguments.ts";
import type { Transport } from "../transport/transport.ts";
import { type BulkChange, bounds } from "../words.ts";
import type { JobFilters, OfTenant } from "./job.ts";
import { filterKeys } from "./list.ts";

/** At least one filter is required. `limit` is 1 to 10,000, by default 1000. */
export type BulkFilters = JobFilters & OfTenant & { readonly limit?: number | undefined };

export interface BulkResult {
  readonly matched: number;
  /** Fewer than `matched` when other transactions hold some of the jobs. Call again while `matched` reaches the limit. */
  readonly changed: number;
}

/** Changes the jobs that match the filters, up to `limit` of them. */
export async function changeJobs(
  transport: Transport,
  change: BulkChange,
  { tenantId, limit, ...filters }: BulkFilters,
): Promise<BulkResult> {
  checkTenant(tenantId);
  if (limit !== undefined) checkRange(limit, "limit", bounds.bulkLimit);
  const args = { p_tenant_id: tenantId, p_filters: filterKeys(filters), p_limit: limit };
  return await transport.call<BulkResult>(`jobforge_${change}_jobs`, args);
}
