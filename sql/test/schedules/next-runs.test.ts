/** jobforge_next_runs: when a schedule runs next. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { travelTo } from "../support/archive.ts";
import { codeOf, type Sql, T, U } from "../support/kernel.ts";
import { claimRun, ensure, update } from "../support/schedules.ts";
import { boundLogin, login } from "../support/tenants.ts";

async function next(db: Sql, count: number | null = 4, tenant = T, key = "feed"): Promise<string[]> {
  const rows = await db.query<{ at: Date }>("select jobforge_next_runs($1, 'fetch', $2, $3) as at", [
    tenant,
    key,
    count,
  ]);
  return rows.map(({ at }) => at.toISOString().replace(".000Z", ""));
}

test("a cron schedule runs by the clock of its time zone", async ({ db }) => {
  await travelTo(db, "'2027-10-29T12:00:00Z'");
  await ensure(db, { cron: "0 9 * * *", timezone: "Europe/Berlin" });
  // Summer time ends on 31 October.
  expect(await next(db)).toEqual([
    "2027-10-30T07:00:00",
    "2027-10-31T08:00:00",
    "2027-11-01T08:00:00",
    "2027-11-02T08:00:00",
  ]);
});

test("an interval continues from the next run, and ends with the schedule", async ({ db }) => {
  await travelTo(db, "'2027-03-01T10:30:00Z'");
  await ensure(db, { every: "1 hour", starts_at: "2027-03-01T12:00:00Z", ends_at: "2027-03-01T14:00:00Z" });
  expect(await next(db)).toEqual(["2027-03-01T12:00:00", "2027-03-01T13:00:00", "2027-03-01T14:00:00"]);
  expect(await next(db, 2)).toHaveLength(2);
  await update(db, { next_run_at: "2027-03-01T12:20:00Z" });
  expect(await next(db)).toEqual(["2027-03-01T12:20:00", "2027-03-01T13:00:00", "2027-03-01T14:00:00"]);
});

test("the times are those that runs have", async ({ db }) => {
  await travelTo(db, "'2027-03-27T12:00:00Z'");
  await ensure(db, { cron: "30 2 * * *", timezone: "Europe/Berlin" });
  const expected = await next(db, 3);
  for (const time of expected) {
    await travelTo(db, "$1::timestamptz", [`${time}Z`]);
    const run = await claimRun(db);
    expect(run.scheduled_for?.toISOString().replace(".000Z", "")).toBe(time);
    await db.query("select jobforge_complete_job($1, 'w1', 'succeeded')", [run.id]);
  }
});

test("a dynamic schedule has one time at most, a disabled one none", async ({ db }) => {
  await ensure(db, { dynamic: true, next_run_at: "2999-01-01T00:00:00Z" });
  expect(await next(db)).toEqual(["2999-01-01T00:00:00"]);
  await ensure(db, { every: "1 hour", enabled: false }, { key: "off" });
  expect(await next(db, 4, T, "off")).toEqual([]);
});

test("wrong counts and schedules that do not exist are errors", async ({ db }) => {
  await ensure(db);
  for (const count of [0, 101, null]) expect(await codeOf(next(db, count))).toBe("JF002");
  expect(await codeOf(next(db, 1, T, "other"))).toBe("JF010");
  expect(await codeOf(next(db, 1, U))).toBe("JF010");
});

test("tenants see the times of their own schedules only", async ({ db }) => {
  await ensure(db, { every: "1 hour" });
  await ensure(db, { every: "1 hour" }, { tenant: U });
  const bound = await boundLogin(db, T, "jobforge_tenant");
  expect(await next(bound)).toHaveLength(4);
  expect(await codeOf(next(bound, 1, U))).toBe("42501");
  expect(await codeOf(next(await login(db, "jobforge_reader")))).toBe("42501");
});
