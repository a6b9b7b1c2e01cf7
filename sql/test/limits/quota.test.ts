/** The quota of pending jobs: how many jobs a tenant may have queued and running. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { warmCost } from "../support/cost.ts";
import {
  cancel,
  claim,
  complete,
  connections,
  enqueue,
  enqueueAll,
  enqueueMany,
  expectError,
  fail,
  type NewJob,
  reschedule,
  type Sql,
  setPolicy,
  T,
  U,
} from "../support/kernel.ts";
import { quotaCounted } from "../support/limits.ts";
import { settle } from "../support/settle.ts";
import { boundLogin, login } from "../support/tenants.ts";
import { maintain } from "../support/usage.ts";

async function setTenant(db: Sql, settings: unknown, tenant: string | null = T): Promise<unknown> {
  return await db.value("select jobforge_set_tenant($1, $2)", [tenant, JSON.stringify(settings)]);
}

async function pendingOf(db: Sql, tenant = T): Promise<number | null> {
  return await db.value<number | null>("select (jobforge_get_tenant($1) ->> 'pending')::int", [tenant]);
}

/** Sets a quota that the kernel has counted. */
async function counted(db: Sql, max_pending: number): Promise<void> {
  await setTenant(db, { max_pending });
  await quotaCounted(db);
}

type Bulk = { id: string | null; outcome: string }[];

async function bulk(db: Sql, jobs: readonly NewJob[], partial = false): Promise<Bulk> {
  return await db.value<Bulk>("select jobforge_enqueue_jobs($1, $2, p_partial => $3)", [
    T,
    JSON.stringify(jobs),
    partial,
  ]);
}

const outcomesOf = (answers: Bulk): string[] => answers.map((answer) => answer.outcome);

test.for([
  ["counted", counted],
  ["not counted yet", (db: Sql, max_pending: number): Promise<unknown> => setTenant(db, { max_pending })],
] as const)(
  "scenario 69: above a quota that is %s a job is rejected, another tenant's job is not, and a known key returns its job",
  async ([, setQuota], { db }) => {
    await setQuota(db, 1000);
    await enqueueMany(db, 998);
    const keyed = await enqueue(db, { idempotency_key: "k" });
    const deduped = await enqueue(db, { dedupe_key: "d" });
    const error = await expectError(enqueue(db), "JF007");
    expect(error).toMatchObject({ message: "Job limit exceeded for tenant", name: "job_limit_exceeded" });
    expect(error.hint).toContain("1000");
    await expectError(enqueue(db, { idempotency_key: "other" }), "JF007");
    expect(await enqueue(db, { idempotency_key: "k" })).toMatchObject({ id: keyed.id, outcome: "existing" });
    expect(await enqueue(db, { dedupe_key: "d" })).toMatchObject({ id: deduped.id, outcome: "existing" });
    expect(await enqueue(db, { tenant_id: U })).toMatchObject({ outcome: "created" });
    expect(await db.value("select count(*)::int from jobforge_jobs where tenant_id = $1", [T])).toBe(1000);
    await cancel(db, keyed.id);
    expect(await enqueue(db)).toMatchObject({ outcome: "created" });
  },
);

test("whatever happens to jobs, the quota has the right number", async ({ db }) => {
  await setPolicy(db, "unkept", { keep_history: false });
  await enqueueAll(db, [{ type: "early" }, { type: "early", in: "1 hour" }]);
  await counted(db, 100);
  const check = async (): Promise<void> => {
    const live = await db.value("select count(*)::int from jobforge.live_rows where tenant_id = $1", [T]);
    expect(await pendingOf(db)).toBe(live);
  };
  await check();
  const [early] = await claim(db);
  await complete(db, early?.id ?? "");
  await check();
  const [done, retried, dead, canceled, stopped] = await enqueueAll(db, [{}, {}, {}, { type: "unkept" }, {}]);
  await check();
  await claim(db, "w1", { types: ["a"] });
  await check();
  await complete(db, done);
  await fail(db, retried);
  await fail(db, dead, { retry: false });
  await check();
  await cancel(db, canceled);
  await cancel(db, stopped);
  await check();
  await complete(db, stopped);
  await reschedule(db, dead);
  await check();
  await enqueue(db, { expires_in: "1 minute", in: "30 seconds" });
  const parent = await enqueue(db, { type: "parent" });
  await claim(db, "w1", { types: ["parent"] });
  await settle(db, [
    { id: parent.id, attempt: 1, status: "succeeded", children: [{ type: "a" }, { type: "b" }] },
  ]);
  await check();
  await db.query(
    `select jobforge_ensure_schedule($1, 'sched', 'k', '{"every": "1 minute", "overlap": "allow"}')`,
    [T],
  );
  await db.travel("5 minutes");
  await claim(db, "w2", { limit: 100 });
  await check();
  await db.query("select jobforge_run_schedule($1, 'sched', 'k')", [T]);
  await db.travel("30 minutes");
  for (let pass = 0; pass < 3; pass += 1) await maintain(db);
  await check();
  expect(await db.value("select count(*)::int from jobforge.pending_deltas")).toBe(1);
});

