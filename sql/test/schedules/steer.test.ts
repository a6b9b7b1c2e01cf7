/** Enabling, disabling, running, changing and deleting schedules, also during runs and concurrently. */
import type { TestConnection } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, connections, fail, find, T } from "../support/kernel.ts";
import { claimRun, ensure, inTime, runsOf, schedule, steer, update } from "../support/schedules.ts";

describe("a disabled schedule", () => {
  test("keeps and returns its next run, and runs then if it is enabled again", async ({ db }) => {
    const next = await inTime(db, "2 hours");
    await ensure(db, { dynamic: true, next_run_at: next });
    const { next_run_at, enabled } = await steer(db, "disable");
    expect({ next_run_at: new Date(next_run_at ?? 0), enabled }).toEqual({
      next_run_at: next,
      enabled: false,
    });
    await steer(db, "enable");
    expect(await schedule(db)).toMatchObject({ next_run_at: next, enabled: true });
    expect(await claim(db)).toEqual([]);
    await db.travel("121 minutes");
    expect((await claimRun(db)).scheduled_for).toEqual(next);
  });

  test.for(["once", "skip", "all"])(
    "runs once, when it is enabled, if its time has passed, with missed: %s",
    async (missed, { db }) => {
      const next = await inTime(db, "1 hour");
      await ensure(db, { every: "1h", next_run_at: next, missed });
      await steer(db, "disable");
      await db.travel("2 days");
      expect(await claim(db)).toEqual([]);
      await steer(db, "enable");
      const run = await claimRun(db);
      expect(await claim(db, "w2")).toEqual([]);
      await complete(db, run.id);
      expect(await claim(db)).toEqual([]);
    },
  );

  test("lets a started run end as usual, and does not run when it is due", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await steer(db, "disable");
    const next = await inTime(db, "1 hour");
    expect(await complete(db, run.id, { next_run_at: next })).toMatchObject({ status: "succeeded" });
    expect(await schedule(db)).toMatchObject({ enabled: false, next_run_at: next, last_status: "succeeded" });
    await db.travel("2 hours");
    expect(await claim(db)).toEqual([]);
    await steer(db, "enable");
    await claimRun(db);
  });

  test("removes a waiting run from the queue, and restores its due time", async ({ db }) => {
    const next = await inTime(db, "-1 minute");
    await ensure(db, { dynamic: true, next_run_at: next, payload: { text: "x".repeat(20_000) } });
    await ensure(db, { dynamic: true, priority: 1 }, { key: "first" });
    // The claim takes one job, so the other run is created and waits.
    expect(await claim(db, "w1", { limit: 1 })).toMatchObject([{ priority: 1 }]);
    expect(await schedule(db)).toMatchObject({ live_runs: 1, next_run_at: null });
    await steer(db, "disable");
    expect(await schedule(db)).toMatchObject({ live_runs: 0, next_run_at: next });
    expect(await claim(db)).toEqual([]);
    expect(await runsOf(db)).toEqual([]);
    await steer(db, "enable");
    expect((await claimRun(db)).scheduled_for).toEqual(next);
  });

  test("runs at the time set by the call that disabled it, not at the due time of the removed run", async ({
    db,
  }) => {
    const named = await inTime(db, "3 hours");
    for (const changes of [{ next_run_at: named }, { every: "1h", anchor: named }]) {
      await ensure(db, { dynamic: true, next_run_at: await inTime(db, "-1 minute"), enabled: true });
      await ensure(db, { dynamic: true, priority: 1, reset: true }, { key: "first" });
      const [first] = await claim(db, "w1", { limit: 1 });
      expect(await update(db, { enabled: false, ...changes })).toMatchObject({ live_runs: 0 });
      expect(Number((await schedule(db)).next_run_at)).toBeGreaterThan(Number(await inTime(db, "0")));
      await complete(db, first?.id ?? null);
    }
  });

  test("does not remove a run that was deferred after it had started", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await db.query("select jobforge_defer_job($1, 'w1', $2)", [run.id, await inTime(db, "1 minute")]);
    await steer(db, "disable");
    await db.travel("2 minutes");
    expect((await claimRun(db)).id).toBe(run.id);
  });
});

