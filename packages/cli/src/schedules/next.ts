/** `jobforge schedules next`: shows the next runs of a schedule or a cron expression. */
import type { JobForge } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { ago, wholeNumber } from "../output/values.ts";
import { type OneOptions, ofOne, requireOne } from "./one.ts";

interface NextOptions extends OneOptions {
  readonly cron?: string;
  readonly timezone?: string;
  readonly count: number;
}

export function nextCommand(schedules: Command, cli: Cli): void {
  ofOne(
    addCommand(schedules, "next [type] [key]", {
      summary: "Show the next runs of a schedule or of a cron expression",
      examples: [
        "jobforge schedules next report.build weekly",
        'jobforge schedules next --cron "0 9 * * mon-fri" --timezone Europe/Berlin --count 10',
      ],
    }),
  )
    .option("--cron <expression>", "a cron expression instead of a schedule")
    .option("--timezone <name>", "the time zone of the cron expression (default: UTC)")
    .option("--count <number>", "the number of runs", wholeNumber("--count", { min: 1, max: 1000 }), 5)
    .action(
      action(cli, (type: string | undefined, key: string | undefined, options: NextOptions) =>
        next(cli, type, key, options),
      ),
    );
}

async function next(
  cli: Cli,
  type: string | undefined,
  key: string | undefined,
  options: NextOptions,
): Promise<number> {
  const { cron, timezone, count: wanted } = options;
  if ((cron === undefined) === (type === undefined || key === undefined))
    throw new UsageError("Pass either the type and key of a schedule, or --cron.");
  return await connected(cli, options, async ({ forge }, output) => {
    const runs =
      cron === undefined
        ? await runsOf(forge, type ?? "", key ?? "", options)
        : await cronRuns(forge, cron, timezone, undefined, wanted);
    output.result({ items: runs, cursor: null }, () =>
      runs.length === 0 ? "No next run.\n" : runs.map((at) => `${at.toISOString()}  ${ago(at)}\n`).join(""),
    );
    return exitCodes.ok;
  });
}

/**
 * Returns the next run of the schedule, and further runs by its cron expression. For schedules of other kinds only the
 * next run is known, because it depends on chance or on the handler.
 */
async function runsOf(forge: JobForge, type: string, key: string, options: NextOptions): Promise<Date[]> {
  const { enabled, nextRunAt, cron, timezone, endsAt } = await requireOne(forge, type, key, options.tenant);
  if (!enabled || nextRunAt === undefined) return [];
  const more = options.count - 1;
  const later =
    cron === undefined || more === 0 ? [] : await cronRuns(forge, cron, timezone, nextRunAt, more);
  return [nextRunAt, ...later.filter((at) => endsAt === undefined || at <= endsAt)];
}

async function cronRuns(
  forge: JobForge,
  cron: string,
  timezone: string | undefined,
  after: Date | undefined,
  wanted: number,
): Promise<Date[]> {
  const runs = await forge.transport.call<string[]>("jobforge_cron_runs", {
    p_expression: cron,
    p_timezone: timezone,
    p_after: after,
    p_count: wanted,
  });
  return runs.map((at) => new Date(at));
}
