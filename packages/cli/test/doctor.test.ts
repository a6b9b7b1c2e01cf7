import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { pgbouncer, startPooler } from "../../../test/pooler.ts";
import type { CheckContext } from "../src/doctor/check.ts";
import { judgeHotTables, skewOf, xminCheck } from "../src/doctor/server.ts";
import { json, run, T, test } from "./support.ts";

interface Examination {
  readonly healthy: boolean;
  readonly problems: number;
  readonly warnings: number;
  readonly skipped: number;
  readonly checks: readonly { name: string; verdict: string; message: string; advice?: string | null }[];
}

async function examine(url: string, exitCode: number): Promise<Record<string, string>> {
  const { checks } = await json<Examination>(["doctor"], url, exitCode);
  return Object.fromEntries(checks.map(({ name, verdict }) => [name, verdict]));
}

/** The state after a first day in production: a worker is alive and has done maintenance, and time travel is off. */
async function healthy(db: TestDatabase): Promise<void> {
  await db.query("select jobforge_heartbeat_worker('w1', '{\"types\": [\"mail.send\"]}')");
  await db.query("select jobforge.allow_time_travel(false)");
}

/** Creates a schedule that has been due for an hour. */
const overdue = (type: string): string =>
  `select jobforge_ensure_schedule('${T}', '${type}', 'k',
     jsonb_build_object('dynamic', true, 'next_run_at', now() - interval '1 hour'))`;

