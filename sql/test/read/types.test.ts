/** jobforge_list_types: the job types, with their jobs, ends of runs and workers. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueue, expectError, type Sql, setPolicy, T, U, workerHeartbeat } from "../support/kernel.ts";
import { jobsOfAllStatuses } from "../support/statuses.ts";
import { boundLogin, login } from "../support/tenants.ts";

type Type = Record<string, unknown> & { type: string };

async function types(db: Sql, span = "1 hour"): Promise<Record<string, Type>> {
  const rows = await db.query<Type>("select * from jobforge_list_types($1)", [span]);
  return Object.fromEntries(rows.map((row) => [row.type, row]));
}

describe("jobforge_list_types", () => {
  test("counts due, scheduled and running jobs, and how runs ended", async ({ db }) => {
    await jobsOfAllStatuses(db);
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

  test("says that a job which started a moment before its time has not waited", async ({ db }) => {
    await jobsOfAllStatuses(db);
    await db.query(
      "update jobforge.finished_jobs set run_at = started_at + interval '166 milliseconds' where started_at is not null",
    );
    await db.query(
      "update jobforge.dead_jobs set run_at = started_at + interval '166 milliseconds' where started_at is not null",
    );
    expect((await types(db))["a"]).toMatchObject({ wait_ms: "0" });
  });

  test("ignores jobs that finished before the span", async ({ db }) => {
    await jobsOfAllStatuses(db);
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
    await jobsOfAllStatuses(db);
    await using reader = await login(db, "jobforge_reader");
    expect(Object.keys(await types(reader))).toEqual(["a", "b"]);
    await using bound = await boundLogin(db, U, "jobforge_reader");
    expect(Object.keys(await types(bound))).toEqual(["b"]);
  });

  test("a tenant sees the types that it uses, without workers and policies", async ({ db }) => {
    await jobsOfAllStatuses(db);
    await setPolicy(db, "b", { max_attempts: 2 });
    await setPolicy(db, "quiet", { max_attempts: 2 });
    await workerHeartbeat(db, "w1", { types: ["b", "c"] });
    await using tenant = await boundLogin(db, U, "jobforge_tenant");
    const own = await types(tenant);
    expect(Object.keys(own)).toEqual(["b"]);
    expect(own["b"]).toMatchObject({ due: 1, workers: null, has_policy: null });
    await expectError(tenant.query("select jobforge_list_types(p_tenant_id => $1)", [T]), "42501");
    const [asked] = await db.query<Type>("select * from jobforge_list_types(p_tenant_id => $1)", [U]);
    expect(asked).toMatchObject({ type: "b", due: 1, workers: 1, has_policy: true });
    const byT = await db.query<Type>("select * from jobforge_list_types(p_tenant_id => $1)", [T]);
    expect(byT.map(({ type }) => type)).toContain("a");
    expect(byT.map(({ type }) => type)).not.toContain("quiet");
  });
});
