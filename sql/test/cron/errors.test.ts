/** Invalid schedules are refused at once, with what is wrong and what to write instead. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { next, runs } from "../support/cron.ts";
import { codeOf, expectError, impatient } from "../support/kernel.ts";

const after = "2026-01-31 12:00 UTC";

/** Expression, and the text that its message or hint must contain. */
const wrong: readonly (readonly [expression: string | null, says: string])[] = [
  [null, "the expression is empty"],
  ["", "the expression is empty"],
  [" \t\n ", "the expression is empty"],
  ["* * * *", "Write minute, hour, day of month, month and day of week"],
  ["* * * * * * *", "Write minute, hour, day of month, month and day of week"],
  ["never", '"never" is not a cron expression'],
  ["@reboot", '"@reboot" is not a cron expression'],
  ["2026-01-31T12:00:00", "is not a cron expression"],
  ["60 * * * *", "minute 60 is out of range"],
  ["* 24 * * *", "hour 24 is out of range"],
  ["* * 0 * *", "day of month 0 is out of range"],
  ["* * 32 * *", "day of month 32 is out of range"],
  ["* * * 0 *", "month 0 is out of range"],
  ["* * * 13 *", "month 13 is out of range"],
  ["* * * * 8", "day of week 8 is out of range"],
  ["60 * * * * *", "second 60 is out of range"],
  ["1-999999999 * * * *", "minute 999999999 is out of range"],
  ["99999999999999999999 * * * *", "is not understood"],
  ["50-10 * * * *", "Write it as two ranges: 50-59,0-10"],
  ["* * * * fri-mon", "Write it as two ranges: 5-6,0-1"],
  ["*/0 * * * *", "Use a step from 1 to 60"],
  ["*/61 * * * *", "Use a step from 1 to 60"],
  ["* * * */13 *", "Use a step from 1 to 12"],
  ["* * * * */8", "Use a step from 1 to 7"],
  ["*/ * * * *", "Use a step from 1 to 60"],
  ["*/5/5 * * * *", "Use a step from 1 to 60"],
  ["/5 * * * *", 'minute "" is not understood'],
  ["-5 * * * *", 'minute "" is not understood'],
  ["5- * * * *", 'minute "" is not understood'],
  ["1-2-3 * * * *", 'minute "2-3" is not understood'],
  ["*-5 * * * *", 'minute "*" is not understood'],
  ["1.5 * * * *", 'minute "1.5" is not understood'],
  ["0x10 * * * *", 'minute "0x10" is not understood'],
  ["１ * * * *", 'minute "１" is not understood'],
  ["1,,2 * * * *", 'minute "" is not understood'],
  ["1, * * * *", 'minute "" is not understood'],
  ["fri * * * *", 'minute "fri" is not understood'],
  ["* * * janu *", "or a name (jan, feb"],
  ["* * * jan-sun *", 'month "sun" is not understood'],
  ["* * * * monday", "or a name (sun, mon"],
  ["? * * * *", 'minute "?" is not understood'],
  ["* * * ? *", 'month "?" is not understood'],
  ["* * L, * *", 'day of month "" is not understood'],
  ["* * L-3 * *", 'day of month "l" is not understood'],
  ["* * 15W * *", "W is not supported"],
  ["* * LW * *", "W is not supported"],
  ["* * * * L", "5L is the last Friday"],
  ["* * * * *#2", "5L is the last Friday"],
  ["* * * * 5#", "After # comes a number from 1 to 5"],
  ["* * * * 5#0", "After # comes a number from 1 to 5"],
  ["* * * * 5#6", "After # comes a number from 1 to 5"],
  ["* * * * 5##2", "After # comes a number from 1 to 5"],
  ["* * * * 5LL", 'day of week "5l" is not understood'],
  ["* * * * 5L#2", 'day of week "5l" is not understood'],
  ["* * 5#2 * *", 'day of month "5#2" is not understood'],
  ["* * * * +1", 'day of week "+1" is not understood'],
  ["0 0 30 2 *", "none of its months has 30 days"],
  ["0 0 30,31 feb ?", "none of its months has 30 days"],
  ["0 * 31 2,4,6,9,11 *", "none of its months has 31 days"],
  ["@every", '"@every" is not a cron expression'],
  ["@every soon", "such as @every 5m"],
  ["@every 0s", "not a time from one second to 366 days"],
  ["@every 500ms", "whole numbers of d, h, m and s"],
  ["@every 1.5h", "whole numbers of d, h, m and s"],
  ["@every -5m", "whole numbers of d, h, m and s"],
  ["@every 5", "whole numbers of d, h, m and s"],
  ["@every 1m1h", "in this order"],
  ["@every 367d", "not a time from one second to 366 days"],
  ["@every 999999999d999999999h999999999m999999999s", "not a time from one second to 366 days"],
];

