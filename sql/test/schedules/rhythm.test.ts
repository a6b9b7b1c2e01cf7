/** When schedules with a rhythm run: cron and intervals, missed and overlapping runs, and clocks that jump. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { travelTo } from "../support/archive.ts";
import { claim, complete, fail, setPolicy } from "../support/kernel.ts";
import { claimRun, ensure, type Run, schedule, update } from "../support/schedules.ts";

/** Gives runs a long lease, so that no run is lost when hours pass. */
async function setLongLease(db: TestDatabase): Promise<void> {
  await setPolicy(db, "fetch", { lease_ms: 86_400_000 });
}

/** Moves the clock to a time of 1 March 2027 in UTC, such as "10:30:00", or of another day if a date is given. */
async function at(db: TestDatabase, time: string): Promise<void> {
  await travelTo(db, "$1::timestamptz", [`${time.includes("T") ? time : `2027-03-01T${time}`}Z`]);
}

/** Claims every due run and returns their due times, in the same format. */
async function due(db: TestDatabase, worker = "w1"): Promise<string[]> {
  return ((await claim(db, worker, { limit: 1000 })) as Run[]).map(({ scheduled_for }) =>
    clock(scheduled_for),
  );
}

const clock = (time: Date | null): string =>
  time?.toISOString().replace("2027-03-01T", "").replace(".000Z", "") ?? "";

/** Claims and completes every due run, one after the other. Returns their due times. */
async function drain(db: TestDatabase): Promise<string[]> {
  const times: string[] = [];
  for (;;) {
    const [run] = (await claim(db, "w1", { limit: 1 })) as Run[];
    if (run === undefined) return times;
    times.push(clock(run.scheduled_for));
    await complete(db, run.id);
  }
}

describe("a cron schedule", () => {
  test("runs at the times of its expression, in its time zone", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 12 * * *", timezone: "Europe/Berlin" });
    expect(clock((await schedule(db)).next_run_at)).toBe("11:00:00");
    expect(await due(db)).toEqual([]);
    await at(db, "11:00:00");
    expect(await drain(db)).toEqual(["11:00:00"]);
    expect(clock((await schedule(db)).next_run_at)).toBe("2027-03-02T11:00:00");
    // Daylight saving time has begun.
    await at(db, "2027-03-28T09:59:00");
    await ensure(db, { cron: "0 12 * * *", timezone: "Europe/Berlin", reset: true });
    expect(clock((await schedule(db)).next_run_at)).toBe("2027-03-28T10:00:00");
  });

  test("keeps its rhythm when a run fails, and however long a run takes", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "*/10 * * * *" });
    await at(db, "10:40:01");
    const run = await claimRun(db);
    await at(db, "10:44:00");
    await fail(db, run.id);
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 1 });
    expect(clock((await schedule(db)).next_run_at)).toBe("10:50:00");
  });

  test("runs at a time that a handler sets, and then in its rhythm again", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 * * * *" });
    await at(db, "11:00:00");
    await fail(db, (await claimRun(db)).id, { retry_at: "2027-03-01T11:20:00Z" });
    await at(db, "11:20:00");
    expect(await drain(db)).toEqual(["11:20:00"]);
    await at(db, "12:00:00");
    expect(await drain(db)).toEqual(["12:00:00"]);
  });

  test("counts @every from its last due time", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "@every 7m" });
    await at(db, "10:40:00");
    expect(await drain(db)).toEqual([expect.stringMatching(/^10:37:00/)]);
    expect(clock((await schedule(db)).next_run_at)).toMatch(/^10:44:00/);
  });
});

