/** Gates pause everything, a type or a tenant, while running jobs continue. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  allTenants,
  claim,
  claimIds,
  codeOf,
  complete,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  heartbeat,
  type Sql,
  T,
  U,
  workerHeartbeat,
} from "../support/kernel.ts";
import { claimAll, idsOf, outcomes, settle, success } from "../support/settle.ts";
import { boundLogin, login } from "../support/tenants.ts";

interface Gate {
  key?: string | null;
  paused?: boolean | null;
  reason?: string | null;
  until?: string | Date | null;
}

/** Sets a gate, closed by default. */
async function gate(db: Sql, scope: string | null, options: Gate = {}): Promise<unknown> {
  const { key = null, paused = true, reason = null, until = null } = options;
  return await db.value("select jobforge_set_gate($1, $2, $3, $4, $5)", [scope, key, paused, reason, until]);
}

/** Returns a time on the connection's clock. */
async function ahead(db: Sql, by: string): Promise<Date> {
  return await db.value<Date>("select jobforge.now() + $1::interval", [by]);
}

const closedTo: Record<string, [scope: string, key: string | null]> = {
  everything: ["all", null],
  "the type": ["type", "a"],
  "the tenant": ["tenant", T],
  "the tenant in capitals": ["tenant", T.toUpperCase()],
};

test.for(Object.keys(closedTo))(
  "scenario 52: while a gate pauses %s nothing of it starts, running jobs continue, and resuming starts it again",
  async (name, { db }) => {
    const [scope, key] = closedTo[name] ?? expect.fail(name);
    const [beating, completed, settled, failing] = await enqueueAll(db, [{}, {}, {}, {}]);
    await claimAll(db);
    const waiting = await enqueueAll(db, [{}, { priority: 9 }, { in: "1 second" }]);
    await gate(db, scope, { key });
    await db.travel("20 seconds");
    expect(await claim(db, "w2")).toEqual([]);
    expect((await settle(db, [], { worker: "w2", claim: 10 })).jobs).toEqual([]);
    expect(await claim(db, "w2", { types: ["a"], tenant_id: T })).toEqual([]);

    expect(await heartbeat(db, beating)).toMatchObject({ cancel_requested: false });
    expect(await workerHeartbeat(db, "w1")).toMatchObject({ lost: [], cancel: [] });
    expect(await complete(db, completed)).toMatchObject({ status: "succeeded" });
    expect(outcomes(await settle(db, [success(settled)], { claim: 5 }))).toEqual(["ok"]);
    expect(await fail(db, failing)).toMatchObject({ status: "queued" });
    expect((await enqueue(db)).outcome).toBe("created");
    for (const id of waiting) expect(await find(db, id)).toMatchObject({ status: "queued", attempts: 0 });

    await gate(db, scope, { key, paused: false });
    expect(await claimIds(db, "w2")).toEqual(expect.arrayContaining(waiting));
  },
);

test("other types and tenants continue while some are paused", async ({ db }) => {
  const [, , free] = await enqueueAll(db, [
    { type: "b" },
    { tenant_id: U },
    { type: "c" },
    { tenant_id: U, type: "b" },
  ]);
  await gate(db, "type", { key: "b" });
  await gate(db, "tenant", { key: U });
  expect(await claimIds(db)).toEqual([free]);
  await gate(db, "type", { key: "b", paused: false });
  expect((await claim(db)).map((job) => [job.tenant_id, job.type])).toEqual([[T, "b"]]);
  await gate(db, "tenant", { key: U, paused: false });
  expect(await claim(db)).toHaveLength(2);
});

test("thousands of paused jobs hide no other job, whatever their priority", async ({ db }) => {
  await db.query(
    `select count(jobforge_enqueue_job(md5((n % 300)::text)::uuid, 'a', p_priority => n % 3)) from generate_series(1, 1200) n`,
  );
  await db.query(
    "select count(jobforge_set_gate('tenant', md5(n::text)::uuid::text, true)) from generate_series(0, 299) n",
  );
  const { id } = await enqueue(db);
  expect(await claimIds(db)).toEqual([id]);
  expect(idsOf(await settle(db, [success(id)], { claim: 10 }))).toEqual([]);
});

