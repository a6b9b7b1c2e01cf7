import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  cancel,
  claim,
  claimIds,
  complete,
  connections,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  gapOf,
  heartbeat,
  impatient,
  type Sql,
  setPolicy,
  unknownId,
  workerHeartbeat,
} from "../support/kernel.ts";

/** Returns a function that moves the clock by six minutes, so that all leases without heartbeats expire. */
function leaseExpiry(db: Sql): () => Promise<void> {
  let minutes = 0;
  return async () => {
    minutes += 6;
    await db.travel(`${minutes} minutes`);
  };
}

test("a heartbeat updates heartbeat_at and returns that no cancel is requested", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const before = await find(db, id);
  await db.travel("10 seconds");
  const renewed = await db.value<{ heartbeat_at: string }>("select jobforge_heartbeat_job($1, 'w1')", [id]);
  expect(renewed).toEqual({ cancel_requested: false, heartbeat_at: expect.any(String) });
  const after = await find(db, id);
  expect(after.heartbeat_at).toEqual(new Date(renewed.heartbeat_at));
  expect(Number(after.heartbeat_at) - Number(before.heartbeat_at)).toBeGreaterThanOrEqual(10_000);
  expect(after).toMatchObject({ locked_at: before.locked_at, attempts: 1, status: "running" });
});

test("a heartbeat is refused for a job that the worker does not hold, and changes nothing", async ({
  db,
}) => {
  const [held, queued, finished] = await enqueueAll(db, [{ priority: 1 }, { in: "1 hour" }, { priority: 1 }]);
  await claim(db);
  await complete(db, finished);
  const before = await find(db, held);
  await db.travel("10 seconds");
  const refused: [string | null, string | null, number?][] = [
    [held, "w2"],
    [held, "w1", 2],
    [held, "w1", 0],
    [held, null],
    [held, ""],
    [queued, "w1"],
    [finished, "w1"],
    [unknownId, "w1"],
    [null, "w1"],
  ];
  for (const [id, worker, attempt] of refused) {
    const error = await expectError(heartbeat(db, id, worker, attempt), "JF003");
    expect(error).toMatchObject({ name: "not_held", message: "Job not found or not locked by worker" });
    expect(error.hint).not.toBe("");
  }
  expect(await find(db, held)).toEqual(before);
  expect(await heartbeat(db, held, "w1", 1)).toMatchObject({ cancel_requested: false });
});

test("a job of a silent worker is queued again after five minutes and not before", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  await db.travel("4 minutes 50 seconds");
  expect(await claim(db, "w2")).toEqual([]);
  await db.travel("5 minutes 1 second");
  expect(await claim(db, "w2")).toMatchObject([{ id, attempts: 2, locked_by: "w2" }]);
});

test("a heartbeat before the deadline keeps the job for another five minutes", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  await db.travel("4 minutes");
  await heartbeat(db, id);
  await db.travel("8 minutes 50 seconds");
  expect(await claim(db, "w2")).toEqual([]);
  expect(await find(db, id)).toMatchObject({ locked_by: "w1", attempts: 1 });
  await db.travel("9 minutes 1 second");
  expect(await claimIds(db, "w2")).toEqual([id]);
});

test("lease_ms of the type's policy replaces the five minutes", async ({ db }) => {
  await setPolicy(db, "short", { lease_ms: 10_000 });
  await setPolicy(db, "long", { lease_ms: 3_600_000 });
  const [short, long] = await enqueueAll(db, [{ type: "short" }, { type: "long" }]);
  await claim(db, "w1");
  await db.travel("11 seconds");
  expect(await claimIds(db, "w2")).toEqual([short]);
  await db.travel("59 minutes");
  expect(await claimIds(db, "w3")).toEqual([short]);
  await db.travel("61 minutes");
  expect(await claimIds(db, "w4")).toContain(long);
});

test("a run that exceeds its timeout by a minute is lost although the worker still sends heartbeats", async ({
  db,
}) => {
  await setPolicy(db, "a", { timeout_ms: 30_000 });
  const { id } = await enqueue(db);
  await claim(db, "w1");
  await db.travel("80 seconds");
  await heartbeat(db, id);
  expect(await claim(db, "w2")).toEqual([]);
  await db.travel("95 seconds");
  await heartbeat(db, id);
  expect(await claimIds(db, "w2")).toEqual([id]);
});

