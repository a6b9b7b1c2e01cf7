/** `jobforge schedules list`: lists schedules. */
import {
  bounds,
  globalTenant,
  intervalText,
  type Schedule,
  type ScheduleOrder,
  scheduleOrders,
} from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { redactor } from "../jobs/redact.ts";
import type { Column } from "../output/table.ts";
import { ago, readTenant, wholeNumber } from "../output/values.ts";
import { type FilterOptions, filtersOf, withFilters } from "./filters.ts";

interface ListOptions extends CommonOptions, FilterOptions {
  readonly tenant?: string;
  readonly order?: ScheduleOrder;
  readonly limit: number;
  readonly cursor?: string;
}

const columns: readonly Column<Schedule>[] = [
  { title: "type", value: (schedule) => schedule.type, shrinks: true },
  { title: "key", value: (schedule) => schedule.key, shrinks: true },
  { title: "runs", value: describeRhythm },
  { title: "next", value: describeNext, tone: ({ enabled }) => (enabled ? undefined : "yellow") },
  { title: "last", value: ({ lastRunAt }) => ago(lastRunAt), shrinks: "away" },
  {
    title: "ended",
    value: ({ lastStatus, consecutiveFailures }) =>
      consecutiveFailures > 0 ? `failed × ${consecutiveFailures}` : lastStatus,
    tone: ({ consecutiveFailures }) => (consecutiveFailures > 0 ? "red" : "green"),
  },
  // With the type and the key it names the schedule, so other commands need it.
  { title: "tenant", value: tenantOf, optional: true, shrinks: "away", least: 8 },
  { title: "error", value: ({ lastError }) => lastError, shrinks: "first" },
];

export function describeRhythm({ kind, cron, timezone, every }: Schedule): string {
  if (cron !== undefined) return `${cron} ${timezone ?? "UTC"}`;
  return every === undefined ? kind : `every ${intervalText(every)}`;
}

function tenantOf({ tenantId, tenantLabel }: Schedule): string | undefined {
  return tenantLabel ?? (tenantId === globalTenant ? undefined : tenantId);
}

function describeNext({ enabled, runningSince, nextRunAt }: Schedule): string {
  if (!enabled) return "disabled";
  return nextRunAt === undefined && runningSince !== undefined ? "running" : ago(nextRunAt);
}

export function listCommand(schedules: Command, cli: Cli): void {
  withFilters(
    onDatabase(
      addCommand(schedules, "list", {
        summary: "List schedules, sorted by tenant, type and key, or by the next run",
        examples: [
          "jobforge schedules list",
          "jobforge schedules list --overdue --order next_run_at",
          "jobforge schedules list --type fetch_feed --failing --json",
        ],
      }),
    ).option("--tenant <id>", "schedules of this tenant (default: of all tenants)", readTenant),
  )
    .addOption(
      new Option(
        "--order <order>",
        "by tenant, type and key, or the earliest next run first (default: name)",
      ).choices(scheduleOrders),
    )
    .option(
      "--limit <number>",
      "the number of schedules per page",
      wholeNumber("--limit", bounds.pageSize),
      50,
    )
    .option("--cursor <cursor>", "continue after a page")
    .action(action(cli, (options: ListOptions) => list(cli, options)));
}

async function list(cli: Cli, options: ListOptions): Promise<number> {
  const { tenant: tenantId, order, limit: pageSize } = options;
  const filters = filtersOf(options);
  return await connected(cli, options, async ({ forge }, output) => {
    const page = await forge.schedules.list({ ...filters, tenantId, order, pageSize }).page(options.cursor);
    const items = output.json ? await Promise.all(page.items.map(redactor(forge))) : page.items;
    output.list(items, columns, { empty: "No schedules.", cursor: page.cursor });
    return exitCodes.ok;
  });
}
