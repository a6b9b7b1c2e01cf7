/** `jobforge jobs list`: lists jobs. */
import { bounds } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { wholeNumber } from "../output/values.ts";
import { jobColumns } from "./columns.ts";
import { type FilterOptions, jobsOf, withFilters } from "./filters.ts";
import { redactor } from "./redact.ts";

interface ListOptions extends CommonOptions, FilterOptions {
  readonly limit: number;
  readonly cursor?: string;
}

export function listCommand(jobs: Command, cli: Cli): void {
  const command = addCommand(jobs, "list", {
    summary: "List jobs, the newest first",
    examples: [
      "jobforge jobs list --status failed,dead --finished-after 1h",
      "jobforge jobs list --type mail.send --tenant 11111111-1111-4111-8111-111111111111 --json",
    ],
  });
  withFilters(onDatabase(command))
    .option("--limit <number>", "the number of jobs per page", wholeNumber("--limit", bounds.pageSize), 50)
    .option("--cursor <cursor>", "continue after a page")
    .action(action(cli, (options: ListOptions) => list(cli, options)));
}

async function list(cli: Cli, options: ListOptions): Promise<undefined> {
  await connected(cli, options, async ({ forge }, output) => {
    const page = await jobsOf(forge, options, options.limit).page(options.cursor);
    // The table shows no payloads.
    const items = output.json ? await Promise.all(page.items.map(redactor(forge))) : page.items;
    output.list(items, jobColumns, { empty: "No jobs.", cursor: page.cursor });
  });
}
