/**
 * Jobs that are parked because their tenant, or their type of a tenant, has no room. When there is room again, it may
 * be offered to a job that a narrower limit refuses. The room then goes to the jobs behind it.
 */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  claimIds,
  complete,
  enqueue,
  enqueueMany,
  fail,
  setPolicy,
  T,
} from "../support/kernel.ts";
import { removeLimit, type Scope, setLimit, statesOf } from "../support/limits.ts";
import { boundLogin } from "../support/tenants.ts";

type Worker = Parameters<typeof claimIds>[0];

/** Claims until something starts, at most `most` times, and returns the ids. */
async function claimSoon(worker: Worker, most = 3): Promise<string[]> {
  for (let n = 0; n < most; n += 1) {
    const ids = await claimIds(worker);
    if (ids.length > 0) return ids;
  }
  return [];
}

/** Claims a few times. Nothing starts, and then no request is due. */
async function expectQuiet(db: TestDatabase): Promise<void> {
  for (let n = 0; n < 3; n += 1) expect(await claimIds(db)).toEqual([]);
  const before = await statesOf(db);
  expect(await claimIds(db)).toEqual([]);
  expect(await statesOf(db)).toEqual(before);
  const due = "select count(*)::int from jobforge.unpark_requests where due_at <= jobforge.now()";
  expect(await db.value(due)).toBe(0);
}

/** Starts a run that fills the wider bucket. */
async function fill(db: TestDatabase): Promise<string> {
  const { id } = await enqueue(db);
  expect(await claimIds(db)).toEqual([id]);
  return id;
}

/** Enqueues a job that is parked behind the run that fills the wider bucket. */
async function parked(db: TestDatabase, job: Parameters<typeof enqueue>[1] = {}): Promise<string> {
  const { id } = await enqueue(db, job);
  expect(await claimIds(db)).toEqual([]);
  expect(await db.value("select state from jobforge.live_rows where id = $1", [id])).toBe("parked");
  return id;
}

const wider: Scope[] = ["tenant", "type_tenant"];

test.for(wider)("a job behind one whose key waits for its retry starts (%s)", async (scope, { db }) => {
  await setPolicy(db, "a", { base_ms: 3_600_000, cap_ms: 3_600_000, jitter: 0 });
  await setLimit(db, "key", "*", { max: 1 });
  await setLimit(db, scope, "*", { max: 1 });
  const run = await fill(db);
  const blocked = await parked(db, { concurrency_key: "k" });
  const first = await parked(db, { concurrency_key: "k", priority: 5 });
  const behind = await parked(db);
  await complete(db, run);
  expect(await claimSoon(db)).toEqual([first]);
  await fail(db, first);
  expect(await claimSoon(db)).toEqual([behind]);
  await complete(db, behind);
  await expectQuiet(db);
  await db.travel("2 hours");
  expect(await claimSoon(db)).toEqual([first]);
  await complete(db, first);
  expect(await claimSoon(db)).toEqual([blocked]);
});

test.for(wider)("a job behind one whose key may not run starts (%s)", async (scope, { db }) => {
  await setLimit(db, scope, "*", { max: 1 });
  const run = await fill(db);
  const blocked = await parked(db, { concurrency_key: "k" });
  const behind = await parked(db);
  await setLimit(db, "key", "k", { max: 0 });
  await expectQuiet(db);
  await complete(db, run);
  expect(await claimSoon(db)).toEqual([behind]);
  await complete(db, behind);
  await expectQuiet(db);
  await removeLimit(db, "key", "k");
  expect(await claimSoon(db)).toEqual([blocked]);
});

test.for(wider)("a job behind one whose key waits for a token starts (%s)", async (scope, { db }) => {
  await setLimit(db, scope, "*", { max: 1 });
  await setLimit(db, "key", "k", { rate: 1, per: "10 days" });
  const run = await fill(db);
  const first = await parked(db, { concurrency_key: "k" });
  const blocked = await parked(db, { concurrency_key: "k" });
  const behind = await parked(db);
  await complete(db, run);
  expect(await claimSoon(db)).toEqual([first]);
  await complete(db, first);
  expect(await claimSoon(db)).toEqual([behind]);
  await complete(db, behind);
  await expectQuiet(db);
  await db.travel("11 days");
  expect(await claimSoon(db)).toEqual([blocked]);
});

