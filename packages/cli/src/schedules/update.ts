/** `jobforge schedules update`: changes some settings of a schedule. */
import { defineJob, type ScheduleChanges } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { readPayload } from "../jobs/payload.ts";
import { redactor } from "../jobs/redact.ts";
import { plain } from "../output/terminal.ts";
import { noneToNull, orNone, readTime } from "../output/values.ts";
import { inWords, type OneOptions, ofOne, withOne } from "./one.ts";
import {
  checkEvery,
  type RhythmOptions,
  type SettingsOptions,
  settingsOf,
  withRhythm,
  withSettings,
} from "./settings.ts";

interface UpdateOptions extends OneOptions, RhythmOptions, SettingsOptions {
  readonly payload?: string;
  readonly mergePayload?: string;
  readonly next?: Date | "none";
  readonly resetFailures?: boolean;
}

export function updateCommand(schedules: Command, cli: Cli): void {
  withSettings(
    withRhythm(
      ofOne(
        addCommand(schedules, "update <type> <key>", {
          summary: "Change some settings of a schedule, or its next run",
          details: "What is not given stays as it is.",
          examples: [
            "jobforge schedules update fetch_feed feed-1 --reset-failures --next 0s",
            `jobforge schedules update fetch_feed feed-1 --merge-payload '{"force": true}'`,
            'jobforge schedules update report.build weekly --cron "0 8 * * mon"',
          ],
        }),
      ),
    ),
  )
    .option("--merge-payload <json>", "replace these keys of the payload, and keep the others")
    .option(
      "--next <time>",
      "when it runs next: a time, or a time span from now; none for no next run",
      orNone((given) => readTime(given, "ahead")),
    )
    .option("--reset-failures", "count failures from zero again, and forget the last error")
    .action(
      action(cli, (type: string, key: string, options: UpdateOptions) => update(cli, type, key, options)),
    );
}

async function update(cli: Cli, type: string, key: string, options: UpdateOptions): Promise<number> {
  const changes = await changesOf(cli, options);
  if (Object.values(changes).every((each) => each === undefined))
    throw new UsageError("Pass what to change, such as --next, --payload or --reset-failures.");
  return await connected(cli, options, async ({ forge }, output) => {
    const { tenant: tenantId } = options;
    const schedule = await withOne(forge, type, key, () =>
      forge.schedules.update(defineJob({ type }), key, changes, { tenantId }),
    );
    output.result(
      await redactor(forge)(schedule),
      () => `${plain(`${type} ${key}`)} updated; ${inWords(schedule)}\n`,
    );
    return exitCodes.ok;
  });
}

async function changesOf(cli: Cli, options: UpdateOptions): Promise<ScheduleChanges> {
  const { cron, timezone, every, dynamic, next, resetFailures } = options;
  checkEvery(every);
  const given = async (text: string | undefined): Promise<unknown> =>
    text === undefined ? undefined : await readPayload(cli, text);
  const payload = await given(options.payload);
  const mergePayload = await given(options.mergePayload);
  if (mergePayload !== undefined && !isObject(mergePayload))
    throw new UsageError("--merge-payload takes a JSON object.");
  return {
    ...{ cron, timezone, every, dynamic, payload, mergePayload, resetFailures },
    ...settingsOf(options),
    nextRunAt: noneToNull(next),
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
