import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  backendOf,
  cancel,
  claim,
  claimAndFail,
  claimIds,
  codeOf,
  complete,
  connections,
  countJobs,
  type Enqueued,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  gapOf,
  impatient,
  type NewJob,
  nowSql,
  type Rescheduling,
  reschedule,
  type Sql,
  started,
  T,
  travelToRun,
  U,
  unknownId,
  untilBlocked,
} from "../support/kernel.ts";

/** Creates a job that has used up all its executions. */
async function deadJob(db: Sql, job: NewJob = {}): Promise<Enqueued> {
  const made = await enqueue(db, job);
  for (let n = 0; n < made.max_attempts; n += 1)
    await claimAndFail(db, { retry_at: "2020-01-01T00:00:00Z", cost_cents: 2 });
  expect(await find(db, made.id)).toMatchObject({ status: "dead" });
  return made;
}

test("a dead job is queued at once, with as many executions as it had at first", async ({ db }) => {
  const payload = { text: "x".repeat(3_000) };
  const { id } = await deadJob(db, { payload, tags: ["t"], subject: "s", priority: 3, idempotency_key: "k" });
  expect(await reschedule(db, id)).toMatchObject({ id, status: "queued", max_attempts: 10 });
  expect(await find(db, id)).toMatchObject({
    status: "queued",
    attempts: 5,
    max_attempts: 10,
    finished_at: null,
    reason: null,
    locked_by: null,
    last_error: "boom",
    cost_cents: 10,
    payload,
    tags: ["t"],
    subject: "s",
    priority: 3,
  });
  expect(await claim(db)).toMatchObject([{ id, attempts: 6, payload }]);
  expect(await enqueue(db, { idempotency_key: "k" })).toMatchObject({
    id,
    outcome: "existing",
    status: "running",
  });
  await complete(db, id, { cost_cents: 1 });
  expect(await find(db, id)).toMatchObject({ status: "succeeded", attempts: 6, cost_cents: 11 });
  expect(await countJobs(db)).toBe(1);
});

test("a rescheduled job may use up its new executions, starting with the first delay", async ({ db }) => {
  const { id } = await deadJob(db, { max_attempts: 3 });
  await reschedule(db, id);
  const gaps: number[] = [];
  while ((await claimAndFail(db)).status === "queued") {
    gaps.push(await gapOf(db, id));
    await travelToRun(db, id);
  }
  expect(gaps).toEqual([1, 2]);
  expect((await attemptsOf(db, id)).map((attempt) => attempt.attempt_no)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(await auditOf(db, id)).toEqual([
    "JOB_EXHAUSTED_RETRIES",
    "JOB_RESCHEDULED",
    "JOB_EXHAUSTED_RETRIES",
  ]);
});

test("a failed job is queued too, and max_attempts says how many more executions it gets", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id, { retry: false });
  expect(await reschedule(db, id, { max_attempts: 2 })).toMatchObject({ status: "queued", max_attempts: 3 });
  await claimAndFail(db, { retry_at: "2020-01-01T00:00:00Z" });
  await claimAndFail(db);
  expect(await find(db, id)).toMatchObject({ status: "dead", attempts: 3 });
});

test("a job that crashed three times gets three more losses", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 10 });
  for (let minutes = 6; minutes <= 18; minutes += 6) {
    await claim(db);
    await db.travel(`${minutes} minutes`);
  }
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({ status: "dead", reason: "crashed" });
  await reschedule(db, id);
  await claim(db);
  await db.travel("24 minutes");
  expect(await claim(db)).toMatchObject([{ id, attempts: 5 }]);
});

test("a job may be rescheduled to a later time, also after the time at which it would have expired", async ({
  db,
}) => {
  const { id } = await deadJob(db, { expires_in: "1 minute" });
  const run_at = new Date(Date.now() + 3_600_000);
  const answer = await reschedule(db, id, { run_at });
  expect(new Date(answer.run_at)).toEqual(run_at);
  await db.travel("59 minutes");
  expect(await claim(db)).toEqual([]);
  await travelToRun(db, id);
  expect(await claimIds(db)).toEqual([id]);
});

