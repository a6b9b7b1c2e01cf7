/** Counts jobs that a list does not show yet. The list itself does not move under the reader. */
import { useQuery } from "@tanstack/preact-query";
import { listJobs } from "../../api/jobs.ts";
import { apiFilterOf, type JobFilter, orderOf } from "../../lib/filter.ts";

interface Newest {
  readonly id: string;
  readonly finished_at: string | null;
}

const mostCounted = 51;

export function useNewJobs(
  filter: JobFilter,
  tenant: string | undefined,
  newest: Newest | undefined,
): number {
  const order = orderOf(filter);
  const after = placeOf(order, newest);
  const { data } = useQuery({
    queryKey: ["new-jobs", apiFilterOf(filter), tenant ?? null, after ?? null],
    queryFn: () => listJobs(apiFilterOf(filter), tenant, { order, after: after ?? "", limit: mostCounted }),
    enabled: after !== undefined,
    // Only the live stream asks for it.
    initialData: { items: [], cursor: null },
    staleTime: Number.POSITIVE_INFINITY,
    meta: { live: true },
  });
  return data.items.length;
}

/** The first row as a place of the list. In the other orders, new jobs come at the end. */
function placeOf(order: string, newest: Newest | undefined): string | undefined {
  if (newest === undefined) return undefined;
  if (order === "created") return newest.id;
  return order === "finished_at" && newest.finished_at !== null
    ? `${newest.finished_at}~${newest.id}`
    : undefined;
}