describe("jobforge doctor", () => {
  test("finds no problem in a healthy database", async ({ db }) => {
    await healthy(db);
    const examination = await json<Examination>(["doctor", "--strict"], db.url);
    expect(examination).toMatchObject({ healthy: true, problems: 0, warnings: 0, skipped: 0 });
    expect(examination.checks.map(({ name }) => name)).toEqual([
      ...["connection", "server", "migrations", "drift", "roles and grants", "row security"],
      ...["foreign objects", "api schema", "bindings", "time travel", "listen", "notify queue", "clock"],
      ...["vacuum", "xmin", "partitions", "maintenance", "workers", "types", "schedules", "runs"],
    ]);
    const text = await run(["doctor"], { DATABASE_URL: db.url });
    expect(text.exitCode).toBe(0);
    expect(text.stdout).toMatch(/^✓ server +PostgreSQL \d+/m);
    expect(text.stdout).toContain("0 problems, 0 warnings, 0 skipped");
    const terminal = await run(["doctor"], { DATABASE_URL: db.url }, { terminal: {} });
    expect(terminal.stdout).toContain("\u001b[32m✓");
  });

  test("says that JobForge is not installed", async ({ empty }) => {
    expect(await examine(empty.url, 1)).toEqual({ connection: "ok", migrations: "problem" });
    expect((await run(["doctor"], { DATABASE_URL: empty.url })).stdout).toContain("→ Run jobforge migrate");
  });

  test("ends with 3 if no server responds", async () => {
    expect(await run(["doctor"], { DATABASE_URL: "postgres://me@127.0.0.1:1/app" })).toMatchObject({
      exitCode: 3,
    });
  });

  test.for<readonly [check: string, verdict: "problem" | "warning", change: string]>([
    ["migrations", "problem", "update jobforge.repeatables set checksum = 'x'"],
    ["drift", "problem", "alter table jobforge.queue add column extra text"],
    ["drift", "problem", "drop index jobforge.queue_ready"],
    [
      "drift",
      "problem",
      "create or replace function jobforge.caller() returns text language sql stable as 'select ''x'''",
    ],
    ["roles and grants", "problem", "grant select on jobforge.queue to jobforge_reader"],
    ["row security", "problem", "alter table jobforge.queue disable row level security"],
    [
      "foreign objects",
      "problem",
      "create function jobforge_stats(text) returns int language sql as 'select 1'",
    ],
    ["foreign objects", "problem", "create table jobforge_other (id int)"],
    ["api schema", "warning", "grant create on schema public to public"],
    ["api schema", "warning", "grant create on schema public to jobforge_app"],
    ["time travel", "warning", "select jobforge.allow_time_travel(true)"],
    ["vacuum", "problem", "alter table jobforge.queue set (autovacuum_enabled = false)"],
    ["partitions", "warning", "select jobforge_set_policy('a', '{\"retention_days\": 1}')"],
    [
      "partitions",
      "warning",
      "update jobforge.leaves set from_at = from_at - interval '30 days', to_at = to_at - interval '30 days'",
    ],
    ["maintenance", "warning", "update jobforge.maintenance set ran_at = now() - interval '1 day'"],
    [
      "maintenance",
      "problem",
      "update jobforge.maintenance set failures = 3, failed_at = now(), error = 'reclaim: no' where task = 'jobs'",
    ],
    [
      "bindings",
      "warning",
      `insert into jobforge.role_bindings values (1, 'gone', '${T}', now(), 'operator')`,
    ],
    ["workers", "warning", "update jobforge.workers set seen_at = now() - interval '1 hour'"],
    ["types", "problem", `select jobforge_enqueue_job('${T}', 'orphan')`],
    ["schedules", "problem", overdue("orphan")],
    ["schedules", "warning", overdue("mail.send")],
    [
      "runs",
      "warning",
      `select jobforge_enqueue_job('${T}', 'mail.send'), jobforge_claim_jobs('w1');
       update jobforge.runs set started_at = now() - interval '2 days', run_at = now() - interval '2 days'`,
    ],
    [
      "types",
      "warning",
      `select jobforge_enqueue_job('${T}', 'orphan', p_run_at => now() + interval '1 day')`,
    ],
  ])("%s: %s after %s", async ([check, verdict, change], { db }) => {
    await healthy(db);
    await db.query(change);
    const { exitCode, stdout } = await run(["doctor", "--json"], { DATABASE_URL: db.url });
    const examination: Examination = JSON.parse(stdout);
    const found = examination.checks.find(({ name }) => name === check);
    expect(found).toMatchObject({ verdict, advice: expect.stringMatching(/\w+/) });
    expect(exitCode).toBe(examination.problems > 0 ? 1 : 0);
    if (verdict === "problem") expect(exitCode).toBe(1);
  });

  test("warnings end with 1 if --strict is given", async ({ db }) => {
    await healthy(db);
    await db.query("select jobforge.allow_time_travel(true)");
    expect(await run(["doctor"], { DATABASE_URL: db.url })).toMatchObject({ exitCode: 0 });
    expect(await run(["doctor", "--strict"], { DATABASE_URL: db.url })).toMatchObject({ exitCode: 1 });
  });

  test("reports a missing worker as a problem if jobs are due", async ({ db }) => {
    await db.query("select jobforge_enqueue_job($1, 'mail.send')", [T]);
    expect(await examine(db.url, 1)).toMatchObject({ workers: "problem", types: "problem" });
  });

  test("names the types without a worker, and counts in words", async ({ db }) => {
    await healthy(db);
    for (const type of ["b", "a", "c", "d", "e", "f"])
      await db.query("select jobforge_enqueue_job($1, $2)", [T, type]);
    const { stdout } = await run(["doctor"], { DATABASE_URL: db.url });
    expect(stdout).toContain("No worker runs a, b, c, d, e and 1 more; 6 jobs due.");
    expect(stdout).toContain(
      "cancel the jobs (here of 5 of the 6 types): jobforge jobs cancel --type a,b,c,d,e",
    );
    expect(stdout).toContain("1 problem, 0 warnings, 0 skipped");
  });

  test("says how jobs of connectors are run", async ({ db }) => {
    await healthy(db);
    await db.query("select jobforge_enqueue_job($1, 'connector.http.request')", [T]);
    const only = await run(["doctor"], { DATABASE_URL: db.url });
    expect(only.stdout).toContain("→ Start the connectors: jobforge worker --connectors, or cancel");
    await db.query("select jobforge_enqueue_job($1, 'invoice.print')", [T]);
    const both = await run(["doctor"], { DATABASE_URL: db.url });
    expect(both.stdout).toContain("→ Start a worker with a handler, and with --connectors, or cancel");
  });

  test("new shelves of the archive are not drift", async ({ db }) => {
    await healthy(db);
    await db.query(`select jobforge_set_policy('a', '{"retention_days": 7}')`);
    // Each call creates one shelf, and there is one in each of the two branches.
    await db.query("select jobforge_maintain()");
    await db.query("select jobforge_maintain()");
    expect(await examine(db.url, 0)).toMatchObject({ drift: "ok", partitions: "ok" });
  });

  test("runs the checks that the login has the rights for", async ({ db }) => {
    await healthy(db);
    const reader = await db.createLogin("jobforge_reader");
    expect(await examine(reader.url, 0)).toMatchObject({
      migrations: "ok",
      drift: "skipped",
      "roles and grants": "ok",
      xmin: "skipped",
      workers: "ok",
    });
    const worker = await db.createLogin("jobforge_worker");
    expect(await examine(worker.url, 0)).toMatchObject({
      server: "ok",
      listen: "ok",
      migrations: "skipped",
      workers: "skipped",
    });
  });

  test("works if the API is in another schema", async ({ empty }) => {
    expect(await run(["migrate", "--api-schema", "jobs_api"], { DATABASE_URL: empty.url })).toMatchObject({
      exitCode: 0,
    });
    const env = { DATABASE_URL: empty.url, JOBFORGE_API_SCHEMA: "jobs_api" };
    const { stdout } = await run(["doctor", "--json"], env);
    const { checks }: Examination = JSON.parse(stdout);
    expect(checks.find(({ name }) => name === "drift")).toMatchObject({ verdict: "ok" });
  });
});