test.for([
  ["queued", "a later time", "2 hours"],
  ["queued", "now, after it has expired", "0"],
  ["queued", "a time in the past, after it has expired", "-1 day"],
  ["dead", "a time in the past, after it has expired", "-1 day"],
] as const)("a %s job that is rescheduled to %s does not expire", async ([status, , offset], { db }) => {
  const { id } =
    status === "dead"
      ? await deadJob(db, { expires_in: "1 minute" })
      : await enqueue(db, { expires_in: "1 minute" });
  await db.travel("2 minutes");
  const run_at = await db.value<string>(`select (${nowSql} + $1::interval)::text`, [offset]);
  await reschedule(db, id, { run_at });
  await db.travel("3 hours");
  expect(await claimIds(db)).toEqual([id]);
});

test("a queued job is moved: later, into the past, or to now", async ({ db }) => {
  const { id } = await enqueue(db);
  await reschedule(db, id, { run_at: new Date(Date.now() + 3_600_000) });
  expect(await claim(db)).toEqual([]);
  await reschedule(db, id, { run_at: "2020-01-01T00:00:00Z" });
  expect((await find(db, id)).run_at).toEqual(new Date("2020-01-01T00:00:00Z"));
  await reschedule(db, id, { run_at: new Date(Date.now() + 7_200_000) });
  await reschedule(db, id);
  expect(await claim(db)).toMatchObject([{ id, attempts: 1, max_attempts: 5 }]);
});

test("a job that waits for its retry may run now, and keeps its remaining executions", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 2 });
  await claimAndFail(db);
  expect(await reschedule(db, id)).toMatchObject({ max_attempts: 2 });
  expect(await claimAndFail(db)).toMatchObject({ id, status: "dead" });
});

test("max_attempts of a queued job is its new total, and must leave an execution", async ({ db }) => {
  const { id } = await enqueue(db);
  await claimAndFail(db);
  const before = await find(db, id);
  await expectError(reschedule(db, id, { max_attempts: 1 }), "JF002", "max_attempts");
  expect(await find(db, id)).toEqual(before);
  expect(await reschedule(db, id, { max_attempts: 2 })).toMatchObject({ max_attempts: 2 });
  expect(await claimAndFail(db)).toMatchObject({ status: "dead" });
});

test("a running, succeeded, canceled, foreign or unknown job cannot be rescheduled", async ({ db }) => {
  const [succeeded, canceled, running] = await enqueueAll(db, [{}, {}, {}]);
  await cancel(db, canceled);
  await claim(db);
  await complete(db, succeeded);
  const dead = await deadJob(db, { max_attempts: 1 });
  const queued = await enqueue(db);
  const before = await db.query("select * from jobforge_jobs order by id");
  const refused: [string | null, string][] = [
    [succeeded, T],
    [canceled, T],
    [running, T],
    [dead.id, U],
    [queued.id, U],
    [unknownId, T],
    [null, T],
  ];
  for (const [id, tenant_id] of refused) {
    const error = await expectError(reschedule(db, id, { tenant_id }), "JF006", "job_id");
    expect(error).toMatchObject({
      message: "Job not found or cannot be rescheduled",
      name: "not_reschedulable",
    });
    expect(error.hint).not.toBe("");
  }
  const wrong: [string, string, Rescheduling][] = [
    ["JF001", "tenant_id", { tenant_id: null }],
    ["JF002", "run_at", { run_at: "infinity" }],
    ["JF002", "run_at", { run_at: "-infinity" }],
    ["JF002", "run_at", { run_at: "294276-12-31 UTC" }],
    ["JF002", "max_attempts", { max_attempts: 0 }],
    ["JF002", "max_attempts", { max_attempts: -5 }],
    ["JF002", "max_attempts", { max_attempts: 2_147_483_647 }],
  ];
  for (const [code, field, how] of wrong) await expectError(reschedule(db, dead.id, how), code, field);
  expect(await db.query("select * from jobforge_jobs order by id")).toEqual(before);
});