test("a gate opens automatically at its time, and not before", async ({ db }) => {
  const { id } = await enqueue(db);
  for (const [scope, key] of Object.values(closedTo)) {
    await gate(db, scope, { key, until: await ahead(db, "10 minutes") });
  }
  await db.travel("9 minutes");
  expect(await claim(db)).toEqual([]);
  expect(await db.query("select scope from jobforge_list_gates()")).toHaveLength(3);
  await db.travel("11 minutes");
  expect(await db.query("select scope from jobforge_list_gates()")).toEqual([]);
  expect(await claimIds(db)).toEqual([id]);
});

test("setting a gate again replaces its reason and time, and resuming an open gate is not an error", async ({
  db,
}) => {
  await gate(db, "type", { key: "a", reason: "first", until: await ahead(db, "1 minute") });
  await gate(db, "type", { key: "a", reason: "second" });
  expect(await db.query("select scope, key, reason, until from jobforge_list_gates()")).toEqual([
    { scope: "type", key: "a", reason: "second", until: null },
  ]);
  await gate(db, "type", { key: "a", paused: false });
  await gate(db, "type", { key: "a", paused: false });
  expect(await db.query("select scope from jobforge_list_gates()")).toEqual([]);
});

test("a change says whether it was paused before, and only a change is in the audit log", async ({ db }) => {
  const actions = async (): Promise<unknown> =>
    await db.query("select action from jobforge_audit_log order by id");
  expect(await gate(db, "type", { key: "a", paused: false })).toMatchObject({ was_paused: false });
  expect(await actions()).toEqual([]);
  const until = await ahead(db, "1 minute");
  expect(await gate(db, "type", { key: "a", until })).toMatchObject({ was_paused: false });
  expect(await gate(db, "type", { key: "a", until })).toMatchObject({ was_paused: true });
  expect(await gate(db, "type", { key: "a", paused: false })).toMatchObject({ was_paused: true });
  expect(await gate(db, "all", { paused: false })).toMatchObject({ was_paused: false, known: true });
  expect(await actions()).toEqual([
    { action: "GATE_PAUSED" },
    { action: "GATE_PAUSED" },
    { action: "GATE_RESUMED" },
  ]);
  await gate(db, "type", { key: "a", until });
  await db.travel("2 minutes");
  expect(await gate(db, "type", { key: "a", paused: false })).toMatchObject({ was_paused: false });
});

test("a change says whether the type or the tenant is known", async ({ db }) => {
  const known = async (scope: string, key: string): Promise<unknown> =>
    await db.value("select jobforge_set_gate($1, $2, true) -> 'known'", [scope, key]);
  for (const key of ["job", "policy", "worker", "schedule"]) expect(await known("type", key)).toBe(false);
  expect(await known("tenant", T)).toBe(false);
  expect(await known("tenant", U)).toBe(false);
  await enqueue(db, { type: "job" });
  await db.query("select jobforge_set_policy('policy', '{}')");
  await workerHeartbeat(db, "w1", { types: ["worker"] });
  await db.query(`select jobforge_ensure_schedule($1, 'schedule', 'k', '{"every": "1h"}')`, [T]);
  for (const key of ["job", "policy", "worker", "schedule"]) expect(await known("type", key)).toBe(true);
  expect(await known("tenant", T)).toBe(true);
  expect(await known("tenant", U)).toBe(false);
  await db.query(`select jobforge_set_tenant($1, '{"weight": 2}')`, [U]);
  expect(await known("tenant", U)).toBe(true);
});

test("gates show how many due jobs wait behind them; a tenant sees its own", async ({ db }) => {
  for (const tenant_id of [T, T, U]) await enqueue(db, { tenant_id });
  await enqueue(db, { in: "1 hour" });
  await enqueue(db, { type: "b" });
  await claim(db, "w1", { types: ["b"] });
  await gate(db, "all");
  await gate(db, "type", { key: "a" });
  await gate(db, "type", { key: "none" });
  await gate(db, "tenant", { key: T });
  const waiting = "select scope, key, waiting::int, exact from jobforge_list_gates()";
  expect(await db.query(waiting)).toEqual([
    { scope: "all", key: "", waiting: 3, exact: true },
    { scope: "tenant", key: T, waiting: 2, exact: true },
    { scope: "type", key: "a", waiting: 3, exact: true },
    { scope: "type", key: "none", waiting: 0, exact: true },
  ]);
  const reader = await boundLogin(db, U, "jobforge_reader");
  expect(await reader.query(waiting)).toMatchObject([
    { scope: "all", waiting: 1 },
    { scope: "type", key: "a", waiting: 1 },
    { scope: "type", key: "none", waiting: 0 },
  ]);
});

