/** `jobforge dead`: failed and dead jobs by kind of error; run a group again, or forget it. */
import type { DeadGroup, JobForge } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import {
  action,
  addCommand,
  addFamily,
  type Cli,
  type CommonOptions,
  connected,
  listing,
  onDatabase,
} from "../command.ts";
import { NotFoundError, UsageError } from "../failures.ts";
import { type BulkChange, changeMany, requireFilter } from "../jobs/bulk.ts";
import { type FilterOptions, filtersOf, withFilters } from "../jobs/filters.ts";
import { retrying } from "../jobs/steer.ts";
import type { Column } from "../output/table.ts";
import { ago, readWhole } from "../output/values.ts";

interface DeadOptions extends CommonOptions, FilterOptions {
  readonly limit: number;
  readonly yes?: boolean;
  readonly all?: boolean;
}

const columns: readonly Column<DeadGroup>[] = [
  { title: "group", value: (group) => group.errorGroup, tone: () => "cyan" },
  { title: "jobs", value: (group) => group.jobs, align: "right" },
  { title: "tenants", value: (group) => group.tenantIds.length, align: "right" },
  { title: "type", value: (group) => group.type, shrinks: true },
  { title: "first", value: (group) => ago(group.firstAt) },
  { title: "last", value: (group) => ago(group.lastAt) },
  { title: "error", value: (group) => group.message, shrinks: true, tone: () => "red" },
];

export function deadCommands(program: Command, cli: Cli): void {
  const dead = addFamily(program, "dead", "Failed and dead jobs by kind of error");
  withFilters(
    onDatabase(
      addCommand(dead, "list", {
        summary: "List failed and dead jobs, grouped by type and kind of error",
        details: "Errors are of one kind when they differ in ids, numbers and quoted texts only.",
        examples: ["jobforge dead list", "jobforge dead list --type mail.send --finished-after 1d --json"],
      }),
    ),
  )
    .option("--limit <number>", "groups, at most", (given) => readWhole(given, "--limit", 1, 1000), 50)
    .action(
      listing(cli, columns, "Nothing is failed or dead.", (forge, options: DeadOptions) =>
        forge.jobs.deadGroups({ ...filtersOf(options), tenantId: options.tenant, limit: options.limit }),
      ),
    );
  change(dead, cli, "retry [group]", retrying, {
    summary: "Run the jobs of a group again, now",
    details: "They get a fresh budget of executions.",
    examples: ["jobforge dead retry 4f1c09a2be77", "jobforge dead retry --type mail.send --yes"],
  });
  change(dead, cli, "purge [group]", purging, {
    summary: "Forget the jobs of a group before their time",
    details: "Their results, attempts and idempotency keys go with them.",
    examples: ["jobforge dead purge 4f1c09a2be77", "jobforge dead purge --finished-before 14d --yes"],
  });
}

function purging(forge: JobForge): BulkChange {
  return {
    change: "purge",
    verb: "forgets for good",
    done: "forgotten",
    apply: (filters) => forge.jobs.purge(filters),
  };
}

/** A command that changes the jobs of a group, or those that filters mean. */
function change(
  dead: Command,
  cli: Cli,
  usage: string,
  how: (forge: JobForge) => BulkChange,
  description: Parameters<typeof addCommand>[2],
): void {
  withFilters(onDatabase(addCommand(dead, usage, description)))
    .option("--all", "all failed and dead jobs, when neither a group nor a filter is given")
    .option("--yes", "do not ask")
    .action(
      action(cli, (group: string | undefined, options: DeadOptions) => {
        const status = options.status ?? ["failed", "dead"];
        if (status.some((each) => each !== "failed" && each !== "dead"))
          throw new UsageError("This is for failed and dead jobs: --status failed or --status dead.");
        const asked = group === undefined ? options : { ...options, errorGroup: group };
        requireFilter(asked, options.all);
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
