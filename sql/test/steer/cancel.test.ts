import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  backendOf,
  cancel,
  claim,
  claimIds,
  codeOf,
  complete,
  type Ending,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  heartbeat,
  impatient,
  reschedule,
  started,
  T,
  U,
  unknownId,
  untilBlocked,
} from "../support/kernel.ts";

test("a queued job is canceled at once and never runs", async ({ db }) => {
  const [ready, waiting] = await enqueueAll(db, [{ payload: { x: 1 } }, { in: "1 hour" }]);
  for (const id of [ready, waiting]) {
    expect(await cancel(db, id)).toEqual({ id, status: "canceled", cancel_requested: false });
    const job = await find(db, id);
    expect(job).toMatchObject({ status: "canceled", reason: "canceled", attempts: 0, locked_by: null });
    expect(job.finished_at).toBeInstanceOf(Date);
    expect(await attemptsOf(db, id)).toEqual([]);
    expect(await auditOf(db, id)).toEqual(["JOB_CANCELED"]);
  }
  expect((await find(db, ready)).payload).toEqual({ x: 1 });
  await db.travel("1 day");
  expect(await claim(db)).toEqual([]);
});

test("a job that waits for its retry is canceled at once and keeps its attempts and its error", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id);
  expect(await cancel(db, id)).toMatchObject({ status: "canceled" });
  expect(await find(db, id)).toMatchObject({ status: "canceled", attempts: 1, last_error: "boom" });
  expect(await attemptsOf(db, id)).toMatchObject([{ status: "failed" }]);
});

test("a running job continues and receives the request; repeating the request is not an error", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db);
  for (let n = 0; n < 2; n += 1) {
    expect(await cancel(db, id)).toEqual({ id, status: "running", cancel_requested: true });
    expect(await find(db, id)).toMatchObject({ status: "running", locked_by: "w1", cancel_requested: true });
  }
  expect(await heartbeat(db, id)).toMatchObject({ cancel_requested: true });
  expect(await auditOf(db, id)).toEqual(["JOB_CANCEL_REQUESTED"]);
});

test.for<[string, Ending, string]>([
  ["succeeds", { status: "succeeded" }, "succeeded"],
  ["fails with retries left", { status: "failed" }, "canceled"],
  ["names a time to retry", { status: "failed", retry_at: "2020-01-01T00:00:00Z" }, "canceled"],
  ["says do not retry", { status: "failed", retry: false }, "canceled"],
])("a canceled run that %s leaves the job canceled, with its result", async ([, ending, attempt], { db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await cancel(db, id);
  expect(await complete(db, id, { ...ending, result: { partial: 1 }, cost_cents: 3 })).toMatchObject({
    status: "canceled",
  });
  const job = await find(db, id);
  expect(job).toMatchObject({
    status: "canceled",
    reason: "canceled",
    attempts: 1,
    cost_cents: 3,
    locked_by: null,
  });
  expect(await db.query("select id, result from jobforge_job_results")).toEqual([
    { id: job.result_id, result: { partial: 1 } },
  ]);
  expect(await attemptsOf(db, id)).toMatchObject([{ attempt_no: 1, status: attempt }]);
  expect(await auditOf(db, id)).toEqual(["JOB_CANCEL_REQUESTED"]);
  await db.travel("1 day");
  expect(await claim(db)).toEqual([]);
});

test("a canceled job never returns to the queue", async ({ db }) => {
  const { id } = await enqueue(db, { idempotency_key: "k" });
  await cancel(db, id);
  await expectError(reschedule(db, id), "JF006");
  expect(await enqueue(db, { idempotency_key: "k" })).toMatchObject({
    id,
    status: "canceled",
    outcome: "existing",
  });
  expect(await claim(db)).toEqual([]);
});

test("a finished job, another tenant's job and an unknown job cannot be canceled", async ({ db }) => {
  const ids = await enqueueAll(db, [{}, {}, { max_attempts: 1 }, {}]);
  await claim(db, "w1", { limit: 3 });
  const [succeeded, failed, dead, canceled] = ids;
  await complete(db, succeeded);
  await fail(db, failed, { retry: false });
  await fail(db, dead);
  await cancel(db, canceled);
  const [running, queued] = await enqueueAll(db, [{}, { in: "1 hour" }]);
  await claim(db);
  const jobs = await db.query("select * from jobforge_jobs order by id");
  const audited = await db.query("select * from jobforge_audit_log");
  const refused: [string | null, string][] = [
    ...ids.map((id): [string, string] => [id, T]),
    [running, U],
    [queued, U],
    [unknownId, T],
    [null, T],
  ];
  for (const [id, tenant] of refused) {
    const error = await expectError(cancel(db, id, tenant), "JF005", "job_id");
    expect(error).toMatchObject({ message: "Job not found or cannot be canceled", name: "not_cancelable" });
    expect(error.hint).not.toBe("");
  }
  await expectError(cancel(db, queued, null), "JF001", "tenant_id");
  expect(await db.query("select * from jobforge_jobs order by id")).toEqual(jobs);
  expect(await db.query("select * from jobforge_audit_log")).toEqual(audited);
});

test("a cancel that is rolled back has no effect", async ({ db }) => {
  const running = await enqueue(db);
  await claim(db);
  const queued = await enqueue(db);
  await db.query("begin");
  await cancel(db, running.id);
  await cancel(db, queued.id);
  await db.query("rollback");
  expect(await find(db, running.id)).toMatchObject({ status: "running", cancel_requested: false });
  expect(await auditOf(db, running.id)).toEqual([]);
  expect(await auditOf(db, queued.id)).toEqual([]);
  expect(await claimIds(db)).toEqual([queued.id]);
  expect(await complete(db, running.id)).toMatchObject({ status: "succeeded" });
});

test("an application transaction left open after a cancel delays neither the heartbeat nor the end of that run", async ({
  db,
}) => {
  const [ends, retries] = await enqueueAll(db, [{}, {}]);
  await claim(db);
  const [app, worker] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await cancel(app, ends);
  await cancel(app, retries);
  expect(await heartbeat(worker, ends)).toMatchObject({ cancel_requested: false });
  expect(await complete(worker, ends)).toMatchObject({ status: "succeeded" });
  expect(await fail(worker, retries, { retry_at: "2020-01-01T00:00:00Z" })).toMatchObject({
    status: "queued",
  });
  await app.query("commit");
  // The request came after the end: a succeeded job stays succeeded, a job that would run again is canceled.
  await worker.travel("1 minute");
  expect(await claim(worker)).toEqual([]);
  expect(await find(db, ends)).toMatchObject({ status: "succeeded", cancel_requested: false });
  expect(await find(db, retries)).toMatchObject({ status: "canceled", attempts: 1 });
});

test("a cancel whose transaction commits during the next run reaches that run", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  const app = await db.connect();
  await app.query("begin");
  await cancel(app, id);
  await fail(db, id, { retry_at: "2020-01-01T00:00:00Z" });
  await claim(db, "w2");
  await app.query("commit");
  expect(await heartbeat(db, id, "w2")).toMatchObject({ cancel_requested: true });
  expect(await complete(db, id, { worker: "w2", status: "failed" })).toMatchObject({ status: "canceled" });
});

