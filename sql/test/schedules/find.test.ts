/** Lists of schedules by filters and in order of their next run, counts by type, and deleting many. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { outcome } from "../support/failures.ts";
import { claim, expectError, fail, type Sql, T, U } from "../support/kernel.ts";
import { claimRun, ensure, inTime, schedule, steer } from "../support/schedules.ts";
import { boundLogin, login } from "../support/tenants.ts";

async function keys(db: Sql, filters: object, tenant: string | null = T): Promise<string[]> {
  const rows = await db.query<{ key: string }>("select key from jobforge_list_schedules($1, $2)", [
    tenant,
    JSON.stringify(filters),
  ]);
  return rows.map(({ key }) => key);
}

/** Schedules in every state: running, failing, due, overdue, disabled, later. */
async function populate(db: Sql): Promise<void> {
  await ensure(db, { dynamic: true }, { key: "running" });
  await claim(db);
  await ensure(db, { dynamic: true, tags: ["a", "b"] }, { key: "failing" });
  await fail(db, (await claimRun(db)).id);
  await db.query("select jobforge_update_schedule($1, 'fetch', 'failing', $2)", [
    T,
    JSON.stringify({ next_run_at: await inTime(db, "3 hours") }),
  ]);
  await ensure(db, { dynamic: true, next_run_at: await inTime(db, "0"), subject: "s" }, { key: "due" });
  await ensure(db, { dynamic: true, next_run_at: await inTime(db, "-1 hour") }, { key: "overdue" });
  await ensure(db, { every: "1h", enabled: false, next_run_at: null }, { key: "off" });
  await ensure(
    db,
    { every: "1h", next_run_at: await inTime(db, "1 hour") },
    { key: "later", type: "report" },
  );
}

describe("jobforge_list_schedules", () => {
  test("filters by what schedules do", async ({ db }) => {
    await populate(db);
    expect(await keys(db, { running: true })).toEqual(["running"]);
    expect(await keys(db, { failing: true })).toEqual(["failing"]);
    expect(await keys(db, { due: true })).toEqual(["due", "overdue"]);
    expect(await keys(db, { overdue: true })).toEqual(["overdue"]);
    expect(await keys(db, { due: false, type: "report" })).toEqual(["later"]);
    expect(await keys(db, { tags: ["b"] })).toEqual(["failing"]);
    expect(await keys(db, { tags: ["b", "c"] })).toEqual([]);
    expect(await keys(db, { subject: "s" })).toEqual(["due"]);
    expect(await keys(db, { key_prefix: "o" })).toEqual(["off", "overdue"]);
    expect(await keys(db, { updated_before: await inTime(db, "-1 minute") })).toEqual([]);
    expect(await keys(db, { enabled: false, updated_before: await inTime(db, "1 minute") })).toEqual(["off"]);
    await expectError(keys(db, { due: "yes" }), "JF002", "due");
    await expectError(keys(db, { order: "size" }), "JF002", "order");
    await expectError(keys(db, { updated_before: "then" }), "JF002", "updated_before");
  });

  test("orders by the next run, page by page, with those that have none last", async ({ db }) => {
    await populate(db);
    const all = await keys(db, { order: "next_run_at" });
    expect(all.slice(0, 4)).toEqual(["overdue", "due", "later", "failing"]);
    expect(all.slice(4).sort()).toEqual(["off", "running"]);
    const pages: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 6; page += 1) {
      const [row] = await db.query<{ id: string; key: string }>(
        "select id, key from jobforge_list_schedules($1, $2)",
        [T, JSON.stringify({ order: "next_run_at", limit: 1, cursor })],
      );
      pages.push(row?.key ?? "");
      cursor = row?.id;
    }
    expect(pages).toEqual(all);
    expect(await keys(db, { order: "next_run_at", limit: 1, cursor })).toEqual([]);
  });
});

