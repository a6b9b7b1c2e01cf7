/** The lists of jobs, and the changes of one job and of many. */
import { useInfiniteQuery, useQuery } from "@tanstack/preact-query";
import { type ApiFilter, apiFilterOf, type JobFilter, type Order, orderOf, queryOf } from "../lib/filter.ts";
import { api, bodyOf, type Schemas } from "./client.ts";

export type Job = Schemas["Job"];
/** A row of a list: a job without payload, progress and stack. */
export type JobRow = Schemas["JobSummary"];

/** Rows have no payload, progress and stack, so a page is a few kilobytes. */
export const pageSize = 50;
/** A page never holds more rows than a reader can look through. */
export const mostRows = 1000;

export type Change = "cancel" | "reschedule" | "purge";

export function listKey(filter: JobFilter, tenant: string | undefined): readonly unknown[] {
  return ["jobs", apiFilterOf(filter), tenant ?? null];
}

/** A list as a query, so that it can be asked for before its page is drawn. */
export function jobsQuery(filter: JobFilter, tenant: string | undefined, more: PageOptions = {}) {
  return {
    queryKey: listKey(filter, tenant),
    queryFn: ({ pageParam }: { pageParam: string | undefined }) =>
      listJobs(apiFilterOf(filter), tenant, {
        ...more,
        order: orderOf(filter),
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }: JobPage) => cursor ?? undefined,
  };
}

export const useJobs = (filter: JobFilter, tenant: string | undefined) =>
  useInfiniteQuery({ ...jobsQuery(filter, tenant), placeholderData: (before) => before });

interface PageOptions {
  readonly order?: Order;
  readonly cursor?: string;
  /** Only jobs that are newer than this place. */
  readonly after?: string;
  readonly limit?: number;
  /** Whether the page also says who is signed in. */
  readonly caller?: "true";
}

export function listJobs(
  filter: ApiFilter,
  tenant: string | undefined,
  { limit = pageSize, ...options }: PageOptions = {},
): Promise<JobPage> {
  const query = {
    ...queryOf(filter),
    fields: "summary",
    limit,
    ...(tenant && { tenant_id: tenant }),
    ...options,
  };
  return bodyOf(api.GET("/v1/jobs", { params: { query: query as never } })) as unknown as Promise<JobPage>;
}

export interface JobPage {
  readonly items: JobRow[];
  readonly cursor: string | null;
  /** Set if the search stopped before the end of what is kept: it has looked back to this time. */
  readonly searched_after?: string | null;
  readonly caller?: Schemas["Me"];
}

/** The tenant of a job, for an address that names only the job. Null if there is no such job. */
export const useTenantOf = (id: string, isAsked: boolean) =>
  useQuery({
    queryKey: ["tenant-of", id],
    queryFn: async () => (await listJobs({ ids: [id] }, undefined)).items[0]?.tenant_id ?? null,
    enabled: isAsked,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The parameters that name one job. An operator names its tenant, too. */
export interface JobName {
  readonly id: string;
  readonly tenant: string | undefined;
}

const named = ({ id, tenant }: JobName): { path: { id: string }; query: { tenant_id?: string } } => ({
  path: { id },
  query: tenant === undefined ? {} : { tenant_id: tenant },
});

export function cancelJob(job: JobName): Promise<unknown> {
  return bodyOf(api.POST("/v1/jobs/{id}/cancel", { params: named(job) }));
}

export function runJobNow(job: JobName): Promise<unknown> {
  return bodyOf(api.POST("/v1/jobs/{id}/reschedule", { params: named(job), body: {} }));
}

export function runJobAt(job: JobName, run_at: string): Promise<unknown> {
  return bodyOf(api.POST("/v1/jobs/{id}/reschedule", { params: named(job), body: { run_at } }));
}

export { named as jobParams };