test("a caller that still sees the run after its job was queued again cancels the job", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const app = await db.connect();
  await app.query("begin isolation level repeatable read");
  expect(await find(app, id)).toMatchObject({ status: "running" });
  await fail(db, id, { retry_at: "2020-01-01T00:00:00Z" });
  expect(await cancel(app, id)).toMatchObject({ cancel_requested: true });
  await app.query("commit");
  const other = await enqueue(db, { tenant_id: U });
  expect(await claimIds(db, "w1", { limit: 1 })).toEqual([other.id]);
  await db.travel("1 minute");
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "canceled" });
});

test("a cancel that waited for a claim cancels the job, although it failed and was queued again in the meantime", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  const app = await db.connect();
  const backend = await backendOf(app);
  await db.query("begin");
  await claim(db);
  const canceled = started(cancel(app, id));
  await untilBlocked(db, backend);
  await fail(db, id, { retry_at: "2020-01-01T00:00:00Z" });
  await db.query("commit");
  expect(await codeOf(canceled)).toBe("ok");
  await db.travel("1 minute");
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "canceled" });
});

test("a cancel that waited for a claim requests the run's end and holds no lock on it", async ({ db }) => {
  const { id } = await enqueue(db);
  const [app, worker] = [await db.connect(), await impatient(db)];
  const backend = await backendOf(app);
  await worker.query("begin");
  await claim(worker);
  await app.query("begin");
  const canceled = started(cancel(app, id));
  await untilBlocked(db, backend);
  await worker.query("commit");
  expect(await canceled).toMatchObject({ status: "running", cancel_requested: true });
  expect(await heartbeat(worker, id)).toMatchObject({ cancel_requested: false });
  await app.query("commit");
  expect(await complete(worker, id)).toMatchObject({ status: "canceled" });
});

test("a cancel that races a success has one of the two results, and nothing is lost", async ({ db }) => {
  const app = await db.connect();
  for (let round = 0; round < 150; round += 1) {
    const { id } = await enqueue(db);
    await claim(db);
    const [canceled, ended] = await Promise.all([codeOf(cancel(app, id)), complete(db, id)]);
    const job = await find(db, id);
    expect(job.status).toBe(ended.status);
    expect(["succeeded", "canceled"]).toContain(job.status);
    expect(["ok", "JF005"]).toContain(canceled);
    if (canceled !== "ok") expect(job.status).toBe("succeeded");
    expect(await attemptsOf(db, id)).toMatchObject([{ status: "succeeded" }]);
  }
  await db.travel("1 hour");
  expect(await claim(db)).toEqual([]);
});

test("a cancel that races a failure with retries left always cancels the job", async ({ db }) => {
  const app = await db.connect();
  const ids: string[] = [];
  for (let round = 0; round < 150; round += 1) {
    const { id } = await enqueue(db);
    await claim(db, "w1", { limit: 1 });
    const retry_at = "2020-01-01T00:00:00Z";
    const [canceled] = await Promise.all([codeOf(cancel(app, id)), fail(db, id, { retry_at })]);
    expect(canceled).toBe("ok");
    ids.push(id);
  }
  await db.travel("1 hour");
  expect(await claim(db)).toEqual([]);
  const rows = await db.query("select status, attempts from jobforge_jobs where id = any ($1)", [ids]);
  expect(rows).toEqual(ids.map(() => ({ status: "canceled", attempts: 1 })));
});

test("a cancel that races a claim either wins or requests the run's end", async ({ db }) => {
  const app = await db.connect();
  for (let round = 0; round < 100; round += 1) {
    const { id } = await enqueue(db);
    const [answer, claimed] = await Promise.all([cancel(app, id), claimIds(db)]);
    expect(claimed).toEqual(answer.status === "canceled" ? [] : [id]);
    if (claimed.length > 0) expect(await complete(db, id)).toMatchObject({ status: "canceled" });
    expect(await find(db, id)).toMatchObject({ status: "canceled" });
  }
});
