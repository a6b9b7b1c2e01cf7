/** `jobforge dead`: lists failed and dead jobs by kind of error, and retries or deletes a group. */
import { bounds, type DeadGroup, type JobForge } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addGroup,
  type Cli,
  type CommonOptions,
  connected,
  listing,
  onDatabase,
} from "../command.ts";
import { NotFoundError, UsageError } from "../failures.ts";
import { type BulkWork, changeMany, requireFilter } from "../jobs/bulk.ts";
import { areRetryable, type FilterOptions, filtersOf, retryable, withFilters } from "../jobs/filters.ts";
import { retrying } from "../jobs/steer.ts";
import type { Column } from "../output/table.ts";
import { ago, wholeNumber } from "../output/values.ts";

interface DeadOptions extends CommonOptions, FilterOptions {
  readonly limit: number;
  readonly yes?: boolean;
  readonly all?: boolean;
}

const columns: readonly Column<DeadGroup>[] = [
  { title: "group", value: (group) => group.errorGroup, tone: () => "cyan" },
  { title: "jobs", value: (group) => group.jobs, align: "right" },
  { title: "tenants", value: tenantsOf, shrinks: "away", least: 8 },
  { title: "type", value: (group) => group.type, shrinks: true },
  { title: "first", value: (group) => ago(group.firstAt), shrinks: "away" },
  { title: "last", value: (group) => ago(group.lastAt) },
  { title: "error", value: (group) => group.message, shrinks: "first", least: 32, tone: () => "red" },
];

export function deadCommands(program: Command, cli: Cli): void {
  const dead = addGroup(program, "dead", "List, retry and delete failed and dead jobs by kind of error");
  withFilters(
    onDatabase(
      addCommand(dead, "list", {
        summary: "List failed and dead jobs, grouped by type and kind of error",
        details: "Errors are of the same kind if they differ only in ids, numbers and quoted texts.",
        examples: ["jobforge dead list", "jobforge dead list --type mail.send --finished-after 1d --json"],
      }),
    ),
  )
    .option(
      "--limit <number>",
      "the maximum number of groups",
      wholeNumber("--limit", bounds.deadGroups),
      bounds.deadGroups.default,
    )
    .action(
      listing(cli, columns, "No failed or dead jobs.", (forge, options: DeadOptions) =>
        forge.jobs.deadGroups({ ...filtersOf(options), tenantId: options.tenant, limit: options.limit }),
      ),
    );
  change(dead, cli, "retry [group]", retrying, {
    summary: "Run the jobs of a group again now",
    details: "Each job gets its full number of executions again.",
    examples: ["jobforge dead retry 4f1c09a2be77", "jobforge dead retry --type mail.send --yes"],
  });
  change(dead, cli, "purge [group]", purging, {
    summary: "Delete the jobs of a group before their retention time is over",
    details: "Their results, attempts and idempotency keys are deleted as well.",
    examples: ["jobforge dead purge 4f1c09a2be77", "jobforge dead purge --finished-before 14d --yes"],
  });
}

/** The label of the only tenant, or the number of tenants. */
function tenantsOf({ tenantIds, tenantLabels }: DeadGroup): string | number {
  const [label] = tenantLabels;
  return tenantIds.length === 1 && typeof label === "string" ? label : tenantIds.length;
}

function purging(forge: JobForge): BulkWork {
  return {
    change: "purge",
    verb: "permanently deletes",
    done: "deleted",
    apply: (filters) => forge.jobs.purge(filters),
  };
}

/** Adds a command that changes the jobs of a group, or the jobs that match filters. */
function change(
  dead: Command,
  cli: Cli,
  usage: string,
  how: (forge: JobForge) => BulkWork,
  description: Parameters<typeof addCommand>[2],
): void {
  withFilters(onDatabase(addCommand(dead, usage, description)))
    .option("--all", "all failed and dead jobs, if neither a group nor a filter is given")
    .option("--yes", "do not ask for confirmation")
    .action(
      action(cli, (group: string | undefined, options: DeadOptions) => {
        const status = options.status ?? retryable;
        if (!areRetryable(status))
          throw new UsageError("Only failed and dead jobs can be changed: --status failed or --status dead.");
        const asked = group === undefined ? options : { ...options, errorGroup: group };
        requireFilter(asked, options.all, "a group of jobs");
        const filters = filtersOf({ ...asked, status });
        return connected(cli, options, async ({ forge }, output) => {
          if (group !== undefined) await requireGroup(forge, group, options);
          return await changeMany(cli, output, forge, how(forge), filters, options);
        });
      }),
    );
}

async function requireGroup(forge: JobForge, group: string, { tenant }: DeadOptions): Promise<void> {
  const [found] = await forge.jobs.deadGroups({ errorGroup: group, tenantId: tenant, limit: 1 });
  if (found === undefined) throw new NotFoundError(`There is no group ${group}. See jobforge dead list.`);
}