describe("jobforge_count_schedules", () => {
  const count = async (db: Sql, ...values: unknown[]): Promise<unknown[]> =>
    await db.query(
      `select type, schedules::int, enabled::int, due::int, overdue::int, running::int, failing::int,
         oldest_due_at is not null as has_oldest, exact
       from jobforge_count_schedules(${values.map((_, n) => `$${n + 1}`).join()})`,
      values,
    );

  test("counts by type what schedules do", async ({ db }) => {
    await populate(db);
    const fetch = { type: "fetch", schedules: 5, enabled: 4, due: 2, overdue: 1, running: 1, failing: 1 };
    const report = { type: "report", schedules: 1, enabled: 1, due: 0, overdue: 0, running: 0, failing: 0 };
    expect(await count(db)).toEqual([
      { ...fetch, has_oldest: true, exact: true },
      { ...report, has_oldest: false, exact: true },
    ]);
    expect(await count(db, T, 2)).toMatchObject([{ type: "fetch", schedules: 3, exact: false }]);
    await expectError(count(db, T, 0), "JF002", "cap");
  });

  test("shows a tenant its own, and readers all", async ({ db }) => {
    await ensure(db, { dynamic: true }, { tenant: U });
    const own = await boundLogin(db, T, "jobforge_tenant");
    expect(await count(own, T)).toEqual([]);
    expect(await outcome(count(own, U))).toBe("42501");
    expect(await count(own)).toEqual([]);
    const reader = await login(db, "jobforge_reader");
    expect(await count(reader)).toMatchObject([{ schedules: 1 }]);
  });
});

describe("jobforge_delete_schedules", () => {
  const remove = async (db: Sql, filters: unknown, limit = 1000, tenant = T): Promise<unknown> =>
    await db.value("select jobforge_delete_schedules($1, $2, $3)", [tenant, JSON.stringify(filters), limit]);

  test("deletes schedules that were disabled long ago, and their queued runs", async ({ db }) => {
    for (const key of ["a", "b", "c"]) await ensure(db, { dynamic: true, enabled: key === "c" }, { key });
    await steer(db, "run", { key: "a" });
    await db.travel("40 days");
    await ensure(db, { dynamic: true, enabled: false }, { key: "new" });
    const filters = { enabled: false, updated_before: await inTime(db, "-30 days") };
    expect(await remove(db, filters, 1)).toEqual({ matched: 1, changed: 1 });
    expect(await remove(db, filters)).toEqual({ matched: 1, changed: 1 });
    expect(await keys(db, {})).toEqual(["c", "new"]);
    expect(
      await db.value("select count(*)::int from jobforge_audit_log where action = 'SCHEDULE_DELETED'"),
    ).toBe(2);
  });

  test("leaves what another transaction holds, and what belongs to others", async ({ db }) => {
    for (const key of ["a", "b"]) await ensure(db, { dynamic: true, enabled: false }, { key });
    await ensure(db, { dynamic: true, enabled: false }, { tenant: U });
    const holder = await db.connect();
    await holder.query("begin");
    await steer(holder, "lock", { key: "a" });
    expect(await remove(db, { enabled: false })).toEqual({ matched: 2, changed: 1 });
    await holder.query("commit");
    expect(await schedule(db, { key: "a" })).toMatchObject({ enabled: false });
    expect(await keys(db, {}, U)).toEqual(["feed"]);
    await expectError(remove(db, {}), "JF002", "filters");
    await expectError(remove(db, { enabled: false, limit: 3 }), "JF002", "limit");
    await expectError(remove(db, { enabled: false }, 0), "JF002", "limit");
    const own = await boundLogin(db, T, "jobforge_tenant");
    expect(await outcome(remove(own, { enabled: false }, 10, U))).toBe("42501");
  });

  test("refuses filters that select nothing, which would delete all schedules", async ({ db }) => {
    for (const key of ["a", "b"]) await ensure(db, { dynamic: true }, { key });
    const all = [
      { type: null },
      { tags: [] },
      { key_prefix: "" },
      { enabled: null, subject: null, updated_before: null },
      { type: null, tags: [], key_prefix: "" },
    ];
    for (const filters of all) await expectError(remove(db, filters), "JF002", "filters");
    expect(await remove(db, { type: [] })).toEqual({ matched: 0, changed: 0 });
    expect(await keys(db, {})).toEqual(["a", "b"]);
    expect(await remove(db, { tags: [], key_prefix: "a" })).toEqual({ matched: 1, changed: 1 });
    expect(await keys(db, {})).toEqual(["b"]);
  });
});
