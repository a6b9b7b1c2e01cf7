/** `jobforge move` on a real Redis: to it and back, what it shows, what it refuses, and what a kill leaves behind. */
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { BullForge, createBullWorker } from "@jobforge/bullmq";
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { createWorker } from "@jobforge/worker-ts";
import { afterAll, expect, onTestFinished } from "vitest";
import { findRedis, type RedisServer, startRedis } from "../../../test/redis.ts";
import { startJobforge } from "./child.ts";
import { test as base, json, run, T, U } from "./support.ts";

const test = base.skipIf((await findRedis()) === undefined);
const mail = defineJob({ type: "mail.send" });
const report = defineJob({ type: "report.build" });
const hour = 3_600_000;
const quiet = (): void => undefined;
const silent = { debug: quiet, info: quiet, warn: quiet, error: quiet };

let server: Promise<RedisServer> | undefined;
afterAll(async () => void (await (await server)?.stop()));

/** The Redis of the file, and keys of the test's own. */
async function openRedis(): Promise<{ readonly server: RedisServer; readonly place: readonly string[] }> {
  server ??= startRedis();
  return { server: await server, place: ["--prefix", `m-${randomBytes(6).toString("hex")}`] };
}

function forgeOf(url: string): JobForge {
  const forge = new JobForge({ database: url });
  onTestFinished(() => forge.close());
  return forge;
}

async function enqueueMails(url: string, count: number): Promise<readonly string[]> {
  const jobs = Array.from({ length: count }, (_, n) => ({
    job: mail,
    input: { n },
    delayMs: (n % 2) * hour,
    priority: n % 3,
  }));
  const handles = await forgeOf(url).enqueueMany(jobs, { tenantId: T });
  return handles.map(({ id }) => id);
}

/** Makes the database wait when a move has ended its first batch, until the returned function is called. */
async function holdMoves(db: TestDatabase): Promise<() => Promise<void>> {
  const holder = await db.connect();
  await holder.query("select pg_advisory_lock(42)");
  await db.query(`
    create function hold_moves() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(42); return null; end $$;
    create trigger hold after delete on jobforge.moves execute function hold_moves();`);
  return async () => {
    await holder.query("select pg_advisory_unlock(42)");
    // A statement of a client that is gone goes on until its end.
    await db.query("drop function hold_moves() cascade");
  };
}

const facts =
  "select id, type, tenant_id, payload, priority, idempotency_key, run_at > now() as is_later from jobforge_jobs order by id";

test("moves the jobs of the types to Redis and back, and leaves others where they are", async ({ db }) => {
  const { server, place } = await openRedis();
  await enqueueMails(db.url, 5);
  await forgeOf(db.url).enqueue(report, { month: 1 }, { tenantId: U, idempotencyKey: "r-1" });
  await forgeOf(db.url).enqueue(mail, { n: 9 }, { tenantId: T, concurrencyKey: "one" });
  const before = await db.query(facts);
  const to = ["move", "--to", server.url, "--types", "mail.send", ...place];
  expect(await json([...to, "--dry-run"], db.url)).toEqual({ jobs: 5, left: 1, moved: 0 });
  expect(await db.query(facts)).toEqual(before);
  expect(await json(to, db.url)).toEqual({ jobs: 5, left: 1, moved: 5 });
  expect(await db.query("select type, status::text from jobforge_jobs order by type")).toEqual([
    { type: "mail.send", status: "queued" },
    { type: "report.build", status: "queued" },
  ]);
  expect(await json(to, db.url)).toEqual({ jobs: 0, left: 1, moved: 0 });
  const from = ["move", "--from", server.url, "--types", "mail.send", ...place];
  expect(await json([...from, "--dry-run"], db.url)).toEqual({ jobs: 5, left: 0, moved: 0 });
  expect(await json(from, db.url)).toEqual({ jobs: 5, left: 0, moved: 5 });
  expect(await db.query(facts)).toEqual(before);
});

test("shows its progress in a terminal, and says what it has moved and what stays", async ({ db }) => {
  const { server, place } = await openRedis();
  await enqueueMails(db.url, 3);
  await forgeOf(db.url).enqueue(mail, { n: 9 }, { tenantId: T, concurrencyKey: "one" });
  const args = ["move", "--to", server.url, "--types", "mail.send", ...place];
  const shown = await run(args, { DATABASE_URL: db.url }, { terminal: {} });
  expect(shown).toMatchObject({ exitCode: 0 });
  expect(shown.stderr).toContain("Moving ████████████████████ 3/3");
  expect(shown.stdout).toBe("3 jobs moved; 1 stay, because only Postgres has what they need\n");
});

