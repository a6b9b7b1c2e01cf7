/** What happens to runs that wait to begin, and to times that callers name while a run waits or is running. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, type Sql, T } from "../support/kernel.ts";
import { claimRun, ensure, inTime, type Run, runsOf, schedule, steer, update } from "../support/schedules.ts";
import { settle } from "../support/settle.ts";

/** Makes a run of the schedule wait: the claim fires both schedules and takes the first one. */
async function makeRunWait(
  db: Sql,
  options: object = { dynamic: true, payload: { force: false } },
): Promise<void> {
  await ensure(db, options);
  await ensure(db, { dynamic: true, priority: 1 }, { key: "first" });
  const [first] = await claim(db, "w1", { limit: 1 });
  await complete(db, first?.id ?? null, { next_run_at: await inTime(db, "1 day") });
  expect(await schedule(db)).toMatchObject({ live_runs: 1, running_since: null });
}

describe("a run that waits to begin", () => {
  test("gets the changed payload, so that a requested run is not lost", async ({ db }) => {
    await makeRunWait(db);
    await update(db, {
      payload: { force: true, text: "x".repeat(20_000) },
      priority: 7,
      tags: ["t"],
      subject: "s",
    });
    await steer(db, "run");
    const run = await claimRun(db);
    expect(run).toMatchObject({ payload: { force: true }, priority: 7, tags: ["t"], subject: "s" });
    await complete(db, run.id, { next_run_at: await inTime(db, "1 hour") });
    expect(await claim(db)).toEqual([]);
  });

  test("gets what a new declaration says", async ({ db }) => {
    await makeRunWait(db, {
      every: "1h",
      payload: { force: false },
      max_attempts: 2,
      concurrency_key: "old",
    });
    await ensure(db, { every: "1h", payload: { force: true } });
    expect(await claimRun(db)).toMatchObject({
      payload: { force: true },
      concurrency_key: null,
      max_attempts: 5,
    });
  });

  test("keeps its payload if it has begun before", async ({ db }) => {
    await makeRunWait(db);
    const run = await claimRun(db);
    await settle(db, [{ id: run.id, attempt: 1, status: "deferred", run_at: await inTime(db, "-1 second") }]);
    await update(db, { payload: { force: true } });
    expect(await claimRun(db)).toMatchObject({ id: run.id, payload: { force: false } });
  });

  test("of a dynamic schedule moves with next_run_at", async ({ db }) => {
    await makeRunWait(db);
    const later = await inTime(db, "4 hours");
    expect(await update(db, { next_run_at: later })).toMatchObject({ live_runs: 0 });
    expect(await schedule(db)).toMatchObject({ next_run_at: later });
    expect(await claim(db)).toEqual([]);
    await db.travel("241 minutes");
    expect((await claimRun(db)).scheduled_for).toEqual(later);
  });

  test("of a dynamic schedule is taken back if the next run is removed", async ({ db }) => {
    await makeRunWait(db);
    expect(await update(db, { next_run_at: null })).toMatchObject({ live_runs: 0, next_run_at: null });
    expect(await claim(db)).toEqual([]);
  });

  test("stays if it was requested, or if the schedule has a rhythm of its own", async ({ db }) => {
    await makeRunWait(db, { every: "1h" });
    expect(await update(db, { next_run_at: await inTime(db, "4 hours") })).toMatchObject({ live_runs: 1 });
    await claimRun(db);
    await ensure(db, { dynamic: true, next_run_at: await inTime(db, "1 hour") }, { key: "asked" });
    await steer(db, "run", { key: "asked" });
    await ensure(db, { dynamic: true, priority: 1, reset: true }, { key: "first" });
    expect(await claim(db, "w1", { limit: 1 })).toMatchObject([{ priority: 1 }]);
    const later = await inTime(db, "4 hours");
    expect(await update(db, { next_run_at: later }, { key: "asked" })).toMatchObject({ live_runs: 1 });
    await claimRun(db);
  });
});

