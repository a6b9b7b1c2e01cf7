import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  claim,
  complete,
  type Ending,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  setPolicy,
  T,
  unknownId,
} from "../support/kernel.ts";

const mebibyte = 1024 * 1024;

test("a success finishes the job, unlocks it, links its result and keeps one attempt without error", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  const [claimed] = await claim(db);
  const ended = await complete(db, id, {
    result: { ok: true },
    artifact_ref: "s3://bucket/key",
    cost_cents: 7,
  });
  expect(ended).toMatchObject({ id, status: "succeeded" });
  const job = await find(db, id);
  expect(job).toMatchObject({
    status: "succeeded",
    reason: "done",
    locked_by: null,
    locked_at: null,
    heartbeat_at: null,
    attempts: 1,
    cost_cents: 7,
    error: null,
    last_error: null,
    run_at: claimed?.run_at,
    cancel_requested: false,
  });
  expect(job.finished_at).toBeInstanceOf(Date);
  expect(await db.query("select * from jobforge_job_results")).toEqual([
    {
      id: job.result_id,
      job_id: id,
      tenant_id: T,
      result: { ok: true },
      artifact_ref: "s3://bucket/key",
      created_at: job.finished_at,
    },
  ]);
  expect(await attemptsOf(db, id)).toEqual([
    { attempt_no: 1, status: "succeeded", worker_id: "w1", error: null },
  ]);
});

test("a result may be any JSON value or only a reference, and without both there is no result row", async ({
  db,
}) => {
  const results: Record<string, Ending> = {
    array: { result: [1, null] },
    text: { result: "text" },
    zero: { result: 0 },
    falsity: { result: false },
    object: { result: {} },
    reference: { artifact_ref: "ref" },
    large: { result: "x".repeat(100_000) },
    most: { result: "x".repeat(mebibyte - 2) },
    nothing: {},
  };
  for (const [type, ending] of Object.entries(results)) {
    const { id } = await enqueue(db, { type });
    await claim(db);
    await complete(db, id, ending);
    const rows = await db.query(
      "select id, result, artifact_ref from jobforge_job_results where job_id = $1",
      [id],
    );
    const { result_id } = await find(db, id);
    const expected = {
      id: result_id,
      result: ending.result ?? null,
      artifact_ref: ending.artifact_ref ?? null,
    };
    expect(rows, type).toEqual(type === "nothing" ? [] : [expected]);
    expect(result_id === null, type).toBe(type === "nothing");
  }
});

test("a failure keeps the result and the reference it was reported with", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id, { retry: false, result: { partial: 1 }, artifact_ref: "log" });
  expect(await db.query("select job_id, result, artifact_ref from jobforge_job_results")).toEqual([
    { job_id: id, result: { partial: 1 }, artifact_ref: "log" },
  ]);
});

test("only the worker that holds the job in this attempt may end the run", async ({ db }) => {
  const [held, queued] = await enqueueAll(db, [{}, { in: "1 hour" }]);
  await claim(db);
  const before = await find(db, held);
  const refused: [string | null, Ending][] = [
    [held, { worker: "w2" }],
    [held, { worker: "w2", attempt: 1 }],
    [held, { worker: null }],
    [held, { worker: "" }],
    [held, { attempt: 2 }],
    [held, { attempt: 0 }],
    [held, { attempt: -1 }],
    [queued, {}],
    [unknownId, {}],
    [null, {}],
  ];
  for (const status of ["succeeded", "failed"]) {
    for (const [id, ending] of refused) {
      const error = await expectError(complete(db, id, { ...ending, status }), "JF003");
      expect(error).toMatchObject({ name: "not_held", message: "Job not found or not locked by worker" });
      expect(error.hint).not.toBe("");
    }
  }
  expect(await find(db, held)).toEqual(before);
  expect(await complete(db, held, { attempt: 1 })).toMatchObject({ status: "succeeded" });
});

test("a run ends once: the second end is refused and leaves no second attempt", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await complete(db, id, { result: 1 });
  const before = await find(db, id);
  await expectError(complete(db, id, { result: 2 }), "JF003");
  await expectError(fail(db, id, { attempt: 1 }), "JF003");
  expect(await find(db, id)).toEqual(before);
  expect(await attemptsOf(db, id)).toHaveLength(1);
});

test("a run that failed and waits for its retry cannot be ended again", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id);
  await expectError(complete(db, id), "JF003");
  expect(await find(db, id)).toMatchObject({ status: "queued", attempts: 1 });
  expect(await attemptsOf(db, id)).toHaveLength(1);
});

test("a run ends as succeeded or failed and nothing else", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  for (const status of ["dead", "canceled", "queued", "running", "lost", "SUCCEEDED", "", null]) {
    const error = await expectError(complete(db, id, { status }), "JF004", "status");
    expect(error).toMatchObject({ message: "Status must be succeeded or failed", name: "invalid_status" });
  }
  expect(await find(db, id)).toMatchObject({ status: "running" });
});

test("invalid arguments are refused and the run continues", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const refused: [string, Ending][] = [
    ["retry_at", { status: "failed", retry_at: "infinity" }],
    ["retry_at", { status: "failed", retry_at: "-infinity" }],
    ["retry_at", { status: "failed", retry_at: "4713-01-01 BC" }],
    ["cost_cents", { cost_cents: -1 }],
    ["artifact_ref", { artifact_ref: "x".repeat(4097) }],
    ["next_run_at", { next_run_at: new Date() }],
  ];
  for (const [field, ending] of refused) await expectError(complete(db, id, ending), "JF002", field);
  const large = await expectError(complete(db, id, { result: "x".repeat(mebibyte - 1) }), "JF008", "result");
  expect(large.name).toBe("payload_too_large");
  expect(large.hint).toContain("artifact_ref");
  expect(await find(db, id)).toMatchObject({ status: "running", attempts: 1 });
  expect(await complete(db, id)).toMatchObject({ status: "succeeded" });
});

