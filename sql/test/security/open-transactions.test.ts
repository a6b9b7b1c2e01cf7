/**
 * A worker that is bound to a tenant may be in the tenant's hands. Whatever it leaves in an open transaction, it holds
 * no row of another tenant and nothing that all tenants share, so the calls of others neither wait nor miss work.
 */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { claim, enqueue, enqueueMany, impatient, workerHeartbeat } from "../support/kernel.ts";
import { setLimit } from "../support/limits.ts";
import { listen } from "../support/listen.ts";
import { ensure } from "../support/schedules.ts";
import { boundLogin, claimedByBound, login, populate, T, U } from "../support/tenants.ts";
import { start as startWorkflow } from "../support/workflows.ts";

const past = "2020-01-01T00:00:00Z";

/** Opens a transaction of a worker bound to T, on which `call` is left open. */
async function leaveOpen(db: TestDatabase, ...calls: string[]): Promise<TestConnection> {
  const bound = await boundLogin(db, T, "jobforge_worker");
  await bound.query("begin");
  for (const call of calls) await bound.query(`select ${call}`);
  return bound;
}

describe("next to an open transaction of a bound worker,", () => {
  test("a shared worker gets the due jobs and the due schedules of other tenants", async ({ db }) => {
    for (let n = 0; n < 5; n += 1) await enqueue(db, { tenant_id: U, type: "due", in: "1 minute" });
    for (const key of ["a", "b", "c"])
      await ensure(db, { cron: "0 0 1 1 *", next_run_at: past }, { tenant: U, type: "cron", key });
    await enqueue(db, { type: "due", in: "1 minute" });
    await ensure(db, { cron: "0 0 1 1 *", next_run_at: past }, { type: "cron", key: "own" });
    const bound = await boundLogin(db, T, "jobforge_worker");
    for (const connection of [db, bound]) await connection.travel("2 minutes");
    await bound.query("begin");
    const own = await claim(bound, "x", { types: ["due", "cron"] });
    expect(own.map(({ tenant_id, type }) => [tenant_id, type]).sort()).toEqual([
      [T, "cron"],
      [T, "due"],
    ]);
    const theirs = await claim(db, "y", { types: ["due", "cron"], limit: 100 });
    expect(theirs.map(({ tenant_id }) => tenant_id)).toEqual(Array(8).fill(U));
  });

  test.for(['{"idle": true, "types": ["a"]}', "{}"])(
    "a worker of the same name heartbeats, and stays idle: %s",
    async (info, { db }) => {
      await workerHeartbeat(db, "victim", { types: ["a"], idle: info === "{}" });
      const open = await leaveOpen(db, `jobforge_heartbeat_worker('victim', '${info}')`);
      const victim = await impatient(db);
      expect(await outcome(workerHeartbeat(victim, "victim", { types: ["a"], idle: true }))).toBe("accepted");
      await open.query("commit");
      const listener = await listen(db);
      await enqueue(db, { tenant_id: U });
      expect(await listener.heard()).toEqual(["jobforge_wake: a"]);
      expect(await outcome(workerHeartbeat(victim, "victim", { types: ["a"] }))).toBe("accepted");
      await enqueue(db, { tenant_id: U });
      expect(await listener.heard(), "only a bound worker of T is idle").toEqual([]);
    },
  );

  test("maintenance goes on, and makes partitions, because a bound worker does none", async ({ db }) => {
    const lost = await enqueue(db, { tenant_id: U });
    await claim(db, "silent", { tenant_id: U });
    const bound = await boundLogin(db, T, "jobforge_worker");
    for (const connection of [db, bound]) await connection.travel("8 days");
    expect(await outcome(bound.query("select jobforge_maintain()"))).toBe("42501");
    await bound.query("begin");
    await bound.query("select jobforge_heartbeat_worker('x', '{\"held\": []}')");
    await bound.query("select jobforge_claim_jobs('x', 1)");
    await bound.query("select jobforge_settle_jobs('x', '[]', 1)");
    const free = "select count(*)::int from (select from jobforge.maintenance for update skip locked) m";
    expect(await db.value(free)).toBe(await db.value("select count(*)::int from jobforge.maintenance"));
    const worker = await impatient(db);
    await worker.travel("8 days");
    const done = await worker.value<Record<string, number>>("select jobforge_maintain()");
    expect(done["leaves"]).toBeGreaterThan(0);
    const [again] = await claim(worker, "y", { limit: 1 });
    expect(again).toMatchObject({ id: lost.id, attempts: 2 });
    expect(await outcome(worker.query("select jobforge_complete_job($1, 'y', 'succeeded')", [lost.id]))).toBe(
      "accepted",
    );
    expect(await outcome(worker.query("select count(*) from jobforge_jobs"))).toBe("accepted");
  });
});

