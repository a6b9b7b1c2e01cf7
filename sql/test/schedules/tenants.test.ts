/** Which schedules tenants, workers and readers may see and steer. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { claim, fail, T, U } from "../support/kernel.ts";
import { claimRun, ensure, schedule, steer } from "../support/schedules.ts";
import { boundLogin, callsNaming, login, set } from "../support/tenants.ts";

describe("tenants", () => {
  test("steer and see their own schedules, and not those of other tenants", async ({ db }) => {
    await ensure(db, { dynamic: true, payload: { secret: U } }, { tenant: U });
    const theirs = await schedule(db, { tenant: U });
    for (const role of ["jobforge_tenant", "jobforge_worker"] as const) {
      const own = await boundLogin(db, T, role);
      expect(await ensure(own, { every: "1h" }, { key: role })).toMatchObject({
        outcome: "created",
        tenant_id: T,
      });
      for (const verb of ["lock", "disable", "enable", "run", "delete"] as const) {
        await steer(own, verb, { key: role });
        expect(await outcome(steer(own, verb, { tenant: U })), verb).toBe("42501");
        expect(await outcome(steer(own, verb)), verb).toBe("JF010");
      }
      expect(await own.query("select * from jobforge_list_schedules($1)", [T])).toEqual([]);
      expect(await outcome(own.query("select * from jobforge_list_schedules()"))).toBe("42501");
    }
    expect(await schedule(db, { tenant: U })).toEqual(theirs);
  });

  test("see the pending state of their own held rows", async ({ db }) => {
    for (const tenant of [T, U]) {
      await ensure(db, { dynamic: true }, { tenant });
      const holder = await db.connect();
      await holder.query("begin");
      const run = await claimRun(db);
      await steer(holder, "lock", { tenant });
      await fail(db, run.id, { error: { message: tenant } });
    }
    const app = await login(db, "jobforge_app");
    await set(app, "app.tenant_id", T);
    expect(await app.query("select tenant_id, last_error from jobforge_schedules")).toEqual([
      { tenant_id: T, last_error: T },
    ]);
    await set(app, "app.tenant_id", "");
    expect(await app.query("select * from jobforge_schedules")).toEqual([]);
  });

  test("are refused by every function of schedules for another tenant", async ({ db }) => {
    const calls = (await callsNaming(db, U, "jobforge_tenant")).filter((call) =>
      /_schedules?(_enabled|_runs)?\(/.test(call),
    );
    expect(calls.length).toBe(14);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    for (const call of calls) expect(await outcome(tenant.query(call)), call).toBe("42501");
  });

  test("can write to schedules only through functions", async ({ db }) => {
    await ensure(db);
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    for (const sql of ["update jobforge_schedules set enabled = false", "delete from jobforge_schedules"])
      expect(["42501", "55000"], sql).toContain(await outcome(tenant.query(sql)));
    expect(await outcome(tenant.query("select * from jobforge.schedules"))).toBe("42501");
  });

  test("do not wait for all missed runs of another tenant's schedules", async ({ db }) => {
    const long = { cron: "* * * * *", missed: "all", overlap: "allow", next_run_at: "2020-01-01T00:00:00Z" };
    for (const key of ["1", "2", "3"]) await ensure(db, long, { key });
    await ensure(db, { dynamic: true, priority: 1 }, { tenant: U });
    expect(await claim(db, "w1", { limit: 1 })).toMatchObject([{ tenant_id: U }]);
  });

  test("do not see the name of the worker that disabled their schedule", async ({ db }) => {
    await ensure(db, { cron: "0 0 * * *", next_run_at: "2020-01-01T00:00:00Z" });
    await db.query("update jobforge.schedules set timezone = 'Mars/Olympus'");
    const disabled = "select actor from jobforge_audit_log where action = 'SCHEDULE_DISABLED'";
    const theirs = await boundLogin(db, U, "jobforge_worker");
    expect(await theirs.query("select from jobforge_claim_jobs('w', 1)")).toEqual([]);
    expect(await db.query(disabled), "a worker of another tenant fires nothing").toEqual([]);
    const shared = await login(db, "jobforge_worker");
    expect(await shared.query("select from jobforge_claim_jobs('w', 1)")).toEqual([]);
    expect(await db.query(disabled)).toEqual([{ actor: "jobforge" }]);
  });

  test("may run schedules, which readers can neither run nor see", async ({ db }) => {
    await ensure(db);
    const reader = await login(db, "jobforge_reader");
    expect(await outcome(reader.query("select * from jobforge_schedules"))).toBe("42501");
    expect(await outcome(steer(reader, "run"))).toBe("42501");
  });
});