describe("a requested run", () => {
  test("starts at once, and the next run comes at its time", async ({ db }) => {
    const { next_run_at } = await ensure(db, { cron: "0 0 1 1 *" });
    await steer(db, "run");
    await complete(db, (await claimRun(db)).id);
    expect((await schedule(db)).next_run_at).toEqual(new Date(next_run_at ?? 0));
    expect(await claim(db)).toEqual([]);
  });

  test("during a run is stored once, and starts right after that run", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    for (let n = 0; n < 3; n += 1) expect(await steer(db, "run")).toMatchObject({ run_requested: true });
    expect(await claim(db)).toEqual([]);
    const next = await inTime(db, "1 hour");
    await complete(db, run.id, { next_run_at: next });
    const second = await claimRun(db);
    expect(second.id).not.toBe(run.id);
    expect(await schedule(db)).toMatchObject({ run_requested: false, next_run_at: next });
    await complete(db, second.id);
    expect(await claim(db)).toEqual([]);
    expect(await schedule(db)).toMatchObject({ next_run_at: next });
  });

  test("is the waiting run, if there is one", async ({ db }) => {
    await ensure(db);
    await ensure(db, { dynamic: true, priority: 1 }, { key: "first" });
    await claim(db, "w1", { limit: 1 });
    await steer(db, "run");
    const run = await claimRun(db);
    await complete(db, run.id);
    expect(await claim(db)).toEqual([]);
  });

  test("also starts for a disabled schedule, which stays disabled", async ({ db }) => {
    await ensure(db, { every: "1h", enabled: false });
    await steer(db, "run");
    await complete(db, (await claimRun(db)).id);
    expect(await schedule(db)).toMatchObject({ enabled: false, last_status: "succeeded" });
    expect(await claim(db)).toEqual([]);
  });

  test("is dropped if the schedule is disabled before it starts, and the next run stays", async ({ db }) => {
    const { next_run_at } = await ensure(db, { cron: "0 0 1 1 *" });
    await steer(db, "run");
    await ensure(db, { dynamic: true, priority: 1 }, { key: "first" });
    expect(await claim(db, "w1", { limit: 1 })).toMatchObject([{ priority: 1 }]);
    expect(await steer(db, "disable")).toMatchObject({ live_runs: 0, next_run_at });
    await steer(db, "enable");
    expect(await claim(db)).toEqual([]);
  });

  test("is dropped if the schedule is disabled during a run", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await steer(db, "run");
    await steer(db, "disable");
    await complete(db, run.id);
    expect(await claim(db)).toEqual([]);
  });
});

describe("a changed schedule", () => {
  test("changes only in the given options", async ({ db }) => {
    await ensure(db, { every: "1h", priority: 3, tags: ["x"], payload: { a: 1 } });
    const before = await schedule(db);
    expect(await update(db, { payload: { a: 2 } })).toMatchObject({ payload: { a: 2 }, priority: 3 });
    expect(await schedule(db)).toMatchObject({ next_run_at: before.next_run_at, kind: "every" });
    await update(db, { cron: "@hourly" });
    expect(await schedule(db)).toMatchObject({ kind: "cron", every: null, priority: 3 });
  });

  test("keeps its time zone with a new expression, until another is given", async ({ db }) => {
    await ensure(db, { cron: "0 9 * * *", timezone: "Asia/Tokyo" });
    expect(await update(db, { cron: "0 10 * * *" })).toMatchObject({ timezone: "Asia/Tokyo" });
    expect((await schedule(db)).next_run_at?.getUTCHours()).toBe(1);
    expect(await update(db, { timezone: null })).toMatchObject({ timezone: "UTC" });
    expect((await schedule(db)).next_run_at?.getUTCHours()).toBe(10);
  });

  test("runs at the time that overrides its rhythm, and then continues in its rhythm", async ({ db }) => {
    await ensure(db, { cron: "0 0 * * *" });
    const regular = (await schedule(db)).next_run_at;
    const now = await inTime(db, "0");
    await update(db, { next_run_at: now });
    const run = await claimRun(db);
    expect(run.scheduled_for).toEqual(now);
    expect((await schedule(db)).next_run_at).toEqual(regular);
    await complete(db, run.id);
  });

  test("runs right after the current run if the given time came during it", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await update(db, { next_run_at: await inTime(db, "-1 second") });
    expect(await claim(db)).toEqual([]);
    await complete(db, run.id, { next_run_at: await inTime(db, "1 hour") });
    await claimRun(db);
  });

  test("keeps a time that was set during its run, if its handler sets none", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    const next = await inTime(db, "5 hours");
    await update(db, { next_run_at: next });
    await fail(db, run.id);
    expect(await schedule(db)).toMatchObject({ next_run_at: next, consecutive_failures: 1 });
  });

  test("no longer runs without a next time", async ({ db }) => {
    await ensure(db, { every: "1h" });
    await update(db, { next_run_at: null });
    await db.travel("1 day");
    expect(await claim(db)).toEqual([]);
  });
});

