/** The registry of the types that each tenant uses, and the quota of types. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  complete,
  enqueue,
  enqueueAll,
  expectError,
  find,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import { boundLogin, login } from "../support/tenants.ts";
import { maintain } from "../support/usage.ts";

async function typesOf(db: Sql, tenant = T): Promise<string[]> {
  return await db.value<string[]>("select jobforge.types_of($1, 100000)", [tenant]);
}

async function rowsOf(db: Sql, tenant = T): Promise<number> {
  return await db.value<number>("select count(*)::int from jobforge.tenant_types where tenant_id = $1", [
    tenant,
  ]);
}

/** Enqueues one job of each of the types t1 to tn, for T. */
async function enqueueTypes(
  db: Sql,
  from: number,
  to: number,
  partial = false,
): Promise<{ outcome: string }[]> {
  return await db.value<{ outcome: string }[]>(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 't' || n) order by n)
       from generate_series($2::int, $3::int) n), p_partial => $4)`,
    [T, from, to, partial],
  );
}

async function setMaxTypes(db: Sql, max_types: number | null): Promise<void> {
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_types }]);
}

test("every way to create a job or a schedule registers its type, once", async ({ db }) => {
  await enqueueAll(db, [{ type: "one" }, { type: "one" }, { type: "keyed", idempotency_key: "k" }]);
  await enqueue(db, { type: "deduped", dedupe_key: "d" });
  await enqueueTypes(db, 1, 3);
  await enqueueTypes(db, 1, 3);
  await db.query(`select jobforge_ensure_schedule($1, 'scheduled', 'k', '{"every": "1 hour"}')`, [T]);
  const [parent] = await claim(db, "w1", { types: ["one"] });
  await settle(db, [
    { id: parent?.id, attempt: 1, status: "succeeded", children: [{ type: "child" }, { type: "child" }] },
  ]);
  expect(await typesOf(db)).toEqual(["child", "deduped", "keyed", "one", "scheduled", "t1", "t2", "t3"]);
  expect(await rowsOf(db)).toBe(8);
  expect(await typesOf(db, U)).toEqual([]);
});

test("two transactions that enqueue a new type do not wait, and maintenance removes the second row", async ({
  db,
}) => {
  const [first, second] = [await db.connect(), await db.connect()];
  await first.query("begin");
  await enqueue(first, { type: "new" });
  await second.query("set lock_timeout = '1s'");
  await enqueue(second, { type: "new" });
  await first.query("commit");
  expect(await rowsOf(db)).toBe(2);
  await db.travel("3 days");
  await maintain(db);
  expect(await rowsOf(db)).toBe(1);
  expect(await typesOf(db)).toEqual(["new"]);
});

test("a type is forgotten two days after its last job, archived job and schedule; one that is in use stays", async ({
  db,
}) => {
  for (const type of ["ready", "parked", "running", "archived", "unkept", "purged"])
    await enqueue(db, { type });
  await db.query(`select jobforge_set_policy('unkept', '{"keep_history": false}')`);
  await db.query(`select jobforge_ensure_schedule($1, 'scheduled', 'k', '{"dynamic": true}')`, [T]);
  for (const type of ["archived", "unkept", "purged"])
    for (const job of await claim(db, "w1", { types: [type] })) await complete(db, job.id);
  await db.query(`select jobforge_purge_jobs($1, '{"type": "purged"}')`, [T]);
  await claim(db, "w1", { types: ["running"] });
  await db.query("select jobforge_heartbeat_worker('w1')");
  const all = await typesOf(db);
  await db.travel("47 hours");
  await maintain(db);
  expect(await typesOf(db)).toEqual(all);
  await db.travel("49 hours");
  await maintain(db);
  const used = all.filter((type) => type !== "unkept" && type !== "purged");
  expect(await typesOf(db)).toEqual(used);
  // Those in use have just been seen, so the next check is two days later.
  expect(await rowsOf(db)).toBe(used.length);
  await db.travel("50 hours");
  await maintain(db);
  expect(await typesOf(db)).toEqual(used);
});

test("an enqueue renews a registration that is a day old, so that it is not forgotten under an open transaction", async ({
  db,
}) => {
  await db.query(`select jobforge_set_policy('a', '{"keep_history": false}')`);
  await enqueue(db, { type: "a" });
  for (const job of await claim(db)) await complete(db, job.id);
  const late = await db.connect();
  await late.travel("47 hours");
  await late.query("begin");
  await enqueue(late, { type: "a" });
  await db.travel("49 hours");
  await maintain(db);
  await late.query("commit");
  expect(await typesOf(db)).toEqual(["a"]);
});

async function connect(db: TestDatabase, role: string, tenant: string): Promise<TestConnection> {
  return role === "jobforge_app" ? await appOf(db, tenant) : await boundLogin(db, tenant, role);
}

async function appOf(db: TestDatabase, tenant: string): Promise<TestConnection> {
  const app = await login(db, "jobforge_app");
  await app.query("select set_config('app.tenant_id', $1, false)", [tenant]);
  return app;
}

test.for(["jobforge_tenant", "jobforge_app", "jobforge_worker"])(
  "a login that acts for a tenant as %s uses a thousand types and no more, of jobs and schedules",
  async (role, { db }) => {
    const session = await connect(db, role, T);
    await enqueueTypes(session, 1, 999);
    await session.query("select jobforge_enqueue_job($1, 't1000')", [T]);
    const error = await expectError(session.query("select jobforge_enqueue_job($1, 'more')", [T]), "JF007");
    expect(error).toMatchObject({ name: "job_limit_exceeded", field: "type" });
    expect(error.hint).toContain("1000");
    await expectError(
      session.query(`select jobforge_ensure_schedule($1, 'more', 'k', '{"every": "1 hour"}')`, [T]),
      "JF007",
      "type",
    );
    await expectError(enqueueTypes(session, 998, 1003), "JF007", "jobs[3].type");
    expect((await enqueueTypes(session, 998, 1003, true)).map((result) => result.outcome)).toEqual([
      "created",
      "created",
      "created",
      "rejected",
      "rejected",
      "rejected",
    ]);
    expect(await typesOf(db)).toHaveLength(1000);
    await session.query("select jobforge_enqueue_job($1, 't500')", [T]);
    await setMaxTypes(db, 1001);
    await session.query("select jobforge_enqueue_job($1, 'more')", [T]);
    await expectError(session.query("select jobforge_enqueue_job($1, 'still.more')", [T]), "JF007");
  },
);

test("operators and workers are held to a tenant's own number, not to the default one", async ({ db }) => {
  const worker = await login(db, "jobforge_worker");
  await enqueueTypes(worker, 1, 1001);
  await enqueueTypes(db, 1, 1002);
  expect(await db.value("select jobforge_get_tenant($1)", [T])).toMatchObject({
    max_types: 1000,
    types: 1001,
  });
  await setMaxTypes(db, 5);
  await expectError(enqueue(worker, { type: "more" }), "JF007", "type");
  await enqueue(worker, { type: "t7" });
  await enqueue(worker, { tenant_id: U, type: "more" });
  // The run of a parent whose child is refused fails.
  const [parent] = await claim(db, "w1", { types: ["t7"] });
  await settle(db, [{ id: parent?.id, attempt: 1, status: "succeeded", children: [{ type: "child" }] }]);
  expect(await find(db, parent?.id ?? "")).toMatchObject({ status: "failed" });
  expect(await typesOf(db)).not.toContain("child");
});

test("a partial call that has room for some types and some jobs rejects the rest, each in its place", async ({
  db,
}) => {
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_types: 2, max_pending: 3 }]);
  const jobs = ["a", "b", "c", "a", "c", "a", "b"].map((type) => ({ type }));
  const results = await db.value<{ outcome: string }[]>(
    "select jobforge_enqueue_jobs($1, $2, p_partial => true)",
    [T, JSON.stringify(jobs)],
  );
  expect(results.map((result) => result.outcome)).toEqual([
    "created",
    "created",
    "rejected",
    "created",
    "rejected",
    "rejected",
    "rejected",
  ]);
  expect(await typesOf(db)).toEqual(["a", "b"]);
});

test("priorities from -100 to 100 count; a policy may raise the cap", async ({ db }) => {
  const priorityOf = async (priority: number): Promise<number> => (await enqueue(db, { priority })).priority;
  expect(await priorityOf(100)).toBe(100);
  expect(await priorityOf(101)).toBe(100);
  expect(await priorityOf(1_000_000)).toBe(100);
  expect(await priorityOf(-1_000_000)).toBe(-100);
  await db.query(`select jobforge_set_policy('*', '{"max_priority": 5000}')`);
  expect(await priorityOf(1_000_000)).toBe(5000);
  await db.query(`select jobforge_set_policy('*', '{"max_priority": null}')`);
  expect(await priorityOf(1_000_000)).toBe(1_000_000);
  await db.query(`select jobforge_set_policy('*', '{"max_priority": -7}')`);
  expect(await priorityOf(0)).toBe(-7);
});
