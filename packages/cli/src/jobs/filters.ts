/** Which jobs a command means. The words are the kernel's filters; what they mean is decided there. */
import type { Job, JobFilters, JobForge, JobStatus, List } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { Option } from "commander";
import { collect, readText, readTime } from "../output/values.ts";

export interface FilterOptions {
  readonly tenant?: string;
  readonly status?: string[];
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

export const statuses: readonly string[] = ["queued", "running", "succeeded", "failed", "dead", "canceled"];

export function withFilters(command: Command): Command {
  const time = (given: string): Date => readTime(given, "back");
  const filters = [
    new Option("--tenant <uuid>", "jobs of this tenant (default: of all, for operators)"),
    new Option("--status <status>", `${statuses.join(", ")}; repeated or separated by commas`).argParser(
      collect,
    ),
    new Option("--type <type>", "jobs of this type; repeated or separated by commas").argParser(collect),
    new Option(
      "--tag <tag>",
      "jobs that have the tag; repeated or separated by commas: all of them",
    ).argParser(collect),
    new Option("--subject <text>", "jobs about this").argParser(readText),
    new Option("--error <text>", "jobs whose error contains the text").argParser(readText),
    new Option("--error-group <group>", "jobs with this kind of error, see jobforge dead list").argParser(
      readText,
    ),
    new Option("--created-after <time>", "a time, or a span such as 2h").argParser(time),
    new Option("--created-before <time>", "a time, or a span such as 2h").argParser(time),
    new Option("--finished-after <time>", "a time, or a span such as 2h").argParser(time),
    new Option("--finished-before <time>", "a time, or a span such as 2h").argParser(time),
  ];
  for (const filter of filters) command.addOption(filter);
  return command;
}

export function filtersOf(options: FilterOptions): JobFilters {
  const { type, tag: tags, subject, error: errorContains, errorGroup } = options;
  const { createdAfter, createdBefore, finishedAfter, finishedBefore } = options;
  // The client refuses what is no status, and says which there are.
  const status = options.status as JobStatus[] | undefined;
  const times = { createdAfter, createdBefore, finishedAfter, finishedBefore };
  return { status, type, tags, subject, errorContains, errorGroup, ...times };
}

/** Whether anything but a tenant was asked for. */
export function hasFilters(options: FilterOptions): boolean {
  return Object.values(filtersOf(options)).some((value) => value !== undefined);
}

/** The jobs of a tenant, or of all. */
export function jobsOf(forge: JobForge, options: FilterOptions, pageSize: number): List<Job> {
  const filters = { ...filtersOf(options), pageSize };
  return options.tenant === undefined
    ? forge.jobs.search(filters)
    : forge.list({ ...filters, tenantId: options.tenant });
}