test("a session that prevents the removal of old rows for too long is named", async ({ db }) => {
  await using holder = await db.connect();
  await holder.query("begin isolation level repeatable read");
  await holder.query("select count(*) from jobforge.queue");
  const pid = await holder.value<number>("select pg_backend_pid()");
  const { client } = await db.connect();
  // The check uses only the session.
  const context = { client } as unknown as CheckContext;
  expect(await xminCheck(3600).run(context)).toMatchObject({ verdict: "ok" });
  const found = await xminCheck(-1).run(context);
  expect(found).toMatchObject({
    verdict: "warning",
    advice: expect.stringContaining("pg_terminate_backend"),
  });
  await holder.query("commit");
  // Other sessions may be active on the same server, but this one no longer is.
  expect((await xminCheck(-1).run(context)).message).not.toContain(`session ${pid} `);
});

test("the table of live jobs is judged by its dead rows and by its bytes per job", () => {
  const hot = {
    live: 1000,
    dead: 100,
    table_bytes: 1e6,
    index_bytes: 1e6,
    vacuumed_at: null,
    autovacuum: true,
  };
  expect(judgeHotTables(hot)).toMatchObject({ verdict: "ok" });
  expect(judgeHotTables({ ...hot, dead: 90_000 })).toMatchObject({ verdict: "warning" });
  expect(judgeHotTables({ ...hot, dead: 90_000, live: 100_000 })).toMatchObject({ verdict: "ok" });
  expect(judgeHotTables({ ...hot, table_bytes: 1e9 })).toMatchObject({ verdict: "warning" });
  expect(judgeHotTables({ ...hot, table_bytes: 1e9, live: 1e6 })).toMatchObject({ verdict: "ok" });
  expect(judgeHotTables({ ...hot, autovacuum: false })).toMatchObject({ verdict: "problem" });
});

test("the clock skew excludes the time of the round trip", () => {
  expect([skewOf(100, 150, 200), skewOf(100, 40, 200), skewOf(100, 260, 200)]).toEqual([0, 60, 60]);
});

test.skipIf(pgbouncer === undefined)(
  "notifications do not arrive behind a pooler in transaction mode",
  async ({ db }) => {
    await using pooler = await startPooler(db.url);
    const { stdout } = await run(["doctor", "--json"], { DATABASE_URL: pooler.url });
    const { checks }: Examination = JSON.parse(stdout);
    expect(checks.find(({ name }) => name === "listen")).toMatchObject({
      verdict: "warning",
      advice: expect.stringContaining("--no-listen"),
    });
  },
);
