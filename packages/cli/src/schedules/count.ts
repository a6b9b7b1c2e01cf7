/** `jobforge schedules count`: counts schedules by type. */
import type { ScheduleCount } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { addCommand, type Cli, type CommonOptions, listing, onDatabase } from "../command.ts";
import type { Column } from "../output/table.ts";
import { ago, estimate, readTenant } from "../output/values.ts";

interface CountOptions extends CommonOptions {
  readonly tenant?: string;
}

const numbers = ["schedules", "enabled", "due", "overdue", "running", "failing"] as const;

const columns: readonly Column<ScheduleCount>[] = [
  { title: "type", value: ({ type }) => type, shrinks: true },
  ...numbers.map((title) => ({
    title,
    value: (row: ScheduleCount) => estimate(row[title], row.exact),
    align: "right" as const,
  })),
  { title: "oldest", value: ({ oldestDueAt }) => ago(oldestDueAt), shrinks: "away" },
];

export function countCommand(schedules: Command, cli: Cli): void {
  onDatabase(
    addCommand(schedules, "count", {
      summary: "Count schedules by type: how many are enabled, due, overdue, running and failing",
      examples: ["jobforge schedules count", "jobforge schedules count --tenant org_123 --json"],
    }),
  )
    .option("--tenant <id>", "schedules of this tenant (default: of all tenants)", readTenant)
    .action(
      listing(cli, columns, "No schedules.", (forge, { tenant: tenantId }: CountOptions) =>
        forge.schedules.count({ tenantId }),
      ),
    );
}
