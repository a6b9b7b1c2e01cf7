/** Counts jobs that a list does not show yet. The list itself does not move under the reader. */
import { useQuery } from "@tanstack/preact-query";
import { listJobs } from "../../api/jobs.ts";
import { apiFilterOf, type JobFilter } from "../../lib/filter.ts";

interface Newest {
  readonly id: string;
  readonly created_at: string;
}

export function useNewJobs(
  filter: JobFilter,
  tenant: string | undefined,
  newest: Newest | undefined,
): number {
  const isBounded = filter.text.created_after !== undefined || filter.text.created_before !== undefined;
  const { data } = useQuery({
    queryKey: ["new-jobs", apiFilterOf(filter), tenant ?? null, newest?.id ?? null],
    queryFn: () =>
      listJobs({ ...apiFilterOf(filter), created_after: newest?.created_at ?? "" }, tenant, undefined, 51),
    enabled: newest !== undefined && !isBounded,
    // Only the live stream asks for it.
    initialData: { items: [], cursor: null },
    staleTime: Number.POSITIVE_INFINITY,
    meta: { live: true },
  });
  return data.items.filter(({ id }) => newest !== undefined && id > newest.id).length;
}
