/** Cost is counted in buffers: what a claim touches must not grow with what it does not claim. */
import type { TestConnection } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../test/database.ts";
import { cost, costAndAnswer, load, mean, median, tenant } from "./support/cost.ts";
import { tenantSql, writeHistory } from "./support/history.ts";
import { claim, claimIds, enqueue, type Sql } from "./support/kernel.ts";

const CLAIM = "select * from jobforge_claim_jobs('w', $1, $2)";

/** The least cost of some claims of ten jobs, in a session that knows its plans. */
async function costOfTen(db: Sql, types: readonly string[] | null, claims = 9): Promise<number> {
  const costs: number[] = [];
  for (let i = 0; i < 8 + claims; i += 1) {
    const { buffers, rows } = await cost(db, CLAIM, [10, types]);
    expect(rows, "jobs claimed").toBe(10);
    costs.push(buffers);
  }
  return Math.min(...costs.slice(8));
}

/** The cost of a poll that finds nothing, after those that plan and look after the rest. */
async function costOfNothing(db: Sql, types: readonly string[] | null): Promise<number> {
  const costs: number[] = [];
  for (let i = 0; i < 12; i += 1) {
    const { buffers, rows } = await cost(db, CLAIM, [10, types]);
    expect(rows, "jobs claimed").toBe(0);
    costs.push(buffers);
  }
  return Math.min(...costs.slice(7));
}

/** A database full of jobs that no claim of type 'a' for four tenants wants. */
async function fill(db: Sql & { connect(): Promise<TestConnection> }): Promise<void> {
  await load(db, { count: 50_000, type: "a", tenants: 4, due: "1 day" });
  await load(db, { count: 50_000, type: "paused", tenants: 4 });
  await load(db, { count: 50_000, type: "other", types: 5, tenants: 4 });
  await load(db, { count: 50_000, type: "a", firstTenant: 900, due: "-2 hours" });
  await db.query("select jobforge_set_gate('type', 'paused', true), jobforge_set_gate('tenant', $1, true)", [
    tenant(900),
  ]);
}

test("a claim of ten costs the same whatever else the tables hold, and an empty poll next to nothing", async ({
  db,
}) => {
  // Enough that the indexes have two levels: the third, which comes with the rest, is all that may be added.
  await load(db, { count: 2000, tenants: 4 });
  const alone = await costOfTen(db, ["a"]);
  expect(await costOfNothing(db, ["none"])).toBeLessThan(60);

  await writeHistory(db, {
    rows: 100_000,
    span: "20 days",
    tenant: tenantSql("1 + n % 4"),
    type: "case n % 2 when 0 then 'a' else 'other1' end",
  });
  await fill(db);
  await db.query("analyze jobforge.jobs");

  // Another session plans with what it sees now, this one has planned before.
  const other = await db.connect();
  const figures = { alone, before: await costOfTen(db, ["a"]), after: await costOfTen(other, ["a"]) };
  // Twice, for a level more in each of the indexes that a claim writes to.
  expect(figures.before).toBeLessThan(2 * alone);
  expect(figures.after).toBeLessThan(2 * alone);
  const polls = {
    unknown: await costOfNothing(other, ["none"]),
    paused: await costOfNothing(other, ["paused"]),
  };
  expect(polls.unknown).toBeLessThan(60);
  expect(polls.paused).toBeLessThan(60);
});

test("a type whose jobs are all scheduled for later or of a paused tenant is polled for next to nothing", async ({
  db,
}) => {
  await fill(db);
  await db.query("analyze jobforge.jobs");
  const buffers = await costOfNothing(db, ["a"]);
  expect(buffers).toBeLessThan(60);
});

test("everything paused costs a poll next to nothing", async ({ db }) => {
  await fill(db);
  await db.query("select jobforge_set_gate('all', '', true)");
  expect(await costOfNothing(db, null)).toBeLessThan(60);
});

test("a paused tenant costs a claim one hop, however many jobs it has waiting", async ({ db }) => {
  await load(db, { count: 2000, tenants: 4 });
  const alone = await costOfTen(db, ["a"]);
  await load(db, { count: 10_000, tenants: 1000, firstTenant: 1000 });
  await db.query(
    `select count(jobforge_set_gate('tenant', ${tenantSql("n")}, true)) from generate_series(1000, 1999) n`,
  );
  await db.query("analyze jobforge.jobs, jobforge.gates");
  const paused = await costOfTen(db, ["a"]);
  expect(paused).toBeLessThan(alone + 4 * 1000);
  await load(db, { count: 50_000, tenants: 1000, firstTenant: 1000 });
  await load(db, { count: 400, tenants: 4 });
  await db.query("analyze jobforge.jobs");
  expect(await costOfTen(db, ["a"])).toBeLessThan(1.5 * paused);
});

