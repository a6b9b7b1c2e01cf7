/** jobforge_list_attention: what is wrong now. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { travelTo } from "../support/archive.ts";
import { claim, codeOf, enqueueAll, type Sql, setPolicy, T, U, workerHeartbeat } from "../support/kernel.ts";
import { quotaCounted } from "../support/limits.ts";
import { ensure } from "../support/schedules.ts";
import { boundLogin, login } from "../support/tenants.ts";

type Row = {
  kind: string;
  severity: string;
  message: string;
  count: number;
  exact: boolean;
  since: Date | null;
  target: string;
  type: string | null;
  tenant_id: string | null;
  tenant_label: string | null;
  key: string | null;
};

async function attention(db: Sql, tenant: string | null = null): Promise<Row[]> {
  return await db.query<Row>("select *, count::integer as count from jobforge_list_attention($1)", [tenant]);
}

async function kinds(db: Sql, tenant: string | null = null): Promise<string[]> {
  return (await attention(db, tenant))
    .map(({ kind, type }) => (type === null ? kind : `${kind} ${type}`))
    .sort();
}

const later = (db: TestDatabase, by: string): Promise<unknown> =>
  travelTo(db, "jobforge.now() + $1::interval", [by]);

test("nothing is wrong in a new installation, and with jobs that a worker can run", async ({ db }) => {
  expect(await attention(db)).toEqual([]);
  await workerHeartbeat(db, "w1", { types: ["a"] });
  await enqueueAll(db, [{ type: "a" }, { type: "b", in: "1 hour" }]);
  expect(await attention(db)).toEqual([]);
});

test("due jobs without a worker, and those that wait for long", async ({ db }) => {
  await enqueueAll(db, [{ type: "a" }, { type: "a" }, { type: "b", tenant_id: U }]);
  await workerHeartbeat(db, "w1", { types: ["b"] });
  expect(await attention(db)).toMatchObject([
    {
      kind: "no_worker",
      severity: "error",
      message: "No live worker runs a: 2 jobs are due",
      count: 2,
      exact: true,
      target: "type",
      type: "a",
    },
  ]);
  await later(db, "11 minutes");
  await workerHeartbeat(db, "w2", { types: ["a", "b"] });
  expect(await kinds(db)).toEqual(["long_wait a", "long_wait b", "worker_gone"]);
  expect(await kinds(db, T)).toEqual(["long_wait a"]);
});

test("a worker for any type serves every type", async ({ db }) => {
  await enqueueAll(db, [{ type: "a" }]);
  await workerHeartbeat(db, "w1", {});
  expect(await attention(db)).toEqual([]);
});

test("what is paused needs attention once, not also as waiting jobs", async ({ db }) => {
  await enqueueAll(db, [{ type: "a" }, { type: "a", tenant_id: U }]);
  await db.query("select jobforge_set_tenant($1, $2)", [U, { label: "Acme" }]);
  await db.query("select jobforge_set_gate('type', 'a', true, 'the provider is down')");
  await db.query("select jobforge_set_gate('tenant', $1, true)", [U]);
  expect(await attention(db)).toMatchObject([
    {
      kind: "paused",
      message: "The tenant Acme is paused",
      tenant_id: U,
      tenant_label: "Acme",
      target: "gate",
    },
    { kind: "paused", message: "The type a is paused: the provider is down", type: "a" },
  ]);
  const own = await attention(db, T);
  expect(own.map(({ message }) => message)).toEqual(["The type a is paused"]);
});

test("a worker that falls silent, with its runs", async ({ db }) => {
  await workerHeartbeat(db, "w1", { types: ["a"] });
  await enqueueAll(db, [{ type: "a" }]);
  await claim(db, "w1");
  await later(db, "2 minutes");
  expect(await attention(db)).toMatchObject([
    { kind: "worker_gone", severity: "error", message: "The worker w1 fell silent with 1 run", key: "w1" },
  ]);
  await workerHeartbeat(db, "w1", { types: ["a"] });
  expect(await attention(db)).toEqual([]);
});

test("schedules that are overdue, and schedules that fail", async ({ db }) => {
  await workerHeartbeat(db, "w1", { types: ["fetch"] });
  await ensure(db, { every: "1 hour" });
  await ensure(db, { every: "1 hour" }, { key: "other" });
  await later(db, "2 minutes");
  await workerHeartbeat(db, "w1", { types: ["fetch"] });
  expect(await attention(db)).toMatchObject([
    {
      kind: "overdue_schedules",
      message: "2 schedules of fetch are due and have no run",
      target: "schedules",
      type: "fetch",
    },
  ]);
  for (const { id } of await claim(db, "w1"))
    await db.query(
      `select jobforge_complete_job($1, 'w1', 'failed', '{"message": "no"}', p_retry => false)`,
      [id],
    );
  await db.query("select jobforge_maintain()");
  expect(await attention(db)).toMatchObject([
    { kind: "failing_schedules", message: "2 schedules of fetch failed at their last run", count: 2 },
  ]);
  expect(await kinds(db, U)).toEqual([]);
});

test("many more deaths than usual", async ({ db }) => {
  await workerHeartbeat(db, "w1", { types: ["a"] });
  await enqueueAll(
    db,
    Array.from({ length: 12 }, () => ({ type: "a" })),
  );
  for (const { id } of await claim(db, "w1", { limit: 12 }))
    await db.query(
      `select jobforge_complete_job($1, 'w1', 'failed', '{"message": "no"}', p_retry => false)`,
      [id],
    );
  await db.query("select jobforge_maintain()");
  const spike = [{ kind: "dead_spike", severity: "error", count: 12, target: "dead", type: "a" }];
  expect(await attention(db)).toMatchObject(spike);
  expect(await attention(db, T)).toMatchObject(spike);
  expect(await attention(db, U)).toEqual([]);
  // As many in each of the hours before are usual.
  await db.query(
    `insert into jobforge.samples (type, minute, dead)
     select 'a', date_trunc('minute', jobforge.now()) - n * interval '1 hour', 12 from generate_series(2, 6) n`,
  );
  expect(await attention(db)).toEqual([]);
});

test("a full quota, a disabled endpoint and a long hold", async ({ db }) => {
  await workerHeartbeat(db, "w1", {});
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_pending: 1 }]);
  await enqueueAll(db, [{ type: "a" }]);
  await quotaCounted(db);
  expect(await attention(db)).toMatchObject([
    {
      kind: "quota_full",
      message: "The tenant has used its quota of 1 jobs: enqueues are refused",
      tenant_id: T,
    },
  ]);
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_pending: null }]);
  const id = await db.value<string>(
    `select jobforge_set_webhook_endpoint($1, '{"url": "https://example.com/hook", "events": ["*"]}') ->> 'id'`,
    [T],
  );
  await db.query("select jobforge_disable_webhook_endpoint($1, $2)", [T, id]);
  expect(await attention(db, T)).toMatchObject([
    {
      kind: "disabled_webhooks",
      message: "1 webhook endpoint is disabled, and deliveries wait",
      target: "webhooks",
    },
  ]);
  expect(await attention(db, U)).toEqual([]);
  await db.query("select jobforge_delete_webhook_endpoint($1, $2)", [T, id]);
  await db.query(
    `insert into jobforge.key_holds (tenant_id, type, concurrency_key, until, reason, set_at, set_by)
     values ($1, 'a', 'k', jobforge.now() + interval '1 hour', 'asked', jobforge.now() - interval '1 hour', 'w')`,
    [T],
  );
  for (const tenant of [null, T])
    expect(await attention(db, tenant)).toMatchObject([
      { kind: "held", message: "1 concurrency key of a is held", type: "a" },
    ]);
});

test("jobs that wait at a limit for long", async ({ db }) => {
  await setPolicy(db, "a", { lease_ms: 86_400_000 });
  await db.query("select jobforge_set_limit('tenant', $1, 1)", [T]);
  await enqueueAll(db, [{ type: "a" }, { type: "a" }]);
  await claim(db, "w1", { limit: 2 });
  await later(db, "11 minutes");
  await workerHeartbeat(db, "w2", {});
  expect(await kinds(db, T)).toEqual(["at_limit a"]);
});

test("tasks of maintenance that fail", async ({ db }) => {
  await db.query(
    "update jobforge.maintenance set failures = 3, failed_at = now(), error = 'no space' where task = 'jobs'",
  );
  expect(await attention(db)).toMatchObject([
    {
      kind: "maintenance",
      message: "The maintenance task jobs has failed 3 times in a row: no space",
      key: "jobs",
    },
  ]);
  expect(await attention(db, T)).toEqual([]);
});

test("a tenant sees its own only, and workers see nothing", async ({ db }) => {
  await enqueueAll(db, [{ type: "a" }, { type: "b", tenant_id: U }]);
  const bound = await boundLogin(db, T, "jobforge_tenant");
  expect(await kinds(bound)).toEqual(["no_worker a"]);
  expect(await codeOf(attention(bound, U))).toBe("42501");
  for (const role of ["jobforge_operator", "jobforge_reader"])
    expect(await kinds(await login(db, role))).toEqual(["no_worker a", "no_worker b"]);
  expect(await codeOf(attention(await login(db, "jobforge_worker")))).toBe("42501");
});
