/** Changes many jobs: counts them, asks for confirmation, and then works batch by batch. */
import {
  type BulkChange,
  type BulkFilters,
  type BulkResult,
  bounds,
  type JobCount,
  type JobFilters,
  type JobForge,
  type JobStatus,
} from "@jobforge/sdk-ts";
import type { Cli } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import type { Output } from "../output/output.ts";
import { count } from "../output/values.ts";
import { type FilterOptions, hasFilters } from "./filters.ts";

/** How a command changes many jobs. */
export interface BulkWork {
  readonly change: BulkChange;
  /** As in "This cancels 12 jobs." */
  readonly verb: string;
  /** As in "12 jobs canceled." */
  readonly done: string;
  readonly apply: (filters: BulkFilters) => Promise<BulkResult>;
}

export interface BulkOptions {
  readonly tenant?: string | undefined;
  readonly yes?: boolean | undefined;
}

/**
 * Small batches hold few locks. A running job that is asked to stop still matches the filters until it is finished, so
 * running jobs are changed in a single batch.
 */
const batchOf = (status: JobStatus): number =>
  status === "running" ? bounds.bulkLimit.max : bounds.bulkLimit.default;

/** A count ends here. If it is reached, more jobs and more tenants may match. */
const mostCounted = 100_000;

/** Changes the jobs that match the filters, tenant by tenant. Exit code 1 if some could not be changed. */
export async function changeMany(
  cli: Cli,
  output: Output,
  forge: JobForge,
  work: BulkWork,
  filters: JobFilters,
  options: BulkOptions,
): Promise<number> {
  const { change, verb, done } = work;
  const counted = async (): Promise<JobCount[]> =>
    await forge.jobs.count({ ...filters, tenantId: options.tenant, change });
  const counts = await counted();
  if (counts.length > 0) {
    const least = jobsOf(counts) < mostCounted ? "" : "at least ";
    const scope =
      options.tenant === undefined ? ` of ${least}${count(tenantsOf(counts).size, "tenant")}` : "";
    await confirm(`This ${verb} ${least}${count(jobsOf(counts), "job")}${scope}.`, options.yes, cli.process);
  }
  const progress = output.progress(`${change}:`);
  const result = await changeCounted(counts, counted, work, filters, progress.at).finally(progress.end);
  const left = Math.max(0, result.matched - result.changed);
  output.result(result, () => {
    const remainder =
      left === 0 ? "" : ` Not changed: ${count(left, "job")}, changed or locked by another transaction.`;
    return result.matched === 0
      ? "No jobs match.\n"
      : `${count(result.changed, "job")} ${done}.${remainder}\n`;
  });
  return left === 0 ? exitCodes.ok : exitCodes.failed;
}

interface Changed {
  readonly matched: number;
  readonly changed: number;
  readonly tenants: number;
}

/** Changes the jobs that were counted. A count that reached its end is repeated for the jobs of further tenants. */
async function changeCounted(
  first: readonly JobCount[],
  countAgain: () => Promise<JobCount[]>,
  { apply }: BulkWork,
  filters: JobFilters,
  progress: (done: number, total: number) => void,
): Promise<Changed> {
  const seen = new Set<string>();
  let changed = 0;
  for (let counts = first; ; ) {
    const before = changed;
    const matched = changed + jobsOf(counts);
    if (matched > 0) progress(changed, matched);
    for (const [tenantId, status] of pairsOf(counts)) {
      seen.add(tenantId);
      for await (const batch of batches(apply, { ...filters, tenantId, status }, batchOf(status))) {
        changed += batch;
        progress(changed, Math.max(matched, changed));
      }
    }
    if (jobsOf(counts) < mostCounted || changed === before) return { matched, changed, tenants: seen.size };
    counts = (await countAgain()).filter(
      ({ status, tenantId }) => status !== "running" || !seen.has(tenantId),
    );
  }
}

/** Yields how many jobs each batch changed. */
async function* batches(
  apply: BulkWork["apply"],
  filters: BulkFilters,
  limit: number,
): AsyncGenerator<number> {
  for (;;) {
    const { matched, changed } = await apply({ ...filters, limit });
    yield changed;
    if (matched < limit || changed === 0) return;
  }
}

/** Returns each tenant with each of its statuses once. */
function pairsOf(counts: readonly JobCount[]): (readonly [tenantId: string, status: JobStatus])[] {
  return [...tenantsOf(counts)].flatMap((tenantId) => {
    const statuses = counts.filter((each) => each.tenantId === tenantId).map(({ status }) => status);
    return [...new Set(statuses)].map((status) => [tenantId, status] as const);
  });
}

function tenantsOf(counts: readonly JobCount[]): ReadonlySet<string> {
  return new Set(counts.map(({ tenantId }) => tenantId));
}

function jobsOf(counts: readonly JobCount[]): number {
  return counts.reduce((sum, each) => sum + each.jobs, 0);
}

/** Requires a filter or --all, so that a forgotten filter does not change every job of every tenant. */
export function requireFilter(
  options: FilterOptions,
  all: boolean | undefined,
  one = "the id of a job",
): void {
  if (all || options.tenant !== undefined || hasFilters(options)) return;
  throw new UsageError(`Pass ${one}, filters such as --type or --status, or --all for all jobs.`);
}
