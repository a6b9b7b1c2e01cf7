/** Cost is counted in buffers and rows, not by a clock: what a call touches must not grow with what it does not want. */
import { cloneDatabase, type Row, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { beforeAll, describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { type Backlog, buildBacklog } from "../support/backlog.ts";
import { cost, costAndResult, type Load, load, tenant } from "../support/cost.ts";
import { buffersOf, type Explained, explainEverything, rowsVisited } from "../support/explain.ts";
import { tenantSql } from "../support/history.ts";
import { claim, type Sql } from "../support/kernel.ts";

const claimCall = "select * from jobforge_claim_jobs('w', $1, $2)";
/** A hand full, of which those that tell who calls and what is paused are half. */
const handful = 30;

/** Runs that make the plans, and those that are counted. */
const warmUps = 8;
const runCount = 9;

/**
 * The least that a call costs in some runs. Whatever is created and dropped in other databases makes a session read its catalog
 * again now and then, which is thousands of buffers and not the call's doing.
 */
async function least(run: (n: number) => Promise<number>): Promise<number> {
  const costs: number[] = [];
  for (let n = 0; n < warmUps + runCount; n += 1) costs.push(await run(n));
  return Math.min(...costs.slice(warmUps));
}

/** The cost of a claim that gets as many jobs as told. */
async function costOfClaim(db: Sql, types: readonly string[] | null, jobs: number): Promise<number> {
  return await least(async () => {
    const { buffers, rows } = await cost(db, claimCall, [10, types]);
    expect(rows, "jobs claimed").toBe(jobs);
    return buffers;
  });
}

/** The cost of ending ten runs and claiming the next ten in one call, with a hint, as workers do. */
async function costOfSettle(db: Sql): Promise<number> {
  let held: { id: string; attempts: number }[] = [];
  let hint: unknown = null;
  return await least(async () => {
    const results = held.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
    const { buffers, answer } = await costAndResult<{ jobs: typeof held; hint: unknown }>(
      db,
      "jobforge_settle_jobs('w', $1, 10, array['a'], null, $2)",
      [JSON.stringify(results), JSON.stringify(hint)],
    );
    expect(answer.jobs).toHaveLength(10);
    held = answer.jobs;
    hint = answer.hint;
    return buffers;
  });
}

async function costOfEnqueue(db: Sql): Promise<number> {
  return await least(async (n) => {
    const call = "select jobforge_enqueue_job($1, 'a', p_idempotency_key => $2, p_dedupe_key => $2)";
    return (await cost(db, call, [tenant(1), `key ${n}`])).buffers;
  });
}

describe("with 500,000 finished jobs, 200,000 scheduled, 200,000 of a paused type and 200,000 of others", () => {
  let backlog: Backlog;
  beforeAll(async () => {
    backlog = await buildBacklog(inject("server"));
    return () => backlog.drop();
  }, 600_000);

  /**
   * The cost in an otherwise empty database and in the full one. Both hold 400 jobs of type 'a' of four tenants that are due:
   * those that the test is about to claim, and as many again. So few that the indexes of the first have two levels or one,
   * where those of the other have three. That is all that may grow, with the logarithm: a buffer for every descent.
   */
  async function compare(measure: (db: Sql) => Promise<number>): Promise<{ alone: number; full: number }> {
    const figure = async (db: TestDatabase): Promise<number> => {
      await load(db, { count: 400, tenants: 4 });
      await db.query("vacuum (analyze) jobforge.jobs");
      return await measure(await db.connect());
    };
    await using alone = await cloneDatabase(inject("server"));
    await using full = await cloneDatabase(backlog.address);
    return { alone: await figure(alone), full: await figure(full) };
  }

  test("claiming ten jobs costs at most half more than in an otherwise empty database", async () => {
    const { alone, full } = await compare((db) => costOfClaim(db, ["a"], 10));
    expect(full).toBeLessThan(1.5 * alone);
  });

  test("ending ten runs and claiming the next ten costs at most half more", async () => {
    const { alone, full } = await compare(costOfSettle);
    expect(full).toBeLessThan(1.5 * alone);
  });

  test("enqueueing a job with keys costs at most half more", async () => {
    const { alone, full } = await compare(costOfEnqueue);
    expect(full).toBeLessThan(1.5 * alone);
  });

  test("an empty poll costs a handful of buffers, whatever it asks for", async () => {
    await using db = await cloneDatabase(backlog.address);
    const session = await db.connect();
    const polls = {
      "an unknown type": await costOfClaim(session, ["none"], 0),
      "a paused type": await costOfClaim(session, ["paused"], 0),
      "a type that is scheduled for later": await costOfClaim(session, ["a"], 0),
    };
    await db.query("select jobforge_set_gate('all', '', true)");
    const paused = { "everything paused": await costOfClaim(session, null, 0) };
    for (const [what, buffers] of Object.entries({ ...polls, ...paused }))
      expect(buffers, what).toBeLessThan(handful);
  });
});

test("a type whose due jobs are all of a paused tenant is polled for two handfuls of buffers", async ({
  db,
}) => {
  await load(db, { count: 50_000, firstTenant: 900, due: "-2 hours" });
  await db.query("select jobforge_set_gate('tenant', $1, true)", [tenant(900)]);
  // It looks, finds one lane, which is closed, and looks behind it.
  expect(await costOfClaim(db, ["a"], 0)).toBeLessThan(2 * handful);
});

test("a table that was analysed while it was empty, as of a queue that keeps up, does not mislead a claim", async ({
  db,
}) => {
  await db.query("alter table jobforge.jobs set (autovacuum_enabled = off)");
  await load(db, { count: 1, tenants: 1 });
  await db.query("delete from jobforge.jobs");
  await db.query("vacuum (analyze) jobforge.jobs");
  for (let n = 1; n <= 10; n += 1)
    await db.query(
      `select jobforge_enqueue_jobs($1, (select jsonb_agg('{"type": "a"}'::jsonb) from generate_series(1, 3000)))`,
      [tenant(n)],
    );
  expect(await costOfClaim(await db.connect(), ["a"], 10)).toBeLessThan(400);
  expect(await costOfSettle(await db.connect())).toBeLessThan(400);
});

test("a paused tenant costs a claim one hop, however many jobs it has waiting", async ({ db }) => {
  await load(db, { count: 2000, tenants: 4 });
  const alone = await costOfClaim(db, ["a"], 10);
  await load(db, { count: 10_000, tenants: 1000, firstTenant: 1000 });
  await db.query(
    `select count(jobforge_set_gate('tenant', ${tenantSql("n")}, true)) from generate_series(1000, 1999) n`,
  );
  await db.query("analyze jobforge.jobs, jobforge.gates");
  const paused = await costOfClaim(db, ["a"], 10);
  expect(paused).toBeLessThan(alone + 4 * 1000);
  await load(db, { count: 50_000, tenants: 1000, firstTenant: 1000 });
  await load(db, { count: 400, tenants: 4 });
  await db.query("analyze jobforge.jobs");
  expect(await costOfClaim(db, ["a"], 10)).toBeLessThan(1.5 * paused);
});

/** Rows of the hot table that a claim of ten visits, and its buffers. */
async function visits(session: TestConnection, types: readonly string[] | null) {
  const explaining = await explainEverything(session);
  let [rows, buffers] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let n = 0; n < warmUps + runCount; n += 1) {
    const explained = await explaining.run(claimCall, [10, types]);
    expect(explained.rows, "jobs claimed").toHaveLength(10);
    if (n < warmUps) continue;
    rows = Math.min(rows, rowsVisited(explained, "jobs"));
    buffers = Math.min(buffers, buffersOf(explained));
  }
  return { rows, buffers };
}

const typeNames = Array.from({ length: 200 }, (_, n) => `t${n}`);
/** What waits, for which types a claim asks, and how many rows it may visit: some for every lane, or for every type. */
const manyLanes: readonly (readonly [string, Omit<Load, "count">, readonly string[] | null, number])[] = [
  ["2,000 tenants", { tenants: 2000 }, ["a"], 4 * 64],
  ["200 types, by name", { type: "t", types: 200, tenants: 5 }, typeNames, 20 * 200],
  ["200 types, by asking for any", { type: "t", types: 200, tenants: 5 }, null, 20 * 200],
];

for (const [title, jobs, types, rows] of manyLanes) {
  test(`with ${title}, a claim of ten visits lanes, not jobs`, async ({ db }) => {
    await load(db, { ...jobs, count: 10_000 });
    await db.query("vacuum (analyze) jobforge.jobs");
    const few = await visits(await db.connect(), types);
    await load(db, { ...jobs, count: 50_000 });
    await db.query("vacuum (analyze) jobforge.jobs");
    const many = await visits(await db.connect(), types);
    expect(few.rows).toBeLessThan(rows);
    expect(many.rows).toBeLessThan(1.1 * few.rows);
    // A row costs a descent of three levels and its page; ten jobs are written.
    expect(many.buffers).toBeLessThan(4 * many.rows + 300);
  });
}

test("a sign of life of one run visits one job, however many its worker holds", async ({ db }) => {
  await load(db, { count: 1000 });
  await db.query("vacuum (analyze) jobforge.jobs");
  const [job] = await claim(db, "w", { limit: 1000 });
  const explaining = await explainEverything(await db.connect());
  const beat = await explaining.run("select jobforge_heartbeat_job($1, 'w')", [job?.id]);
  expect(rowsVisited(beat, "jobs")).toBe(1);
});

test("claims, ends and reads visit what they are about, however many other jobs run", async ({ db }) => {
  await load(db, { count: 1000, tenants: 4 });
  await db.query("vacuum (analyze) jobforge.jobs");
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
  for (const [name, call] of Object.entries(calls))
    expect(rowsVisited(await call(), "jobs"), name).toBeLessThan(300);
});
