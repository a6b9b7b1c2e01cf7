/** Details of a job: its result and its attempts, through functions that HTTP clients can call too. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, codeOf, complete, enqueue, fail, T, U } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";

const result = "select jobforge_get_result($1, $2)";

test("a job's result is one document, with nulls until the job is finished", async ({ db }) => {
  const { id } = await enqueue(db, { type: "a" });
  const live = { id, type: "a", status: "queued", reason: null, result: null, finished_at: null };
  expect(await db.value(result, [id, T])).toMatchObject(live);
  await claim(db);
  await db.query(
    "select jobforge_complete_job($1, 'w1', 'succeeded', p_result => $2, p_artifact_ref => 's3://x')",
    [id, JSON.stringify({ pages: 3 })],
  );
  expect(await db.value(result, [id, T])).toMatchObject({
    id,
    status: "succeeded",
    reason: "done",
    attempts: 1,
    error: null,
    result: { pages: 3 },
    artifact_ref: "s3://x",
    finished_at: expect.any(String),
  });
});

test("a failed job's document says why", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  await claim(db);
  await fail(db, id);
  expect(await db.value(result, [id, T])).toMatchObject({
    status: "dead",
    reason: "exhausted",
    error: { message: expect.any(String) },
    result: null,
  });
});

test("results and attempts are visible to their tenant only", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await complete(db, id);
  expect(await db.value(result, [id, U])).toBeNull();
  expect(await db.query("select * from jobforge_list_attempts($1, $2)", [id, U])).toEqual([]);
  const login = await db.createLogin("jobforge_tenant");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, U]);
  const stranger = await db.connect(login.url);
  expect(await codeOf(stranger.query(result, [id, T]))).toBe("42501");
  expect(await codeOf(stranger.query("select jobforge_list_attempts($1, $2)", [id, T]))).toBe("42501");
  expect(await stranger.value(result, [id, U])).toBeNull();
});

test("attempts are listed in order, the running one last", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await settle(db, [{ id, attempt: 1, status: "released" }]);
  await claim(db);
  await fail(db, id);
  await db.travel("2 seconds");
  await claim(db, "w2");
  expect(
    await db.query("select attempt_no, status, worker_id from jobforge_list_attempts($1, $2)", [id, T]),
  ).toEqual([
    { attempt_no: 1, status: "released", worker_id: "w1" },
    { attempt_no: 2, status: "failed", worker_id: "w1" },
    { attempt_no: 3, status: "running", worker_id: "w2" },
  ]);
});
