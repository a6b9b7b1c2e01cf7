/** Counts of jobs and types, and the health of the installation. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  complete,
  enqueue,
  enqueueMany,
  expectError,
  fail,
  type Sql,
  setPolicy,
  T,
  U,
  workerHeartbeat,
} from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

type Count = { tenant_id: string; type: string; status: string; jobs: number };

async function count(
  db: Sql,
  filters: unknown = {},
  tenant: string | null = null,
  change: string | null = null,
) {
  return await db.query<Count>("select * from jobforge_count_jobs($1, $2, $3)", [
    tenant,
    JSON.stringify(filters),
    change,
  ]);
}

/** Creates jobs of tenant T: two queued, one running, one succeeded, one failed, one canceled; and one queued job of tenant U. */
async function populate(db: Sql): Promise<void> {
  for (const end of ["succeeded", "failed"]) {
    const { id } = await enqueue(db);
    await claim(db);
    if (end === "succeeded") await complete(db, id);
    else await fail(db, id, { retry: false });
  }
  await enqueue(db);
  await claim(db);
  await cancel(db, (await enqueue(db)).id);
  await enqueue(db);
  await enqueue(db, { in: "1 hour" });
  await enqueue(db, { tenant_id: U, type: "b" });
}

describe("jobforge_count_jobs", () => {
  test("counts live and finished jobs by tenant, type and status, the largest count first", async ({
    db,
  }) => {
    await populate(db);
    const found = await count(db);
    expect(found[0]).toEqual({ tenant_id: T, type: "a", status: "queued", jobs: 2 });
    expect(found.map(({ type, status, jobs }) => `${type} ${status} ${jobs}`).sort()).toEqual([
      "a canceled 1",
      "a failed 1",
      "a queued 2",
      "a running 1",
      "a succeeded 1",
      "b queued 1",
    ]);
  });

  test("counts all jobs that a filter selects, not one page", async ({ db }) => {
    await enqueueMany(db, 120);
    await enqueue(db, { type: "b" });
    expect(await count(db, { type: "a" })).toEqual([
      { tenant_id: T, type: "a", status: "queued", jobs: 120 },
    ]);
    expect(await count(db, { type: "a", limit: 10 })).toMatchObject([{ jobs: 120 }]);
    expect(await count(db, { type: "nothing" })).toEqual([]);
  });

  test.for([
    ["cancel", ["queued", "running"]],
    ["reschedule", ["failed", "queued"]],
    ["purge", ["canceled", "failed", "succeeded"]],
  ] as const)("counts what a %s would touch", async ([change, statuses], { db }) => {
    await populate(db);
    expect((await count(db, { type: "a" }, T, change)).map((each) => each.status).sort()).toEqual(statuses);
    expect(await count(db, { type: "a", status: "canceled" }, T, change)).toHaveLength(
      change === "purge" ? 1 : 0,
    );
  });

  test("refuses unknown filters and changes", async ({ db }) => {
    await expectError(count(db, {}, null, "explode"), "JF002", "change");
    await expectError(count(db, { nonsense: 1 }), "JF002", "nonsense");
  });

  test("a tenant counts its own jobs, an operator counts all", async ({ db }) => {
    await populate(db);
    await using tenant = await boundLogin(db, U, "jobforge_tenant");
    expect(await count(tenant, {}, U)).toEqual([{ tenant_id: U, type: "b", status: "queued", jobs: 1 }]);
    await expectError(count(tenant, {}, T), "42501");
    await expectError(count(tenant), "42501");
    await using operator = await login(db, "jobforge_operator");
    expect(await count(operator)).toHaveLength(6);
  });
});

type Type = Record<string, unknown> & { type: string };

async function types(db: Sql, span = "1 hour"): Promise<Record<string, Type>> {
  const rows = await db.query<Type>("select * from jobforge_list_types($1)", [span]);
  return Object.fromEntries(rows.map((row) => [row.type, row]));
}