describe("a deleted schedule", () => {
  test("does not affect a live run, which ends as usual", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    expect(await steer(db, "delete")).toMatchObject({ deleted: true, key: "feed" });
    expect(await complete(db, run.id, { next_run_at: new Date() })).toMatchObject({ status: "succeeded" });
    expect(await find(db, run.id)).toMatchObject({ status: "succeeded" });
    expect(await db.query("select * from jobforge_schedules")).toEqual([]);
    expect(await claim(db)).toEqual([]);
  });

  test("has no retries: a live run that fails is not retried", async ({ db }) => {
    await ensure(db, { dynamic: true, retry_runs: true });
    const run = await claimRun(db);
    await steer(db, "delete");
    expect(await fail(db, run.id)).toMatchObject({ status: "failed" });
    expect(await db.value("select count(*)::int from jobforge.schedule_ends")).toBe(0);
  });

  test("removes a waiting run from the queue", async ({ db }) => {
    await ensure(db);
    await ensure(db, { dynamic: true, priority: 1 }, { key: "first" });
    await claim(db, "w1", { limit: 1 });
    await steer(db, "delete");
    expect(await claim(db)).toEqual([]);
  });

  test("may be created again, and starts from the beginning", async ({ db }) => {
    const { id } = await ensure(db);
    await fail(db, (await claimRun(db)).id);
    await steer(db, "delete");
    expect(await ensure(db)).toMatchObject({ outcome: "created", consecutive_failures: 0 });
    expect((await schedule(db)).id).not.toBe(id);
  });
});

/** Changes the subscriptions of a feed reader, and enables its schedule exactly if it has subscriptions. */
async function reader(db: TestConnection, change: string): Promise<void> {
  await db.query("begin");
  await db.query(change);
  await steer(db, "lock");
  await db.query(
    "select jobforge_set_schedule_enabled($1, 'fetch', 'feed', exists (select from public.subscriptions))",
    [T],
  );
  await db.query("commit");
}

test("concurrent unsubscribes and subscribes leave the schedule enabled exactly if a subscription is left", async ({
  db,
}) => {
  await db.query("create table public.subscriptions (reader int primary key)");
  const readers = await connections(db, 3);
  for (let round = 0; round < 25; round += 1) {
    await db.query("truncate public.subscriptions");
    await db.query("insert into public.subscriptions values (1), (2)");
    await ensure(db, { dynamic: true, enabled: true });
    // Every third round a subscription is added while the others are removed.
    const changes = [
      "delete from public.subscriptions where reader = 1",
      "delete from public.subscriptions where reader = 2",
      round % 3 === 0 ? "insert into public.subscriptions values (3)" : "select 1",
    ];
    await Promise.all(readers.map((connection, n) => reader(connection, changes[n] ?? "")));
    expect((await schedule(db)).enabled, `round ${round}`).toBe(round % 3 === 0);
  }
});
