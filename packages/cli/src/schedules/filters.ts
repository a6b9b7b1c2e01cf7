/** The options that select schedules. They are passed to the database as filters, and the database interprets them. */
import { defineJob, type ScheduleFilters } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { UsageError } from "../failures.ts";
import { collect, readText, readTime } from "../output/values.ts";

export interface FilterOptions {
  readonly type?: string[];
  readonly enabled?: boolean;
  readonly disabled?: boolean;
  readonly failing?: boolean;
  readonly due?: boolean;
  readonly overdue?: boolean;
  readonly running?: boolean;
  readonly tag?: string[];
  readonly subject?: string;
  readonly keyPrefix?: string;
  readonly updatedBefore?: Date;
}

const severalTimes = "repeat the option or separate them by commas";

export function withFilters(command: Command): Command {
  return command
    .option("--type <type>", `schedules of this type; for several types, ${severalTimes}`, collect)
    .option("--enabled", "only enabled schedules")
    .option("--disabled", "only disabled schedules")
    .option("--failing", "only schedules whose last run failed")
    .option("--due", "only schedules whose time has come, and that no worker has taken")
    .option("--overdue", "only schedules that are due for more than a minute")
    .option("--running", "only schedules that a worker runs")
    .option("--tag <tag>", `schedules with this tag; to require several tags, ${severalTimes}`, collect)
    .option("--subject <text>", "schedules with this subject", readText)
    .option("--key-prefix <text>", "schedules whose key begins with this text", readText)
    .option(
      "--updated-before <time>",
      "schedules without a change or a run since a time, or for a time span such as 30d",
      (given) => readTime(given, "back"),
    );
}

export function filtersOf(options: FilterOptions): ScheduleFilters {
  if (options.enabled && options.disabled)
    throw new UsageError("Pass either --enabled or --disabled, not both.");
  const { type, failing, due, overdue, running, tag: tags, subject, keyPrefix, updatedBefore } = options;
  const job = type?.map((each) => defineJob({ type: each }));
  const enabled = options.enabled ?? (options.disabled ? false : undefined);
  return { job, enabled, failing, due, overdue, running, tags, subject, keyPrefix, updatedBefore };
}

/** Whether there is any filter. */
export function hasFilters(filters: ScheduleFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}
