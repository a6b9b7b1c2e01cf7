/** Schedules that are due while no worker claims: every count for operators shows them. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { costAndResult } from "../support/cost.ts";
import { claim, type Sql, T, U } from "../support/kernel.ts";
import { ensure, inTime, manyDue } from "../support/schedules.ts";
import { boundLogin, login } from "../support/tenants.ts";

/** Thirty schedules that are overdue by an hour, one of another tenant, and one that is not due. */
async function overdue(db: Sql): Promise<Date> {
  const due = await inTime(db, "-1 hour");
  for (let n = 0; n < 30; n += 1) await ensure(db, { dynamic: true, next_run_at: due }, { key: `f${n}` });
  await ensure(db, { dynamic: true, next_run_at: await inTime(db, "-1 minute") }, { tenant: U });
  await ensure(db, { dynamic: true, next_run_at: await inTime(db, "1 hour") }, { type: "later" });
  return due;
}

const types = "select type, due, due_schedules, oldest_schedule_at, workers from jobforge_list_types()";
const live =
  "select type, queued::int, due_schedules::int, oldest_schedule_at from jobforge_count_live($1, $2)";

describe("due schedules", () => {
  test("are shown by jobforge_list_types, also for a type without a job", async ({ db }) => {
    const due = await overdue(db);
    expect(await db.query(types)).toEqual([
      { type: "fetch", due: 0, due_schedules: 31, oldest_schedule_at: due, workers: 0 },
    ]);
    await claim(db, "w1", { limit: 1 });
    expect(await db.query(types)).toMatchObject([
      { type: "fetch", due_schedules: 0, oldest_schedule_at: null },
    ]);
  });

  test("are shown by jobforge_count_live, by type and by tenant", async ({ db }) => {
    const due = await overdue(db);
    expect(await db.query(live, [null, ["type"]])).toEqual([
      { type: "fetch", queued: 0, due_schedules: 31, oldest_schedule_at: due },
    ]);
    expect(await db.query(live, [T, ["type"]])).toEqual([
      { type: "fetch", queued: 0, due_schedules: 30, oldest_schedule_at: due },
    ]);
    expect(
      await db.query("select tenant_id, due_schedules::int from jobforge_count_live(null, '{tenant}')"),
    ).toEqual([
      { tenant_id: T, due_schedules: 30 },
      { tenant_id: U, due_schedules: 1 },
    ]);
  });

  test("are shown by jobforge_metrics, by type and by tenant", async ({ db }) => {
    await overdue(db);
    const metrics = await db.value<{ schedules: { oldest_seconds: number }[] }>("select jobforge_metrics()");
    expect(metrics.schedules).toMatchObject([{ type: "fetch", tenant_id: null, due: 31 }]);
    expect(metrics.schedules[0]?.oldest_seconds).toBeGreaterThanOrEqual(3600);
    const byTenant = await db.value("select jobforge_metrics(p_by_tenant => true) -> 'schedules'");
    expect(byTenant).toMatchObject([{ due: expect.any(Number) }, { due: expect.any(Number) }]);
  });

  test("are shown by jobforge_health, unless their type is paused", async ({ db }) => {
    const due = await overdue(db);
    const health = async (): Promise<{ count: number; oldest_at: string | null }> =>
      await db.value("select jobforge_health() -> 'due_schedules'");
    const { count, oldest_at } = await health();
    expect({ count, oldest_at: new Date(oldest_at ?? 0) }).toEqual({ count: 31, oldest_at: due });
    await db.query("select jobforge_set_gate('type', 'fetch', true)");
    expect(await health()).toEqual({ count: 0, oldest_at: null });
  });

  test("of other tenants are not shown to a role that is bound to a tenant", async ({ db }) => {
    await overdue(db);
    const reader = await boundLogin(db, U, "jobforge_reader");
    expect(await reader.query(types)).toMatchObject([{ type: "fetch", due_schedules: 1 }]);
    expect(await reader.value("select jobforge_metrics() -> 'schedules'")).toMatchObject([{ due: 1 }]);
    const tenant = await boundLogin(db, U, "jobforge_tenant");
    expect(await tenant.query(live, [U, ["type"]])).toMatchObject([{ due_schedules: 1 }]);
    const unbound = await login(db, "jobforge_reader");
    expect(await unbound.query(types)).toMatchObject([{ due_schedules: 31 }]);
  });

  test("are counted up to a thousand of a type, at a bounded cost", async ({ db }) => {
    await manyDue(db, 5000);
    await db.query("vacuum (analyze) jobforge.schedules");
    expect(await db.query(types)).toMatchObject([{ due_schedules: 1000 }]);
    const { buffers } = await costAndResult(
      await db.connect(),
      "to_jsonb(jobforge.due_schedules(null, false, now()))",
    );
    expect(buffers).toBeLessThan(1_500);
  });
});
