/** `jobforge schedules list`: lists schedules. */
import { bounds, defineJob, intervalText, type Schedule } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { redactor } from "../jobs/redact.ts";
import type { Column } from "../output/table.ts";
import { ago, collect, readTenant, wholeNumber } from "../output/values.ts";

interface ListOptions extends CommonOptions {
  readonly tenant?: string;
  readonly type?: string[];
  readonly enabled?: boolean;
  readonly disabled?: boolean;
  readonly failing?: boolean;
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
  { title: "tenant", value: ({ tenantLabel }) => tenantLabel, optional: true, shrinks: "away", least: 8 },
  { title: "error", value: ({ lastError }) => lastError, shrinks: "first" },
];

export function describeRhythm({ kind, cron, timezone, every }: Schedule): string {
  if (cron !== undefined) return `${cron} ${timezone ?? "UTC"}`;
  return every === undefined ? kind : `every ${intervalText(every)}`;
}

function describeNext({ enabled, runningSince, nextRunAt }: Schedule): string {
  if (!enabled) return "disabled";
  return nextRunAt === undefined && runningSince !== undefined ? "running" : ago(nextRunAt);
}

export function listCommand(schedules: Command, cli: Cli): void {
  onDatabase(
    addCommand(schedules, "list", {
      summary: "List schedules, sorted by tenant, type and key",
      examples: ["jobforge schedules list", "jobforge schedules list --type fetch_feed --failing --json"],
    }),
  )
    .option("--tenant <id>", "schedules of this tenant (default: of all tenants)", readTenant)
    .option("--type <type>", "schedules of this type; repeat the option or separate types by commas", collect)
    .option("--enabled", "only enabled schedules")
    .option("--disabled", "only disabled schedules")
    .option("--failing", "only schedules whose last run failed")
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
  const { tenant: tenantId, type, failing, limit: pageSize } = options;
  if (options.enabled && options.disabled)
    throw new UsageError("Pass either --enabled or --disabled, not both.");
  const enabled = options.enabled ?? (options.disabled ? false : undefined);
  return await connected(cli, options, async ({ forge }, output) => {
    const job = type?.map((each) => defineJob({ type: each }));
    const page = await forge.schedules
      .list({ tenantId, job, enabled, failing, pageSize })
      .page(options.cursor);
    const items = output.json ? await Promise.all(page.items.map(redactor(forge))) : page.items;
    output.list(items, columns, { empty: "No schedules.", cursor: page.cursor });
    return exitCodes.ok;
  });
}