test("a job that was locked when its tenant had room starts, although the job that got the room may not run", async ({
  db,
}) => {
  await setLimit(db, "tenant", "*", { max: 1 });
  const run = await fill(db);
  const blocked = await parked(db, { type: "b" });
  const behind = await parked(db);
  await setLimit(db, "type_tenant", `b:${T}`, { max: 0 });
  await expectQuiet(db);
  const application = await db.connect();
  await application.query("begin");
  await cancel(application, behind);
  await complete(db, run);
  await application.query("rollback");
  expect(await claimSoon(db)).toEqual([behind]);
  await complete(db, behind);
  await expectQuiet(db);
  await removeLimit(db, "type_tenant", `b:${T}`);
  expect(await claimSoon(db)).toEqual([blocked]);
});

test("a job behind one that three limits refuse in turn starts", async ({ db }) => {
  await setLimit(db, "tenant", "*", { max: 1 });
  await setLimit(db, "type_tenant", "*", { max: 1 });
  const run = await fill(db);
  await parked(db, { concurrency_key: "k" });
  await parked(db, { concurrency_key: "l" });
  const behind = await parked(db);
  const other = await parked(db, { type: "b" });
  await setLimit(db, "key", "*", { max: 0 });
  await complete(db, run);
  const started = await claimSoon(db);
  expect([[behind], [other]]).toContainEqual(started);
  await complete(db, started[0] ?? null);
  expect([...started, ...(await claimSoon(db))].toSorted()).toEqual([behind, other].toSorted());
});

test("a worker that is bound to the tenant gets to the job behind, and no other claim waits meanwhile", async ({
  db,
}) => {
  await setLimit(db, "tenant", "*", { max: 1 });
  const run = await fill(db);
  await parked(db, { concurrency_key: "k" });
  const behind = await parked(db);
  await setLimit(db, "key", "k", { max: 0 });
  await expectQuiet(db);
  const bound = await boundLogin(db, T, "jobforge_worker");
  await complete(db, run);
  await bound.query("begin");
  expect(await claimIds(bound, "bound")).toEqual([]);
  await db.query("set statement_timeout = '5s'");
  expect(await claimIds(db)).toEqual([]);
  await bound.query("commit");
  // While the bound worker held the bucket, others put their checks off by up to a tenth of a second.
  await bound.travel("1 second");
  expect(await claimSoon(bound)).toEqual([behind]);
});

test("ten thousand jobs of a key that may not run are passed in bounded steps", async ({ db }) => {
  await setLimit(db, "tenant", "*", { max: 1 });
  const run = await fill(db);
  await enqueueMany(db, 10_000);
  await db.query("update jobforge.queue set concurrency_key = 'k' where state = 'ready'");
  const { id: behind } = await enqueue(db);
  for (let n = 0; n < 20 && (await statesOf(db))["ready"] !== undefined; n += 1) await claim(db);
  expect(await statesOf(db)).toEqual({ running: 1, parked: 10_001 });
  await setLimit(db, "key", "k", { max: 0 });
  await expectQuiet(db);
  await complete(db, run);

  const inKey =
    "select count(*)::int from jobforge.queue where parked_in = jobforge.bucket_id((select secret from jobforge.bucket_secret), 'key', 'a', $1, 'k')";
  let moved = 0;
  let claims = 0;
  let started: string[] = [];
  while (started.length === 0 && claims < 60) {
    claims += 1;
    started = await claimIds(db);
    const now = await db.value<number>(inKey, [T]);
    expect(now - moved).toBeLessThanOrEqual(510);
    moved = now;
  }
  expect(started).toEqual([behind]);
  expect(moved).toBe(10_000);
  expect(claims).toBeLessThan(40);
  await complete(db, behind);
  await expectQuiet(db);
  expect(await statesOf(db)).toEqual({ parked: 10_000 });
});