test("gates show who set them, when and why, and every change is in the audit log", async ({ db }) => {
  const operator = await login(db, "jobforge_operator");
  const role = await operator.value<string>("select session_user");
  const until = await ahead(db, "1 hour");
  expect(await gate(operator, "all", { reason: "database upgrade", until })).toMatchObject({
    scope: "all",
    paused: true,
    reason: "database upgrade",
  });
  await gate(operator, "tenant", { key: U, reason: "unpaid" });
  expect(await operator.query("select * from jobforge_list_gates()")).toMatchObject([
    { scope: "all", key: "", reason: "database upgrade", until, set_by: role, set_at: expect.any(Date) },
    { scope: "tenant", key: U, reason: "unpaid", until: null, set_by: role },
  ]);
  await gate(operator, "all", { paused: false, reason: "done" });
  expect(
    await db.query(
      "select tenant_id, actor, action, entity_type, entity_id, message from jobforge_audit_log order by id",
    ),
  ).toEqual([
    {
      tenant_id: allTenants,
      actor: role,
      action: "GATE_PAUSED",
      entity_type: "gate",
      entity_id: "all",
      message: "database upgrade",
    },
    {
      tenant_id: U,
      actor: role,
      action: "GATE_PAUSED",
      entity_type: "gate",
      entity_id: `tenant:${U}`,
      message: "unpaid",
    },
    {
      tenant_id: allTenants,
      actor: role,
      action: "GATE_RESUMED",
      entity_type: "gate",
      entity_id: "all",
      message: "done",
    },
  ]);
});

test.for<[string, string | null, Gate]>([
  ["scope", null, {}],
  ["scope", "queue", { key: "a" }],
  ["scope", "ALL", {}],
  ["key", "all", { key: "a" }],
  ["key", "type", { key: null }],
  ["key", "type", { key: " " }],
  ["key", "type", { key: "x".repeat(201) }],
  ["key", "tenant", { key: null }],
  ["key", "tenant", { key: "nobody" }],
  ["paused", "all", { paused: null }],
  ["until", "all", { until: "2020-01-01" }],
  ["until", "all", { until: "infinity" }],
])("a wrong %s is refused and changes nothing: %s %j", async ([field, scope, options], { db }) => {
  await expectError(gate(db, scope, options), "JF002", field);
  expect(await db.query("select scope from jobforge_list_gates()")).toEqual([]);
  expect(await db.query("select action from jobforge_audit_log")).toEqual([]);
});

test("a gate that is rolled back has no effect", async ({ db }) => {
  const { id } = await enqueue(db);
  await db.query("begin");
  await gate(db, "all");
  await db.query("rollback");
  expect(await claimIds(db)).toEqual([id]);
});

test("only operators that are not bound to a tenant set gates; readers see them", async ({ db }) => {
  const set = "select jobforge_set_gate('all', null, true)";
  for (const role of ["jobforge_tenant", "jobforge_app", "jobforge_worker", "jobforge_reader"]) {
    const caller = await login(db, role);
    expect([role, await codeOf(caller.query(set))]).toEqual([role, "42501"]);
    const lists = await codeOf(caller.query("select * from jobforge_list_gates()"));
    expect([role, lists]).toEqual([role, role === "jobforge_reader" ? "ok" : "42501"]);
  }
  const bound = await boundLogin(db, T, "jobforge_operator");
  expect(await codeOf(bound.query(set))).toBe("42501");
  expect(await codeOf((await login(db, "jobforge_operator")).query(set))).toBe("ok");
});

test("a claim moves a bounded number of a paused tenant's due jobs, and finds another tenant's behind them", async ({
  db,
}) => {
  await db.query(
    "select jobforge_enqueue_jobs($1, jsonb_agg(jsonb_build_object('type', 'a', 'run_at', clock_timestamp() + interval '1 minute'))) from generate_series(1, 5000)",
    [T],
  );
  const { id } = await enqueue(db, { type: "a", tenant_id: U, in: "2 minutes" });
  await db.query("select jobforge_set_gate('tenant', $1, true)", [T]);
  await db.travel("3 minutes");
  const claimed = await claimIds(db, "w1", { limit: 10 });
  expect(Number(await db.value("select count(*) from jobforge.queue where state = 'ready'"))).toBeLessThan(
    2500,
  );
  for (let i = 0; i < 3; i += 1) claimed.push(...(await claimIds(db, "w1", { limit: 10 })));
  expect(claimed).toEqual([id]);
  expect(await db.value("select count(*) from jobforge.queue where state = 'ready'")).toBe("5000");
});