test("explicit nulls mean the defaults: a failure is retried", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const nulls = { error: null, result: null, artifact_ref: null, attempt: null, retry: null, retry_at: null };
  const ended = await complete(db, id, { status: "failed", ...nulls, cost_cents: null, next_run_at: null });
  expect(ended).toMatchObject({ status: "queued" });
  expect(await find(db, id)).toMatchObject({
    status: "queued",
    error: { message: expect.any(String) },
    cost_cents: null,
  });
});

test("any error that a handler reports is kept as an object with message and attemptedAt", async ({ db }) => {
  const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  const message = expect.stringMatching(/./);
  const errors: [unknown, Record<string, unknown>][] = [
    [
      { message: "boom", code: 7 },
      { message: "boom", code: 7, attemptedAt: iso },
    ],
    [
      { message: "boom", attemptedAt: "then" },
      { message: "boom", attemptedAt: "then" },
    ],
    ["boom", { message: "boom", attemptedAt: iso }],
    [{}, { message, attemptedAt: iso }],
    [{ message: null }, { message, attemptedAt: iso }],
    [[1, 2], { message, details: [1, 2], attemptedAt: iso }],
    [{ message: "日本 🦀" }, { message: "日本 🦀", attemptedAt: iso }],
    // A text without a blank loses the last 200 characters where it is cut, because they may be a part of a secret.
    [{ message: "é".repeat(100_000) }, { message: "é".repeat(1800), truncated: true, attemptedAt: iso }],
    [
      { message: "m", stack: "s".repeat(20_000), more: [] },
      { message: "m", stack: "s".repeat(1800), truncated: true, attemptedAt: iso },
    ],
  ];
  for (const [error, kept] of errors) {
    const { id } = await enqueue(db);
    await claim(db);
    await fail(db, id, { error, retry: false });
    const job = await find(db, id);
    expect(job.error).toEqual(kept);
    expect(job.last_error).toBe(job.error?.["message"]);
    expect(await attemptsOf(db, id)).toMatchObject([{ status: "failed", error: kept }]);
  }
});

test("a success after failures shows no error, and the failed attempts keep their errors", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id, { error: { message: "first" }, retry_at: new Date() });
  await claim(db);
  await complete(db, id);
  expect(await find(db, id)).toMatchObject({ status: "succeeded", attempts: 2, error: null });
  expect(await attemptsOf(db, id)).toMatchObject([
    { attempt_no: 1, status: "failed", error: { message: "first" } },
    { attempt_no: 2, status: "succeeded", error: null },
  ]);
});

test("the cost of a job is the sum of its attempts, and stops at the largest integer", async ({ db }) => {
  const { id } = await enqueue(db);
  const costs: [number | null, number | null][] = [
    [null, null],
    [5, 5],
    [null, 5],
    [0, 5],
  ];
  for (const [cost_cents, sum] of costs) {
    await claim(db);
    await fail(db, id, { cost_cents, retry_at: new Date() });
    expect((await find(db, id)).cost_cents).toBe(sum);
  }
  await claim(db);
  await complete(db, id, { cost_cents: 2_147_483_647 });
  expect((await find(db, id)).cost_cents).toBe(2_147_483_647);
});

test("a success is audited for types with an audit_action only, with tenant and job", async ({ db }) => {
  await setPolicy(db, "mail", { audit_action: "EMAIL_SENT" });
  const [mail, plain] = await enqueueAll(db, [{ type: "mail" }, { type: "plain" }]);
  await claim(db, "w7");
  await complete(db, mail, { worker: "w7" });
  await complete(db, plain, { worker: "w7" });
  const rows = await db.query(
    "select tenant_id, actor, action, entity_id from jobforge_audit_log where entity_type = 'job'",
  );
  expect(rows).toEqual([{ tenant_id: T, actor: "w7", action: "EMAIL_SENT", entity_id: mail }]);
});

test("a retried failure of a type with an audit_action is not audited", async ({ db }) => {
  await setPolicy(db, "a", { audit_action: "DONE" });
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id);
  expect(await auditOf(db, id)).toEqual([]);
});

test("a permanent failure is audited once, with the handler's message, given as an object or as text", async ({
  db,
}) => {
  for (const error of [{ message: "boom" }, "boom"]) {
    const { id } = await enqueue(db);
    await claim(db);
    await fail(db, id, { error, retry: false });
    expect(
      await db.query("select action, message from jobforge_audit_log where entity_id = $1", [id]),
    ).toEqual([{ action: "JOB_FAILED", message: "boom" }]);
  }
});

test("an end that is rolled back leaves the run as it was, with no result, attempt or audit row", async ({
  db,
}) => {
  await setPolicy(db, "a", { audit_action: "DONE" });
  const { id } = await enqueue(db);
  await claim(db);
  const before = await find(db, id);
  for (const ending of [{ result: 1 }, { status: "failed" }, { status: "failed", retry: false }]) {
    await db.query("begin");
    await complete(db, id, ending);
    await db.query("rollback");
    expect(await find(db, id)).toEqual(before);
    expect(await attemptsOf(db, id)).toMatchObject([{ status: "running" }]);
    expect(await db.query("select * from jobforge_job_results")).toEqual([]);
    expect(await auditOf(db, id)).toEqual([]);
  }
  await complete(db, id);
  expect(await auditOf(db, id)).toEqual(["DONE"]);
});
