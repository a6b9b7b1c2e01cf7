/**
 * `jobforge demo`: a few real jobs on an embedded Postgres, run by a worker in plain SQL calls, with a table of what
 * became of them. Shows a success, a retry, a delay, a dead letter and a cancellation.
 */
import { setTimeout as sleep } from "node:timers/promises";
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

export async function demoCommand(args: string[], process: CliProcess): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(
      "Usage: jobforge demo\n\nRuns a few jobs on an embedded Postgres (data in .jobforge/).\n",
    );
    return 0;
  }
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  await using server = await startEmbedded({ onProgress: (message) => say(`• ${message}`) });
  say(`• PostgreSQL ${server.adopted ? "was still running" : "is up"} on port ${server.port}`);
  const { version, refreshed } = await migrate({ database: server.url });
  say(`• Schema of JobForge ${version} ${refreshed ? "installed" : "is there already"}`);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    const ids = await enqueueSome(client);
    say(`• ${ids.length} jobs enqueued; ${worker} is at work …`);
    await work(client, ids, say);
    say(await summary(client, ids));
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

async function summary(client: pg.Client, ids: readonly string[]): Promise<string> {
  const { rows } = await client.query<{ type: string; status: string; attempts: number; detail: string }>(
    `select j.type, j.status, j.attempts, coalesce(j.last_error, r.result::text, j.reason) as detail
     from jobforge_jobs j
     left join jobforge_job_results r on r.id = j.result_id
     where j.id = any($1)
     order by j.created_at, j.id`,
    [ids],
  );
  const lines = rows.map(
    (row) =>
      `${row.type.padEnd(12)} ${row.status.padEnd(10)} ${String(row.attempts).padStart(8)}  ${row.detail}`,
  );
  return ["", `${"type".padEnd(12)} ${"status".padEnd(10)} attempts  result`, ...lines, ""].join("\n");
}
