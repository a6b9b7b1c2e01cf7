/** jobforge_health: the health of the installation. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, enqueue, expectError, type Sql, setPolicy, T } from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

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
    await db.query("grant select on jobforge.queue to jobforge_reader");
    await db.query("revoke execute on function jobforge_maintain(integer) from jobforge_worker");
    await db.query("alter table jobforge.gates disable row level security");
    await db.query("alter table jobforge.queue set (autovacuum_enabled = false)");
    const { grants, open_tables, hot } = await health(db);
    expect(grants).toMatchObject([{ object: "public.jobforge_maintain(integer)" }, { object: "queue" }]);
    expect(open_tables).toEqual(["gates"]);
    expect(hot).toMatchObject({ autovacuum: false });
    await db.query("alter table jobforge.queue reset (autovacuum_enabled)");
    await db.query("alter table jobforge.runs set (autovacuum_enabled = false)");
    expect((await health(db))["hot"]).toMatchObject({ autovacuum: false });
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

  test("shows types with runs that take far longer than usual", async ({ db }) => {
    const longRuns = async (): Promise<unknown[]> =>
      (await health(db))["long_runs"] as { type: string; runs: number; usual_ms: number | null }[];
    for (let n = 0; n < 20; n += 1) await enqueue(db, { type: "quick" });
    for (const { id } of await claim(db, "w1", { limit: 20 })) await complete(db, id);
    await db.query("select jobforge_maintain()");
    // The usual run of this type takes five minutes.
    await db.query(`
      insert into jobforge.usage
      select '${T}', date_trunc('hour', now()), 'slow', 100, 100, 0, 0, 0, 0, 0, 0, 0, 30000000, '{}',
        jobforge.histogram_of(array[jobforge.bin_of(300000)], array[100])`);
    for (const type of ["quick", "quick", "slow", "new"]) await enqueue(db, { type });
    await claim(db, "w2");
    await db.travel("9 minutes");
    expect(await longRuns()).toEqual([]);
    await db.travel("11 minutes");
    const [quick, ...others] = await longRuns();
    expect(quick).toMatchObject({ type: "quick", runs: 2, usual_ms: expect.any(Number) });
    expect(others).toEqual([]);
    await db.travel("45 minutes");
    expect(await longRuns()).toMatchObject([{ type: "quick" }]);
    await db.travel("70 minutes");
    expect(await longRuns()).toMatchObject([{ type: "quick" }, { type: "slow", runs: 1 }]);
    await db.travel("25 hours");
    expect(await longRuns()).toMatchObject([
      { type: "new", runs: 1, usual_ms: null },
      { type: "quick" },
      { type: "slow" },
    ]);
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
