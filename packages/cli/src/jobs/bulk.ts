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

/** Changes the jobs that match the filters, tenant by tenant. Exit code 1 if some could not be changed. */
export async function changeMany(
  cli: Cli,
  output: Output,
  forge: JobForge,
  { change, verb, done, apply }: BulkWork,
  filters: JobFilters,
  options: BulkOptions,
): Promise<number> {
  const counts = await forge.jobs.count({ ...filters, tenantId: options.tenant, change });
  const matched = counts.reduce((sum, each) => sum + each.jobs, 0);
  const tenants = [...new Set(counts.map((each) => each.tenantId))];
  if (matched > 0) {
    const scope = options.tenant === undefined ? ` of ${count(tenants.length, "tenant")}` : "";
    await confirm(`This ${verb} ${count(matched, "job")}${scope}.`, options.yes, cli.process);
  }
  const progress = output.progress(`${change}:`);
  let changed = 0;
  if (matched > 0) progress.at(0, matched);
  try {
    for (const tenantId of tenants) {
      for (const status of new Set(statusesOf(tenantId, counts))) {
        const limit = batchOf(status);
        for (;;) {
          const batch = await apply({ ...filters, status, tenantId, limit });
          changed += batch.changed;
          progress.at(changed, matched);
          if (batch.matched < limit || batch.changed === 0) break;
        }
      }
    }
  } finally {
    progress.end();
  }
  const left = Math.max(0, matched - changed);
  output.result({ matched, changed, tenants: tenants.length }, () => {
    const remainder =
      left === 0 ? "" : ` Not changed: ${count(left, "job")}, changed or locked by another transaction.`;
    return matched === 0 ? "No jobs match.\n" : `${count(changed, "job")} ${done}.${remainder}\n`;
  });
  return left === 0 ? exitCodes.ok : exitCodes.failed;
}

function statusesOf(tenantId: string, counts: readonly JobCount[]): JobStatus[] {
  return counts.filter((each) => each.tenantId === tenantId).map((each) => each.status);
}

/** Requires a filter or --all, so that a forgotten filter does not change every job of every tenant. */
export function requireFilter(options: FilterOptions, all: boolean | undefined): void {
  if (all || options.tenant !== undefined || hasFilters(options)) return;
  throw new UsageError("Pass the id of a job, filters such as --type or --status, or --all for all jobs.");
}
