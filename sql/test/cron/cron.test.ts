/**
 * The meaning of cron expressions on a clock that is never changed, and the promises of the functions that evaluate
 * them.
 */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { next, runs } from "../support/cron.ts";
import { codeOf } from "../support/kernel.ts";
import { clientRoles } from "../support/tenants.ts";

/** A Saturday. */
const after = "2026-01-31 12:00 UTC";

/** Meaning, expression, and the next three runs. */
const meanings: readonly (readonly [meaning: string, expression: string, ...expected: string[]])[] = [
  ["every minute", "* * * * *", "2026-01-31 12:01:00", "2026-01-31 12:02:00", "2026-01-31 12:03:00"],
  ["every second", "* * * * * *", "2026-01-31 12:00:01", "2026-01-31 12:00:02", "2026-01-31 12:00:03"],
  ["a step", "*/25 * * * *", "2026-01-31 12:25:00", "2026-01-31 12:50:00", "2026-01-31 13:00:00"],
  [
    "a step in seconds",
    "*/40 0 * * * *",
    "2026-01-31 12:00:40",
    "2026-01-31 13:00:00",
    "2026-01-31 13:00:40",
  ],
  [
    "a step over a range",
    "10-50/20 0 * * *",
    "2026-02-01 00:10:00",
    "2026-02-01 00:30:00",
    "2026-02-01 00:50:00",
  ],
  [
    "a step from a value",
    "5/20 12 * * *",
    "2026-01-31 12:05:00",
    "2026-01-31 12:25:00",
    "2026-01-31 12:45:00",
  ],
  ["a list", "1,31,7 23 * * *", "2026-01-31 23:01:00", "2026-01-31 23:07:00", "2026-01-31 23:31:00"],
  [
    "a list of all kinds",
    "0 1,4-5,20/3 * * *",
    "2026-01-31 20:00:00",
    "2026-01-31 23:00:00",
    "2026-02-01 01:00:00",
  ],
  ["leading zeros", "05 09 01 02 *", "2026-02-01 09:05:00", "2027-02-01 09:05:00", "2028-02-01 09:05:00"],
  ["months by name", "0 0 1 feb-MAR *", "2026-02-01 00:00:00", "2026-03-01 00:00:00", "2027-02-01 00:00:00"],
  [
    "weekdays by name",
    "0 0 * * Mon,wed",
    "2026-02-02 00:00:00",
    "2026-02-04 00:00:00",
    "2026-02-09 00:00:00",
  ],
  ["0 as Sunday", "0 0 * * 0", "2026-02-01 00:00:00", "2026-02-08 00:00:00", "2026-02-15 00:00:00"],
  ["7 as Sunday", "0 0 * * 7", "2026-02-01 00:00:00", "2026-02-08 00:00:00", "2026-02-15 00:00:00"],
  [
    "a range up to Sunday",
    "0 0 * * FRI-SUN",
    "2026-02-01 00:00:00",
    "2026-02-06 00:00:00",
    "2026-02-07 00:00:00",
  ],
  [
    "the last day of the month",
    "0 0 L * *",
    "2026-02-28 00:00:00",
    "2026-03-31 00:00:00",
    "2026-04-30 00:00:00",
  ],
  [
    "the last day and others",
    "0 0 30,l * *",
    "2026-02-28 00:00:00",
    "2026-03-30 00:00:00",
    "2026-03-31 00:00:00",
  ],
  ["the last Friday", "0 0 * * 5L", "2026-02-27 00:00:00", "2026-03-27 00:00:00", "2026-04-24 00:00:00"],
  [
    "the last Friday, by name",
    "0 0 * * fri#L",
    "2026-02-27 00:00:00",
    "2026-03-27 00:00:00",
    "2026-04-24 00:00:00",
  ],
  [
    "the last of several weekdays",
    "0 0 * 2 sat-sun#l",
    "2026-02-22 00:00:00",
    "2026-02-28 00:00:00",
    "2027-02-27 00:00:00",
  ],
  ["the second Friday", "0 0 * * 5#2", "2026-02-13 00:00:00", "2026-03-13 00:00:00", "2026-04-10 00:00:00"],
  ["the fifth Sunday", "0 0 * * sun#5", "2026-03-29 00:00:00", "2026-05-31 00:00:00", "2026-08-30 00:00:00"],
  [
    "day of month or of week",
    "0 0 13 * 5",
    "2026-02-06 00:00:00",
    "2026-02-13 00:00:00",
    "2026-02-20 00:00:00",
  ],
  [
    "a question mark for any day",
    "0 0 13 * ?",
    "2026-02-13 00:00:00",
    "2026-03-13 00:00:00",
    "2026-04-13 00:00:00",
  ],
  [
    "a question mark for any date",
    "0 0 ? * 5",
    "2026-02-06 00:00:00",
    "2026-02-13 00:00:00",
    "2026-02-20 00:00:00",
  ],
  [
    "days that some months lack",
    "0 0 31 * *",
    "2026-03-31 00:00:00",
    "2026-05-31 00:00:00",
    "2026-07-31 00:00:00",
  ],
  ["29 February", "0 0 29 2 *", "2028-02-29 00:00:00", "2032-02-29 00:00:00", "2036-02-29 00:00:00"],
  [
    "a fifth Monday of February",
    "0 0 * 2 1#5",
    "2044-02-29 00:00:00",
    "2072-02-29 00:00:00",
    "2112-02-29 00:00:00",
  ],
  [
    "any white space",
    " \t0\n 0  1 *\t* ",
    "2026-02-01 00:00:00",
    "2026-03-01 00:00:00",
    "2026-04-01 00:00:00",
  ],
  ["@yearly", "@yearly", "2027-01-01 00:00:00", "2028-01-01 00:00:00", "2029-01-01 00:00:00"],
  ["@annually", "@annually", "2027-01-01 00:00:00", "2028-01-01 00:00:00", "2029-01-01 00:00:00"],
  ["@monthly", "@Monthly", "2026-02-01 00:00:00", "2026-03-01 00:00:00", "2026-04-01 00:00:00"],
  ["@weekly", " @weekly ", "2026-02-01 00:00:00", "2026-02-08 00:00:00", "2026-02-15 00:00:00"],
  ["@daily", "@daily", "2026-02-01 00:00:00", "2026-02-02 00:00:00", "2026-02-03 00:00:00"],
  ["@midnight", "@midnight", "2026-02-01 00:00:00", "2026-02-02 00:00:00", "2026-02-03 00:00:00"],
  ["@hourly", "@hourly", "2026-01-31 13:00:00", "2026-01-31 14:00:00", "2026-01-31 15:00:00"],
  ["@every", "@every 1h30m", "2026-01-31 13:30:00", "2026-01-31 15:00:00", "2026-01-31 16:30:00"],
  [
    "@every with all units",
    "@every  1d1h1m1s",
    "2026-02-01 13:01:01",
    "2026-02-02 14:02:02",
    "2026-02-03 15:03:03",
  ],
];