describe("an interval", () => {
  test("runs at once, and then counts from its first run", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { every: "1h30m" });
    const first = await claimRun(db);
    const next = (await schedule(db)).next_run_at;
    expect(Number(next) - Number(first.scheduled_for)).toBe(90 * 60_000);
    await complete(db, first.id);
    await at(db, "12:00:01");
    expect((await claimRun(db)).scheduled_for).toEqual(next);
  });

  test("counts from its anchor, before and after it", async ({ db }) => {
    await at(db, "10:30:00");
    for (const anchor of ["2027-01-01T00:05:00Z", "2029-01-01T00:05:00Z"]) {
      await ensure(db, { every: "1h", anchor }, { key: anchor });
      expect(clock((await schedule(db, { key: anchor })).next_run_at)).toBe("11:05:00");
    }
    await at(db, "11:05:00");
    expect(await drain(db)).toEqual(["11:05:00", "11:05:00"]);
  });

  test("counts from the first run that is given", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { every: "15 minutes", next_run_at: "2027-03-01T10:37:00Z" });
    await at(db, "10:37:00");
    expect(await drain(db)).toEqual(["10:37:00"]);
    expect(clock((await schedule(db)).next_run_at)).toBe("10:52:00");
  });

  test("has the same length on a day when clocks change, whatever the session's time zone", async ({
    db,
  }) => {
    await db.query("set timezone = 'Europe/Berlin'");
    await at(db, "2027-03-27T12:00:00");
    await ensure(db, { every: "1 day", anchor: "2027-03-27T18:00:00Z" });
    await at(db, "2027-03-27T18:00:00");
    expect(await drain(db)).toEqual(["2027-03-27T18:00:00"]);
    expect(clock((await schedule(db)).next_run_at)).toBe("2027-03-28T18:00:00");
  });

  test("is spread by its jitter, and does not drift", async ({ db }) => {
    await at(db, "10:00:00");
    const anchor = "2027-03-01T00:00:00Z";
    for (let n = 0; n < 20; n += 1) await ensure(db, { every: "1h", anchor, jitter: "10m" }, { key: `${n}` });
    const minutes = async (): Promise<number[]> =>
      (await db.query<{ at: Date }>("select next_run_at as at from jobforge_schedules")).map(
        (row) => (Number(row.at) - Date.parse(anchor)) / 60_000,
      );
    const first = await minutes();
    expect(new Set(first).size).toBeGreaterThan(10);
    expect(first.every((minute) => minute >= 660 && minute <= 670)).toBe(true);
    await at(db, "11:10:01");
    expect(await due(db)).toHaveLength(20);
    expect((await minutes()).every((minute) => minute >= 720 && minute <= 730)).toBe(true);
  });
});

test("a run that is slightly late does not replace the next run, which jitter has delayed", async ({
  db,
}) => {
  await at(db, "10:00:00");
  await ensure(db, { every: "1h", anchor: "2027-03-01T00:00:00Z", jitter: "59m" });
  await update(db, { next_run_at: "2027-03-01T10:58:00Z" });
  await at(db, "11:00:00");
  expect(await due(db)).toEqual(["10:58:00"]);
  expect(Number((await schedule(db)).next_run_at)).toBeLessThan(Date.parse("2027-03-01T12:00:00Z"));
});

describe("missed due times", () => {
  test("run once by default, for the last of them", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 * * * *" });
    await at(db, "15:20:00");
    expect(await drain(db)).toEqual(["15:00:00"]);
    expect(clock((await schedule(db)).next_run_at)).toBe("16:00:00");
  });

  test("are skipped with missed: skip if they are older than a minute", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 * * * *", missed: "skip" });
    await at(db, "15:20:00");
    expect(await drain(db)).toEqual([]);
    expect(clock((await schedule(db)).next_run_at)).toBe("16:00:00");
    await at(db, "16:00:59");
    expect(await drain(db)).toEqual(["16:00:00"]);
    await at(db, "19:00:30");
    expect(await drain(db)).toEqual(["19:00:00"]);
  });

  test("all run with missed: all, one after the other, the oldest first", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 * * * *", missed: "all" });
    await at(db, "13:20:00");
    const run = await claimRun(db);
    expect(clock(run.scheduled_for)).toBe("11:00:00");
    expect(await due(db)).toEqual([]);
    await complete(db, run.id);
    expect(await drain(db)).toEqual(["12:00:00", "13:00:00"]);
    expect(clock((await schedule(db)).next_run_at)).toBe("14:00:00");
  });

  test.for([
    { cron: "0 * * * *", anchor: null },
    { every: "1h", anchor: "2027-03-01T00:00:00Z" },
  ])("all run up to a limit, which keeps the last of them: %j", async (rhythm, { db }) => {
    await at(db, "10:30:00");
    await ensure(db, { ...rhythm, missed: "all", missed_limit: 3 });
    await at(db, "20:20:00");
    expect(await drain(db)).toEqual(["18:00:00", "19:00:00", "20:00:00"]);
    expect(clock((await schedule(db)).next_run_at)).toBe("21:00:00");
  });

  test("all run at the same time if runs may overlap", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 * * * *", missed: "all", overlap: "allow" });
    await at(db, "13:20:00");
    expect(await due(db)).toEqual(["11:00:00", "12:00:00", "13:00:00"]);
    expect(await due(db)).toEqual([]);
  });

  test("are found quickly, even for an expression that ran every second for a year", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { cron: "* * * * * *" });
    await at(db, "2028-03-01T10:30:00");
    expect(await drain(db)).toHaveLength(1);
    expect(clock((await schedule(db)).next_run_at)).toMatch(/^2028-03-01T10:30:0/);
  });
});

