import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  claimIds,
  complete,
  enqueue,
  enqueueAll,
  enqueueMany,
  fail,
  type NewJob,
  type Sql,
  setPolicy,
  T,
  travelToRun,
  U,
  unknownId,
} from "../support/kernel.ts";

const tenants = Array.from({ length: 10 }, (_, n) => `0000000${n}-0000-4000-8000-000000000000`);

/** Claims one job at a time until no job is left. */
async function oneByOne(db: Sql): Promise<string[]> {
  const [id] = await claimIds(db, "w1", { limit: 1 });
  return id === undefined ? [] : [id, ...(await oneByOne(db))];
}

const byPriority: Record<string, readonly NewJob[]> = {
  "of one tenant and type": [{ priority: 0 }, { priority: 10 }, { priority: 5 }],
  "across types": [
    { priority: 0, type: "a" },
    { priority: 10, type: "c" },
    { priority: 5, type: "b" },
  ],
  "across tenants": [{ priority: 0 }, { priority: 10, tenant_id: U }, { priority: 5, tenant_id: unknownId }],
  "below zero": [{ priority: -1_000_000 }, { priority: 1_000_000 }, { priority: -1 }],
  "over age": [{ priority: 0, in: "-1 day" }, { priority: 10 }, { priority: 5, in: "-1 hour" }],
};

test.for(Object.keys(byPriority))("jobs %s start in order of priority", async (where, { db }) => {
  const jobs = byPriority[where] ?? [];
  const [low, high, middle] = await enqueueAll(db, jobs);
  expect(await claimIds(db)).toEqual([high, middle, low]);
  const [low2, high2, middle2] = await enqueueAll(db, jobs);
  expect(await oneByOne(db)).toEqual([high2, middle2, low2]);
});

test("jobs of one tenant with equal priority start oldest first, also across types", async ({ db }) => {
  const ages = [5, 1, 4, 2, 3];
  const jobs = ages.map((age, n) => ({ type: n % 2 === 0 ? "a" : "b", in: `-${age} minutes` }));
  const expected = (ids: string[]): (string | undefined)[] => [0, 2, 4, 3, 1].map((n) => ids[n]);
  const batch = await enqueueAll(db, jobs);
  expect(await claimIds(db)).toEqual(expected(batch));
  const single = await enqueueAll(db, jobs);
  expect(await oneByOne(db)).toEqual(expected(single));
});

test("a batch that is too small for all jobs takes the oldest of all types, not some of each", async ({
  db,
}) => {
  const newer = await enqueueAll(db, [{ type: "a" }, { type: "a" }]);
  const older = await enqueueAll(db, [
    { type: "b", in: "-3 min" },
    { type: "b", in: "-2 min" },
    { type: "b", in: "-1 min" },
  ]);
  expect(await claimIds(db, "w1", { limit: 3 })).toEqual(older);
  expect(await claimIds(db, "w1", { limit: 3 })).toEqual(newer);
});

test("jobs due at the same instant start in the order they were enqueued, also across types", async ({
  db,
}) => {
  const run_at = "2020-01-01T00:00:00Z";
  const jobs = ["b", "a", "b", "a", "c", "a"].map((type) => ({ type, run_at }));
  const ids = await enqueueAll(db, jobs);
  expect(await claimIds(db)).toEqual(ids);
  const again = await enqueueAll(db, jobs);
  expect(await oneByOne(db)).toEqual(again);
});

test("a job that becomes due is ordered by its run_at among the waiting jobs", async ({ db }) => {
  const later = await enqueue(db, { in: "10 seconds" });
  await db.travel("20 seconds");
  const now = await enqueue(db);
  expect(await claimIds(db)).toEqual([later.id, now.id]);
});

test("the priority of a job that became due counts at once", async ({ db }) => {
  const high = await enqueue(db, { priority: 5, in: "10 seconds" });
  const low = await enqueue(db);
  await travelToRun(db, high.id);
  expect(await claimIds(db, "w1", { limit: 1 })).toEqual([high.id]);
  expect(await claimIds(db, "w1", { limit: 1 })).toEqual([low.id]);
});

test("a tenant with one job gets into the same batch as a tenant with a thousand older jobs", async ({
  db,
}) => {
  await enqueueMany(db, 1000);
  const { id } = await enqueue(db, { tenant_id: U });
  const claimed = await claim(db, "w1", { limit: 10 });
  expect(claimed).toHaveLength(10);
  expect(claimed.map((job) => job.id)).toContain(id);
});

test("a tenant with one job is served long before an older backlog, even when workers claim one job at a time", async ({
  db,
}) => {
  await enqueueMany(db, 300);
  const { id } = await enqueue(db, { tenant_id: U });
  let claims = 0;
  for (let claimed: string | undefined; claimed !== id; claims += 1) {
    [claimed] = await claimIds(db, "w1", { limit: 1 });
  }
  expect(claims).toBeLessThan(150);
});

test("tenants with work get equal shares of a batch, across all their types", async ({ db }) => {
  for (const tenant_id of tenants) {
    await enqueueMany(db, 30, { tenant_id, type: "a" });
    await enqueueMany(db, 30, { tenant_id, type: "b" });
  }
  const claimed = await claim(db, "w1", { limit: 100 });
  const shares = tenants.map((tenant) => claimed.filter((job) => job.tenant_id === tenant).length);
  expect(shares).toEqual(Array(10).fill(10));
});

test("a share that a tenant cannot use goes to the others", async ({ db }) => {
  await enqueueMany(db, 3, { tenant_id: U });
  await enqueueMany(db, 50);
  const claimed = await claim(db, "w1", { limit: 20 });
  expect(claimed.filter((job) => job.tenant_id === U)).toHaveLength(3);
  expect(claimed.filter((job) => job.tenant_id === T)).toHaveLength(17);
});

test("no tenant waits for more than a few batches, however many tenants have work", async ({ db }) => {
  await db.query(
    "select count(jobforge_enqueue_job(md5((n / 20)::text)::uuid, 'a')) from generate_series(0, 2599) n",
  );
  const served = new Set<string>();
  let claims = 0;
  while (served.size < 130) {
    for (const job of await claim(db, "w1", { limit: 100 })) served.add(job.tenant_id);
    claims += 1;
  }
  // If jobs started by age alone, the last tenant's turn would come in batch 26.
  expect(claims).toBeLessThan(20);
});

test("a batch is filled from the next priority when the highest one has no more jobs", async ({ db }) => {
  const low = await enqueueAll(db, [{}, { tenant_id: U }, { type: "b" }]);
  const high = await enqueueAll(db, [{ priority: 1 }, { priority: 1, tenant_id: U }]);
  const claimed = await claimIds(db);
  expect(claimed.slice(0, 2).sort()).toEqual(high.sort());
  expect(claimed.slice(2).sort()).toEqual(low.sort());
});

test("a retry keeps its priority and gets its turn by its new time", async ({ db }) => {
  await setPolicy(db, "a", { base_ms: 10_000 });
  const [first, second] = await enqueueAll(db, [{ priority: 1 }, { priority: 1 }]);
  await claim(db, "w1", { limit: 1 });
  await fail(db, first);
  await travelToRun(db, first);
  const third = await enqueue(db, { priority: 1 });
  expect(await claimIds(db)).toEqual([second, first, third.id]);
  expect(await complete(db, first)).toMatchObject({ status: "succeeded" });
});