/** A call of each function that workers may execute; $1 is a running job of T, 'w1' the name of a shared worker too. */
const endpointId = "33333333-3333-4333-8333-333333333333";
const calls: Readonly<Record<string, string>> = {
  jobforge_enqueue_job: `('${T}', 'due', p_idempotency_key => 'k', p_dedupe_key => 'd')`,
  jobforge_enqueue_jobs: `('${T}', '[{"type": "due"}, {"type": "waits", "run_at": "2999-01-01"}]')`,
  jobforge_enqueue_each: `('{${T}, ${T}}', '[{"type": "due"}, {"type": "due", "idempotency_key": "k2"}]')`,
  jobforge_heartbeat_worker: `('w1', '{"instance": "other", "held": [], "idle": true}')`,
  jobforge_heartbeat_job: "('RUN', 'w1')",
  jobforge_progress_job: "('RUN', 'w1', '1')",
  jobforge_save_steps: `('RUN', 'w1', '[{"name": "a", "value": 1}]')`,
  jobforge_load_steps: "('RUN', 'w1')",
  jobforge_take_signal: "('RUN', 'w1', 'a')",
  jobforge_read_results: "('RUN', 'w1', 'all')",
  jobforge_suspend_job: `('WAITING', 'w1', '{"name": "w", "children": [{"type": "due"}]}')`,
  jobforge_note_artifact: `('${T}', 'payloads')`,
  jobforge_take_artifacts: "()",
  jobforge_forget_artifacts: `('[{"area": "payloads", "id": "${endpointId}"}]')`,
  jobforge_hold_key: "('RUN', 'w1', now() + interval '1 hour')",
  jobforge_receive_jobs: "('w1', '{RUN}')",
  jobforge_defer_job: "('DEFERRED', 'w1', '2999-01-01')",
  jobforge_complete_job: "('RUN', 'w1', 'succeeded')",
  jobforge_claim_jobs: "('w1', 10)",
  jobforge_settle_jobs: `('w1', '[{"id": "SETTLED", "attempt": 1, "status": "failed"}]', 10)`,
  jobforge_settle_jobs_text: `('w1', '[{"id": "OTHER", "attempt": 1, "status": "succeeded"}]', 10)`,
  jobforge_wake_workers: `('{"due": null}')`,
  jobforge_cron_next: "('0 0 * * *')",
  jobforge_cron_runs: "('0 0 * * *')",
  jobforge_ensure_schedule: `('${T}', 'cron', 'new', '{"every": "1 hour"}')`,
  jobforge_sync_schedules: `('app', '[{"type": "cron", "key": "declared", "every": "1 hour"}]', '${T}')`,
  jobforge_update_schedule: `('${T}', 'cron', 'new', '{"priority": 1}')`,
  jobforge_set_schedule_enabled: `('${T}', 'cron', 'new', true)`,
  jobforge_enable_schedule: `('${T}', 'cron', 'new')`,
  jobforge_disable_schedule: `('${T}', 'cron', 'new')`,
  jobforge_lock_schedule: `('${T}', 'cron', 'new')`,
  jobforge_run_schedule: `('${T}', 'cron', 'new')`,
  jobforge_delete_schedule: `('${T}', 'cron', 'new')`,
  jobforge_delete_schedules: `('${T}', '{"key_prefix": "new"}')`,
  jobforge_get_schedule: `('${T}', 'cron', 'declared')`,
  jobforge_list_schedules: `('${T}')`,
  jobforge_next_runs: `('${T}', 'cron', 'declared')`,
  jobforge_list_schedule_runs: `('${T}', 'cron', 'declared')`,
  jobforge_get_policy: "('due')",
  jobforge_tenant_id: "('org_123')",
  jobforge_sync_policies: "('{\"due\": {}}', p_dry_run => true)",
  jobforge_start_workflow: `('${T}', 'flow', '[{"name": "a", "type": "due"}, {"name": "b", "type": "due", "needs": ["a"]}]')`,
  jobforge_start_workflows: `('${T}', '[{"name": "flow", "steps": [{"name": "a", "signal": {}}]}]')`,
  jobforge_add_steps: `('FLOW', '${T}', '[{"name": "new", "type": "due"}]')`,
  jobforge_send_signal: `('${T}', 'FLOW', 'signal')`,
  jobforge_get_connector_config: `('${T}', 'http')`,
  jobforge_get_egress_policy: `('${T}')`,
  jobforge_get_webhook_endpoint: `('${T}', '${endpointId}')`,
  jobforge_send_event: `('${T}', '{"type": "invoice.paid"}')`,
};
/** A bound worker may not call these. */
const refused: readonly string[] = ["jobforge_maintain"];

