/** `jobforge schedules add`: creates or updates a schedule. */
import { defineJob, type Rhythm } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import { redactor } from "../jobs/redact.ts";
import { readTime } from "../output/values.ts";
import { inWords, type OneOptions, ofOne } from "./one.ts";
import {
  checkEvery,
  type RhythmOptions,
  type SettingsOptions,
  settingsOf,
  withRhythm,
  withSettings,
} from "./settings.ts";

interface AddOptions extends OneOptions, RhythmOptions, SettingsOptions {
  readonly payload?: string;
  readonly firstRun?: Date;
  readonly disabled?: boolean;
  readonly ifMissing?: boolean;
}

export function addScheduleCommand(schedules: Command, cli: Cli): void {
  withSettings(
    withRhythm(
      ofOne(
        addCommand(schedules, "add <type> <key>", {
          summary: "Create a schedule, or update it to match the options",
          details: [
            "Exactly one of --cron, --every and --dynamic defines when it runs.",
            "The key distinguishes the schedules of a type.",
            "Settings that are not given get their default; to change some of them only, use update.",
          ].join(" "),
          examples: [
            'jobforge schedules add report.build weekly --cron "0 9 * * mon" --timezone Europe/Berlin',
            `jobforge schedules add fetch_feed feed-1 --every 15m --payload '{"feed": 1}'`,
            "jobforge schedules add fetch_feed feed-1 --dynamic --if-missing",
          ],
        }),
      ),
    ),
  )
    .option(
      "--first-run <time>",
      "when a new schedule runs first: a time, or a time span from now; an existing one keeps its next run",
      (given) => readTime(given, "ahead"),
    )
    .option("--disabled", "do not run it until it is enabled")
    .option("--if-missing", "leave an existing schedule as it is")
    .action(action(cli, (type: string, key: string, options: AddOptions) => add(cli, type, key, options)));
}

async function add(cli: Cli, type: string, key: string, options: AddOptions): Promise<number> {
  const rhythm = rhythmOf(options);
  const payload = await readPayload(cli, options.payload);
  return await connected(cli, options, async ({ forge }, output) => {
    const { tenant: tenantId, firstRun: firstRunAt, ifMissing, disabled } = options;
    const schedule = await forge.schedules.ensure(defineJob({ type }), key, {
      ...rhythm,
      ...settingsOf(options),
      ...{ tenantId, payload, firstRunAt, ifMissing },
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

function rhythmOf({ cron, timezone, every, dynamic }: RhythmOptions): Rhythm {
  if ([cron, every, dynamic].filter((each) => each !== undefined).length !== 1)
    throw new UsageError("Pass exactly one of --cron, --every and --dynamic.");
  if (timezone !== undefined && cron === undefined) throw new UsageError("--timezone needs --cron.");
  if (cron !== undefined) return { cron, timezone };
  checkEvery(every);
  return every === undefined ? { dynamic: true } : { every };
}