describe("a due time during a live run", () => {
  /** Creates an hourly schedule whose run of 11:00 lasts until 13:30. */
  async function busy(db: TestDatabase, overlap: string): Promise<Run> {
    await setLongLease(db);
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 * * * *", overlap });
    await at(db, "11:00:00");
    const run = await claimRun(db);
    for (const time of ["12:00:01", "13:00:01"]) {
      await at(db, time);
      if (overlap !== "allow") expect(await due(db), time).toEqual([]);
    }
    await at(db, "13:30:00");
    return run;
  }

  test("is skipped by default", async ({ db }) => {
    const run = await busy(db, "skip");
    await complete(db, run.id);
    expect(await drain(db)).toEqual([]);
    expect(clock((await schedule(db)).next_run_at)).toBe("14:00:00");
  });

  test("waits for its end with overlap: queue, and of several due times one runs", async ({ db }) => {
    const run = await busy(db, "queue");
    expect(await due(db)).toEqual([]);
    await complete(db, run.id);
    expect(await drain(db)).toEqual(["13:00:00"]);
    expect(clock((await schedule(db)).next_run_at)).toBe("14:00:00");
  });

  test("runs at the same time with overlap: allow", async ({ db }) => {
    const run = await busy(db, "allow");
    expect(await due(db)).toEqual(["13:00:00"]);
    expect(await schedule(db)).toMatchObject({ live_runs: 2 });
    await complete(db, run.id);
    expect(await schedule(db)).toMatchObject({ live_runs: 1 });
  });
});

describe("a start and an end", () => {
  test("limit the due times, and are included", async ({ db }) => {
    await at(db, "10:30:00");
    const bounds = { starts_at: "2027-03-01T12:00:00Z", ends_at: "2027-03-01T14:00:00Z", missed: "all" };
    await ensure(db, { cron: "0 * * * *", ...bounds });
    expect(clock((await schedule(db)).next_run_at)).toBe("12:00:00");
    await at(db, "23:00:00");
    expect(await drain(db)).toEqual(["12:00:00", "13:00:00", "14:00:00"]);
    expect(await schedule(db)).toMatchObject({ next_run_at: null, enabled: true });
  });

  test("make an interval count from the start", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { every: "40m", starts_at: "2027-03-01T12:00:00Z", ends_at: "2027-03-01T13:00:00Z" });
    await at(db, "12:00:00");
    expect(await drain(db)).toEqual(["12:00:00"]);
    await at(db, "12:41:00");
    expect(await drain(db)).toEqual(["12:40:00"]);
    expect((await schedule(db)).next_run_at).toBeNull();
  });

  test("also limit a time that a handler sets", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { dynamic: true, ends_at: "2027-03-01T12:00:00Z" });
    await complete(db, (await claimRun(db)).id, { next_run_at: "2027-03-01T12:00:01Z" });
    expect((await schedule(db)).next_run_at).toBeNull();
  });
});

describe("a clock that jumps", () => {
  test("back fires nothing a second time, and the rhythm continues", async ({ db }) => {
    await setLongLease(db);
    await at(db, "10:30:00");
    await ensure(db, { cron: "0 * * * *", overlap: "allow" });
    await at(db, "11:00:00");
    expect(await due(db)).toEqual(["11:00:00"]);
    await at(db, "10:15:00");
    expect(await due(db)).toEqual([]);
    await at(db, "11:00:30");
    expect(await due(db)).toEqual([]);
    await at(db, "12:00:00");
    expect(await due(db)).toEqual(["12:00:00"]);
  });

  test("ahead fires once, and does not fire again when it jumps back", async ({ db }) => {
    await at(db, "10:30:00");
    await ensure(db, { every: "1h", anchor: "2027-03-01T00:00:00Z" });
    await at(db, "2027-03-03T00:00:00");
    expect(await drain(db)).toEqual(["2027-03-03T00:00:00"]);
    await at(db, "12:00:00");
    expect(await drain(db)).toEqual([]);
  });
});
