/** Lists, which can be read page by page or as one stream. */
import { checkDefinitionOf } from "../arguments/names.ts";
import { checkDate, checkOneOf, checkRange, checkUuid } from "../arguments/values.ts";
import type { JobDefinition } from "../define/definition.ts";
import { fromRows, toKeys } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds, jobStatuses } from "../words.ts";
import type { JobFilters, JobOf, OfTenant } from "./job.ts";

export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the next page; undefined if this is the last page. */
  readonly cursor: string | undefined;
}

/**
 * A list, newest first unless stated otherwise. It makes no call before a page, or the first item of the stream, is
 * read.
 */
export class List<T> implements AsyncIterable<T> {
  readonly #read: (cursor: string | undefined) => Promise<Page<T>>;

  constructor(read: (cursor: string | undefined) => Promise<Page<T>>) {
    this.#read = read;
  }

  /** One page: the first, or the one after a cursor. */
  page(cursor?: string): Promise<Page<T>> {
    return this.#read(cursor);
  }

  /**
   * All items, read page by page as they are consumed. No item is repeated or left out while others are added or
   * removed.
   */
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
  /** The number of items per page, 1 to 1000. Default 100. A page has at most 8 MiB, so it may have fewer. */
  readonly pageSize?: number | undefined;
}

export interface ListOptions<D extends JobDefinition = JobDefinition>
  extends JobFilters,
    OfTenant,
    PageOptions {
  /** Only jobs of this definition, or of these. It also types the items. */
  readonly job?: D | readonly D[] | undefined;
}

export type SearchOptions<D extends JobDefinition = JobDefinition> = Omit<ListOptions<D>, "tenantId"> &
  Partial<OfTenant>;

/** The filters under the kernel's keys. */
export function filterKeys(filters: JobFilters): Record<string, unknown> {
  for (const status of [filters.status ?? []].flat()) checkOneOf(status, "status", jobStatuses);
  const { status, type, tags, subject, errorContains, errorGroup } = filters;
  const { createdAfter, createdBefore, finishedAfter, finishedBefore } = filters;
  const times = { createdAfter, createdBefore, finishedAfter, finishedBefore };
  // An invalid Date serializes to null, which filters nothing: a bulk change would touch every job.
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

/** A page ends before 8 MiB, and a row has at most 1.2 MiB. So a page with fewer rows was not cut by bytes. */
const fewestRowsOfCutPage = 6;

/**
 * A list whose cursor is the id of the last row of a page. A page with fewer rows than asked for is the last one, or
 * was cut by bytes. Then only the database knows whether more rows follow, so it is asked for one.
 */
export function listRows<T extends { readonly id: string }>(
  limit: number,
  read: (page: { readonly limit: number; readonly cursor: string | undefined }) => Promise<object[]>,
): List<T> {
  return new List(async (cursor) => {
    if (cursor !== undefined) checkUuid(cursor, "cursor");
    const items = fromRows<T>(await read({ limit, cursor }));
    const last = items.at(-1)?.id;
    if (items.length === limit) return { items, cursor: last };
    if (items.length < fewestRowsOfCutPage) return { items, cursor: undefined };
    const next = await read({ limit: 1, cursor: last });
    return { items, cursor: next.length > 0 ? last : undefined };
  });
}

export function typesOf(jobs: JobDefinition | readonly JobDefinition[] | undefined): string[] | undefined {
  if (jobs === undefined) return undefined;
  return [jobs].flat().map((job) => {
    checkDefinitionOf(job);
    return job.type;
  });
}

export function checkedPageSize(options: PageOptions): number {
  const { pageSize = bounds.pageSize.default } = options;
  checkRange(pageSize, "pageSize", bounds.pageSize);
  return pageSize;
}