describe("jobforge_list_types", () => {
  test("counts due, scheduled and running jobs, and how runs ended", async ({ db }) => {
    await populate(db);
    const { a, b } = await types(db);
    expect(a).toMatchObject({
      due: 1,
      scheduled: 1,
      running: 1,
      succeeded: 1,
      failed: 1,
      dead: 0,
      canceled: 1,
    });
    expect(b).toMatchObject({ due: 1, scheduled: 0, running: 0, succeeded: 0, wait_ms: null, run_ms: null });
    expect(a?.["oldest_due_at"]).not.toBeNull();
    expect(Number(a?.["run_ms"])).toBeGreaterThanOrEqual(0);
  });

  test("ignores jobs that finished before the span", async ({ db }) => {
    await populate(db);
    await db.travel("2 hours");
    expect((await types(db))["a"]).toMatchObject({
      succeeded: 0,
      failed: 0,
      canceled: 0,
      due: 2,
      scheduled: 0,
    });
    expect((await types(db, "1 day"))["a"]).toMatchObject({ succeeded: 1, failed: 1, canceled: 1 });
    await expectError(types(db, "8 days"), "JF002", "span");
    await expectError(types(db, "0"), "JF002", "span");
  });

  test("lists types that have a policy or a worker but no job, and counts live workers", async ({ db }) => {
    await setPolicy(db, "quiet", { max_attempts: 2 });
    await workerHeartbeat(db, "w1", { types: ["b", "c"] });
    await workerHeartbeat(db, "any", {});
    await enqueue(db, { type: "b" });
    const found = await types(db);
    expect(Object.keys(found)).toEqual(["b", "c", "quiet"]);
    expect(found["b"]).toMatchObject({ workers: 2, has_policy: false });
    expect(found["quiet"]).toMatchObject({ workers: 1, has_policy: true });
    await db.travel("2 minutes");
    expect((await types(db))["b"]).toMatchObject({ workers: 0 });
  });

  test("shows paused types until they are resumed", async ({ db }) => {
    await enqueue(db, { type: "b" });
    await enqueue(db, { type: "c" });
    await db.query(
      "select jobforge_set_gate('type', 'b', true, null, clock_timestamp() + interval '1 hour')",
    );
    expect(await types(db)).toMatchObject({ b: { paused: true }, c: { paused: false } });
    await db.travel("2 hours");
    expect(await types(db)).toMatchObject({ b: { paused: false } });
    await db.query("select jobforge_set_gate('all', null, true)");
    expect(await types(db)).toMatchObject({ b: { paused: true }, c: { paused: true } });
  });

  test("readers may call it; a bound reader counts its tenant's jobs", async ({ db }) => {
    await populate(db);
    await using reader = await login(db, "jobforge_reader");
    expect(Object.keys(await types(reader))).toEqual(["a", "b"]);
    await using bound = await boundLogin(db, U, "jobforge_reader");
    expect(Object.keys(await types(bound))).toEqual(["b"]);
    await using tenant = await boundLogin(db, U, "jobforge_tenant");
    await expect(types(tenant)).rejects.toMatchObject({ code: "42501" });
  });
});

describe("jobforge_health", () => {
  const health = (db: Sql): Promise<Record<string, unknown>> => db.value("select jobforge_health()");

  test("a fresh installation has no problems", async ({ db }) => {
    expect(await health(db)).toMatchObject({
      api_schema: "public",
      grants: [],
      open_tables: [],
      lacks_shelf: false,
      overdue_leaves: 0,
      outbox: 0,
      hot: { autovacuum: true },
    });
    expect(
      await db.value(
        "select bool_and((l ->> 'ahead_to')::timestamptz > clock_timestamp() + interval '1 day') from jsonb_array_elements(jobforge_health() -> 'leaves') l",
      ),
    ).toBe(true);
  });

  test("shows rights that were granted by hand, and tables without row security", async ({ db }) => {
    await db.query("grant select on jobforge.jobs to jobforge_reader");
    await db.query("revoke execute on function jobforge_maintain(integer) from jobforge_worker");
    await db.query("alter table jobforge.gates disable row level security");
    await db.query("alter table jobforge.jobs set (autovacuum_enabled = false)");
    const { grants, open_tables, hot } = await health(db);
    expect(grants).toMatchObject([{ object: "jobs" }, { object: "public.jobforge_maintain(integer)" }]);
    expect(open_tables).toEqual(["gates"]);
    expect(hot).toMatchObject({ autovacuum: false });
  });

  test("shows when maintenance last ran, and partitions that must be made or dropped", async ({ db }) => {
    expect((await health(db))["maintained_at"]).toBeNull();
    await db.query("select jobforge_maintain()");
    expect(Object.keys((await health(db))["maintained_at"] ?? {})).toContain("jobs");
    await setPolicy(db, "a", { retention_days: 1 });
    expect(await health(db)).toMatchObject({ lacks_shelf: true });
    await db.travel("90 days");
    expect((await health(db))["overdue_leaves"]).toBeGreaterThan(0);
  });

  test("readers and operators may call it; tenants, workers and bound roles may not", async ({ db }) => {
    for (const role of ["jobforge_reader", "jobforge_operator"]) {
      await using allowed = await login(db, role);
      expect(await health(allowed)).toHaveProperty("version");
    }
    for (const role of ["jobforge_tenant", "jobforge_worker", "jobforge_app"]) {
      await using refused = await login(db, role);
      await expect(health(refused)).rejects.toMatchObject({ code: "42501" });
    }
    await using bound = await boundLogin(db, T, "jobforge_reader");
    await expectError(health(bound), "42501");
  });
});
