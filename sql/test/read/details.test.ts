/** Details of a job: its result, its attempts and the audit log, through functions that HTTP clients can call too. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, codeOf, complete, enqueue, fail, type Sql, setPolicy, T, U } from "../support/kernel.ts";
import { listen } from "../support/listen.ts";
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

/** Three jobs of two tenants that failed permanently, each with its row in the audit log. */
async function auditedFailures(db: Sql): Promise<string[]> {
  const ids: string[] = [];
  for (const tenant_id of [T, U, T]) {
    const { id } = await enqueue(db, { tenant_id, max_attempts: 1 });
    await claim(db);
    await fail(db, id);
    ids.push(id);
  }
  return ids;
}

test("the audit log is listed newest first, page by page, for one tenant or for all", async ({ db }) => {
  const ids = await auditedFailures(db);
  const list = async (tenant: string | null, filters: object = {}) =>
    await db.query<{ id: string; entity_id: string }>(
      "select id, entity_id from jobforge_list_audit($1, $2)",
      [tenant, JSON.stringify(filters)],
    );
  const entities = (rows: { entity_id: string }[]) => rows.map((row) => row.entity_id);
  expect(entities(await list(T))).toEqual([ids[2], ids[0]]);
  expect(entities(await list(null))).toEqual([...ids].reverse());
  expect(entities(await list(null, { entity_id: ids[1] }))).toEqual([ids[1]]);
  expect(entities(await list(null, { action: "JOB_FAILED" }))).toEqual([]);
  expect(entities(await list(null, { action: "JOB_EXHAUSTED_RETRIES", limit: 2 }))).toEqual([ids[2], ids[1]]);
  const [first] = await list(T, { limit: 1 });
  expect(entities(await list(T, { cursor: first?.id }))).toEqual([ids[0]]);
  expect(await list(null, { after: "2999-01-01" })).toEqual([]);
  expect(await list(null, { before: "2000-01-01" })).toEqual([]);
});

test("only operators list the audit log of all tenants, and a wrong filter is refused", async ({ db }) => {
  const login = await db.createLogin("jobforge_tenant");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, T]);
  const tenant = await db.connect(login.url);
  expect(await codeOf(tenant.query("select jobforge_list_audit()"))).toBe("42501");
  expect(await codeOf(tenant.query("select jobforge_list_audit($1)", [U]))).toBe("42501");
  expect(await codeOf(tenant.query("select jobforge_list_audit($1)", [T]))).toBe("ok");
  for (const filters of ['{"acton": "x"}', '{"after": "soon"}', '{"limit": "many"}', '{"cursor": "x"}', "[]"])
    expect(await codeOf(db.query("select jobforge_list_audit(null, $1)", [filters])), filters).toBe("JF002");
});

test("jobs enqueued without a notification wake idle workers of their types by a separate call", async ({
  db,
}) => {
  await db.query('select jobforge_heartbeat_worker(\'w1\', \'{"idle": true, "types": ["a", "later"]}\')');
  const listener = await listen(db);
  await enqueue(db, { type: "a", notify: false });
  await db.query("select jobforge_wake_workers($1)", [
    JSON.stringify({ a: null, b: null, later: "2999-01-01T00:00:00Z" }),
  ]);
  expect((await listener.heard()).sort()).toEqual([
    "jobforge_wake: a",
    "jobforge_wake: later\n2999-01-01T00:00:00.000000Z",
  ]);
  for (const wakes of [null, "[]", '{"a": "soon"}'])
    expect(await codeOf(db.query("select jobforge_wake_workers($1)", [wakes])), String(wakes)).toBe("JF002");
});

test("jobforge_settle_jobs_text returns the document of jobforge_settle_jobs as text", async ({ db }) => {
  await enqueue(db, { payload: { quote: '"', unicode: "ü\n" }, subject: "s", tags: ["t"] });
  const answer = JSON.parse(await db.value<string>("select jobforge_settle_jobs_text('w1', '[]', 5)"));
  expect(answer.jobs).toMatchObject([
    { payload: { quote: '"', unicode: "ü\n" }, subject: "s", tags: ["t"], progress: null },
  ]);
  const [{ id }] = answer.jobs;
  const ended = JSON.parse(
    await db.value<string>("select jobforge_settle_jobs_text('w1', $1)", [
      JSON.stringify([{ id, attempt: 1, status: "succeeded" }, { id: "nobody" }, 7]),
    ]),
  );
  expect(ended.settled).toEqual([
    { id, attempt: 1, outcome: "ok", status: "succeeded" },
    { id: "nobody", attempt: null, outcome: "stale", status: null },
    { id: null, attempt: null, outcome: "stale", status: null },
  ]);
});

test("a key that leads to a job which finished before the key was committed is deleted a day later", async ({
  db,
}) => {
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
  await db.query("select jobforge_maintain()");
  expect(await enqueue(db, keyed)).toMatchObject({ outcome: "created" });
});