test("a job whose run is lost is due at once, keeps its place before newer jobs, and shows the attempt as lost", async ({
  db,
}) => {
  const lost = await enqueue(db);
  const [claimed] = await claim(db, "w1");
  const newer = await enqueue(db);
  await db.travel("6 minutes");
  // A claim that finds no job takes back lost leases.
  expect(await claim(db, "w2", { types: ["none"] })).toEqual([]);
  expect(await find(db, lost.id)).toMatchObject({
    status: "queued",
    locked_by: null,
    run_at: claimed?.run_at,
  });
  expect(await claimIds(db, "w2", { limit: 1 })).toEqual([lost.id]);
  expect(await claimIds(db, "w2", { limit: 1 })).toEqual([newer.id]);
  expect(await find(db, lost.id)).toMatchObject({
    attempts: 2,
    locked_by: "w2",
    run_at: claimed?.run_at,
    last_error: expect.stringContaining("no heartbeat"),
  });
  expect(await attemptsOf(db, lost.id)).toMatchObject([
    { attempt_no: 1, status: "lost", worker_id: "w1", error: { message: expect.any(String) } },
    { attempt_no: 2, status: "running", worker_id: "w2", error: null },
  ]);
});

test("a worker that lost its job can neither extend the lease nor end the run, and changes nothing", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  await db.travel("6 minutes");
  await claim(db, "w2");
  const before = await find(db, id);
  await expectError(heartbeat(db, id, "w1"), "JF003");
  await expectError(complete(db, id, { result: { late: true } }), "JF003");
  await expectError(fail(db, id, { cost_cents: 5 }), "JF003");
  expect(await find(db, id)).toEqual(before);
  expect(await complete(db, id, { worker: "w2" })).toMatchObject({ status: "succeeded" });
});

test("a worker that claims its own lost job again cannot end it with the old attempt", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  await db.travel("6 minutes");
  expect(await claim(db, "w1")).toMatchObject([{ id, attempts: 2 }]);
  await expectError(heartbeat(db, id, "w1", 1), "JF003");
  await expectError(complete(db, id, { attempt: 1, result: "old" }), "JF003");
  expect(await find(db, id)).toMatchObject({ status: "running", attempts: 2 });
  expect(await complete(db, id, { attempt: 2 })).toMatchObject({ status: "succeeded" });
  expect((await attemptsOf(db, id)).map((attempt) => attempt.status)).toEqual(["lost", "succeeded"]);
});

test("a lost run counts as an attempt: after the last one the job is dead and does not run again", async ({
  db,
}) => {
  const { id } = await enqueue(db, { max_attempts: 2 });
  await claim(db);
  await fail(db, id, { retry_at: new Date() });
  await claim(db);
  await db.travel("6 minutes");
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({
    status: "dead",
    reason: "exhausted",
    attempts: 2,
    locked_by: null,
  });
  expect(await auditOf(db, id)).toEqual(["JOB_EXHAUSTED_RETRIES"]);
  expect((await attemptsOf(db, id)).map((attempt) => attempt.status)).toEqual(["failed", "lost"]);
});

test("a job with one attempt is dead when its run is lost", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  await claim(db);
  await db.travel("6 minutes");
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "dead", reason: "exhausted", attempts: 1 });
});

test("three lost runs in a row finish a job as crashed, even if it has attempts left", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 50 });
  const expireLeases = leaseExpiry(db);
  for (const worker of ["w1", "w2", "w3"]) {
    expect(await claimIds(db, worker)).toEqual([id]);
    await expireLeases();
  }
  expect(await claim(db, "w4")).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "dead", reason: "crashed", attempts: 3 });
  expect((await attemptsOf(db, id)).map((attempt) => attempt.status)).toEqual(["lost", "lost", "lost"]);
  expect(await auditOf(db, id)).toEqual(["JOB_EXHAUSTED_RETRIES"]);
});