/** How to find the rows of others in tables that name no tenant. */
const whose: Readonly<Record<string, string>> = {
  watches: "where job_id in (select id from jobforge.live_rows where tenant_id <> $1)",
  unpark_requests: "where tenant_id is distinct from $1",
  edges: "where dependent_id in (select id from jobforge.steps where tenant_id <> $1)",
  dooms: "where node_id in (select id from jobforge.steps where tenant_id <> $1)",
  webhook_health: "where endpoint_id in (select id from jobforge.webhook_endpoints where tenant_id <> $1)",
  webhook_ends: "where endpoint_id in (select id from jobforge.webhook_endpoints where tenant_id <> $1)",
};

/** Gives both tenants due, waiting, parked, expired, running and canceled jobs, and due schedules. */
async function prepare(db: TestDatabase): Promise<void> {
  await populate(db);
  await setLimit(db, "tenant", "*", { max: 100 });
  await setLimit(db, "key", "*", { max: 1 });
  for (const tenant_id of [T, U]) {
    const hooks = { url: "https://example.com/hooks", events: ["*"] };
    await db.query("select jobforge_set_webhook_endpoint($1, $2)", [tenant_id, hooks]);
    for (const type of ["due", "waits"]) {
      await enqueue(db, { tenant_id, type, in: "1 minute" });
      await enqueue(db, { tenant_id, type, expires_in: "1 minute" });
      await enqueue(db, { tenant_id, type, concurrency_key: "k" });
    }
    await enqueueMany(db, 30, { tenant_id, type: "due" });
    await ensure(
      db,
      { cron: "0 0 1 1 *", next_run_at: past },
      { tenant: tenant_id, type: "cron", key: "due" },
    );
    await enqueueMany(db, 5, { tenant_id, type: "runs" });
    const running = await claim(db, "w1", { types: ["runs"], tenant_id });
    await claimedByBound(db, tenant_id);
    for (const { id } of running) await db.query("select jobforge_watch_job($1, $2)", [id, tenant_id]);
    await db.query("select jobforge_cancel_job($1, $2)", [running[0]?.id, tenant_id]);
  }
  await db.query(
    `with renamed as (update jobforge.webhook_endpoints set id = $1 where tenant_id = $2)
     update jobforge.webhook_health h set endpoint_id = $1
     from jobforge.webhook_endpoints w where w.id = h.endpoint_id and w.tenant_id = $2`,
    [endpointId, T],
  );
  for (const tenant_id of [T, U]) {
    for (let n = 0; n < 3; n += 1) await enqueue(db, { tenant_id, type: "limited", concurrency_key: "one" });
    await claim(db, "w9", { types: ["limited"], tenant_id });
  }
  await db.query(
    `insert into jobforge.checkpoints (job_id, name, tenant_id, kind, attempt, children, done, at)
     select r.id, 'all', r.tenant_id, 'wait', 1, true, false, now() from jobforge.runs r where r.type = 'runs'`,
  );
  await workerHeartbeat(db, "w1", { instance: "first", types: ["a"], idle: true });
  // What follows comes last, because a heartbeat or a claim would settle it.
  for (const tenant_id of [T, U]) {
    await db.query(
      `insert into jobforge.outbox (tenant_id, jobs)
       values ($1, array[jobforge.new_job(p_ord => 1, p_id => gen_random_uuid(), p_type => 'child')])`,
      [tenant_id],
    );
    await db.query(
      `insert into jobforge.schedule_ends (schedule_id, tenant_id, scheduled_for, ended_at, status, exact)
       select s.id, s.tenant_id, now(), now(), 'succeeded', false from jobforge.schedules s
       where s.tenant_id = $1 and s.type = 'cron'`,
      [tenant_id],
    );
  }
  // Each cancel of a parked job leaves a request to look at its bucket again.
  await db.query(
    `select jobforge_cancel_job(id, tenant_id)
     from (select distinct on (tenant_id) id, tenant_id from jobforge.queue where state = 'parked') j`,
  );
  const timer = { name: "timer", signal: { timeout_ms: 1, on_timeout: "continue" } };
  for (const tenant_id of [T, U])
    await startWorkflow(db, [timer, { name: "signal", signal: {} }], { tenant: tenant_id });
  await boundLogin(db, U, "jobforge_worker");
  await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 1000}')", [U]);
}

