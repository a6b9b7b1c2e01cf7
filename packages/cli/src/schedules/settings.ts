/** The settings that schedules get when they are added, and that can be changed later. */
import {
  bounds,
  type MissedMode,
  missedModes,
  type OverlapMode,
  overlapModes,
  type ScheduleSettings,
} from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { UsageError } from "../failures.ts";
import { choice, collect, readText, readTime, wholeNumber } from "../output/values.ts";

export interface RhythmOptions {
  readonly cron?: string;
  readonly timezone?: string;
  readonly every?: string;
  readonly dynamic?: true;
}

export interface SettingsOptions {
  readonly overlap?: OverlapMode;
  readonly missed?: MissedMode;
  readonly retryRuns?: boolean;
  readonly priority?: number;
  readonly maxAttempts?: number;
  readonly tag?: string[];
  readonly subject?: string;
  readonly concurrencyKey?: string;
  readonly startsAt?: Date;
  readonly endsAt?: Date;
}

export function withRhythm(command: Command): Command {
  return command
    .option("--cron <expression>", 'run at the times of a cron expression, such as "0 9 * * mon-fri"')
    .option("--timezone <name>", "the time zone of the cron expression (default: UTC)")
    .option("--every <interval>", "run at an interval, such as 15m or 1h30m")
    .option("--dynamic", "the handler sets the time of the next run");
}

export function withSettings(command: Command): Command {
  const time = (given: string): Date => readTime(given, "ahead");
  return command
    .option("--payload <json>", "the payload of each run: JSON, @file, or - for standard input")
    .option("--overlap <mode>", `what happens if it is due while it is running: ${choice(overlapModes)}`)
    .option("--missed <mode>", `what happens if due times passed without a worker: ${choice(missedModes)}`)
    .option(
      "--retry-runs",
      "retry a failed run by the policy of the type, instead of waiting for the next run",
    )
    .option("--priority <number>", "the priority of each run", wholeNumber("--priority", bounds.priority))
    .option(
      "--max-attempts <number>",
      "the total number of executions of each run",
      wholeNumber("--max-attempts", bounds.maxAttempts),
    )
    .option("--tag <tag>", "tags of each run; repeat the option or separate them by commas", collect)
    .option("--subject <text>", "what each run is about", readText)
    .option("--concurrency-key <key>", "the key by which concurrency limits count each run", readText)
    .option("--starts-at <time>", "the first time it may run, or a time span from now", time)
    .option("--ends-at <time>", "the last time it may run, or a time span from now", time);
}

/** Returns the settings that are given. */
export function settingsOf(options: SettingsOptions): ScheduleSettings {
  const { overlap, missed, retryRuns, priority, maxAttempts, tag: tags, subject } = options;
  const { concurrencyKey, startsAt, endsAt } = options;
  return {
    overlap,
    missed,
    retryRuns,
    priority,
    maxAttempts,
    tags,
    subject,
    concurrencyKey,
    startsAt,
    endsAt,
  };
}

/** Requires a unit. Postgres reads a number without one as seconds. */
export function checkEvery(every: string | undefined): void {
  if (every !== undefined && /^[\d.\s]*$/.test(every))
    throw new UsageError(`--every "${every}" has no unit. Use a form such as 90s, 15m, 1h30m or 1d.`);
}
