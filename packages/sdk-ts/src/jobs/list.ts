/** Lists that are read page by page, or as one stream. */
import { checkDate, checkOneOf, checkRange, checkUuid } from "../arguments.ts";
import type { JobDefinition } from "../define/definition.ts";
import { fromRows, toKeys } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds, jobStatuses } from "../words.ts";
import type { JobFilters, JobOf, OfTenant } from "./job.ts";

export interface Page<T> {
  readonly items: readonly T[];
  /** For the next page; undefined when this is the last. */
  readonly cursor: string | undefined;
}

/** A list, newest first unless it says otherwise. Nothing is asked before a page is, or the first item of the stream. */
export class List<T> implements AsyncIterable<T> {
  readonly #read: (cursor: string | undefined) => Promise<Page<T>>;

  constructor(read: (cursor: string | undefined) => Promise<Page<T>>) {
    this.#read = read;
  }

  /** One page: the first, or the one after a page's cursor. */
  page(cursor?: string): Promise<Page<T>> {
    return this.#read(cursor);
  }

  /** All of it, read page by page while it is consumed. Nothing is shown twice or left out while jobs come and go. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let cursor: string | undefined;
    do {
      const page: Page<T> = await this.#read(cursor);
      yield* page.items;
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
}

export interface PageOptions {
  /** Items of a page, 1 to 1000. Default 100. */
  readonly pageSize?: number | undefined;
}

export interface ListOptions<D extends JobDefinition = JobDefinition>
  extends JobFilters,
    OfTenant,
    PageOptions {
  /** Only jobs of this definition, or of these; it also types what comes back. */
  readonly job?: D | readonly D[] | undefined;
}

export type SearchOptions<D extends JobDefinition = JobDefinition> = Omit<ListOptions<D>, "tenantId"> &
  Partial<OfTenant>;

/** Filters under the kernel's keys. */
export function filterKeys(filters: JobFilters): Record<string, unknown> {
  for (const status of [filters.status ?? []].flat()) checkOneOf(status, "status", jobStatuses);
  const { status, type, tags, subject, errorContains, errorGroup } = filters;
  const { createdAfter, createdBefore, finishedAfter, finishedBefore } = filters;
  const times = { createdAfter, createdBefore, finishedAfter, finishedBefore };
  // One that is no time would be null in JSON, which filters nothing: a bulk change would meet everything.
  for (const [name, time] of Object.entries(times)) if (time !== undefined) checkDate(time, name);
  return toKeys({ status, type, tags, subject, errorContains, errorGroup, ...times });
}

/** The jobs of a tenant. */
export function listJobs<D extends JobDefinition>(
  transport: Transport,
  options: ListOptions<D>,
): List<JobOf<D>> {
  return listThrough(options, (filters) =>
    transport.call("jobforge_list_jobs", { p_tenant_id: options.tenantId, p_filters: filters }),
  );
}

/** The jobs of all tenants, or of one, for operators. */
export function searchJobs<D extends JobDefinition>(
  transport: Transport,
  options: SearchOptions<D>,
): List<JobOf<D>> {
  const tenant = options.tenantId === undefined ? {} : { tenant_id: options.tenantId };
  return listThrough(options, (filters) =>
    transport.call("jobforge_search_jobs", { p_filters: { ...filters, ...tenant } }),
  );
}

function listThrough<D extends JobDefinition>(
  options: SearchOptions<D>,
  read: (filters: Record<string, unknown>) => Promise<object[]>,
): List<JobOf<D>> {
  const pageSize = checkedPageSize(options);
  const filters = filterKeys({ ...options, type: options.type ?? typesOf(options.job) });
  return listRows(pageSize, (page) => read({ ...filters, ...page }));
}

/** A list whose pages go on after the id of their last row. */
export function listRows<T extends { readonly id: string }>(
  limit: number,
  read: (page: { readonly limit: number; readonly cursor: string | undefined }) => Promise<object[]>,
): List<T> {
  return new List(async (cursor) => {
    if (cursor !== undefined) checkUuid(cursor, "cursor");
    const items = fromRows<T>(await read({ limit, cursor }));
    return { items, cursor: items.length === limit ? items.at(-1)?.id : undefined };
  });
}

export function typesOf(jobs: JobDefinition | readonly JobDefinition[] | undefined): string[] | undefined {
  return jobs === undefined ? undefined : [jobs].flat().map((job) => job.type);
}

export function checkedPageSize(options: PageOptions): number {
  const { pageSize = bounds.pageSize.default } = options;
  checkRange(pageSize, "pageSize", bounds.pageSize);
  return pageSize;
}