test("a caller that names no Redis, or two, learns what to pass", async ({ db }) => {
  const both = ["--to", "redis://127.0.0.1:1", "--from", "redis://127.0.0.1:1"];
  for (const target of [[], both]) {
    const refused = await run(["move", ...target, "--types", "mail.send"], { DATABASE_URL: db.url });
    expect(refused).toMatchObject({ exitCode: 2 });
    expect(refused.stderr).toContain("Pass either --to or --from");
  }
});

base("a Redis that does not respond ends the command at once", async ({ db }) => {
  for (const way of ["--to", "--from"]) {
    const args = ["move", way, "redis://127.0.0.1:1", "--types", "mail.send", "--dry-run"];
    const refused = await run(args, { DATABASE_URL: db.url });
    expect(refused).toMatchObject({ exitCode: 3, stdout: "" });
    expect(refused.stderr).toContain("No connection to Redis: connect ECONNREFUSED 127.0.0.1:1");
  }
});

test("a Redis that refuses the password ends the command at once, and the password is not shown", async ({
  db,
}) => {
  await using locked = await startRedis();
  await locked.say("CONFIG SET requirepass right");
  for (const way of ["--to", "--from"]) {
    const url = locked.url.replace("//", "//:wrong@");
    const refused = await run(["move", way, url, "--types", "mail.send"], { DATABASE_URL: db.url });
    expect(refused).toMatchObject({ exitCode: 3, stdout: "" });
    expect(refused.stderr).toContain("WRONGPASS");
    expect(refused.stderr).not.toContain("wrong@");
  }
});

test.for([["--to"], ["--from"]] as const)(
  "a move %s Redis that is killed goes on when it is run again, and moves every job once",
  { timeout: 240_000 },
  async ([direction], { db }) => {
    const { server, place } = await openRedis();
    const ids = await enqueueMails(db.url, 1_200);
    const args = (way: string): string[] => ["move", way, server.url, "--types", "mail.send", ...place];
    if (direction === "--from") expect(await json(args("--to"), db.url)).toMatchObject({ moved: 1_200 });
    const release = await holdMoves(db);
    const child = startJobforge(args(direction), { cwd: tmpdir(), env: { DATABASE_URL: db.url } });
    const held =
      "select count(*)::int from pg_stat_activity where wait_event = 'advisory' and datname = current_database()";
    await expect.poll(() => db.value(held), { timeout: 120_000 }).toBe(1);
    child.process.kill("SIGKILL");
    expect(await child.ended).toMatchObject({ signal: "SIGKILL" });
    await release();
    await expect.poll(() => db.value(held)).toBe(0);
    const queued = await db.value<number>("select count(*)::int from jobforge_jobs");
    expect(queued > 0 && queued < 1_200, String(queued)).toBe(true);
    expect(await json(args(direction), db.url)).toMatchObject({ moved: expect.any(Number) });
    if (direction === "--to") {
      expect(await db.query("select 1 from jobforge_jobs")).toEqual([]);
      expect(await json(args("--from"), db.url)).toMatchObject({ moved: 1_200 });
    } else expect(await json([...args("--from"), "--dry-run"], db.url)).toMatchObject({ jobs: 0 });
    const there = await db.query<{ id: string }>("select id from jobforge_jobs");
    expect(there.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  },
);

test("while workers run on both sides and a move is killed, every job runs once", {
  timeout: 240_000,
}, async ({ db }) => {
  const { server, place } = await openRedis();
  const [, prefix = ""] = place;
  const args = (way: string): string[] => ["move", way, server.url, "--types", "mail.send", ...place];
  const ran: number[] = [];
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  // The first handlers wait for the move, because otherwise the workers might be faster than its process.
  const handler = mail.handle(async (input) => {
    await begun;
    ran.push((input as { n: number }).n);
  });
  const jobs = Array.from({ length: 1_500 }, (_, n) => ({ job: mail, input: { n } }));
  const postgres = forgeOf(db.url);
  await postgres.enqueueMany(jobs, { tenantId: T });
  await using redis = new BullForge({ redis: server.url, prefix });
  const options = { handlers: [handler], concurrency: 1, batchSize: 1, prefetch: 0, logger: silent };
  await using onPostgres = createWorker(postgres, options);
  await using onRedis = createBullWorker(redis, options);

  const release = await holdMoves(db);
  await onPostgres.start();
  await onRedis.start();
  const child = startJobforge(args("--to"), { cwd: tmpdir(), env: { DATABASE_URL: db.url } });
  const held =
    "select count(*)::int from pg_stat_activity where wait_event = 'advisory' and datname = current_database()";
  await expect.poll(() => db.value(held), { timeout: 120_000 }).toBe(1);
  begin();
  child.process.kill("SIGKILL");
  await child.ended;
  await release();
  await json(args("--to"), db.url);
  await json(args("--from"), db.url);
  await expect.poll(() => ran.length, { timeout: 120_000 }).toBe(jobs.length);
  expect(ran.toSorted((a, b) => a - b)).toEqual(jobs.map(({ input }) => input.n));
});
