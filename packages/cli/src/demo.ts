/**
 * `jobforge demo`: a few real jobs on an embedded Postgres, run by a worker in plain SQL calls, with a table of what
 * became of them. Shows a success, a retry, a delay, a dead letter and a cancellation.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startEmbedded } from "@jobforge/embedded";
import { migrate } from "@jobforge/sql";
import pg from "pg";
import type { CliProcess } from "./index.ts";

const tenant = "00000000-0000-0000-0000-000000000000";
const worker = "demo-worker";

interface ClaimedJob extends pg.QueryResultRow {
  readonly id: string;
  readonly type: string;
  readonly attempts: number;
  readonly payload: { readonly name?: string };
}

/** What the demo's handlers do; a thrown error is a failed attempt. */
const handlers: Readonly<Record<string, (job: ClaimedJob) => unknown>> = {
  "demo.greet": (job) => ({ greeting: `Hello, ${job.payload.name}!` }),
  "demo.flaky": (job) => {
    if (job.attempts < 3) throw new Error(`The upstream answered 503 (attempt ${job.attempts})`);
    return { attempts: job.attempts };
  },
  "demo.broken": () => {
    throw new Error("This address does not exist");
  },
};

/** What became of one job. */
interface DemoJob extends pg.QueryResultRow {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly attempts: number;
  readonly error: string | null;
  readonly result: unknown;
}

const help = `Usage: jobforge demo [options]

Runs a few jobs on an embedded Postgres and shows what became of them.

Options:
  --directory PATH   Where the database lives (default: .jobforge)
  --json             Machine-readable output
`;

export async function demoCommand(args: string[], process: CliProcess): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      directory: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(help);
    return 0;
  }
  const say = values.json ? () => undefined : (line: string) => void process.stdout.write(`${line}\n`);
  await using server = await startEmbedded({
    ...(values.directory === undefined ? {} : { directory: values.directory }),
    onProgress: (message) => say(`• ${message}`),
  });
  say(`• PostgreSQL ${server.adopted ? "was still running" : "is up"} on port ${server.port}`);
  const { version, refreshed } = await migrate({ database: server.url });
  say(`• Schema of JobForge ${version} ${refreshed ? "installed" : "is there already"}`);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    const ids = await enqueueSome(client);
    say(`• ${ids.length} jobs enqueued; ${worker} is at work …`);
    await work(client, ids, say);
    const jobs = await outcomes(client, ids);
    process.stdout.write(values.json ? `${JSON.stringify({ jobs })}\n` : table(jobs));
  } finally {
    await client.end();
  }
  return 0;
}

async function enqueueSome(client: pg.Client): Promise<string[]> {
  await client.query(
    'select jobforge_set_policy(t, \'{"base_ms": 200, "max_attempts": 3}\') from unnest($1::text[]) t',
    [["demo.flaky", "demo.broken"]],
  );
  const enqueue = async (type: string, payload: object, delay = "0"): Promise<string> => {
    const { rows } = await client.query<{ id: string }>(
      "select jobforge_enqueue_job($1, $2, $3, p_run_at => clock_timestamp() + $4::interval) ->> 'id' as id",
      [tenant, type, JSON.stringify(payload), delay],
    );
    return rows[0]?.id ?? "";
  };
  const ids = [
    await enqueue("demo.greet", { name: "Ada" }),
    await enqueue("demo.greet", { name: "Grace" }, "2 seconds"),
    await enqueue("demo.flaky", {}),
    await enqueue("demo.broken", {}),
    await enqueue("demo.greet", { name: "nobody" }, "1 day"),
  ];
  await client.query("select jobforge_cancel_job($1, $2)", [ids.at(-1), tenant]);
  return ids;
}

async function work(client: pg.Client, ids: readonly string[], say: (line: string) => void): Promise<void> {
  while (await isUnfinished(client, ids)) {
    const { rows } = await client.query<ClaimedJob>(
      "select id, type, attempts, payload from jobforge_claim_jobs($1, 10, $2)",
      [worker, Object.keys(handlers)],
    );
    for (const job of rows) say(`  ${await runJob(client, job)}`);
    if (rows.length === 0) await sleep(100);
  }
}

async function isUnfinished(client: pg.Client, ids: readonly string[]): Promise<boolean> {
  const { rows } = await client.query(
    "select 1 from jobforge_jobs where id = any($1) and finished_at is null limit 1",
    [ids],
  );
  return rows.length > 0;
}

async function runJob(client: pg.Client, job: ClaimedJob): Promise<string> {
  const label = `${job.type} attempt ${job.attempts}`;
  try {
    const result = JSON.stringify(handlers[job.type]?.(job) ?? null);
    await client.query("select jobforge_complete_job($1, $2, 'succeeded', p_result => $3, p_attempt => $4)", [
      job.id,
      worker,
      result,
      job.attempts,
    ]);
    return `✓ ${label}: ${result}`;
  } catch (error) {
    if (error instanceof pg.DatabaseError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const { rows } = await client.query<{ status: string }>(
      "select jobforge_complete_job($1, $2, 'failed', p_error => $3, p_attempt => $4) ->> 'status' as status",
      [job.id, worker, JSON.stringify({ message }), job.attempts],
    );
    return `✗ ${label}: ${message} → ${rows[0]?.status}`;
  }
}

async function outcomes(client: pg.Client, ids: readonly string[]): Promise<DemoJob[]> {
  const { rows } = await client.query<DemoJob>(
    `select j.id, j.type, j.status, j.reason, j.attempts, j.last_error as error, r.result
     from jobforge_jobs j
     left join jobforge_job_results r on r.id = j.result_id
     where j.id = any($1)
     order by array_position($1, j.id)`,
    [ids],
  );
  return rows;
}

function table(jobs: readonly DemoJob[]): string {
  const line = (type: string, status: string, attempts: string, detail: string): string =>
    `${type.padEnd(12)} ${status.padEnd(10)} ${attempts.padStart(8)}  ${detail}\n`;
  const detail = (job: DemoJob): string =>
    job.status === "succeeded" ? JSON.stringify(job.result) : (job.error ?? job.reason);
  const lines = jobs.map((job) => line(job.type, job.status, String(job.attempts), detail(job)));
  return `\n${line("type", "status", "attempts", "result")}${lines.join("")}\n`;
}