describe("an expression is refused", () => {
  test("when it is wrong or never runs, with a hint", async ({ db }) => {
    for (const [expression, says] of wrong) {
      const error = await expectError(next(db, expression, after), "JF009", "expression");
      expect(error.name).toBe("invalid_schedule");
      expect(error.message).toMatch(/^Invalid schedule: /);
      expect(error.hint).not.toBe("");
      expect(`${error.message} ${error.hint}`, `${expression}`).toContain(says);
      expect(await codeOf(runs(db, expression, after))).toBe("JF009");
    }
  });

  test("when it is longer than 200 characters, at once however long it is", async ({ db }) => {
    const session = await impatient(db);
    const list = (count: number): string => `${Array(count).fill("1").join(",")} * * * *`;
    expect(await next(session, list(96).padEnd(200), after)).toBe("2026-01-31 12:01:00");
    for (const expression of [list(97), list(500_000), "*".repeat(1_000_000), " ".repeat(201)]) {
      const error = await expectError(next(session, expression, after), "JF009", "expression");
      expect(error.message).toContain("more than 200 characters");
    }
  });

  test("at once, also when it is built to be slow", async ({ db }) => {
    const session = await impatient(db);
    const repeated = (piece: string): string => `${piece.repeat(190 / piece.length)} * * * *`;
    for (const piece of ["1-", "*/", "1,", "#", "L", "l,", "((", "\\", "1-59/1,", "%s", "-"])
      expect(await codeOf(next(session, repeated(piece), after)), piece).toBe("JF009");
    const dense =
      "0-59/1,0-59/1,0-59/1,0-59/1,0-59/1,0-59/1 0-23,0-23,0-23,0-23 1-31,L,L 1-12,1-12 0-7,0-7#5,0-7L";
    expect(await next(session, dense, after)).toBe("2026-01-31 12:01:00");
  });
});

const places = "Use the IANA name of a place";

/** Time zone, and the text that its hint must contain. */
const wrongZones: readonly (readonly [zone: string | null, says: string])[] = [
  [null, places],
  ["", places],
  ["Mars/Base", places],
  ["Europe", places],
  ["America/Argentina", places],
  ["europe/berlin", "Write Europe/Berlin."],
  ["EUROPE/BERLIN", "Write Europe/Berlin."],
  [" Europe/Berlin", places],
  ["+05:00", "Offsets and abbreviations do not follow summer time"],
  ["-3", places],
  ["5", places],
  ["UTC+2", places],
  ["GMT+5", places],
  ["Etc/GMT+15", places],
  ["<+05>-5", places],
  // Postgres accepts all of these and invents offsets for them.
  ["CET", places],
  ["EST", places],
  ["EST5EDT", places],
  ["FOO5", places],
  ["Foo5", places],
  ["Europe/Berln1", places],
  ["../../etc/passwd", places],
  ["Europe/Berlin'; select 1", places],
  ["x".repeat(1_000_000), places],
];

describe("a time zone is refused", () => {
  test("when it is not the name of a time zone, with a hint", async ({ db }) => {
    for (const [zone, says] of wrongZones) {
      const error = await expectError(next(db, "0 9 * * *", after, zone), "JF009", "timezone");
      expect(error.name).toBe("invalid_schedule");
      expect(error.hint, `${zone?.slice(0, 99)}`).toContain(says);
      expect(error.message.length).toBeLessThan(150);
    }
  });

  test("never when it is one of the server's zones that names a place", async ({ db }) => {
    const refused = await db.query<{ name: string }>(`
      select name
      from pg_timezone_names
      where name ~ '^[A-Z]\\w+/' and jobforge_cron_next('0 12 * * *', name, '2026-01-31 12:00 UTC') is null`);
    expect(refused).toEqual([]);
  });
});

test("an invalid count and an infinite time are refused", async ({ db }) => {
  for (const count of [null, 0, -1, 1001, 2_147_483_647])
    await expectError(runs(db, "@daily", after, { count }), "JF002", "count");
  for (const time of ["infinity", "-infinity", "0001-01-01 BC", "20000-01-01 UTC"])
    await expectError(next(db, "@daily", time), "JF002", "after");
});