test("with 2,000 tenants a claim of ten touches lanes, at most 64 of them, not jobs", async ({ db }) => {
  await load(db, { count: 2000, tenants: 2000 });
  const one = await costOfTen(db, ["a"]);
  await load(db, { count: 60_000, tenants: 2000 });
  await db.query("analyze jobforge.jobs");
  const thirty = await costOfTen(db, ["a"]);
  // Two looks (the second from a random lane) of 64 hops at about four buffers, and the claim itself.
  expect(one).toBeLessThan(2 * 64 * 5 + 500);
  expect(thirty).toBeLessThan(1.5 * one);
});

test("with 200 types a claim of ten touches a few buffers of each type, not its jobs", async ({ db }) => {
  const names = Array.from({ length: 200 }, (_, n) => `t${n}`);
  await load(db, { count: 20_000, type: "t", types: 200, tenants: 5 });
  await db.query("analyze jobforge.jobs");
  const few = { named: await costOfTen(db, names), any: await costOfTen(db, null) };
  await load(db, { count: 60_000, type: "t", types: 200, tenants: 5 });
  await db.query("analyze jobforge.jobs");
  const many = { named: await costOfTen(db, names), any: await costOfTen(db, null) };
  expect(few.named).toBeLessThan(200 * 40);
  expect(many.named).toBeLessThan(1.5 * few.named);
  expect(many.any).toBeLessThan(1.5 * few.any);
});

test("a session that made its plans on empty tables keeps its cost when they fill up", async ({ db }) => {
  const session = await db.connect();
  const settle = async (ids: readonly { id: string; attempts: number }[]) =>
    await costAndAnswer<{ jobs: { id: string; attempts: number }[] }>(
      session,
      "jobforge_settle_jobs('w', $1, 10, array['a'])",
      [JSON.stringify(ids.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" })))],
    );
  let held: { id: string; attempts: number }[] = [];
  for (let i = 0; i < 12; i += 1) {
    await enqueue(session, { tenant_id: tenant(1), idempotency_key: `early ${i}`, dedupe_key: `early ${i}` });
    await claim(session, "w2", { types: ["none"] });
    held = (await settle(held)).answer.jobs;
  }
  await load(db, { count: 200_000, type: "a", tenants: 50, due: "-3 hours" });
  await db.query(
    `insert into jobforge.job_keys (tenant_id, type, idempotency_key, job_id)
     select tenant_id, type, id::text, id from jobforge.jobs where tenant_id <> $1`,
    [tenant(1)],
  );

  const costs = { enqueue: [] as number[], claim: [] as number[], settle: [] as number[] };
  for (let i = 0; i < 9; i += 1) {
    const enqueued = await cost(session, "select jobforge_enqueue_job($1, 'a', p_idempotency_key => $2)", [
      tenant(1),
      `late ${i}`,
    ]);
    costs.enqueue.push(enqueued.buffers);
    costs.claim.push((await cost(session, CLAIM, [10, ["a"]])).buffers);
    const settled = await settle(held);
    expect(settled.answer.jobs).toHaveLength(10);
    held = settled.answer.jobs;
    costs.settle.push(settled.buffers);
  }
  const figures = {
    enqueue: median(costs.enqueue),
    claim: median(costs.claim),
    settle: median(costs.settle),
  };
  expect(figures.enqueue).toBeLessThan(150);
  expect(figures.claim).toBeLessThan(1000);
  expect(figures.settle).toBeLessThan(2000);
});

test("under an open snapshot the cost of settle and claim stays bounded while 30,000 jobs flow through", async ({
  db,
}) => {
  await load(db, { count: 30_000, tenants: 10 });
  await db.query("analyze jobforge.jobs");
  const reader = await db.connect();
  await reader.query("begin isolation level repeatable read");
  await reader.query("select count(*) from jobforge_connector_configs");

  const costs: number[] = [];
  let results: { id: string; attempt: number; status: string }[] = [];
  let hint: unknown = null;
  let done = 0;
  for (;;) {
    const { buffers, answer } = await costAndAnswer<{
      jobs: { id: string; attempts: number }[];
      hint: unknown;
    }>(db, "jobforge_settle_jobs('w', $1, 100, array['a'], null, $2)", [
      JSON.stringify(results),
      hint === null ? null : JSON.stringify(hint),
    ]);
    if (answer.jobs.length === 0) break;
    costs.push(buffers);
    done += answer.jobs.length;
    hint = answer.hint;
    results = answer.jobs.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
  }
  await reader.query("commit");
  expect(done).toBe(30_000);
  // The first call has nothing to settle.
  const first = costs.slice(1, 31);
  const last = costs.slice(-31, -1);
  expect(mean(last)).toBeLessThan(3 * mean(first));
  expect(await claimIds(db, "w", { types: ["a"] })).toEqual([]);
});
