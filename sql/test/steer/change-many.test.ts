/**
 * jobforge_cancel_jobs and jobforge_reschedule_jobs change many jobs by a filter, in one bounded call that never waits.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueueJobs } from "../support/bulk.ts";
import {
  auditOf,
  cancel,
  claim,
  claimIds,
  codeOf,
  complete,
  countJobs,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  impatient,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { claimAll, outcomes, settle, success } from "../support/settle.ts";
import { boundLogin, login } from "../support/tenants.ts";

interface Changed {
  matched: number;
  changed: number;
}

type Verb = "cancel" | "reschedule";
const verbs: readonly Verb[] = ["cancel", "reschedule"];

async function change(
  db: Sql,
  verb: Verb,
  filters: unknown,
  limit: number | null = 1000,
  tenant: string | null = T,
) {
  return await db.value<Changed>(`select jobforge_${verb}_jobs($1, $2, $3)`, [
    tenant,
    filters === null ? null : JSON.stringify(filters),
    limit,
  ]);
}

const statusesOf = async (db: Sql, ids: readonly string[]): Promise<string[]> =>
  await Promise.all(ids.map(async (id) => (await find(db, id)).status));

test("a filter cancels the tenant's queued jobs, and requests cancellation of the running ones", async ({
  db,
}) => {
  const [running, ...rest] = await enqueueAll(db, [
    { priority: 1, tags: ["x"] },
    { tags: ["x"] },
    { tags: ["x", "y"], in: "1 hour" },
    { tags: ["y"] },
    { tags: ["x"], tenant_id: U },
  ]);
  await claim(db, "w1", { limit: 1 });
  expect(await change(db, "cancel", { tags: ["x"] })).toEqual({ matched: 3, changed: 3 });
  expect(await statusesOf(db, rest)).toEqual(["canceled", "canceled", "queued", "queued"]);
  expect(await find(db, running)).toMatchObject({ status: "running", cancel_requested: true });
  await complete(db, running);
  expect(await find(db, running)).toMatchObject({ status: "canceled" });
  expect(await change(db, "cancel", { tags: ["x"] })).toEqual({ matched: 0, changed: 0 });
});

test("a job whose cancellation was requested before matches but does not change again", async ({ db }) => {
  await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  expect(await change(db, "cancel", { status: "running" })).toEqual({ matched: 2, changed: 2 });
  expect(await change(db, "cancel", { status: "running" })).toEqual({ matched: 2, changed: 0 });
});

test("a filter reschedules queued, failed and dead jobs to now, the finished ones with a fresh budget", async ({
  db,
}) => {
  const [waiting, failed, dead, succeeded, canceled, running] = await enqueueAll(db, [
    { in: "1 hour", type: "w" },
    { max_attempts: 2 },
    { max_attempts: 1 },
    {},
    {},
    {},
  ]);
  await claimAll(db);
  await fail(db, failed, { retry: false });
  await fail(db, dead);
  await complete(db, succeeded);
  await cancel(db, canceled);
  await complete(db, canceled);
  expect(await change(db, "reschedule", { type: ["a", "w"] })).toEqual({ matched: 3, changed: 3 });
  expect(await statusesOf(db, [succeeded, canceled, running])).toEqual(["succeeded", "canceled", "running"]);
  expect((await claim(db, "w2")).map((job) => [job.id, job.attempts, job.max_attempts]).sort()).toEqual(
    [
      [waiting, 1, 5],
      [failed, 2, 3],
      [dead, 2, 2],
    ].sort(),
  );
});

test("failures are rescheduled by the text of their error, and by status alone", async ({ db }) => {
  const [timeout, other] = await enqueueAll(db, [{ max_attempts: 1 }, { max_attempts: 1 }]);
  await claimAll(db);
  await fail(db, timeout, { error: { message: "ETIMEDOUT upstream" } });
  await fail(db, other, { error: { message: "bad input" } });
  expect(await change(db, "reschedule", { error_contains: "etimedout" })).toEqual({ matched: 1, changed: 1 });
  expect(await statusesOf(db, [timeout, other])).toEqual(["queued", "dead"]);
  expect(await change(db, "reschedule", { status: "dead" })).toEqual({ matched: 1, changed: 1 });
  expect(await change(db, "reschedule", { status: ["succeeded", "running"] })).toEqual({
    matched: 0,
    changed: 0,
  });
  expect(await change(db, "cancel", { status: ["succeeded", "dead"] })).toEqual({ matched: 0, changed: 0 });
});

test("a call changes at most its limit, and repeated calls change everything that matches", async ({
  db,
}) => {
  await enqueueJobs(
    db,
    Array.from({ length: 250 }, () => ({ type: "a" })),
  );
  expect(await change(db, "cancel", { type: "a" }, 100)).toEqual({ matched: 100, changed: 100 });
  expect(await change(db, "cancel", { type: "a" }, 100)).toEqual({ matched: 100, changed: 100 });
  expect(await change(db, "cancel", { type: "a" }, 100)).toEqual({ matched: 50, changed: 50 });
  expect(await change(db, "cancel", { type: "a" }, 10_000)).toEqual({ matched: 0, changed: 0 });
  expect(await countJobs(db)).toBe(250);
});

test.for(verbs)(
  "%s needs a filter: an empty object, nulls or a page are refused and change no job",
  async (verb, { db }) => {
    const ids = await enqueueAll(db, [{}, {}]);
    const seen: unknown[] = [];
    const filters = [
      null,
      {},
      { limit: 5 },
      { status: null },
      { type: null },
      { tags: null },
      { tags: [] },
      { subject: null, error_contains: null },
      { type: "a", limit: 1 },
      { type: "a", offset: 1 },
      { type: "a", cursor: ids[0] },
      { typ: "a" },
      { tenant_id: U },
      [],
      "a",
    ];
    for (const filter of filters) seen.push([filter, await codeOf(change(db, verb, filter))]);
    expect(seen).toEqual(filters.map((filter) => [filter, "JF002"]));
    for (const limit of [null, 0, 10_001])
      await expectError(change(db, verb, { type: "a" }, limit), "JF002", "limit");
    await expectError(change(db, verb, { type: "a" }, 1, null), "JF001");
    expect(await statusesOf(db, ids)).toEqual(["queued", "queued"]);
  },
);

test.for(verbs)("%s is allowed for the tenant itself and for operators", async (verb, { db }) => {
  await enqueueAll(db, [{}, { tenant_id: U }]);
  const own = await boundLogin(db, T, "jobforge_tenant");
  expect(await codeOf(change(own, verb, { type: "a" }, 10, U))).toBe("42501");
  expect(await change(own, verb, { type: "a" })).toEqual({ matched: 1, changed: 1 });
  for (const role of ["jobforge_worker", "jobforge_reader"]) {
    expect(await codeOf(change(await login(db, role), verb, { type: "a" }))).toBe("42501");
  }
  expect(await change(await login(db, "jobforge_operator"), verb, { type: "a" }, 10, U)).toMatchObject({
    changed: 1,
  });
});

test.for(verbs)(
  "%s skips the queued jobs that another transaction holds, and does not wait for them",
  async (verb, { db }) => {
    const [held, free] = await enqueueAll(db, [{ in: "1 hour" }, { in: "1 hour" }]);
    const [app, caller] = [await db.connect(), await impatient(db)];
    await app.query("begin");
    await app.query("select jobforge_update_job($1, $2, '{\"priority\": 1}')", [held, T]);
    expect(await change(caller, verb, { type: "a" })).toEqual({ matched: 2, changed: 1 });
    await app.query("rollback");
    const [one, other] = [await find(db, held), await find(db, free)];
    expect(one.status).toBe("queued");
    expect(Number(one.run_at)).toBeGreaterThan(Date.now() + 1_000_000);
    expect(other.status === "canceled" || Number(other.run_at) <= Date.now()).toBe(true);
  },
);

test("cancel does not wait for a request to cancel that another transaction has not committed", async ({
  db,
}) => {
  const [asked, other] = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  const [app, caller] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await cancel(app, asked);
  expect(await change(caller, "cancel", { status: "running" })).toMatchObject({ matched: 2 });
  expect(await find(db, other)).toMatchObject({ cancel_requested: true });
  await app.query("commit");
  expect(await find(db, asked)).toMatchObject({ cancel_requested: true });
});

test("a dead job whose dedupe key a live job has taken stays dead, the others are rescheduled", async ({
  db,
}) => {
  const [taken, free] = await enqueueAll(db, [
    { max_attempts: 1, dedupe_key: "k" },
    { max_attempts: 1, dedupe_key: "free" },
  ]);
  await claimAll(db);
  for (const id of [taken, free]) await fail(db, id);
  await enqueue(db, { type: "a", dedupe_key: "k", in: "1 hour" });
  expect(await change(db, "reschedule", { status: "dead" })).toEqual({ matched: 2, changed: 1 });
  expect(await statusesOf(db, [taken, free])).toEqual(["dead", "queued"]);
});

test("of two dead jobs with the same dedupe key, one is rescheduled", async ({ db }) => {
  const ids: string[] = [];
  for (let n = 0; n < 2; n += 1) {
    const { id } = await enqueue(db, { max_attempts: 1, dedupe_key: "k" });
    await claim(db);
    await fail(db, id);
    ids.push(id);
  }
  expect(await change(db, "reschedule", { status: "dead" })).toEqual({ matched: 2, changed: 1 });
  expect((await statusesOf(db, ids)).sort()).toEqual(["dead", "queued"]);
});

test.for(verbs)("a transaction left open after %s delays no claim and no settle", async (verb, { db }) => {
  const running = await enqueueAll(db, [{ tags: ["x"] }, { tags: ["x"] }]);
  await claimAll(db);
  await enqueueAll(db, [{ tags: ["x"] }, { tags: ["x"], in: "1 hour" }]);
  const free = await enqueue(db);
  const [app, worker] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await change(app, verb, { tags: ["x"] });
  expect(await claimIds(worker)).toEqual([free.id]);
  expect(
    outcomes(
      await settle(
        worker,
        [...running, free.id].map((id) => success(id)),
        { claim: 5 },
      ),
    ),
  ).toEqual(["ok", "ok", "ok"]);
  await worker.query("select jobforge_maintain()");
  await app.query("rollback");
  expect(await claim(db)).toHaveLength(1);
});

test("a change by filter is in the audit log with its filter and its result", async ({ db }) => {
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  const { id } = await enqueue(db, { in: "1 hour" });
  await change(tenant, "reschedule", { type: "a" });
  await change(tenant, "cancel", { type: "a" });
  expect(
    await tenant.query(
      "select action, actor, meta from jobforge_audit_log where entity_type = 'jobs' order by id",
    ),
  ).toEqual(
    ["JOBS_RESCHEDULED", "JOBS_CANCELED"].map((action) => ({
      action,
      actor: expect.stringMatching(/^jobforge_login_/),
      meta: { matched: 1, changed: 1, filters: { type: "a" } },
    })),
  );
  expect(await auditOf(db, id)).toEqual([]);
});
