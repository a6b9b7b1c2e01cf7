/** jobforge_settle_jobs: ends a batch of runs and claims the next in one call. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  backendOf,
  cancel,
  claim,
  connections,
  countJobs,
  enqueue,
  enqueueAll,
  expectError,
  find,
  type Sql,
  setPolicy,
  started,
  T,
  travelToRun,
  U,
  unknownId,
  untilBlocked,
} from "../support/kernel.ts";
import { claimAll, everything, idsOf, outcomes, type Report, settle, success } from "../support/settle.ts";
import { boundLogin, claimedByBound } from "../support/tenants.ts";

test("one call ends a batch of runs and claims the next", async ({ db }) => {
  const [first, second, third, ...rest] = await enqueueAll(db, [{}, {}, {}, { subject: "s" }, {}]);
  await claim(db, "w1", { limit: 3 });
  const answer = await settle(
    db,
    [success(third), { id: first, attempt: 1, status: "failed", error: "boom" }, success(second)],
    { claim: 10 },
  );
  expect(answer.settled).toEqual([
    { id: third, attempt: 1, outcome: "ok", status: "succeeded" },
    { id: first, attempt: 1, outcome: "ok", status: "queued" },
    { id: second, attempt: 1, outcome: "ok", status: "succeeded" },
  ]);
  expect(answer.jobs).toMatchObject(rest.map((id) => ({ id, tenant_id: T, type: "a", attempts: 1 })));
  expect(answer.claim_error).toBeUndefined();
  expect(Date.parse(answer.next_due_at ?? "")).toBe(Number((await find(db, first)).run_at));
  for (const id of rest) expect(await find(db, id)).toMatchObject({ status: "running", locked_by: "w1" });
  expect(await find(db, third)).toMatchObject({ status: "succeeded", attempts: 1 });
});

test("a call may only claim, only settle, or do neither", async ({ db }) => {
  const { id } = await enqueue(db);
  expect(await settle(db, null)).toMatchObject({ settled: [], jobs: [] });
  expect(await settle(db, [])).toMatchObject({ settled: [], jobs: [] });
  expect(idsOf(await settle(db, null, { claim: 5 }))).toEqual([id]);
  expect(outcomes(await settle(db, [success(id)]))).toEqual(["ok"]);
});

test("claimed jobs have everything that a handler needs, including large payloads", async ({ db }) => {
  const payload = { text: "x".repeat(5000) };
  const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
  const { id } = await enqueue(db, { payload, priority: 3, subject: "s", tags: ["t"], traceparent });
  const { jobs } = await settle(db, [], { claim: 1 });
  const [{ trace_id }] = await db
    .query<{ trace_id: string }>("select trace_id from jobforge_job_attempts where job_id = $1", [id])
    .then((rows) => rows as [{ trace_id: string }]);
  expect(jobs).toMatchObject([
    { id, payload, priority: 3, subject: "s", tags: ["t"], traceparent, trace_id, max_attempts: 5 },
  ]);
});

test("reports that the fence refuses are stale, each separately, and change nothing", async ({ db }) => {
  const [held, others, queued, finished] = await enqueueAll(db, [{}, {}, {}, {}]);
  await claim(db, "w1", { limit: 1 });
  await claim(db, "w2", { limit: 1 });
  await claim(db, "w3", { limit: 1 });
  await settle(db, [{ id: queued, attempt: 1, status: "released" }], { worker: "w3" });
  await cancel(db, finished);
  const before = await everything(db);
  const refused = [success(others), success(queued), success(finished), success(unknownId)];
  expect(outcomes(await settle(db, [...refused, { ...success(held), attempt: 2 }]))).toEqual(
    Array(5).fill("stale"),
  );
  expect(await everything(db)).toEqual(before);
  expect(outcomes(await settle(db, [success(others), success(held), success(unknownId)]))).toEqual([
    "stale",
    "ok",
    "stale",
  ]);
});

test("a call repeated after a lost response returns already for each end and changes nothing", async ({
  db,
}) => {
  await setPolicy(db, "a", { audit_action: "DONE" });
  const ids = await enqueueAll(db, Array(6).fill({ max_attempts: 3 }));
  await claimAll(db);
  await cancel(db, ids[5] ?? "");
  const later = new Date(Date.now() + 3_600_000);
  const ends: Report[] = [
    { status: "succeeded", result: { n: 1 }, cost_cents: 5, children: [{ type: "child" }] },
    { status: "failed", error: "again", cost_cents: 5 },
    { status: "failed", error: "never", retry: false },
    { status: "deferred", run_at: later },
    { status: "released" },
    { status: "succeeded" },
  ];
  const call = ends.map((end, n) => ({ ...end, id: ids[n], attempt: 1 }));
  expect(outcomes(await settle(db, call))).toEqual(Array(6).fill("ok"));
  const before = await everything(db);
  for (const repeated of [call, call.toReversed()]) {
    expect(outcomes(await settle(db, repeated))).toEqual(Array(6).fill("already"));
    expect(await everything(db)).toEqual(before);
  }
  expect(outcomes(await settle(db, call, { worker: "w2" }))).toEqual(Array(6).fill("stale"));
});

test("a call repeated while the first is in progress waits for it and returns already", async ({ db }) => {
  const [succeeded, failed] = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  const call = [success(succeeded), { id: failed, attempt: 1, status: "failed", error: "again" }];
  const [first, second] = await connections(db, 2);
  if (first === undefined || second === undefined) throw new Error("no connections");
  await first.query("begin");
  expect(outcomes(await settle(first, call))).toEqual(["ok", "ok"]);
  const pid = await backendOf(second);
  const repeated = started(settle(second, call));
  await untilBlocked(db, pid);
  await first.query("commit");
  expect(outcomes(await repeated)).toEqual(["already", "already"]);
});

test("a repeated call returns already while another worker, or the same, runs the next attempt", async ({
  db,
}) => {
  const ids = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  const call = ids.map((id) => ({ id, attempt: 1, status: "released" }));
  await settle(db, call);
  await claim(db, "w1", { limit: 1 });
  await claim(db, "w2", { limit: 1 });
  const before = await everything(db);
  expect(outcomes(await settle(db, call))).toEqual(["already", "already"]);
  expect(await everything(db)).toEqual(before);
});

test("a lost run is stale for the worker that lost it, never already", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await db.travel("6 minutes");
  await claim(db, "w2");
  expect(outcomes(await settle(db, [success(id)]))).toEqual(["stale"]);
  expect(await find(db, id)).toMatchObject({ status: "running", locked_by: "w2" });
});

test("of two ends of one run in a call the first counts, and an end of another attempt is stale", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  const other = await enqueue(db);
  await claimAll(db);
  const answer = await settle(db, [
    { id, attempt: 2, status: "failed" },
    success(id, { result: "first" }),
    success(other.id),
    { id, attempt: 1, status: "failed", error: "second" },
    success(id, { result: "third" }),
  ]);
  expect(outcomes(answer)).toEqual(["stale", "ok", "ok", "already", "already"]);
  expect(await find(db, id)).toMatchObject({ status: "succeeded", attempts: 1 });
  expect(await attemptsOf(db, id)).toHaveLength(1);
  expect(await db.query("select result from jobforge_job_results where job_id = $1", [id])).toEqual([
    { result: "first" },
  ]);
});

/** Makes every later claim fail, as if the database were damaged. */
async function breakClaims(db: Sql): Promise<void> {
  await db.query(`create function public.refuse_claim() returns trigger language plpgsql as $$
    begin raise exception 'no claim today' using errcode = 'P0042'; end $$`);
  await db.query(`create trigger refuse_claim before insert on jobforge.runs
    for each row execute function public.refuse_claim()`);
}

