/** `jobforge schedules delete`: deletes one schedule, or many by filters. */
import { bounds, defineJob, type JobForge, type ScheduleFilters } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { confirm } from "../output/confirm.ts";
import type { Output } from "../output/output.ts";
import { plain } from "../output/terminal.ts";
import { count } from "../output/values.ts";
import { type FilterOptions, filtersOf, hasFilters, withFilters } from "./filters.ts";
import { type OneOptions, ofOne, requireOne, withOne } from "./one.ts";

interface DeleteOptions extends OneOptions, FilterOptions {
  readonly yes?: boolean;
}

export function deleteCommand(schedules: Command, cli: Cli): void {
  withFilters(
    ofOne(
      addCommand(schedules, "delete [type] [key]", {
        summary: "Delete a schedule, or many of a tenant by filters; a run that has started ends as usual",
        details: "A run that waits is removed from the queue. To stop a schedule for a while, disable it.",
        examples: [
          "jobforge schedules delete report.build weekly --yes",
          "jobforge schedules delete --type fetch_feed --disabled --updated-before 90d --tenant org_123",
        ],
      }),
    ),
  )
    .option("--yes", "do not ask for confirmation")
    .action(
      action(cli, (type: string | undefined, key: string | undefined, options: DeleteOptions) => {
        const filters = filtersOf(options);
        if ((type === undefined) !== hasFilters(filters) || (type === undefined) !== (key === undefined))
          throw new UsageError(
            "Pass either the type and the key of one schedule, or filters such as --type.",
          );
        return connected(cli, options, ({ forge }, output) =>
          type === undefined || key === undefined
            ? deleteMany(cli, output, forge, filters, options)
            : deleteOne(cli, output, forge, [type, key], options),
        );
      }),
    );
}

async function deleteOne(
  cli: Cli,
  output: Output,
  forge: JobForge,
  [type, key]: readonly [string, string],
  { tenant: tenantId, yes }: DeleteOptions,
): Promise<number> {
  await requireOne(forge, type, key, tenantId);
  await confirm(`This deletes the schedule ${plain(`${type} ${key}`)}.`, yes, cli.process);
  await withOne(forge, type, key, () => forge.schedules.delete(defineJob({ type }), key, { tenantId }));
  output.result({ type, key, tenantId, deleted: true }, () => `${plain(`${type} ${key}`)}: deleted.\n`);
  return exitCodes.ok;
}

async function deleteMany(
  cli: Cli,
  output: Output,
  forge: JobForge,
  filters: ScheduleFilters,
  { tenant: tenantId, yes }: DeleteOptions,
): Promise<number> {
  const limit = bounds.scheduleBulkLimit.max;
  let matched = 0;
  for await (const _ of forge.schedules.list({ ...filters, tenantId, pageSize: bounds.pageSize.max }))
    matched++;
  if (matched > 0) await confirm(`This deletes ${count(matched, "schedule")}.`, yes, cli.process);
  let changed = 0;
  for (;;) {
    const batch = await forge.schedules.deleteMany({ ...filters, tenantId, limit });
    changed += batch.changed;
    if (batch.matched < limit || batch.changed === 0) break;
  }
  const left = Math.max(0, matched - changed);
  const remainder = left === 0 ? "" : ` Not deleted: ${left}, changed or locked by another transaction.`;
  output.result({ matched, changed }, () =>
    matched === 0 ? "No schedules match.\n" : `${count(changed, "schedule")} deleted.${remainder}\n`,
  );
  return left === 0 ? exitCodes.ok : exitCodes.failed;
}
