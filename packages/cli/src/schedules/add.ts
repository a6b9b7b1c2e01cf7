/** `jobforge schedules add`: creates or updates a schedule. */
import {
  defineJob,
  type MissedMode,
  missedModes,
  type OverlapMode,
  overlapModes,
  type Rhythm,
} from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import { redactor } from "../jobs/redact.ts";
import { choice } from "../output/values.ts";
import { inWords, type OneOptions, ofOne } from "./one.ts";

interface RhythmOptions {
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: string;
  readonly dynamic?: true;
}

interface AddOptions extends OneOptions, RhythmOptions {
  readonly payload?: string;
  readonly overlap?: OverlapMode;
  readonly missed?: MissedMode;
  readonly retryRuns?: boolean;
  readonly disabled?: boolean;
}

export function addScheduleCommand(schedules: Command, cli: Cli): void {
  withRhythm(
    ofOne(
      addCommand(schedules, "add <type> <key>", {
        summary: "Create a schedule, or update it to match the options",
        details: [
          "Exactly one of --cron, --every and --dynamic defines when it runs.",
          "The key distinguishes the schedules of a type.",
        ].join(" "),
        examples: [
          'jobforge schedules add report.build weekly --cron "0 9 * * mon" --timezone Europe/Berlin',
          `jobforge schedules add fetch_feed feed-1 --every 15m --payload '{"feed": 1}'`,
        ],
      }),
    ),
  )
    .option("--payload <json>", "the payload of each run: JSON, @file, or - for standard input")
    .option("--overlap <mode>", `what happens if it is due while it is running: ${choice(overlapModes)}`)
    .option("--missed <mode>", `what happens if due times passed without a worker: ${choice(missedModes)}`)
    .option(
      "--retry-runs",
      "retry a failed run by the policy of the type, instead of waiting for the next run",
    )
    .option("--disabled", "do not run it until it is enabled")
    .action(action(cli, (type: string, key: string, options: AddOptions) => add(cli, type, key, options)));
}

async function add(cli: Cli, type: string, key: string, options: AddOptions): Promise<number> {
  const rhythm = rhythmOf(options);
  const payload = await readPayload(cli, options.payload);
  return await connected(cli, options, async ({ forge }, output) => {
    const { tenant: tenantId, overlap, missed, retryRuns, disabled } = options;
    const schedule = await forge.schedules.ensure(defineJob({ type }), key, {
      ...rhythm,
      ...{ tenantId, payload, overlap, missed, retryRuns },
      enabled: disabled ? false : undefined,
    });
    const { outcome } = schedule;
    output.result(
      await redactor(forge)(schedule),
      () => `${type} ${key} ${output.style("green", outcome)}; ${inWords(schedule)}\n`,
    );
    return exitCodes.ok;
  });
}

function withRhythm(command: Command): Command {
  return command
    .option("--cron <expression>", 'run at the times of a cron expression, such as "0 9 * * mon-fri"')
    .option("--timezone <name>", "the time zone of the cron expression (default: UTC)")
    .option("--every <interval>", "run at an interval, such as 15m or 1h30m")
    .option("--dynamic", "the handler sets the time of the next run");
}

function rhythmOf({ cron, timezone, every, dynamic }: RhythmOptions): Rhythm {
  if ([cron, every, dynamic].filter((each) => each !== undefined).length !== 1)
    throw new UsageError("Pass exactly one of --cron, --every and --dynamic.");
  if (timezone !== undefined && cron === undefined) throw new UsageError("--timezone needs --cron.");
  if (cron !== undefined) return { cron, timezone };
  if (every === undefined) return { dynamic: true };
  // Postgres reads a number without a unit as seconds.
  if (/^[\d.\s]*$/.test(every))
    throw new UsageError(`--every "${every}" has no unit. Use a form such as 90s, 15m, 1h30m or 1d.`);
  return { every };
}