test.for<[string, unknown]>([
  ["no hint", undefined],
  ["a malformed hint", { due: "soon", at: 5 }],
])(
  "a claim that fails, with %s, does not undo the settle and returns the error",
  async ([, hint], { db }) => {
    const [finished, next] = await enqueueAll(db, [{}, {}]);
    await claim(db, "w1", { limit: 1 });
    await breakClaims(db);
    const call = [success(finished, { result: 1, children: [{ type: "child" }] })];
    const answer = await settle(db, call, { claim: 5, hint });
    expect(outcomes(answer)).toEqual(["ok"]);
    expect(answer.jobs).toEqual([]);
    expect(answer.claim_error).toMatchObject({
      code: "P0042",
      message: expect.stringContaining("no claim today"),
    });
    expect(await find(db, finished)).toMatchObject({ status: "succeeded" });
    expect(await find(db, next)).toMatchObject({ status: "queued", attempts: 0 });
    expect(await countJobs(db)).toBe(3);
    await db.query("drop trigger refuse_claim on jobforge.runs");
    const again = await settle(db, call, { claim: 5, hint: answer.hint });
    expect(outcomes(again)).toEqual(["already"]);
    expect(again.jobs).toHaveLength(2);
  },
);

test("a claim is refused above READ COMMITTED, a settle without a claim is not", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  for (const level of ["repeatable read", "serializable"]) {
    await db.query(`begin isolation level ${level}`);
    const error = await expectError(settle(db, [success(id)], { claim: 1 }), "JF002");
    expect(error.hint).toContain("READ COMMITTED");
    await db.query("rollback");
    expect(await find(db, id)).toMatchObject({ status: "running" });
  }
  await db.query("begin isolation level repeatable read");
  expect(outcomes(await settle(db, [success(id)]))).toEqual(["ok"]);
  await db.query("commit");
  expect(await find(db, id)).toMatchObject({ status: "succeeded" });
});

test("invalid arguments are refused and settle nothing", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const call = [success(id)];
  for (const worker of [null, "", "x".repeat(1025)]) {
    await expectError(settle(db, call, { worker }), "JF002", "worker_id");
  }
  for (const limit of [null, -1, 1001])
    await expectError(settle(db, call, { claim: limit }), "JF002", "claim_limit");
  for (const results of [{}, "x", 5, success(id)]) await expectError(settle(db, results), "JF002", "results");
  expect(await find(db, id)).toMatchObject({ status: "running" });
});