test("children and runs of schedules count, but a quota stops neither them nor the settle that enqueues them", async ({
  db,
}) => {
  const parent = await enqueue(db, { type: "parent" });
  await setTenant(db, { max_pending: 1 });
  await claim(db);
  const { settled } = await settle(db, [
    { id: parent.id, attempt: 1, status: "succeeded", children: [{ type: "a" }, { type: "b" }] },
  ]);
  expect(settled).toMatchObject([{ outcome: "ok" }]);
  expect(await pendingOf(db)).toBe(2);
  await expectError(enqueue(db), "JF007");
});

test("a bulk enqueue above the quota is all or nothing, unless it asks for the jobs that fit", async ({
  db,
}) => {
  await enqueue(db, { idempotency_key: "there" });
  await counted(db, 4);
  const jobs = [
    { type: "a" },
    { type: "a", idempotency_key: "there" },
    { type: "a", idempotency_key: "new" },
    { type: "a", idempotency_key: "new" },
    { type: "a" },
    { type: "a" },
    { type: "a", dedupe_key: "late" },
    { type: "a", dedupe_key: "late" },
  ];
  await expectError(bulk(db, jobs), "JF007");
  expect(await pendingOf(db)).toBe(1);
  const answers = await bulk(db, jobs, true);
  expect(outcomesOf(answers)).toEqual([
    "created",
    "existing",
    "created",
    "existing",
    "created",
    "rejected",
    "rejected",
    "rejected",
  ]);
  expect(answers[3]?.id).toBe(answers[2]?.id);
  expect(answers[5]?.id).toBeNull();
  expect(await pendingOf(db)).toBe(4);
  expect(outcomesOf(await bulk(db, jobs, true))).toEqual([
    "rejected",
    "existing",
    "existing",
    "existing",
    "rejected",
    "rejected",
    "rejected",
    "rejected",
  ]);
  // Without a quota nothing is rejected.
  await setTenant(db, { max_pending: null });
  expect(outcomesOf(await bulk(db, [{ type: "a" }, { type: "a" }], true))).toEqual(["created", "created"]);
});

test("a quota that is set while applications enqueue and workers end jobs counts them all", async ({
  db,
}) => {
  const clients = await connections(db, 4);
  const slow = await db.connect();
  await slow.query("begin");
  await enqueueMany(slow, 50);
  let going = true;
  const busy = clients.map(async (client, index) => {
    while (going) {
      await bulk(
        client,
        Array.from({ length: 5 }, () => ({ type: `t${index}` })),
      );
      const [job] = await claim(client, `w${index}`, { types: [`t${index}`], limit: 1 });
      await complete(client, job?.id ?? "", { worker: `w${index}` });
    }
  });
  await setTenant(db, { max_pending: 1_000_000 });
  for (let pass = 0; pass < 5; pass += 1) await maintain(db);
  // A transaction may not have seen the quota yet.
  expect(await db.value("select counted_at from jobforge.tenants")).toBeNull();
  await slow.query("commit");
  await quotaCounted(db);
  going = false;
  await Promise.all(busy);
  const live = await db.value("select count(*)::int from jobforge.live_rows");
  expect(await pendingOf(db)).toBe(live);
});

