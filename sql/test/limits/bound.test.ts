/**
 * Limits and workers that are bound to a tenant. Whatever such a worker does in a transaction that it leaves open, jobs
 * of other tenants start up to their limits, and limits stay exact.
 */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { cost, load, tenant } from "../support/cost.ts";
import {
  claim,
  claimIds,
  complete,
  enqueue,
  enqueueAll,
  enqueueMany,
  impatient,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { type Scope, setLimit, statesOf } from "../support/limits.ts";
import { settle, success } from "../support/settle.ts";
import { boundLogin } from "../support/tenants.ts";

/** Opens a worker that is bound to a tenant, and has claimed the types before, so that it has its marks. */
async function boundWorker(
  db: TestDatabase,
  to = T,
  types: readonly string[] = ["a"],
): Promise<TestConnection> {
  const worker = await boundLogin(db, to, "jobforge_worker");
  const first = await enqueueAll(
    db,
    types.map((type) => ({ tenant_id: to, type, concurrency_key: "first" })),
  );
  const done = new Set<string>();
  while (done.size < first.length) {
    for (const id of await claimIds(worker, "bound", { types })) {
      await complete(worker, id, { worker: "bound" });
      done.add(id);
    }
  }
  return worker;
}

/** Opens a transaction in which the worker claims, and leaves it open. */
async function claimAndStay(worker: TestConnection, limit: number): Promise<string[]> {
  await worker.query("begin");
  return await claimIds(worker, "bound", { limit });
}

/** Claims with a worker that is not bound until nothing more starts, and returns the number of jobs. */
async function claimAll(db: Sql, limit = 1000): Promise<number> {
  let count = 0;
  for (let idle = 0; idle < 2; ) {
    const { jobs, claim_error } = await settle(db, [], { claim: limit });
    expect(claim_error).toBeUndefined();
    count += jobs.length;
    idle = jobs.length === 0 ? idle + 1 : 0;
  }
  return count;
}

/** The attributes of a job in the bound worker's bucket of a scope, and of jobs of others, by a number n. */
const buckets: [scope: Scope, bound: string, others: string][] = [
  ["key", `'a', '${T}', 'mine'`, `'a', '${U}', 'key ' || n`],
  ["type_tenant", `'a', '${T}', null`, "'a', gen_random_uuid(), null"],
  ["tenant", `'a', '${T}', null`, "'a', gen_random_uuid(), null"],
  ["type", `'a', '${T}', null`, `'type.' || n, '${U}', null`],
];

test.for(buckets)(
  "a bound worker's open claim delays no bucket of a limit by %s that shares a lock with the claimed ones",
  async ([scope, bound, others], { db }) => {
    await setLimit(db, scope, "*", { max: 4, rate: 4, per: "1 hour" });
    const worker = await boundWorker(db);
    await enqueueAll(
      db,
      Array.from({ length: 3 }, () => ({ concurrency_key: "mine" })),
    );
    expect(await claimAndStay(worker, 3)).toHaveLength(3);
    const count = await db.value<number>(
      `select count(jobforge_enqueue_job(x.tenant::uuid, x.type, p_concurrency_key => x.key))::int
       from jobforge.bucket_secret s
       cross join lateral (select ${bound}) b(type, tenant, key)
       cross join lateral (select ${others} from generate_series(1, 9000) n offset 0) x(type, tenant, key)
       where 0 = 1023 & (jobforge.bucket_id(s.secret, '${scope}', x.type, x.tenant::uuid, x.key)
         # jobforge.bucket_id(s.secret, '${scope}', b.type, b.tenant::uuid, b.key))`,
    );
    expect(count).toBeGreaterThan(0);
    expect(await claimAll(await impatient(db))).toBe(count);
    await worker.query("commit");
  },
);

test("a bound worker's open end of a run delays no other tenant's bucket", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  await setLimit(db, "tenant", "*", { max: 100_000 });
  const bound = await boundWorker(db);
  const runs = await enqueueAll(
    db,
    Array.from({ length: 100 }, (_, n) => ({ concurrency_key: `mine ${n}` })),
  );
  const next = await enqueue(db, { concurrency_key: "mine 0" });
  expect(await claim(bound, "bound", { limit: 200 })).toHaveLength(100);
  await bound.query("begin");
  await settle(
    bound,
    runs.map((id) => success(id)),
    { worker: "bound" },
  );
  await db.query(
    "select count(jobforge_enqueue_job($1, 'a', p_concurrency_key => 'key ' || n)) from generate_series(1, 100) n",
    [U],
  );
  expect(await claimAll(db)).toBe(100);
  await bound.query("rollback");
  expect(await claimAll(db)).toBe(0);
  await settle(
    bound,
    runs.map((id) => success(id)),
    { worker: "bound" },
  );
  expect(await claimIds(db)).toEqual([next.id]);
});