describe("a time that a caller names during a run", () => {
  test.for([true, false])(
    "and that comes before its end makes another run, whether a worker looked for jobs (%s)",
    async (looks, { db }) => {
      await ensure(db);
      const run = await claimRun(db);
      await update(db, { next_run_at: await inTime(db, "0") });
      if (looks) expect(await claim(db, "other")).toEqual([]);
      const next = await inTime(db, "1 hour");
      await complete(db, run.id, { next_run_at: next });
      expect(await schedule(db)).toMatchObject({ run_requested: true, next_run_at: next });
      const asked = await claimRun(db);
      await complete(db, asked.id);
      expect(await schedule(db)).toMatchObject({ run_requested: false, next_run_at: next });
      expect(await claim(db)).toEqual([]);
    },
  );

  test("is seen while an application holds the schedule", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await update(db, { next_run_at: await inTime(db, "0") });
    const application = await db.connect();
    await application.query("begin");
    await steer(application, "lock");
    await complete(db, run.id, { next_run_at: await inTime(db, "1 hour") });
    expect(await schedule(db)).toMatchObject({ run_requested: true });
    await application.query("commit");
    await claimRun(db);
  });

  test("makes no other run if the schedule was disabled, or if the time has not come", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await update(db, { next_run_at: await inTime(db, "0"), enabled: false });
    const next = await inTime(db, "1 hour");
    await complete(db, run.id, { next_run_at: next });
    expect(await schedule(db)).toMatchObject({ run_requested: false, next_run_at: next });
    await ensure(db, { dynamic: true }, { key: "other" });
    const other = await claimRun(db);
    await update(db, { next_run_at: await inTime(db, "30 minutes") }, { key: "other" });
    await complete(db, other.id, { next_run_at: next });
    expect(await schedule(db, { key: "other" })).toMatchObject({ run_requested: false, next_run_at: next });
  });
});

describe("a run that is handed back unstarted", () => {
  test.for([{ dynamic: true }, { every: "1h" }])(
    "does not run if its schedule was disabled meanwhile: %o",
    async (kind, { db }) => {
      await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 5}')", [T]);
      await ensure(db, { ...kind, next_run_at: await inTime(db, "-1 minute") });
      const run = await claimRun(db);
      await steer(db, "disable");
      await settle(db, [{ id: run.id, attempt: 1, status: "released" }]);
      expect(await schedule(db)).toMatchObject({ live_runs: 0, next_run_at: run.scheduled_for });
      expect(await claim(db, "w2")).toEqual([]);
      expect(await runsOf(db)).toEqual([]);
      expect(await db.value("select coalesce(sum(delta), 0)::int from jobforge.pending_deltas")).toBe(0);
      await steer(db, "enable");
      expect((await claimRun(db)).scheduled_for).toEqual(run.scheduled_for);
    },
  );

  test("runs again if its schedule is enabled, or if it was requested while the schedule was disabled", async ({
    db,
  }) => {
    await ensure(db, { dynamic: true });
    const run = await claimRun(db);
    await settle(db, [{ id: run.id, attempt: 1, status: "released" }]);
    expect(await claimRun(db)).toMatchObject({ id: run.id });
    await ensure(db, { dynamic: true, enabled: false }, { key: "off" });
    await steer(db, "run", { key: "off" });
    const asked = await claimRun(db);
    await settle(db, [{ id: asked.id, attempt: 1, status: "released" }]);
    expect(await claimRun(db)).toMatchObject({ id: asked.id });
  });
});

describe("the audit log", () => {
  test("does not record that only next_run_at was set", async ({ db }) => {
    await ensure(db);
    await update(db, { next_run_at: await inTime(db, "1 hour") });
    await ensure(db, { dynamic: true, next_run_at: await inTime(db, "2 hours") });
    await update(db, { next_run_at: await inTime(db, "1 hour"), priority: 3 });
    expect(
      await db.query("select action, meta -> 'keys' as keys from jobforge_audit_log order by id"),
    ).toEqual([
      { action: "SCHEDULE_CREATED", keys: null },
      { action: "SCHEDULE_UPDATED", keys: ["priority", "next_run_at"] },
    ]);
  });
});

describe("more than a hundred due schedules", () => {
  test("fire the oldest first, also when their times had passed when they were written", async ({ db }) => {
    await db.query(
      `select count(jobforge_ensure_schedule($1, 'fetch', n::text,
         jsonb_build_object('dynamic', true, 'next_run_at', jobforge.now() - interval '1 minute')))
       from generate_series(1, 120) n`,
      [T],
    );
    await ensure(db, { dynamic: true, next_run_at: await inTime(db, "-1 hour") }, { key: "oldest" });
    await ensure(
      db,
      { every: "1d", enabled: false, next_run_at: await inTime(db, "-2 hours") },
      { key: "off" },
    );
    await steer(db, "enable", { key: "off" });
    const oldest = await schedule(db, { key: "oldest" });
    const off = await schedule(db, { key: "off" });
    const claimed = [...(await claim(db, "w1", { limit: 1 })), ...(await claim(db, "w1", { limit: 1 }))];
    expect(claimed.map((job) => (job as Run).schedule_id)).toEqual([off.id, oldest.id]);
  });
});