test("the cost of a quota does not grow with the number of jobs", async ({ db }) => {
  await counted(db, 1_000_000);
  await maintain(db);
  const room = "select jobforge.require_room($1, 1)";
  const few = await warmCost(db, room, [T]);
  for (let call = 0; call < 10; call += 1)
    await bulk(
      db,
      Array.from({ length: 2000 }, () => ({ type: "a" })),
    );
  await maintain(db);
  await db.query("vacuum jobforge.pending_deltas");
  const many = await warmCost(db, room, [T]);
  expect(many.buffers).toBeLessThanOrEqual(few.buffers + 2);
  // Counting the jobs individually would read more.
  await setTenant(db, { max_pending: null });
  await setTenant(db, { max_pending: 1_000_000 });
  expect((await warmCost(db, room, [T])).buffers).toBeGreaterThan(10 * many.buffers);
});

test("rows that single enqueues append are merged along the way, in the application's own transactions", async ({
  db,
}) => {
  await counted(db, 1_000_000);
  await enqueueMany(db, 1200);
  expect(await db.value("select count(*)::int from jobforge.pending_deltas")).toBeLessThan(700);
  expect(await pendingOf(db)).toBe(1200);
  const frozen = await db.connect();
  await frozen.query("begin isolation level repeatable read");
  await enqueueMany(frozen, 600);
  await maintain(db);
  await enqueueMany(frozen, 10);
  await frozen.query("commit");
  expect(await pendingOf(db)).toBe(1810);
});

test("settings of a tenant that are not given stay as they are, and changes are audited", async ({ db }) => {
  const usual = {
    tenant_id: T,
    label: null,
    max_pending: null,
    max_types: 1000,
    max_schedules: 10000,
    weight: 3,
  };
  expect(await setTenant(db, { weight: 3 })).toEqual(usual);
  expect(await setTenant(db, { max_pending: 5 })).toEqual({ ...usual, max_pending: 5 });
  expect(await setTenant(db, { max_types: 20 })).toEqual({ ...usual, max_pending: 5, max_types: 20 });
  const three = { ...usual, max_pending: 5, max_types: 20, max_schedules: 3 };
  expect(await setTenant(db, { max_schedules: 3 })).toEqual(three);
  expect(await setTenant(db, {})).toEqual(three);
  expect(await setTenant(db, { max_pending: null, max_types: null, max_schedules: null })).toEqual(usual);
  const answer = await db.value("select jobforge_get_tenant($1)", [T]);
  expect(answer).toEqual({ ...usual, pending: null, types: 0 });
  expect(await db.value("select jobforge_get_tenant($1)", [U])).toMatchObject({
    max_pending: null,
    weight: 1,
  });
  const audit = await db.query(
    "select action, entity_type, entity_id, meta from jobforge_audit_log order by id limit 1",
  );
  expect(audit).toEqual([{ action: "TENANT_SET", entity_type: "tenant", entity_id: T, meta: { weight: 3 } }]);
});

test.for([
  ["settings", "[]"],
  ["settings", "null"],
  ["maxPending", '{"maxPending": 1}'],
  ["max_pending", '{"max_pending": -1}'],
  ["max_pending", '{"max_pending": 1.5}'],
  ["max_pending", '{"max_pending": "5"}'],
  ["max_pending", '{"max_pending": 1e10}'],
  ["max_types", '{"max_types": 0}'],
  ["max_types", '{"max_types": 1000001}'],
  ["max_types", '{"max_types": "5"}'],
  ["max_schedules", '{"max_schedules": -1}'],
  ["max_schedules", '{"max_schedules": "5"}'],
  ["weight", '{"weight": 0}'],
  ["weight", '{"weight": 101}'],
  ["weight", '{"weight": null}'],
] as const)("settings are refused: %s in %s", async ([field, settings], { db }) => {
  await expectError(db.query("select jobforge_set_tenant($1, $2)", [T, settings]), "JF002", field);
});

test("only operators set quotas; a tenant sees its own", async ({ db }) => {
  await setTenant(db, { max_pending: 2 });
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  await expectError(setTenant(db, {}, null), "JF001");
  await expect(setTenant(tenant, { max_pending: 9 })).rejects.toMatchObject({ code: "42501" });
  const operator = await boundLogin(db, T, "jobforge_operator");
  await expectError(setTenant(operator, { max_pending: 9 }), "42501");
  await enqueue(tenant);
  expect(await pendingOf(tenant)).toBe(1);
  await expectError(pendingOf(tenant, U), "42501");
  const reader = await login(db, "jobforge_reader");
  expect(await pendingOf(reader)).toBe(1);
});
