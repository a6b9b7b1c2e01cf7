/** The options that select jobs. They are passed to the database as filters, and the database interprets them. */
import {
  type Job,
  type JobFilters,
  type JobForge,
  type JobStatus,
  jobStatuses,
  type List,
} from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { Option } from "commander";
import { collect, readTenant, readText, readTime } from "../output/values.ts";

export interface FilterOptions {
  readonly tenant?: string;
  readonly status?: readonly string[];
  readonly type?: string[];
  readonly tag?: string[];
  readonly subject?: string;
  readonly error?: string;
  readonly errorGroup?: string;
  readonly createdAfter?: Date;
  readonly createdBefore?: Date;
  readonly finishedAfter?: Date;
  readonly finishedBefore?: Date;
}

/** The statuses of jobs that can be retried or deleted by filters. */
export const retryable: readonly JobStatus[] = ["failed", "dead"];

export function areRetryable(statuses: readonly string[]): boolean {
  return statuses.every((each) => retryable.some((status) => status === each));
}

const severalTimes = "repeat it or separate values by commas";

export function withFilters(command: Command): Command {
  const time = (given: string): Date => readTime(given, "back");
  const filters = [
    new Option("--tenant <id>", "jobs of this tenant (default: of all tenants, for operators)").argParser(
      readTenant,
    ),
    new Option(
      "--status <status>",
      `jobs with this status: ${jobStatuses.join(", ")}; ${severalTimes}`,
    ).argParser(collect),
    new Option("--type <type>", `jobs of this type; ${severalTimes}`).argParser(collect),
    new Option("--tag <tag>", `jobs with this tag; ${severalTimes} to require all the tags`).argParser(
      collect,
    ),
    new Option("--subject <text>", "jobs with this subject").argParser(readText),
    new Option("--error <text>", "jobs whose error contains this text").argParser(readText),
    new Option("--error-group <group>", "jobs with this kind of error, see jobforge dead list").argParser(
      readText,
    ),
    new Option("--created-after <time>", "a time, or a time span such as 2h").argParser(time),
    new Option("--created-before <time>", "a time, or a time span such as 2h").argParser(time),
    new Option("--finished-after <time>", "a time, or a time span such as 2h").argParser(time),
    new Option("--finished-before <time>", "a time, or a time span such as 2h").argParser(time),
  ];
  for (const filter of filters) command.addOption(filter);
  return command;
}

export function filtersOf(options: FilterOptions): JobFilters {
  const { type, tag: tags, subject, error: errorContains, errorGroup } = options;
  const { createdAfter, createdBefore, finishedAfter, finishedBefore } = options;
  // The client rejects an unknown status and lists the valid ones.
  const status = options.status as readonly JobStatus[] | undefined;
  const times = { createdAfter, createdBefore, finishedAfter, finishedBefore };
  return { status, type, tags, subject, errorContains, errorGroup, ...times };
}

/** Whether there is any filter besides the tenant. */
export function hasFilters(options: FilterOptions): boolean {
  return Object.values(filtersOf(options)).some((value) => value !== undefined);
}

/** Returns the jobs of one tenant, or of all tenants. */
export function jobsOf(forge: JobForge, options: FilterOptions, pageSize: number): List<Job> {
  const filters = { ...filtersOf(options), pageSize };
  return options.tenant === undefined
    ? forge.jobs.search(filters)
    : forge.list({ ...filters, tenantId: options.tenant });
}
