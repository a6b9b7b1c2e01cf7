/** Dynamic schedules, whose handler sets the next run: one row per task, as a feed reader uses them. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  auditOf,
  claim,
  complete,
  expectError,
  fail,
  find,
  setPolicy,
  unknownId,
} from "../support/kernel.ts";
import { claimRun, ensure, inTime, runsOf, schedule, steer, update } from "../support/schedules.ts";
import { settle, success } from "../support/settle.ts";

describe("a dynamic schedule", () => {
  test("runs at once, and then exactly at the time that its handler sets", async ({ db }) => {
    expect(await ensure(db)).toMatchObject({ outcome: "created", kind: "dynamic", enabled: true });
    const run = await claimRun(db);
    expect(await schedule(db)).toMatchObject({ live_runs: 1, next_run_at: null });
    const next = await inTime(db, "1 hour");
    await complete(db, run.id, { next_run_at: next });
    expect(await schedule(db)).toMatchObject({ live_runs: 0, next_run_at: next, last_status: "succeeded" });
    expect(await claim(db)).toEqual([]);
    await db.travel("61 minutes");
    expect((await claimRun(db)).scheduled_for).toEqual(next);
    expect(await claim(db)).toEqual([]);
  });

  test("shows since when it is running, during a run", async ({ db }) => {
    await ensure(db);
    expect(await schedule(db)).toMatchObject({ running_since: null, last_run_at: null });
    const run = await claimRun(db);
    expect(await schedule(db)).toMatchObject({ running_since: run.locked_at, last_run_at: null });
    await complete(db, run.id);
    const after = await schedule(db);
    expect(after.running_since).toBeNull();
    expect(after.last_run_at).toEqual((await find(db, run.id)).finished_at);
  });

  test("counts failures until a success resets them", async ({ db }) => {
    await ensure(db);
    for (const [n, message] of ["Error 1", "Error 2"].entries()) {
      const run = await claimRun(db);
      expect(await fail(db, run.id, { error: { message } })).toMatchObject({ status: "failed" });
      const after = await schedule(db);
      expect(after).toMatchObject({
        consecutive_failures: n + 1,
        last_error: message,
        last_status: "failed",
      });
      expect(after.last_run_at).not.toBeNull();
      await steer(db, "run");
    }
    const run = await claimRun(db);
    const next = await inTime(db, "1 hour");
    await complete(db, run.id, { next_run_at: next });
    expect(await schedule(db)).toMatchObject({
      consecutive_failures: 0,
      last_error: null,
      next_run_at: next,
    });
  });

  test("waits longer after each consecutive failure, by the policy of its type", async ({ db }) => {
    await setPolicy(db, "fetch", { base_ms: 10_000, cap_ms: 60_000 });
    await ensure(db);
    const gaps: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      await fail(db, (await claimRun(db)).id);
      const { next_run_at, last_run_at } = await schedule(db);
      gaps.push(Number(next_run_at) - Number(last_run_at));
      await update(db, { next_run_at: await inTime(db, "0") });
    }
    expect(gaps).toEqual([10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test("runs at the time that a failing handler sets, as retry_at or next_run_at", async ({ db }) => {
    await ensure(db);
    for (const name of ["retry_at", "next_run_at"]) {
      const next = await inTime(db, "3 hours");
      await fail(db, (await claimRun(db)).id, { [name]: next });
      expect(await schedule(db), name).toMatchObject({ next_run_at: next });
      await steer(db, "run");
    }
  });

  test("continues after 50 consecutive failures, without a dead job or a row in the audit log", async ({
    db,
  }) => {
    await setPolicy(db, "fetch", { base_ms: 0 });
    await ensure(db);
    for (let n = 0; n < 50; n += 1) {
      const run = await claimRun(db);
      await fail(db, run.id);
      if (n % 10 === 0) {
        expect(await find(db, run.id)).toMatchObject({ status: "failed", reason: "failed", attempts: 1 });
        expect(await auditOf(db, run.id)).toEqual([]);
      }
    }
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 50, enabled: true });
    expect(await db.value("select count(*)::int from jobforge_jobs where status = 'dead'")).toBe(0);
    await claimRun(db);
  });

  test("marks a run that its handler refuses to retry as refused, and continues", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await fail(db, run.id, { retry: false });
    expect(await find(db, run.id)).toMatchObject({ status: "failed", reason: "refused" });
    expect(await auditOf(db, run.id)).toEqual([]);
    expect((await schedule(db)).next_run_at).not.toBeNull();
  });

  test("stops when a success sets no time, until a call sets one", async ({ db }) => {
    await ensure(db);
    await complete(db, (await claimRun(db)).id);
    expect(await schedule(db)).toMatchObject({ next_run_at: null, enabled: true });
    await db.travel("10 years");
    expect(await claim(db)).toEqual([]);
    expect(await ensure(db)).toMatchObject({ outcome: "existing", next_run_at: null });
    await update(db, { next_run_at: await inTime(db, "-1 minute") });
    await claimRun(db);
  });

  test("does not run while it has no next time, or is disabled", async ({ db }) => {
    await ensure(db, { dynamic: true, next_run_at: null });
    expect(await claim(db)).toEqual([]);
    await ensure(db, { dynamic: true, enabled: false }, { key: "off" });
    expect(await claim(db)).toEqual([]);
    await steer(db, "enable", { key: "off" });
    await claimRun(db);
  });

  test("has one row after 1000 runs, and a job for each run", async ({ db }) => {
    await ensure(db);
    let { jobs } = await settle(db, [], { claim: 1 });
    for (let n = 0; n < 1000; n += 1) {
      expect(jobs, `run ${n}`).toHaveLength(1);
      const ends = jobs.map(({ id }) => success(id, { next_run_at: "2020-01-01T00:00:00Z" }));
      ({ jobs } = await settle(db, ends, { claim: 1 }));
    }
    expect(await db.value("select count(*)::int from jobforge.schedules")).toBe(1);
    expect(await db.value("select count(*)::int from jobforge.schedule_ends")).toBe(0);
    expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(1001);
    expect(await runsOf(db, { status: "running" })).toHaveLength(1);
  });
});

describe("a run", () => {
  test("has the payload, priority, tags, subject and attempts of its schedule", async ({ db }) => {
    await setPolicy(db, "fetch", { max_priority: 7 });
    const runs = { payload: { feed: 1 }, priority: 9, tags: ["x"], subject: "f1", max_attempts: 3 };
    await ensure(db, { dynamic: true, ...runs });
    expect(await claimRun(db)).toMatchObject({ ...runs, priority: 7, type: "fetch" });
  });

  test("may have a large payload", async ({ db }) => {
    const payload = { text: Array.from({ length: 500 }, (_, n) => (n * 7919).toString(36)).join("-") };
    await ensure(db, { dynamic: true, payload });
    const { jobs } = await settle(db, [], { claim: 1 });
    expect(jobs[0]?.payload).toEqual(payload);
  });

  test("gives a worker its due time, its schedule's key and the previous run", async ({ db }) => {
    const { id: schedule_id } = await ensure(db);
    const first = await settle(db, [], { claim: 1 });
    expect(first.jobs[0]).toMatchObject({ schedule_id, schedule_key: "feed", previous_run: null });
    const [job] = first.jobs as unknown as { id: string; scheduled_for: string }[];
    const failed = {
      id: job?.id,
      attempt: 1,
      status: "failed",
      error: "no",
      next_run_at: "2020-01-01T00:00:00Z",
    };
    const second = await settle(db, [failed], { claim: 1 });
    expect(second.jobs[0]).toMatchObject({
      schedule_key: "feed",
      scheduled_for: "2020-01-01T00:00:00+00:00",
      previous_run: {
        scheduled_for: job?.scheduled_for,
        status: "failed",
        error: "no",
        consecutive_failures: 1,
      },
    });
  });

  test("differs from other jobs, which have no fields of schedules", async ({ db }) => {
    await db.query("select jobforge_enqueue_job($1, 'plain')", ["11111111-1111-4111-8111-111111111111"]);
    const { jobs } = await settle(db, [], { claim: 1 });
    expect(Object.keys(jobs[0] ?? {}).filter((key) => /schedule|previous/.test(key))).toEqual([]);
    expect(await claim(db)).toEqual([]);
    const id = jobs[0]?.id ?? "";
    expect(await find(db, id)).toMatchObject({ schedule_id: null, scheduled_for: null });
    await expectError(complete(db, id, { next_run_at: new Date() }), "JF002", "next_run_at");
  });

  test("that does not exist is refused, and the hint has its id", async ({ db }) => {
    const { message, hint } = await expectError(
      complete(db, unknownId, { next_run_at: new Date() }),
      "JF003",
    );
    expect(message).toBe("Job not found or not locked by worker");
    expect(hint).toContain(unknownId);
  });

  test("refuses an invalid next time", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await expectError(complete(db, run.id, { next_run_at: "infinity" }), "JF002", "next_run_at");
    await settle(db, [success(run.id, { next_run_at: "soon" })]);
    expect(await schedule(db)).toMatchObject({ next_run_at: null, last_status: "succeeded" });
  });
});
