/**
 * Cost is counted in buffers and rows, not in time: the cost of a call must not grow with jobs that it does not want.
 */
import { cloneDatabase, type Row, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { beforeAll, describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { type Backlog, buildBacklog } from "../support/backlog.ts";
import { cost, costAndResult, type Load, load, tenant } from "../support/cost.ts";
import { buffersOf, type Explained, explainEverything, rowsVisited } from "../support/explain.ts";
import { tenantSql } from "../support/history.ts";
import { claim, type Sql } from "../support/kernel.ts";

const claimCall = "select * from jobforge_claim_jobs('w', $1, $2)";
/** A small number of buffers. Half of them are for the caller's identity and the gates. */
const handful = 30;

/** Calls that create the cached plans, and calls that are measured. */
const warmUps = 8;
const runCount = 9;

/**
 * Returns the lowest cost of several calls. Objects created and dropped in other databases sometimes make a session
 * read its catalog again, which costs thousands of buffers and is not caused by the call.
 */
async function least(run: (n: number) => Promise<number>): Promise<number> {
  const costs: number[] = [];
  for (let n = 0; n < warmUps + runCount; n += 1) costs.push(await run(n));
  return Math.min(...costs.slice(warmUps));
}

/** Returns the cost of a claim, which must get this number of jobs. */
async function costOfClaim(db: Sql, types: readonly string[] | null, jobs: number): Promise<number> {
  return await least(async () => {
    const { buffers, rows } = await cost(db, claimCall, [10, types]);
    expect(rows, "jobs claimed").toBe(jobs);
    return buffers;
  });
}

/** Returns the cost of ending ten runs and claiming the next ten in one call, with a hint, as workers do. */
async function costOfSettle(db: Sql): Promise<number> {
  let held: { id: string; attempts: number }[] = [];
  let hint: unknown = null;
  return await least(async () => {
    const results = held.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
    const { buffers, result } = await costAndResult<{ jobs: typeof held; hint: unknown }>(
      db,
      "jobforge_settle_jobs('w', $1, 10, array['a'], null, $2)",
      [JSON.stringify(results), JSON.stringify(hint)],
    );
    expect(result.jobs).toHaveLength(10);
    held = result.jobs;
    hint = result.hint;
    return buffers;
  });
}

async function costOfEnqueue(db: Sql): Promise<number> {
  return await least(async (n) => {
    const call = "select jobforge_enqueue_job($1, 'a', p_idempotency_key => $2, p_dedupe_key => $2)";
    return (await cost(db, call, [tenant(1), `key ${n}`])).buffers;
  });
}

describe("with 500,000 finished jobs, 200,000 scheduled, 200,000 of a paused type and 200,000 of other types,", () => {
  let backlog: Backlog;
  beforeAll(async () => {
    backlog = await buildBacklog(inject("server"));
    return () => backlog.drop();
  }, 600_000);

  /**
   * Returns the cost in an otherwise empty database and in the full one. Both hold 400 due jobs of type 'a' of four
   * tenants: twice as many as the test claims. With so few jobs, the indexes of the first database have one or two
   * levels, and those of the other have three. Only this logarithmic growth is allowed: one buffer for each descent.
   */
  async function compare(measure: (db: Sql) => Promise<number>): Promise<{ alone: number; full: number }> {
    const figure = async (db: TestDatabase): Promise<number> => {
      await load(db, { count: 400, tenants: 4 });
      await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
      return await measure(await db.connect());
    };
    await using alone = await cloneDatabase(inject("server"));
    await using full = await cloneDatabase(backlog.address);
    return { alone: await figure(alone), full: await figure(full) };
  }

  test("a claim of ten jobs costs at most 50% more than in an otherwise empty database", async () => {
    const { alone, full } = await compare((db) => costOfClaim(db, ["a"], 10));
    expect(full).toBeLessThan(1.5 * alone);
  });

  test("a settle of ten runs that claims the next ten costs at most 50% more", async () => {
    const { alone, full } = await compare(costOfSettle);
    expect(full).toBeLessThan(1.5 * alone);
  });

  test("an enqueue with keys costs at most 50% more", async () => {
    const { alone, full } = await compare(costOfEnqueue);
    expect(full).toBeLessThan(1.5 * alone);
  });

  test("an empty poll costs a few buffers, whatever types it asks for", async () => {
    await using db = await cloneDatabase(backlog.address);
    const session = await db.connect();
    const polls = {
      "an unknown type": await costOfClaim(session, ["none"], 0),
      "a paused type": await costOfClaim(session, ["paused"], 0),
      "a type whose jobs are scheduled for later": await costOfClaim(session, ["a"], 0),
    };
    await db.query("select jobforge_set_gate('all', '', true)");
    const paused = { "everything paused": await costOfClaim(session, null, 0) };
    for (const [what, buffers] of Object.entries({ ...polls, ...paused }))
      expect(buffers, what).toBeLessThan(handful);
  });
});

test("a poll of a type whose due jobs all belong to a paused tenant costs a few buffers", async ({ db }) => {
  await load(db, { count: 50_000, firstTenant: 900, due: "-2 hours" });
  await db.query("select jobforge_set_gate('tenant', $1, true)", [tenant(900)]);
  // The claim finds one lane, which is paused, and looks for lanes after it.
  expect(await costOfClaim(db, ["a"], 0)).toBeLessThan(2 * handful);
});

test("a claim is cheap even if the table was analyzed while it was empty, as in a queue that keeps up", async ({
  db,
}) => {
  await db.query("alter table jobforge.queue set (autovacuum_enabled = off)");
  await load(db, { count: 1, tenants: 1 });
  await db.query("delete from jobforge.queue");
  await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
  for (let n = 1; n <= 10; n += 1)
    await db.query(
      `select jobforge_enqueue_jobs($1, (select jsonb_agg('{"type": "a"}'::jsonb) from generate_series(1, 3000)))`,
      [tenant(n)],
    );
  expect(await costOfClaim(await db.connect(), ["a"], 10)).toBeLessThan(400);
  expect(await costOfSettle(await db.connect())).toBeLessThan(400);
});

test("a paused tenant costs a claim one index descent, however many waiting jobs it has", async ({ db }) => {
  await load(db, { count: 2000, tenants: 4 });
  const alone = await costOfClaim(db, ["a"], 10);
  await load(db, { count: 10_000, tenants: 1000, firstTenant: 1000 });
  await db.query(
    `select count(jobforge_set_gate('tenant', ${tenantSql("n")}, true)) from generate_series(1000, 1999) n`,
  );
  await db.query("analyze jobforge.queue, jobforge.gates");
  const paused = await costOfClaim(db, ["a"], 10);
  expect(paused).toBeLessThan(alone + 4 * 1000);
  await load(db, { count: 50_000, tenants: 1000, firstTenant: 1000 });
  await load(db, { count: 400, tenants: 4 });
  await db.query("analyze jobforge.queue");
  expect(await costOfClaim(db, ["a"], 10)).toBeLessThan(1.5 * paused);
});

/** Returns how many rows of the hot table a claim of ten jobs visits, and its buffers. */
async function visits(session: TestConnection, types: readonly string[] | null) {
  const explaining = await explainEverything(session);
  let [rows, buffers] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let n = 0; n < warmUps + runCount; n += 1) {
    const explained = await explaining.run(claimCall, [10, types]);
    expect(explained.rows, "jobs claimed").toHaveLength(10);
    if (n < warmUps) continue;
    rows = Math.min(rows, rowsVisited(explained, "queue"));
    buffers = Math.min(buffers, buffersOf(explained));
  }
  return { rows, buffers };
}

const typeNames = Array.from({ length: 200 }, (_, n) => `t${n}`);
/** The waiting jobs, the types of the claim, and how many rows it may visit: some for each lane or each type. */
const manyLanes: readonly (readonly [string, Omit<Load, "count">, readonly string[] | null, number])[] = [
  ["2,000 tenants", { tenants: 2000 }, ["a"], 4 * 64],
  ["200 types, by name", { type: "t", types: 200, tenants: 5 }, typeNames, 20 * 200],
  ["200 types, by a claim of all types", { type: "t", types: 200, tenants: 5 }, null, 20 * 200],
];

for (const [title, jobs, types, rows] of manyLanes) {
  test(`with ${title}, a claim of ten jobs visits lanes, not jobs`, async ({ db }) => {
    await load(db, { ...jobs, count: 10_000 });
    await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
    const few = await visits(await db.connect(), types);
    await load(db, { ...jobs, count: 50_000 });
    await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
    const many = await visits(await db.connect(), types);
    expect(few.rows).toBeLessThan(rows);
    expect(many.rows).toBeLessThan(1.1 * few.rows);
    // A row costs a descent of three levels and its page. In addition, ten jobs are written.
    expect(many.buffers).toBeLessThan(4 * many.rows + 300);
  });
}

test("a heartbeat of one run visits one job, however many its worker holds", async ({ db }) => {
  await load(db, { count: 1000 });
  await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
  const [job] = await claim(db, "w", { limit: 1000 });
  const explaining = await explainEverything(await db.connect());
  const beat = await explaining.run("select jobforge_heartbeat_job($1, 'w')", [job?.id]);
  expect(rowsVisited(beat, "runs")).toBe(1);
});

/** Returns how many rows of the queue and of the runs a call visits. */
async function rowsOf(call: () => Promise<Explained<Row>>): Promise<number> {
  const explained = await call();
  return rowsVisited(explained, "queue") + rowsVisited(explained, "runs");
}

test("claims, ends and reads visit only their own jobs, however many other jobs run", async ({ db }) => {
  await load(db, { count: 1000, tenants: 4 });
  await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
  const explaining = await explainEverything(await db.connect());
  const calls: Record<string, () => Promise<Explained<Row>>> = {
    claim: () => explaining.run(claimCall, [10, ["a"]]),
    settle: () => explaining.run("select jobforge_settle_jobs('w', '[]', 10, array['a'])"),
    get: () => explaining.run("select * from jobforge_get_job($1, $2)", [tenant(1), tenant(1)]),
    complete: async () => {
      const [job] = await claim(db, "w", { limit: 1 });
      return await explaining.run("select jobforge_complete_job($1, 'w', 'succeeded')", [job?.id]);
    },
  };
  for (const call of Object.values(calls)) for (let n = 0; n < warmUps; n += 1) await call();
  await load(db, { count: 5000, tenants: 4, worker: "another" });
  for (const [name, call] of Object.entries(calls)) expect(await rowsOf(call), name).toBeLessThan(300);
});