test("a job whose dedupe key a live job has taken stays dead until that job finishes", async ({ db }) => {
  const dead = await deadJob(db, { dedupe_key: "d", max_attempts: 1 });
  const live = await enqueue(db, { dedupe_key: "d" });
  await expectError(reschedule(db, dead.id), "JF006");
  expect(await find(db, dead.id)).toMatchObject({ status: "dead" });
  expect(await attemptsOf(db, dead.id)).toHaveLength(1);
  await claim(db);
  await complete(db, live.id);
  expect(await reschedule(db, dead.id)).toMatchObject({ status: "queued" });
  expect(await enqueue(db, { dedupe_key: "d" })).toMatchObject({ id: dead.id, outcome: "existing" });
});

test("a reschedule that is rolled back has no effect", async ({ db }) => {
  const { id } = await deadJob(db, { max_attempts: 1 });
  const before = await find(db, id);
  await db.query("begin");
  await reschedule(db, id);
  await db.query("rollback");
  expect(await find(db, id)).toEqual(before);
  expect(await auditOf(db, id)).toEqual(["JOB_EXHAUSTED_RETRIES"]);
  expect(await claim(db)).toEqual([]);
});

test("an application transaction left open after a reschedule delays no other job", async ({ db }) => {
  const dead = await deadJob(db, { dedupe_key: "d", max_attempts: 1 });
  const running = await enqueue(db);
  await claim(db);
  const free = await enqueue(db);
  const [app, worker] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await reschedule(app, dead.id);
  expect(await claimIds(worker)).toEqual([free.id]);
  expect(await fail(worker, running.id)).toMatchObject({ status: "queued" });
  expect(await complete(worker, free.id)).toMatchObject({ status: "succeeded" });
  await app.query("commit");
  expect(await claimIds(worker)).toEqual([dead.id]);
});

test("ten callers at once reschedule a dead job once", async ({ db }) => {
  const { id } = await deadJob(db, { max_attempts: 2 });
  const callers = await connections(db, 10);
  const codes = await Promise.all(callers.map((caller) => codeOf(reschedule(caller, id))));
  expect(codes).toContain("ok");
  expect(codes.filter((code) => code !== "ok" && code !== "JF006")).toEqual([]);
  expect(await countJobs(db)).toBe(1);
  expect(await find(db, id)).toMatchObject({ status: "queued", attempts: 2, max_attempts: 4 });
  expect(await claimIds(db)).toEqual([id]);
});

test("a reschedule that waited for a claim moves the job, although it failed and was queued again in the meantime", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  const app = await db.connect();
  const backend = await backendOf(app);
  await db.query("begin");
  await claim(db);
  const moved = started(reschedule(app, id));
  await untilBlocked(db, backend);
  await fail(db, id, { retry_at: new Date(Date.now() + 3_600_000) });
  await db.query("commit");
  expect(await codeOf(moved)).toBe("ok");
  expect(await claimIds(db)).toEqual([id]);
});

test("a job runs again with another payload, in the same commit", async ({ db }) => {
  const { id } = await enqueue(db, { payload: { to: "ada" }, max_attempts: 1 });
  const again = (job: string, payload: unknown): Promise<unknown> =>
    db.value("select jobforge_reschedule_job($1, $2, p_payload => $3)", [job, T, JSON.stringify(payload)]);
  await claim(db);
  await fail(db, id);
  await again(id, { to: "grace", text: "x".repeat(5000) });
  expect(await find(db, id)).toMatchObject({
    status: "queued",
    payload: { to: "grace", text: "x".repeat(5000) },
  });
  await again(id, { to: "alan" });
  expect((await claim(db)).map(({ payload }) => payload)).toEqual([{ to: "alan" }]);
  await expectError(again(id, {}), "JF006");
  await fail(db, id);
  await expectError(again(id, "x".repeat(2_000_000)), "JF008", "payload");
  expect(await find(db, id)).toMatchObject({ status: "dead", payload: { to: "alan" } });
  const [entry] = await db.query(
    "select meta from jobforge_audit_log where action = 'JOB_RESCHEDULED' order by id desc limit 1",
  );
  expect(entry).toMatchObject({ meta: { payload_changed: true } });
});
