/** `jobforge jobs show`: shows everything about one job. */
import { failureTrace, type Job, type JobAttempt, type JobLog } from "@jobforge/sdk-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, connected, onDatabase } from "../command.ts";
import { type Fact, factLines, tenantFact, timeFact } from "../output/facts.ts";
import type { Output } from "../output/output.ts";
import { toneOf } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { plain } from "../output/terminal.ts";
import { ago, readTenant, span } from "../output/values.ts";
import { findJob } from "./find.ts";
import { logLines } from "./logs.ts";
import { redactor } from "./redact.ts";

interface ShowOptions extends CommonOptions {
  readonly tenant?: string;
}

export function showCommand(jobs: Command, cli: Cli): void {
  onDatabase(
    addCommand(jobs, "show <id>", {
      summary: "Show a job, its attempts, its logs and its result",
      examples: [
        "jobforge jobs show 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10",
        "jobforge jobs show 0199b7a4-5c1e-7d3a-9c55-0d6a2f4b8e10 --json",
      ],
    }),
  )
    .option("--tenant <id>", "the tenant of the job (default: found by the id, for operators)", readTenant)
    .action(action(cli, (id: string, options: ShowOptions) => show(cli, id, options)));
}

async function show(cli: Cli, id: string, options: ShowOptions): Promise<undefined> {
  await connected(cli, options, async (connection, output) => {
    const { forge } = connection;
    const found = await findJob(connection, id, options.tenant);
    const job = await redactor(forge)(found);
    const tenant = { tenantId: job.tenantId };
    const attempts = await forge.attempts(id, tenant);
    const logs = await forge.logs(id, tenant);
    const outcome = await forge.transport.call<{ result: unknown; artifact_ref: string | null } | null>(
      "jobforge_get_result",
      { p_job_id: id, p_tenant_id: job.tenantId },
    );
    const result = outcome?.result ?? undefined;
    const artifactRef = outcome?.artifact_ref ?? undefined;
    output.result({ ...job, attemptList: attempts, logs, result, artifactRef }, () =>
      describe(output, { job, attempts, logs, result, artifactRef }),
    );
  });
}

interface Shown {
  readonly job: Job;
  readonly attempts: readonly JobAttempt[];
  readonly logs: readonly JobLog[];
  readonly result: unknown;
  readonly artifactRef: string | undefined;
}

const attemptColumns: readonly Column<JobAttempt>[] = [
  { title: "attempt", value: (attempt) => attempt.attemptNo, align: "right" },
  { title: "status", value: (attempt) => attempt.status, tone: (attempt) => toneOf(attempt.status) },
  { title: "started", value: (attempt) => ago(attempt.startedAt) },
  {
    title: "took",
    value: (attempt) => (attempt.durationMs === undefined ? undefined : span(attempt.durationMs)),
    align: "right",
  },
  { title: "worker", value: (attempt) => attempt.workerId, shrinks: true },
  {
    title: "error",
    value: ({ error }) => error?.fullMessage ?? error?.message,
    shrinks: true,
    tone: () => "red",
  },
];

function attemptsFact({ attempts, maxAttempts, uncounted }: Job): string {
  const counted = `${attempts} of ${maxAttempts + uncounted}`;
  return uncounted === 0 ? counted : `${counted} (${uncounted} not counted)`;
}

function describe(output: Output, { job, attempts, logs, result, artifactRef }: Shown): string {
  const { style } = output;
  const facts: readonly Fact[] = [
    ["type", plain(job.type)],
    ["status", style(toneOf(job.status), job.reason ? `${job.status} (${job.reason})` : job.status)],
    ["tenant", tenantFact(job)],
    ["attempts", attemptsFact(job)],
    ["priority", String(job.priority)],
    ["created", timeFact(job.createdAt)],
    ["runs", job.status === "queued" ? timeFact(job.runAt) : undefined],
    ["started", timeFact(job.startedAt)],
    ["finished", timeFact(job.finishedAt)],
    ["expires", timeFact(job.expiresAt)],
    ["worker", job.lockedBy],
    ["schedule", job.scheduleKey],
    ["subject", job.subject],
    ["tags", job.tags.length > 0 ? job.tags.join(", ") : undefined],
    ["idempotency", job.idempotencyKey],
    ["dedupe", job.dedupeKey],
    ["trace", job.traceId],
    ["cost", job.costCents === undefined ? undefined : `${job.costCents} cents`],
    ["error", job.lastError],
    ["payload", JSON.stringify(job.payload)],
    ["progress", job.progress === undefined ? undefined : JSON.stringify(job.progress)],
    ["result", result === undefined ? undefined : JSON.stringify(result)],
    ["artifact", artifactRef],
    ["cancel", job.cancelRequested && job.status === "running" ? "requested" : undefined],
  ];
  const table = attempts.length === 0 ? "" : `\n${output.table(attempts, attemptColumns)}`;
  return `${job.id}\n${factLines(facts, style, ["status"])}${table}${logLines(logs, output)}${traceOf(job, output)}`;
}

/** The whole last error: its stack, and the stacks of its causes. Nothing if the message says it all. */
function traceOf({ error }: Job, { style }: Output): string {
  if (error === undefined) return "";
  const lines = failureTrace(error).split("\n");
  if (lines.length === 1) return "";
  return `\n${style("bold", "last error")}\n${lines.map((line) => `  ${style("red", plain(line))}\n`).join("")}`;
}
