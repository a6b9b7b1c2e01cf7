/** `jobforge schedules show`: shows everything about one schedule, and its last runs. */
import { defineJob, intervalText, type Job, type Schedule } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, connected } from "../command.ts";
import { exitCodes } from "../failures.ts";
import { jobColumns } from "../jobs/columns.ts";
import { redactor } from "../jobs/redact.ts";
import { type Fact, factLines, tenantFact, timeFact } from "../output/facts.ts";
import type { Output } from "../output/output.ts";
import { plain } from "../output/terminal.ts";
import { describeRhythm } from "./list.ts";
import { type OneOptions, ofOne, requireOne } from "./one.ts";

/** How many runs are shown. */
const shownRuns = 10;

export function showCommand(schedules: Command, cli: Cli): void {
  ofOne(
    addCommand(schedules, "show <type> <key>", {
      summary: "Show a schedule and its last runs",
      examples: [
        "jobforge schedules show report.build weekly",
        "jobforge schedules show report.build weekly --json",
      ],
    }),
  ).action(
    action(cli, (type: string, key: string, options: OneOptions) =>
      connected(cli, options, async ({ forge }, output) => {
        const job = defineJob({ type });
        const { tenant: tenantId } = options;
        const found = await requireOne(forge, type, key, tenantId);
        const redact = redactor(forge);
        const schedule = await redact(found);
        const { items } = await forge.schedules.runs(job, key, { tenantId, pageSize: shownRuns }).page();
        const runs = await Promise.all(items.map(redact));
        output.result({ ...schedule, runs }, () => describe(output, schedule, runs));
        return exitCodes.ok;
      }),
    ),
  );
}

function describe(output: Output, schedule: Schedule, runs: readonly Job[]): string {
  const { jitter, lastStatus, consecutiveFailures: failures } = schedule;
  const facts: readonly Fact[] = [
    ["id", schedule.id],
    ["tenant", tenantFact(schedule)],
    ["runs", describeRhythm(schedule)],
    ["jitter", jitter === undefined ? undefined : intervalText(jitter)],
    ["enabled", schedule.enabled ? "yes" : "no"],
    ["next run", timeFact(schedule.nextRunAt) ?? "none"],
    ["waiting", timeFact(schedule.waitingSince)],
    ["running", timeFact(schedule.runningSince)],
    ["requested", schedule.runRequested ? "yes" : undefined],
    ["last run", timeFact(schedule.lastRunAt)],
    ["ended", failures > 0 ? `failed × ${failures}` : lastStatus],
    ["error", schedule.lastError],
    ["overlap", schedule.overlap],
    ["missed", schedule.missed],
    ["starts", timeFact(schedule.startsAt)],
    ["ends", timeFact(schedule.endsAt)],
    ["retries", schedule.retryRuns ? "by the policy of the type" : "no: the next run is the retry"],
    ["attempts", (schedule.maxAttempts ?? schedule.defaultAttempts)?.toString()],
    ["priority", String(schedule.priority)],
    ["subject", schedule.subject],
    ["tags", schedule.tags.length > 0 ? schedule.tags.join(", ") : undefined],
    ["concurrency", schedule.concurrencyKey],
    ["declared by", schedule.declaredBy],
    ["payload", JSON.stringify(schedule.payload)],
  ];
  const table = runs.length === 0 ? "" : `\n${output.table(runs, jobColumns)}`;
  return `${plain(`${schedule.type} ${schedule.key}`)}\n${factLines(facts, output.style)}${table}`;
}
