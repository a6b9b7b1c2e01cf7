/** With a limit of one, the jobs of a concurrency key start one after the other, in order. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  claimIds,
  complete,
  enqueue,
  enqueueAll,
  fail,
  type NewJob,
  reschedule,
  T,
  travelToRun,
  U,
  workerHeartbeat,
} from "../support/kernel.ts";
import { setLimit, statesOf } from "../support/limits.ts";

const k = (job: NewJob = {}): NewJob => ({ concurrency_key: "k", ...job });

test("the jobs of a key start one after the other, and other jobs run at the same time", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const [first, second, third] = await enqueueAll(db, [k(), k(), k()]);
  const [other, none] = await enqueueAll(db, [{ concurrency_key: "other" }, {}]);
  expect(await claimIds(db)).toEqual([first, other, none]);
  await complete(db, first);
  expect(await claimIds(db)).toEqual([second]);
  await complete(db, second);
  expect(await claimIds(db)).toEqual([third]);
});

test("a key belongs to its tenant and its type", async ({ db }) => {
  await setLimit(db, "key", "k", { max: 1 });
  const ids = await enqueueAll(db, [k(), k({ type: "b" }), k({ tenant_id: U }), k({ tenant_id: U })]);
  expect((await claimIds(db)).sort()).toEqual(ids.slice(0, 3).sort());
});

test("a head that waits for its retry keeps all others back until it is finished", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const [head, second] = await enqueueAll(db, [k(), k()]);
  await claim(db);
  const urgent = (await enqueue(db, k({ priority: 9 }))).id;
  expect((await fail(db, head)).status).toBe("queued");
  expect(await claimIds(db)).toEqual([]);
  await travelToRun(db, head);
  expect(await claimIds(db)).toEqual([head]);
  expect(await claimIds(db)).toEqual([]);
  await complete(db, head, { attempt: 2 });
  expect(await claimIds(db)).toEqual([urgent]);
  await complete(db, urgent);
  expect(await claimIds(db)).toEqual([second]);
});

test("a head that waits for its retry takes no slot of a larger limit", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 2 });
  const [first, second, third, fourth] = await enqueueAll(db, [k(), k(), k(), k()]);
  expect(await claimIds(db)).toEqual([first, second]);
  await fail(db, first);
  expect(await claimIds(db)).toEqual([third]);
  await travelToRun(db, first);
  expect(await claimIds(db)).toEqual([]);
  await complete(db, second);
  expect(await claimIds(db)).toEqual([fourth]);
  expect(await claimIds(db)).toEqual([]);
  await complete(db, third);
  expect(await claimIds(db)).toEqual([first]);
});

test("two jobs that had begun before the limit was set run one after the other, the older first", async ({
  db,
}) => {
  const [first, second, third] = await enqueueAll(db, [k(), k(), k()]);
  await claim(db, "w1", { limit: 2 });
  await setLimit(db, "key", "*", { max: 1 });
  expect(await claimIds(db)).toEqual([]);
  await fail(db, second);
  await fail(db, first);
  await db.travel("5 minutes");
  expect(await claimIds(db)).toEqual([first]);
  await complete(db, first);
  expect(await claimIds(db)).toEqual([second]);
  await complete(db, second);
  expect(await claimIds(db)).toEqual([third]);
});

test("a job that is moved to the front after others were parked starts first", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const [head, second] = await enqueueAll(db, [k(), k()]);
  await claim(db);
  expect(await statesOf(db)).toEqual({ running: 1, parked: 1 });
  const urgent = (await enqueue(db, k({ priority: 1 }))).id;
  await complete(db, head);
  expect(await claimIds(db)).toEqual([urgent]);
  await complete(db, urgent);
  expect(await claimIds(db)).toEqual([second]);
});

test("a head that an application holds is not overtaken, and its cancel lets the next one start", async ({
  db,
}) => {
  await setLimit(db, "key", "*", { max: 1 });
  const [head, second] = await enqueueAll(db, [k(), k()]);
  const application = await db.connect();
  await application.query("begin");
  await cancel(application, head);
  expect(await claimIds(db)).toEqual([]);
  await application.query("commit");
  expect(await claimIds(db)).toEqual([second]);
});

test("a head that an application held and let go is the next to start", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const [head, second] = await enqueueAll(db, [k(), k()]);
  const application = await db.connect();
  await application.query("begin");
  await cancel(application, head);
  expect(await claimIds(db)).toEqual([]);
  await application.query("rollback");
  expect(await claimIds(db)).toEqual([head]);
  await complete(db, head);
  expect(await claimIds(db)).toEqual([second]);
});

test("a parked job that an application held when its turn came starts a second later", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const [head, second] = await enqueueAll(db, [k(), k()]);
  await claim(db);
  const application = await db.connect();
  await application.query("begin");
  await cancel(application, second);
  await complete(db, head);
  expect(await claimIds(db)).toEqual([]);
  await application.query("rollback");
  await db.travel("2 seconds");
  expect(await claimIds(db)).toEqual([second]);
});

test("a head that is deferred lets the next job start, and returns to its place", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  const [running, head, third] = await enqueueAll(db, [k(), k(), k()]);
  await claim(db);
  await reschedule(db, head, { run_at: await db.value("select jobforge.now() + interval '1 minute'") });
  await complete(db, running);
  expect(await claimIds(db)).toEqual([third]);
  await db.travel("2 minutes");
  expect(await claimIds(db)).toEqual([]);
  await complete(db, third);
  expect(await claimIds(db)).toEqual([head]);
});

test("a head that expires lets the next job start", async ({ db }) => {
  await setLimit(db, "key", "*", { max: 1 });
  await enqueue(db, k({ expires_in: "1 minute" }));
  const second = (await enqueue(db, k())).id;
  await db.travel("2 minutes");
  expect(await claimIds(db)).toEqual([]);
  await db.query("select jobforge_maintain()");
  expect(await claimIds(db)).toEqual([second]);
});

const ends: Record<string, (db: Parameters<typeof claim>[0], id: string) => Promise<unknown>> = {
  success: (db, id) => complete(db, id),
  "a failure that is final": (db, id) => fail(db, id, { retry: false }),
  "a cancel": async (db, id) => {
    await cancel(db, id, T);
    await complete(db, id);
  },
  "the last of its attempts": (db, id) => fail(db, id),
  "the loss of its worker": async (db) => {
    await db.travel("10 minutes");
    await workerHeartbeat(db, "w9");
    await db.query("select jobforge_maintain()");
  },
};

test.for(Object.keys(ends))("%s of the head gives its slot to the next job", async (name, { db }) => {
  for (const scope of ["type", "tenant", "type_tenant", "key"]) await setLimit(db, scope, "*", { max: 1 });
  const head = (await enqueue(db, k({ max_attempts: 1 }))).id;
  const second = (await enqueue(db, k())).id;
  await claim(db);
  expect(await claimIds(db)).toEqual([]);
  await ends[name]?.(db, head);
  expect(await claimIds(db)).toEqual([second]);
});