/** Makes every call of a worker as a worker bound to T, each in one transaction, which stays open. */
async function openEverything(db: TestDatabase): Promise<TestConnection> {
  const runs = await db.query<{ id: string }>(
    "select id from jobforge_jobs where tenant_id = $1 and status = 'running' and type = 'runs' order by id",
    [T],
  );
  const bound = await boundLogin(db, T, "jobforge_worker");
  await bound.travel("2 minutes");
  await bound.query("begin");
  const flow = await db.value<string>("select id from jobforge_workflows where tenant_id = $1", [T]);
  const names = ["RUN", "DEFERRED", "SETTLED", "OTHER", "WAITING"];
  // The heartbeat comes last, because it ends the runs that it does not list.
  const order = Object.keys(calls).sort(
    (a, b) => Number(a.endsWith("worker")) - Number(b.endsWith("worker")),
  );
  for (const name of order) {
    const text = names
      .reduce((sql, mark, n) => sql.replace(mark, runs[n]?.id ?? ""), calls[name] ?? "")
      .replaceAll("FLOW", flow);
    expect(await outcome(bound.query(`select ${name}${text}`)), name).toBe("accepted");
  }
  return bound;
}

describe("a bound worker that has made every call of a worker in an open transaction", () => {
  test("has made every call that a worker may make", async ({ db }) => {
    const rows = await db.query<{ name: string }>(
      `select p.proname as name from pg_proc p
       where p.proname like 'jobforge\\_%' and p.pronamespace = 'public'::regnamespace
         and has_function_privilege('jobforge_worker', p.oid, 'execute')`,
    );
    expect([...Object.keys(calls), ...refused].sort()).toEqual(rows.map(({ name }) => name).sort());
    const bound = await boundLogin(db, T, "jobforge_worker");
    for (const name of refused) expect(await outcome(bound.query(`select ${name}()`)), name).toBe("42501");
  });

  test("has locked no row of another tenant, and no row that all tenants share", async ({ db }) => {
    await prepare(db);
    await openEverything(db);
    const tables = await db.query<{ name: string; owner: string | null }>(
      `select c.relname as name, (
         select a.attname from pg_attribute a
         where a.attrelid = c.oid and a.attname in ('tenant_id', 'scope') and a.atttypid = 'uuid'::regtype) as owner
       from pg_class c
       where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       order by 1`,
    );
    const seen: string[] = [];
    for (const { name, owner } of tables) {
      const theirs = whose[name] ?? (owner === null ? "where $1::uuid is not null" : `where ${owner} <> $1`);
      const { all, free } = (
        await db.query<{ all: number; free: number }>(
          `select (select count(*)::int from jobforge.${name} ${theirs}) as all,
             (select count(*)::int from (select from jobforge.${name} ${theirs} for update skip locked) f) as free`,
          [T],
        )
      )[0] ?? { all: 0, free: -1 };
      expect(free, `free rows of ${name}`).toBe(all);
      if (all > 0) seen.push(name);
    }
    // The test means something only if there are rows to lock.
    expect(seen).toEqual(
      expect.arrayContaining([
        "cancel_requests",
        "idle_workers",
        "queue",
        "limits",
        "maintenance",
        "outbox",
        "policies",
        "role_bindings",
        "runs",
        "schedule_ends",
        "schedules",
        "tenants",
        "unpark_requests",
        "usage",
        "watches",
        "workers",
      ]),
    );
  });

  test("makes no call of a shared worker of the same name, a worker of another tenant or an operator wait", async ({
    db,
  }) => {
    await prepare(db);
    await openEverything(db);
    const connect: Record<string, () => Promise<TestConnection>> = {
      "a shared worker": () => login(db, "jobforge_worker"),
      "a worker of another tenant": () => boundLogin(db, U, "jobforge_worker"),
      "an operator": () => login(db, "jobforge_operator"),
    };
    const running = await db.value<string[]>(
      "select array_agg(id) from jobforge.runs where tenant_id = $1 and type = 'runs'",
      [U],
    );
    for (const [who, open] of Object.entries(connect)) {
      await using other = await open();
      await other.travel("2 minutes");
      await other.query("set lock_timeout = '2s'");
      await other.query("set statement_timeout = '20s'");
      const run = running.pop();
      const held = JSON.stringify(running.map((id) => ({ id, attempt: 1 })));
      const theirCalls = [
        `jobforge_heartbeat_job('${run}', 'w1')`,
        `jobforge_complete_job('${run}', 'w1', 'succeeded')`,
        `jobforge_heartbeat_worker('w1', '{"instance": "first", "idle": true, "types": ["a"], "held": ${held}}')`,
        `jobforge_heartbeat_worker('w1', '{"instance": "first", "held": ${held}}')`,
        "jobforge_claim_jobs('w2', 2)",
        "jobforge_settle_jobs('w2', '[]', 2)",
        `jobforge_enqueue_job('${U}', 'due', p_idempotency_key => 'k', p_dedupe_key => 'd')`,
        `jobforge_sync_schedules('app', '[{"type": "cron", "key": "declared", "every": "1 hour"}]', '${U}')`,
        ...(who === "a worker of another tenant" ? [] : ["jobforge_maintain()"]),
        ...(who === "an operator"
          ? ["jobforge_set_policy('due', '{}')", "jobforge_list_workers()", "jobforge_health()"]
          : []),
      ];
      for (const call of theirCalls)
        expect(await outcome(other.query(`select ${call}`)), `${who}: ${call}`).toBe("accepted");
      expect(
        (await other.query<{ tenant_id: string }>("select tenant_id from jobforge_claim_jobs('w3', 1)")).map(
          ({ tenant_id }) => tenant_id,
        ),
        who,
      ).toEqual([U]);
    }
  });
});
