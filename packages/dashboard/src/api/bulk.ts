/**
 * Changes of many jobs. The kernel changes up to a thousand jobs per request, so a large change is a series of requests
 * of one operation: it looks at each job once, has one entry in the audit log, and can be stopped between two requests.
 */
import type { ApiFilter } from "../lib/filter.ts";
import { api, bodyOf, type Schemas } from "./client.ts";
import { type Change, listJobs } from "./jobs.ts";

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

/**
 * The filter for a change of what was counted. Jobs that came after the count are not what the user agreed to. A bound
 * of the user's own that is earlier stays.
 */
export function countedFilter(filter: ApiFilter, counts: readonly JobCount[]): ApiFilter {
  const [first] = counts;
  const own = filter["created_before"];
  if (first === undefined || "ids" in filter) return filter;
  if (typeof own === "string" && Date.parse(own) <= Date.parse(first.counted_at)) return filter;
  return { ...filter, created_before: first.counted_at };
}

export interface Progress {
  readonly changed: number;
  readonly isDone: boolean;
  /** The id of the operation, under which the audit log has its entry. */
  readonly operation: string;
}

/** Above this number, a change is not offered to be taken back: its jobs could not be named in one request. */
const mostTakenBack = 1000;

/**
 * The jobs that would run again and that can be taken back: all of them failed or died before. A queued job would lose
 * the time that it waited for. Undefined if the change cannot be taken back in full.
 */
export async function revivable(
  change: Change,
  filter: ApiFilter,
  counts: readonly JobCount[],
  tenant: string | undefined,
): Promise<readonly string[] | undefined> {
  const total = counts.reduce((sum, { jobs }) => sum + jobs, 0);
  const isOver = counts.every(({ status, exact }) => exact && (status === "failed" || status === "dead"));
  if (change !== "reschedule" || !isOver || total > mostTakenBack) return undefined;
  if (Array.isArray(filter["ids"])) return filter["ids"] as string[];
  const status = [...new Set(counts.map((each) => each.status))];
  const { items, cursor } = await listJobs({ ...filter, status }, tenant, { limit: mostTakenBack });
  return cursor === null ? items.map(({ id }) => id) : undefined;
}

/** Cancels those of the jobs that have not started again. Returns how many. */
export async function takeBack(ids: readonly string[], tenant: string | undefined): Promise<number> {
  const filter = { ids, status: ["queued"] };
  const { changed } = await changeJobs(
    "cancel",
    filter,
    tenant,
    new AbortController().signal,
    () => undefined,
  );
  return changed;
}

const stepSize = 1000;

/** Changes the jobs that match the filter: of one tenant, or of all that the caller may change. */
export async function changeJobs(
  change: Change,
  filter: ApiFilter,
  tenant: string | undefined,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<Progress> {
  const operation = newId();
  const params = { query: tenant === undefined ? {} : { tenant_id: tenant } };
  let cursor: string | null = null;
  let changed = 0;
  do {
    if (signal.aborted) return { changed, isDone: false, operation };
    const body = { filters: filter as never, limit: stepSize, operation, ...(cursor !== null && { cursor }) };
    const result: Schemas["BulkResult"] = await bodyOf(api.POST(`/v1/bulk/${change}`, { params, body }));
    changed = result.total.changed;
    cursor = result.cursor;
    onProgress({ changed, isDone: false, operation });
  } while (cursor !== null);
  return { changed, isDone: true, operation };
}

/** A random UUID. `crypto.randomUUID` needs https, and the dashboard works on plain http. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
