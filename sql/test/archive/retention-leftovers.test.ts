/**
 * Rows outside the archive that maintenance deletes: keys without history, audit rows, watches, idle marks, workers.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  largePayload,
  maintain,
  maintainAll,
  remembered,
  runJob,
  runWithTraces,
  tracesOf,
} from "../support/archive.ts";
import {
  attemptsOf,
  auditOf,
  cancel,
  claim,
  complete,
  enqueue,
  fail,
  find,
  setPolicy,
  T,
  workerHeartbeat,
} from "../support/kernel.ts";

test("a type that keeps no history leaves no row, payload or attempts when its jobs succeed or are canceled", async ({
  db,
}) => {
  await setPolicy(db, "a", { keep_history: false });
  const succeeded = await runWithTraces(db, { idempotency_key: "succeeded" });
  const canceled = await enqueue(db, { payload: largePayload, idempotency_key: "canceled" });
  await cancel(db, canceled.id);
  const expired = await enqueue(db, {
    payload: largePayload,
    idempotency_key: "expired",
    expires_in: "1 minute",
  });
  await db.travel("2 minutes");
  await maintain(db);
  const aborted = await enqueue(db, { payload: largePayload, idempotency_key: "aborted" });
  await claim(db);
  await cancel(db, aborted.id);
  await complete(db, aborted.id);
  const ids = [succeeded, canceled.id, expired.id, aborted.id];
  expect(await remembered(db, ids)).toEqual([]);
  expect(await tracesOf(db, ids)).toEqual({ keys: 4, payloads: 0, attempts: 0 });
  expect(await db.value("select count(*)::int from jobforge.archive")).toBe(0);
});

test("a type that keeps no history keeps its failed jobs, with payload and attempts", async ({ db }) => {
  await setPolicy(db, "a", { keep_history: false });
  const id = await runWithTraces(db, { idempotency_key: "dead" }, "dead");
  expect(await find(db, id)).toMatchObject({ status: "dead", payload: largePayload });
  expect(await attemptsOf(db, id)).toHaveLength(2);
  await db.travel("2 days");
  await maintainAll(db);
  expect((await enqueue(db, { idempotency_key: "dead" })).outcome).toBe("existing");
});

test("a key without history is kept for exactly 24 hours", async ({ db }) => {
  await setPolicy(db, "a", { keep_history: false });
  const { id } = await runJob(db, { idempotency_key: "once" });
  const other = await runJob(db, { type: "b", idempotency_key: "once" });
  await db.travel("23 hours 59 minutes");
  await maintainAll(db);
  expect(await enqueue(db, { idempotency_key: "once" })).toMatchObject({ id, outcome: "existing" });
  await db.travel("24 hours 1 minute");
  await maintainAll(db);
  expect(await enqueue(db, { idempotency_key: "once" })).toMatchObject({ outcome: "created" });
  expect(await enqueue(db, { type: "b", idempotency_key: "once" })).toMatchObject({
    id: other.id,
    outcome: "existing",
  });
});

test("a key of a job that finished before the key was committed is deleted a day later", async ({ db }) => {
  await setPolicy(db, "brief", { keep_history: false });
  const { id } = await enqueue(db, { type: "brief", dedupe_key: "d" });
  await claim(db);
  const application = await db.connect();
  await application.query("begin");
  const keyed = { type: "brief", dedupe_key: "d", idempotency_key: "k" };
  expect(await enqueue(application, keyed)).toMatchObject({ id, outcome: "existing" });
  await complete(db, id);
  await application.query("commit");
  await db.travel("25 hours");
  await maintain(db);
  expect(await enqueue(db, keyed)).toMatchObject({ outcome: "created" });
});

test("keys without history are deleted in bounded slices", async ({ db }) => {
  await setPolicy(db, "a", { keep_history: false });
  for (let i = 0; i < 12; i += 1) await runJob(db, { idempotency_key: `key ${i}` });
  await db.travel("2 days");
  const keys = "select count(*)::int from jobforge.job_keys";
  for (const left of [7, 2, 0]) {
    await maintain(db, 5);
    expect(await db.value(keys)).toBe(left);
  }
});

test("audit rows are kept for a year", async ({ db }) => {
  const { id: first } = await enqueue(db);
  await cancel(db, first);
  await db.travel("200 days");
  const { id: second } = await enqueue(db);
  await cancel(db, second);
  await db.travel("364 days");
  await maintainAll(db);
  expect(await auditOf(db, first)).toEqual(["JOB_CANCELED"]);
  await db.travel("366 days");
  await maintainAll(db);
  expect(await auditOf(db, first)).toEqual([]);
  expect(await auditOf(db, second)).toEqual(["JOB_CANCELED"]);
});

test("audit rows are deleted in bounded slices, the oldest first", async ({ db }) => {
  for (let i = 0; i < 7; i += 1) await cancel(db, (await enqueue(db)).id);
  await db.travel("400 days");
  await maintain(db, 5);
  expect(await db.value("select count(*)::int from jobforge.audit_log")).toBe(2);
  await maintain(db, 5);
  expect(await db.value("select count(*)::int from jobforge.audit_log")).toBe(0);
});

test("a watch is deleted when its time is over, and not before", async ({ db }) => {
  const { id } = await enqueue(db);
  await db.query("select jobforge_watch_job($1, $2)", [id, T]);
  const watches = "select count(*)::int from jobforge.watches";
  await db.travel("9 minutes");
  await maintain(db);
  expect(await db.value(watches)).toBe(1);
  await db.travel("11 minutes");
  await maintain(db);
  expect(await db.value(watches)).toBe(0);
});

test("idle marks of workers that are gone are deleted, those of live workers stay", async ({ db }) => {
  await workerHeartbeat(db, "gone", { instance: "1", types: ["a", "b"], idle: true });
  await workerHeartbeat(db, "alive", { instance: "1", types: ["a"], idle: true });
  await db.travel("3 minutes");
  await workerHeartbeat(db, "alive", { instance: "1", types: ["a"], idle: true });
  await maintain(db);
  expect(await db.query("select type, worker_id from jobforge.idle_workers")).toEqual([
    { type: "a", worker_id: "alive" },
  ]);
});

test("a worker that stopped sending heartbeats is listed as gone and deleted after a day", async ({ db }) => {
  const workers = "select id, status from jobforge_list_workers() order by id";
  await workerHeartbeat(db, "old", { instance: "1" });
  await db.travel("23 hours");
  await workerHeartbeat(db, "young", { instance: "1" });
  await maintain(db);
  expect(await db.query(workers)).toEqual([
    { id: "old", status: "gone" },
    { id: "young", status: "alive" },
  ]);
  await db.travel("25 hours");
  await maintain(db);
  expect(await db.query(workers)).toEqual([{ id: "young", status: "gone" }]);
});

test("worker heartbeats alone create leaves and delete history and keys", async ({ db }) => {
  await setPolicy(db, "unkept", { keep_history: false });
  const unkept = await runJob(db, { type: "unkept", idempotency_key: "unkept" });
  const { id } = await enqueue(db, { payload: largePayload, idempotency_key: "kept" });
  await claim(db);
  await fail(db, id, { retry: false });
  for (let beats = 0; (await remembered(db, [id])).length > 0; beats += 1) {
    expect(beats, "heartbeats").toBeLessThan(200);
    await db.travel(`${50 * 86_400 + beats * 10} seconds`);
    await workerHeartbeat(db, "w", { instance: "1" });
  }
  expect(await tracesOf(db, [id, unkept.id])).toEqual({ keys: 0, payloads: 0, attempts: 0 });
  const ahead = await db.value<Date>("select max(to_at) from jobforge.leaves where branch = 'finished_jobs'");
  expect(ahead.getTime()).toBeGreaterThan(Date.now() + 57 * 86_400_000);
});