test.for([
  ["commit", 7, 0],
  ["rollback", 7, 3],
] as const)(
  "jobs that a bound worker has claimed count for their type before it ends its transaction with %s",
  async ([end, before, after], { db }) => {
    await setLimit(db, "type", "a", { max: 10 });
    const bound = await boundWorker(db);
    await enqueueMany(db, 3);
    expect(await claimAndStay(bound, 3)).toHaveLength(3);
    await enqueueMany(db, 20, { tenant_id: U });
    const worker = await impatient(db);
    expect(await claim(worker, "w1", { limit: 20, tenant_id: U })).toHaveLength(before);
    expect(await claim(worker, "w1", { limit: 20, tenant_id: U })).toEqual([]);
    await bound.query(end);
    expect(await claim(worker, "w1", { limit: 20, tenant_id: U })).toHaveLength(after);
    expect(await statesOf(db)).toMatchObject({ running: 10 });
  },
);

const own: [scope: Scope, key: string][] = [
  ["key", "*"],
  ["type_tenant", "*"],
  ["tenant", T],
  ["type", "a"],
];

test.for(own)(
  "a worker and a bound one that claim the same tenant's jobs in open transactions keep a limit by %s",
  async ([scope, key], { db }) => {
    await setLimit(db, scope, key, { max: 4 });
    const bound = await boundWorker(db);
    const worker = await impatient(db);
    const keyed = { concurrency_key: "mine" };
    for (let n = 0; n < 20; n += 1) await enqueue(db, keyed);
    await claimAndStay(bound, 3);
    await worker.query("begin");
    const room = scope === "type" ? 1 : 0;
    expect(await claim(worker, "w1", { limit: 1 })).toHaveLength(room);
    await bound.query("commit");
    expect(await claim(worker, "w1", { limit: 1 })).toHaveLength(1 - room);
    await bound.query("begin");
    expect(await claim(bound, "bound")).toEqual([]);
    await worker.query("rollback");
    expect(await claim(bound, "bound")).toHaveLength(1);
    await bound.query("rollback");
    await worker.query("begin");
    expect(await claim(worker, "w1", { limit: 1 })).toHaveLength(1);
    expect(await claim(bound, "bound")).toEqual([]);
    await worker.query("commit");
    expect(await claim(bound, "bound")).toEqual([]);
  },
);

test.for(own)(
  "a claim that began before the first binding and a bound one keep a limit by %s",
  async ([scope, key], { db }) => {
    await setLimit(db, scope, key, { max: 4 });
    for (let n = 0; n < 20; n += 1) await enqueue(db, { concurrency_key: "mine" });
    const worker = await impatient(db);
    await worker.query("begin");
    expect(await claim(worker, "w1", { limit: 3 })).toHaveLength(3);
    const bound = await boundLogin(db, T, "jobforge_worker");
    for (let n = 0; n < 3; n += 1) expect(await claim(bound, "bound")).toEqual([]);
    await worker.query("commit");
    await bound.travel("1 second");
    expect(await claim(bound, "bound")).toHaveLength(1);
    expect(await statesOf(db)).toMatchObject({ running: 4 });
  },
);

test("a run that ends in a transaction that stays open makes room for others when it has ended", async ({
  db,
}) => {
  await setLimit(db, "type", "a", { max: 2 });
  const bound = await boundWorker(db);
  await enqueueMany(db, 2);
  await enqueueMany(db, 4, { tenant_id: U });
  await bound.query("begin");
  const mine = await claimIds(bound, "bound", { limit: 2 });
  expect(mine).toHaveLength(2);
  await settle(
    bound,
    mine.map((id) => success(id)),
    { worker: "bound" },
  );
  expect(await claim(db)).toEqual([]);
  await bound.query("commit");
  expect(await claim(db)).toHaveLength(2);
});

test("bound workers of two tenants share a type's limit, and neither's open claim stops the other", async ({
  db,
}) => {
  await setLimit(db, "type", "a", { max: 20 });
  const [one, two] = [await boundWorker(db, T), await boundWorker(db, U)];
  await enqueueMany(db, 30);
  await enqueueMany(db, 30, { tenant_id: U });
  const held = await claimAndStay(one, 30);
  // A tenant has sixteen marks for a type.
  expect(held).toHaveLength(16);
  expect(await claimIds(one, "bound", { limit: 30 })).toEqual([]);
  expect(await claimAndStay(two, 30)).toHaveLength(4);
  expect(await claim(db, "w1", { limit: 30 })).toEqual([]);
  await one.query("rollback");
  await two.query("commit");
  expect(await claim(db, "w1", { limit: 30 })).toHaveLength(16);
});

/** Stops the clock between the steps, so that the results of token buckets are exact. */
async function at(db: Sql, seconds: number): Promise<void> {
  await db.query(
    `create or replace function jobforge.now() returns timestamptz language sql stable as
     $$ select '2030-01-01T00:00:00Z'::timestamptz + ${seconds} * interval '1 second' $$`,
  );
}