test("a run that ends resets the count of consecutive losses, and lost runs count in the backoff", async ({
  db,
}) => {
  const { id } = await enqueue(db, { max_attempts: 50 });
  const expireLeases = leaseExpiry(db);
  for (const end of ["lost", "lost", "failed", "lost", "lost"]) {
    expect(await claimIds(db), end).toEqual([id]);
    if (end === "failed") {
      await fail(db, id);
      expect(await gapOf(db, id)).toBe(4);
    }
    await expireLeases();
  }
  expect(await claim(db)).toMatchObject([{ id, attempts: 6 }]);
  await expireLeases();
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "dead", reason: "crashed", attempts: 6 });
});

test("a job with a cancel request whose run is lost is canceled and does not run again", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await cancel(db, id);
  await db.travel("6 minutes");
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "canceled", reason: "canceled" });
  expect((await attemptsOf(db, id)).map((attempt) => attempt.status)).toEqual(["lost"]);
});

test("many workers that look for lost jobs at the same time claim each job once", async ({ db }) => {
  const ids = await enqueueAll(db, Array(40).fill({}));
  for (let n = 0; n < 8; n += 1) await claim(db, `gone${n}`, { limit: 5 });
  const workers = await connections(db, 10);
  const claims = await Promise.all(
    workers.map(async (worker, n) => {
      await worker.travel("6 minutes");
      return await claimIds(worker, `w${n}`, { limit: 10 });
    }),
  );
  await db.travel("12 seconds 6 minutes");
  claims.push(await claimIds(db, "last", { limit: 100 }));
  expect(claims.flat().sort()).toEqual(ids.sort());
});

test("a run that an open transaction is ending does not count as lost, and no claim waits for it", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  const [slow, worker] = [await db.connect(), await impatient(db)];
  await slow.query("begin");
  await complete(slow, id);
  await worker.travel("6 minutes");
  expect(await claim(worker, "w2")).toEqual([]);
  await slow.query("commit");
  expect(await find(db, id)).toMatchObject({ status: "succeeded", attempts: 1 });
});

test("a worker that sends worker heartbeats keeps its jobs, and loses them after the worker timeout", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  for (const minutes of [4, 8, 12]) {
    await db.travel(`${minutes} minutes`);
    await workerHeartbeat(db, "w1", { held: [{ id, attempt: 1 }] });
  }
  await db.travel("12 minutes 50 seconds");
  expect(await claim(db, "w2")).toEqual([]);
  await db.travel("13 minutes 1 second");
  expect(await claim(db, "w2")).toMatchObject([{ id, attempts: 2 }]);
});

test("a worker that restarts under its old name loses the runs of its old process at once", async ({
  db,
}) => {
  await workerHeartbeat(db, "w1", { instance: "one", held: [] });
  const { id } = await enqueue(db);
  await claim(db, "w1");
  await workerHeartbeat(db, "w1", { instance: "one", held: [{ id, attempt: 1 }] });
  expect(await find(db, id)).toMatchObject({ status: "running" });
  await workerHeartbeat(db, "w1", { instance: "two", held: [] });
  expect(await claim(db, "w1")).toMatchObject([{ id, attempts: 2 }]);
  expect((await attemptsOf(db, id)).map((attempt) => attempt.status)).toEqual(["lost", "running"]);
});

test("a worker heartbeat returns which jobs to stop and which are no longer held", async ({ db }) => {
  const [kept, stopped, lost] = await enqueueAll(db, [{}, {}, {}]);
  await claim(db, "w1");
  await cancel(db, stopped);
  await complete(db, lost);
  const held = [kept, stopped, lost].map((id) => ({ id, attempt: 1 }));
  expect(await workerHeartbeat(db, "w1", { held })).toMatchObject({
    cancel: [{ id: stopped, attempt: 1 }],
    lost: [{ id: lost, attempt: 1 }],
  });
  await db.travel("20 seconds");
  await workerHeartbeat(db, "w1", { held: [{ id: stopped, attempt: 1 }] });
  expect(await find(db, kept)).toMatchObject({ status: "queued", attempts: 1 });
});
