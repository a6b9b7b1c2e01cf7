/** Changes of many jobs: how many they are, a question, and then batch after batch. */
import type { BulkFilters, BulkResult, JobCount, JobFilters, JobForge, JobStatus } from "@jobforge/sdk-ts";
import type { Cli } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import type { Output } from "../output/output.ts";
import { count } from "../output/values.ts";
import { type FilterOptions, hasFilters } from "./filters.ts";

export interface BulkChange {
  readonly change: "cancel" | "reschedule" | "purge";
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

/** Small batches hold few locks. A running job that is asked to stop goes on matching until it has ended, so those come in one. */
const batchOf = (status: JobStatus): number => (status === "running" ? 10_000 : 1000);

/** Changes what the filters mean, tenant by tenant. Exit code 1 when some could not be changed. */
export async function changeMany(
  cli: Cli,
  output: Output,
  forge: JobForge,
  { change, verb, done, apply }: BulkChange,
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
  try {
    for (const tenantId of tenants) {
      for (const status of new Set(statusesOf(tenantId, counts))) {
        const limit = batchOf(status);
        for (;;) {
          const answer = await apply({ ...filters, status, tenantId, limit });
          changed += answer.changed;
          progress.at(changed, matched);
          if (answer.matched < limit || answer.changed === 0) break;
        }
      }
    }
  } finally {
    progress.end();
  }
  const left = Math.max(0, matched - changed);
  output.answer({ matched, changed, tenants: tenants.length }, () => {
    const remainder =
      left === 0 ? "" : ` ${count(left, "job")} changed meanwhile or are held by another transaction.`;
    return matched === 0 ? "No such jobs.\n" : `${count(changed, "job")} ${done}.${remainder}\n`;
  });
  return left === 0 ? exitCodes.ok : exitCodes.failed;
}

function statusesOf(tenantId: string, counts: readonly JobCount[]): JobStatus[] {
  return counts.filter((each) => each.tenantId === tenantId).map((each) => each.status);
}

/** Changing every job of every tenant is not what somebody means who forgot the filter. */
export function requireFilter(options: FilterOptions, all: boolean | undefined): void {
  if (all || options.tenant !== undefined || hasFilters(options)) return;
  throw new UsageError(
    "Say which jobs: name one, or filter with --type, --status and the like. --all means every job there is.",
  );
}