test("a settle that is rolled back has no effect", async ({ db }) => {
  const [finished, next] = await enqueueAll(db, [{}, {}]);
  await claim(db, "w1", { limit: 1 });
  const before = await everything(db);
  await db.query("begin");
  await settle(db, [success(finished, { children: [{ type: "child" }] })], { claim: 1 });
  await db.query("rollback");
  expect(await everything(db)).toEqual(before);
  expect(idsOf(await settle(db, [success(finished)], { claim: 1 }))).toEqual([next]);
});

test("results, references and costs are kept as jobforge_complete_job keeps them", async ({ db }) => {
  const [full, bare] = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  await settle(db, [
    success(full, { result: { pages: [1, 2] }, artifact_ref: "s3://b/k", cost_cents: 12 }),
    success(bare, { result: null, artifact_ref: null, cost_cents: null, error: null, children: null }),
  ]);
  expect(await db.query("select job_id, tenant_id, result, artifact_ref from jobforge_job_results")).toEqual([
    { job_id: full, tenant_id: T, result: { pages: [1, 2] }, artifact_ref: "s3://b/k" },
  ]);
  expect(await find(db, full)).toMatchObject({ cost_cents: 12, result_id: expect.any(String) });
  expect(await find(db, bare)).toMatchObject({ status: "succeeded", cost_cents: null, result_id: null });
});

test("a deferred run counts as an attempt unless it says otherwise, and a released run never counts", async ({
  db,
}) => {
  const ids = await enqueueAll(db, Array(4).fill({ max_attempts: 1 }));
  await claimAll(db);
  const later = new Date(Date.now() + 60_000);
  const answer = await settle(db, [
    { id: ids[0], attempt: 1, status: "deferred", run_at: later },
    { id: ids[1], attempt: 1, status: "deferred", run_at: later, counts: true },
    { id: ids[2], attempt: 1, status: "deferred", run_at: later, counts: false },
    { id: ids[3], attempt: 1, status: "released" },
  ]);
  expect(answer.settled.map((row) => row.status)).toEqual(["dead", "dead", "queued", "queued"]);
  expect(await find(db, ids[2] ?? "")).toMatchObject({ attempts: 1, run_at: later, last_error: null });
  expect(await claim(db)).toMatchObject([{ id: ids[3], attempts: 2 }]);
  expect((await attemptsOf(db, ids[3] ?? "")).map((run) => run.status)).toEqual(["released", "running"]);
  expect((await attemptsOf(db, ids[2] ?? "")).map((run) => run.status)).toEqual(["deferred"]);
});

test("scenario 56: a poll that defers three times and then succeeds is one row and holds no slot in between", async ({
  db,
}) => {
  const { id } = await enqueue(db, { max_attempts: 50 });
  for (const attempt of [1, 2, 3]) {
    expect(await claim(db)).toMatchObject([{ id, attempts: attempt }]);
    const run_at = await db.value<Date>("select jobforge.now() + interval '30 seconds'");
    await settle(db, [{ id, attempt, status: "deferred", run_at }]);
    expect(await find(db, id)).toMatchObject({ status: "queued", locked_by: null, run_at });
    expect(await claim(db)).toEqual([]);
    await travelToRun(db, id);
  }
  await claim(db);
  await settle(db, [{ id, attempt: 4, status: "succeeded" }]);
  expect(await find(db, id)).toMatchObject({ status: "succeeded", attempts: 4, last_error: null });
  expect(await countJobs(db)).toBe(1);
  expect((await attemptsOf(db, id)).map((run) => run.status)).toEqual([
    ...Array(3).fill("deferred"),
    "succeeded",
  ]);
});

test("scenario 56: a poll that is never ready is dead after its fifty attempts", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 50 });
  for (let attempt = 1; attempt <= 50; attempt += 1) {
    expect(await claim(db)).toMatchObject([{ id, attempts: attempt }]);
    await settle(db, [{ id, attempt, status: "deferred", run_at: new Date() }]);
  }
  expect(await find(db, id)).toMatchObject({ status: "dead", reason: "exhausted", attempts: 50 });
  expect(await claim(db)).toEqual([]);
  expect(await auditOf(db, id)).toEqual(["JOB_EXHAUSTED_RETRIES"]);
});

test("a worker bound to a tenant settles and claims that tenant's jobs only", async ({ db }) => {
  const [own, others] = await enqueueAll(db, [{}, { tenant_id: U }]);
  const [gone] = await enqueueAll(db, [{ tenant_id: U }]);
  await claimAll(db);
  await settle(db, [success(gone)]);
  const [ownNext] = await enqueueAll(db, [{}, { tenant_id: U }]);
  await claimedByBound(db, T);
  const worker = await boundLogin(db, T, "jobforge_worker");
  const answer = await settle(worker, [success(others), success(own), success(gone)], { claim: 10 });
  // The worker must not learn that the other tenant's run has ended either.
  expect(outcomes(answer)).toEqual(["stale", "ok", "stale"]);
  expect(idsOf(answer)).toEqual([ownNext]);
  expect(await find(db, others)).toMatchObject({ status: "running" });
  await expectError(settle(worker, [], { claim: 1, tenant_id: U }), "42501");
});
