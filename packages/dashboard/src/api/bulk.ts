/**
 * Changes of many jobs. The kernel changes up to a thousand jobs of one tenant per request, so a large change is a
 * series of requests: it shows its progress, and can be stopped between two of them.
 */
import type { ApiFilter } from "../lib/filter.ts";
import { api, bodyOf, type Schemas } from "./client.ts";
import type { Change } from "./jobs.ts";

export type JobCount = Schemas["JobCount"];

/** What a change would affect, by tenant, type and status. */
export async function countJobs(
  filter: ApiFilter,
  change: Change,
  tenant: string | undefined,
): Promise<JobCount[]> {
  const query = tenant === undefined ? {} : { tenant_id: tenant };
  const { items } = await bodyOf(
    api.POST("/v1/bulk/count", { params: { query }, body: { filters: filter as never, change } }),
  );
  return items;
}

export interface Progress {
  readonly changed: number;
  readonly isDone: boolean;
}

const stepSize = 1000;

/**
 * Changes the jobs of these tenants that match the filter. Jobs that are created after the count do not belong to what
 * the user agreed to, so the filter has an end.
 */
export async function changeJobs(
  change: Change,
  filter: ApiFilter,
  tenants: readonly string[],
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  let changed = 0;
  for (const tenant of tenants) {
    let matched = stepSize;
    while (matched === stepSize) {
      if (signal.aborted) return { changed, isDone: false };
      const body = { filters: filter as never, limit: stepSize };
      const params = { query: { tenant_id: tenant } };
      const result = await bodyOf(api.POST(`/v1/bulk/${change}`, { params, body }));
      changed += result.changed;
      matched = result.changed === 0 ? 0 : result.matched;
      onProgress({ changed, isDone: false });
    }
  }
  return { changed, isDone: true };
}