test("starts of bound workers take a type's tokens, open or committed, once each", async ({ db }) => {
  await at(db, 0);
  await setLimit(db, "type", "a", { rate: 6, per: "1 minute", burst: 4 });
  const bound = await boundWorker(db);
  await at(db, 1000);
  const run_at = "2029-01-01T00:00:00Z";
  for (let n = 0; n < 12; n += 1) await enqueue(db, { tenant_id: n % 2 === 0 ? T : U, run_at });
  expect(await claimAndStay(bound, 1)).toHaveLength(1);
  expect(await claim(db, "w1", { tenant_id: U })).toHaveLength(3);
  await bound.query("commit");
  expect(await claim(db)).toEqual([]);
  expect(await claim(bound, "bound")).toEqual([]);
  await at(db, 1010);
  expect(await claim(bound, "bound")).toHaveLength(1);
  expect(await claim(db)).toEqual([]);
  await at(db, 1020);
  await db.query("select jobforge_maintain()");
  expect(await db.value("select count(*)::int from jobforge.type_starts")).toBe(0);
  expect(await claim(db)).toHaveLength(1);
  expect(await claim(bound, "bound")).toEqual([]);
  // The claims of others move appended starts to the shared row.
  await at(db, 1030);
  expect(await claim(bound, "bound")).toHaveLength(1);
  await at(db, 1040);
  expect(await claim(db)).toHaveLength(1);
  expect(await db.value("select count(*)::int from jobforge.type_starts")).toBe(0);
  expect(await claim(db)).toEqual([]);
});

test("a job that a bound worker parks in an open transaction starts when there is room", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const bound = await boundWorker(db);
  const [first, second] = await enqueueAll(db, [{ concurrency_key: "k" }, { concurrency_key: "k" }]);
  expect(await claimIds(db, "w1", { limit: 1 })).toEqual([first]);
  expect(await claimAndStay(bound, 10)).toEqual([]);
  // The end cannot see the parked job yet, and leaves a request.
  await complete(db, first);
  await bound.query("commit");
  await db.travel("1 second");
  expect(await claimIds(db)).toEqual([second]);
});

test("a bound worker unparks its tenant's jobs, and leaves requests of other tenants alone", async ({
  db,
}) => {
  await setLimit(db, "tenant", "*", { max: 1 });
  const bound = await boundWorker(db);
  const [mine, next] = await enqueueAll(db, [{}, {}]);
  const [other, last] = await enqueueAll(db, [{ tenant_id: U }, { tenant_id: U }]);
  expect((await claimIds(db)).sort()).toEqual([mine, other].sort());
  expect(await claim(db)).toEqual([]);
  await db.query(
    `insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
     select tenant_id, parked_in, clock_timestamp() from jobforge.queue where state = 'parked'`,
  );
  await bound.query("begin");
  expect(await claim(bound, "bound")).toEqual([]);
  await complete(db, other);
  expect(await claimIds(db)).toEqual([last]);
  await bound.query("commit");
  await complete(db, mine);
  await bound.travel("1 second");
  expect(await claimIds(bound, "bound")).toEqual([next]);
});

test("where all workers are bound, maintenance unparks what a changed limit allows", async ({ db }) => {
  await setLimit(db, "tenant", "*", { max: 1 });
  const bound = await boundWorker(db);
  const [first, second] = await enqueueAll(db, [{}, {}]);
  expect(await claimIds(bound, "bound")).toEqual([first]);
  expect(await statesOf(db)).toEqual({ running: 1, parked: 1 });
  await setLimit(db, "tenant", "*", { max: 2 });
  expect(await claimIds(bound, "bound")).toEqual([]);
  await db.query("select jobforge_maintain()");
  expect(await claimIds(bound, "bound")).toEqual([second]);
});

test("jobs of a tenant whose bound worker stays cost claims of others a bounded number of buffers", async ({
  db,
}) => {
  await setLimit(db, "tenant", "*", { max: 5000 });
  const bound = await boundWorker(db, tenant(1));
  await load(db, { count: 4000, tenants: 1 });
  await load(db, { count: 10, firstTenant: 2 });
  expect(await claimAndStay(bound, 1)).toHaveLength(1);
  expect(await claim(db, "w1", { limit: 10 })).toHaveLength(10);
  await claim(db);
  const { buffers, rows } = await cost(db, "select * from jobforge_claim_jobs('w2', 10)");
  expect(rows).toBe(0);
  expect(buffers).toBeLessThan(600);
});

test("a bound claim that its tenant's limit refuses holds no place of a type", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 5 });
  const bound = await boundWorker(db);
  await setLimit(db, "tenant", T, { max: 1 });
  await enqueue(db, { type: "other" });
  expect(await claim(bound, "bound", { types: ["other"] })).toHaveLength(1);
  await enqueueMany(db, 10, { type: "a" });
  await enqueueMany(db, 10, { type: "a", tenant_id: U });
  await bound.query("begin");
  expect(await claim(bound, "bound", { types: ["a"] })).toEqual([]);
  expect(await claim(db, "w", { types: ["a"], tenant_id: U })).toHaveLength(5);
});