test("each form of the grammar means what it says", async ({ db }) => {
  for (const [meaning, expression, ...expected] of meanings)
    expect(await runs(db, expression, after), `${meaning}: ${expression}`).toEqual(expected);
});

describe("the next run", () => {
  test("lies after the instant, not at it", async ({ db }) => {
    expect(await next(db, "0 12 * * *", "2026-01-31 11:59:59.999999 UTC")).toBe("2026-01-31 12:00:00");
    expect(await next(db, "0 12 * * *", "2026-01-31 12:00:00 UTC")).toBe("2026-02-01 12:00:00");
    expect(await next(db, "* * * * * *", "2026-01-31 12:00:00.5 UTC")).toBe("2026-01-31 12:00:01");
  });

  test("is a time on the zone's clock", async ({ db }) => {
    expect(await next(db, "0 9 * * *", after, "Asia/Kathmandu")).toBe("2026-02-01 03:15:00");
    expect(await next(db, "0 9 * * *", after, "America/Los_Angeles")).toBe("2026-01-31 17:00:00");
    expect(await next(db, "0 9 * * *", after, "Etc/GMT+5")).toBe("2026-01-31 14:00:00");
  });

  test("is found across a century year that is not a leap year", async ({ db }) => {
    expect(await runs(db, "0 0 29 2 *", "2095-01-01 UTC")).toEqual([
      "2096-02-29 00:00:00",
      "2104-02-29 00:00:00",
      "2108-02-29 00:00:00",
    ]);
  });

  test("is after now and in UTC by default", async ({ db }) => {
    await db.travel("1000 days");
    const [row] = await db.query<{ next: Date; expected: Date }>(
      `select jobforge_cron_next('0 0 * * *') as next,
         (date_trunc('day', jobforge.now() at time zone 'UTC') + interval '1 day') at time zone 'UTC' as expected`,
    );
    expect(row?.next).toEqual(row?.expected);
    const five = await db.query<{ at: Date }>("select jobforge_cron_runs('0 0 * * *') as at");
    expect(five.map(({ at }) => at.getTime() - (row?.next.getTime() ?? 0))).toEqual(
      [0, 1, 2, 3, 4].map((days) => days * 86_400_000),
    );
  });

  test("of @every keeps the fraction of a second", async ({ db }) => {
    expect(
      await db.value("select jobforge_cron_next('@every 1s', 'UTC', $1) = $2::timestamptz", [
        "2026-01-31 12:00:00.123456 UTC",
        "2026-01-31 12:00:01.123456 UTC",
      ]),
    ).toBe(true);
  });

  test("does not depend on the session's settings, and leaves them as they were", async ({ db }) => {
    const session = await db.connect();
    const asked = ["30 2 * * *", "2025-03-29 12:00 UTC", "Europe/Berlin"] as const;
    const expected = await next(db, ...asked);
    for (const zone of ["America/New_York", "Pacific/Apia", "Asia/Kathmandu"]) {
      await session.query(`set timezone = '${zone}'`);
      await session.query(
        "set datestyle = 'German'; set intervalstyle = 'sql_standard'; set search_path = ''",
      );
      const [row] = await session.query(
        `select to_char(r at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') as at, current_setting('timezone') as zone
         from public.jobforge_cron_next($1, $3, $2) r`,
        [...asked],
      );
      expect(row).toEqual({ at: expected, zone });
      expect(await codeOf(session.query("select public.jobforge_cron_next('* * * * *', 'No/Where')"))).toBe(
        "JF009",
      );
      expect(await session.value("show timezone")).toBe(zone);
    }
  });

  test("is found in a transaction that may not write", async ({ db }) => {
    await db.query("begin read only");
    expect(await next(db, "@daily", after, "Europe/Berlin")).toBe("2026-01-31 23:00:00");
  });
});

describe("the next runs", () => {
  test("are as many as requested, in order", async ({ db }) => {
    for (const count of [1, 1000]) {
      const found = await runs(db, "*/7 9-17 * * mon-fri", after, { zone: "America/New_York", count });
      expect(new Set(found).size).toBe(count);
      expect(found).toEqual([...found].sort());
    }
  });

  test("follow from one another", async ({ db }) => {
    const zone = "Australia/Lord_Howe";
    const found = await runs(db, "*/20 0-3 * * *", "2025-10-04 00:00 UTC", { zone, count: 30 });
    for (const [n, run] of found.slice(1).entries())
      expect(await next(db, "*/20 0-3 * * *", `${found[n]} UTC`, zone)).toBe(run);
  });
});

test("every client role may call it, and no other role", async ({ db }) => {
  const ask = "select jobforge_cron_next('@daily'), jobforge_cron_runs('@daily', p_count => 1)";
  for (const role of clientRoles) {
    const session = await db.connect((await db.createLogin(role)).url);
    expect(await codeOf(session.query(ask)), role).toBe("ok");
  }
  const stranger = await db.connect((await db.createLogin()).url);
  expect(await codeOf(stranger.query(ask))).toBe("42501");
});
