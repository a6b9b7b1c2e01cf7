/** `jobforge usage`: what was used, by time, type and tenant. */
import { type Dimension, dimensions, type Usage, type UsagePeriod, usagePeriods } from "@jobforge/sdk-ts";
import { type Command, Option } from "commander";
import {
  action,
  addCommand,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
  withPages,
} from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import type { PagingOptions } from "../output/output.ts";
import type { Column } from "../output/table.ts";
import { choice, collect, readTenant, readText, readTime, span } from "../output/values.ts";

interface UsageOptions extends CommonOptions, PagingOptions {
  readonly from?: Date;
  readonly to?: Date;
  readonly per: UsagePeriod;
  readonly by: readonly string[];
  readonly tenant?: string;
  readonly type?: string[];
  readonly timezone?: string;
}

/** How far back the report goes if --from is not given. */
const usualMs = 7 * 86_400_000;

const number = (title: string, value: (usage: Usage) => number): Column<Usage> => ({
  title,
  value: (usage) => value(usage).toLocaleString("en"),
  align: "right",
});

const columns: readonly Column<Usage>[] = [
  { title: "from", value: ({ startAt }) => startAt.toISOString().replace(":00.000Z", "Z") },
  {
    title: "tenant",
    value: ({ tenantLabel, tenantId }) => tenantLabel ?? tenantId,
    shrinks: "first",
    cut: "start",
  },
  { title: "type", value: ({ type }) => type, shrinks: true },
  number("runs", ({ runs }) => runs),
  number("succeeded", ({ succeeded }) => succeeded),
  {
    ...number("failed", ({ failed, lost }) => failed + lost),
    tone: ({ failed, lost }) => (failed + lost > 0 ? "red" : undefined),
  },
  { ...number("dead", ({ dead }) => dead), tone: ({ dead }) => (dead > 0 ? "red" : undefined) },
  { ...number("cents", ({ costCents }) => costCents), shrinks: "away" },
  { title: "run time", value: ({ runMs }) => span(runMs), align: "right", shrinks: "away" },
  { title: "p95 wait", value: ({ waitP95Ms }) => spanOf(waitP95Ms), align: "right", shrinks: "away" },
  { title: "p95 run", value: ({ runP95Ms }) => spanOf(runP95Ms), align: "right", shrinks: "away" },
];

function spanOf(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : span(ms);
}

export function usageCommand(program: Command, cli: Cli): void {
  const time = (given: string): Date => readTime(given, "back");
  const command = addCommand(program, "usage", {
    summary: "Show what was used: runs, how they ended, how long they took and what they cost",
    details: [
      "Counts runs, not jobs: a job that is retried has several.",
      "Whole hours are counted, and runs of the last ten seconds may be missing.",
    ].join(" "),
    examples: [
      "jobforge usage",
      "jobforge usage --from 30d --per total --by tenant",
      "jobforge usage --per hour --from 1d --type mail.send --json",
    ],
  });
  withPages(onDatabase(command), "rows")
    .option("--from <time>", "a time, or a time span before now (default: 7d)", time)
    .option("--to <time>", "a time, or a time span before now (default: now)", time)
    .addOption(
      new Option("--per <period>", `the period of a row: ${choice(usagePeriods)}`)
        .choices(usagePeriods)
        .default("day"),
    )
    .addOption(
      new Option("--by <what>", "split rows by type, tenant, both (type,tenant), or none")
        .argParser(readDimensions)
        .default(["type"], "type"),
    )
    .option("--tenant <id>", "only runs of this tenant (default: of all tenants)", readTenant)
    .option("--type <type>", "only runs of this type; repeat the option or separate types by commas", collect)
    .option(
      "--timezone <name>",
      "the time zone in which days, weeks and months begin (default: UTC)",
      readText,
    )
    .action(action(cli, (options: UsageOptions) => usage(cli, options)));
}

function readDimensions(given: string): Dimension[] {
  if (given === "none") return [];
  const words = collect(given, undefined);
  const unknown = words.find((word) => !dimensions.some((each) => each === word));
  if (unknown !== undefined)
    throw new UsageError(`--by must be type, tenant, type,tenant or none, not "${unknown}".`);
  return dimensions.filter((each) => words.includes(each));
}

async function usage(cli: Cli, options: UsageOptions): Promise<number> {
  const { to, per: bucket, tenant: tenantId, type: types, timezone } = options;
  const from = options.from ?? new Date((to?.getTime() ?? Date.now()) - usualMs);
  const by = options.by as readonly Dimension[];
  return await connected(cli, options, async ({ forge }, output) => {
    const rows = await forge.usage.report({ from, to, bucket, by, tenantId, types, timezone });
    const shown = columns.filter(
      ({ title }) => (title !== "tenant" && title !== "type") || by.some((each) => each === title),
    );
    output.page(rows, shown, { ...options, empty: "No runs ended in this time." });
    return exitCodes.ok;
  });
}
