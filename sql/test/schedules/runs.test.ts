/** Runs of a schedule: lost, deferred, canceled, retried, listed and deleted. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { maintain, maintainAll } from "../support/archive.ts";
import {
  attemptsOf,
  auditOf,
  cancel,
  claim,
  complete,
  expectError,
  fail,
  find,
  reschedule,
  setPolicy,
  T,
  U,
} from "../support/kernel.ts";
import { claimRun, ensure, inTime, runsOf, schedule, steer } from "../support/schedules.ts";
import { settle } from "../support/settle.ts";

test("a claimed run has the key of its schedule, as long as there is one", async ({ db }) => {
  await ensure(db);
  const run = await claimRun(db);
  expect(run).toMatchObject({ schedule_key: "feed" });
  await complete(db, run.id);
  expect(await find(db, run.id)).toMatchObject({ schedule_key: "feed" });
  await steer(db, "delete");
  expect(await find(db, run.id)).toMatchObject({ schedule_key: null });
});

describe("a run whose worker crashed", () => {
  test("runs again as the same run, and its schedule waits for it", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await db.travel("6 minutes");
    const again = await claimRun(db, "w2");
    expect(again).toMatchObject({ id: run.id, attempts: 2, scheduled_for: run.scheduled_for });
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 0, last_run_at: null });
    await expectError(complete(db, run.id, { attempt: 1, next_run_at: new Date() }), "JF003");
    const next = await inTime(db, "1 hour");
    await complete(db, run.id, { worker: "w2", next_run_at: next });
    expect(await schedule(db)).toMatchObject({ next_run_at: next });
    expect((await attemptsOf(db, run.id)).map(({ status }) => status)).toEqual(["lost", "succeeded"]);
    expect(await runsOf(db)).toHaveLength(1);
  });

  test("three times in a row is dead, counts as one failure, and the schedule continues", async ({ db }) => {
    await ensure(db);
    const { id } = await claimRun(db);
    for (const minutes of [6, 12, 18]) {
      await db.travel(`${minutes} minutes`);
      await maintain(db);
      if (minutes < 18) await claimRun(db);
    }
    expect(await find(db, id)).toMatchObject({ status: "dead", reason: "crashed" });
    const after = await schedule(db);
    expect(after).toMatchObject({ consecutive_failures: 1, last_status: "failed" });
    expect(after.last_error).toContain("no heartbeat");
    await db.travel("19 minutes");
    expect((await claimRun(db)).id).not.toBe(id);
  });
});

describe("a deferred run", () => {
  test("stays the same run, and no other run starts in the meantime", async ({ db }) => {
    await ensure(db, { every: "1m" });
    const { id } = await claimRun(db);
    const run_at = await inTime(db, "10 minutes");
    await settle(db, [{ id, attempt: 1, status: "deferred", run_at, next_run_at: "2020-01-01T00:00:00Z" }]);
    await db.travel("5 minutes");
    expect(await claim(db)).toEqual([]);
    await db.travel("11 minutes");
    expect(await claimRun(db)).toMatchObject({ id, attempts: 2 });
    await settle(db, [{ id, attempt: 2, status: "released" }]);
    expect(await claimRun(db)).toMatchObject({ id, attempts: 3 });
    await complete(db, id);
    expect(await schedule(db)).toMatchObject({ last_status: "succeeded", live_runs: 0 });
  });
});

describe("a canceled run", () => {
  test("that was waiting does not stop the schedule or count as a failure", async ({ db }) => {
    await ensure(db, { dynamic: true, priority: 1 }, { key: "first" });
    await ensure(db, { dynamic: true });
    await claim(db, "w1", { limit: 1 });
    const [run] = await runsOf(db);
    await cancel(db, run?.id ?? "");
    const after = await schedule(db);
    expect(after).toMatchObject({ consecutive_failures: 0, last_run_at: null, live_runs: 0 });
    expect(after.next_run_at).not.toBeNull();
    await db.travel("1 minute");
    expect((await claimRun(db)).id).not.toBe(run?.id);
  });

  test.for(["succeeded", "failed"])(
    "that was running and then %s does not stop the schedule",
    async (status, { db }) => {
      await ensure(db);
      const run = await claimRun(db);
      await cancel(db, run.id);
      const next = await inTime(db, "1 hour");
      await complete(db, run.id, { status, next_run_at: next });
      expect(await find(db, run.id)).toMatchObject({ status: "canceled" });
      expect(await schedule(db)).toMatchObject({ next_run_at: next, consecutive_failures: 0 });
    },
  );

  test("of a cron schedule does not change the rhythm", async ({ db }) => {
    await ensure(db, { cron: "0 0 * * *" });
    const { next_run_at } = await schedule(db);
    await steer(db, "run");
    const run = await claimRun(db);
    await cancel(db, run.id);
    await complete(db, run.id);
    expect(await schedule(db)).toMatchObject({ next_run_at });
  });
});

describe("runs with retry_runs", () => {
  test("use the retries of their type, and are dead when these are used up", async ({ db }) => {
    await setPolicy(db, "fetch", { base_ms: 60_000, max_attempts: 3 });
    await ensure(db, { cron: "0 0 1 1 *", retry_runs: true });
    await steer(db, "run");
    const { id } = await claimRun(db);
    expect(await fail(db, id)).toMatchObject({ status: "queued" });
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 0, last_run_at: null, live_runs: 1 });
    await db.travel("2 minutes");
    await fail(db, (await claimRun(db)).id);
    await db.travel("10 minutes");
    expect(await fail(db, (await claimRun(db)).id, { retry_at: await inTime(db, "1 minute") })).toMatchObject(
      {
        id,
        status: "dead",
      },
    );
    expect(await auditOf(db, id)).toEqual(["JOB_EXHAUSTED_RETRIES"]);
    const after = await schedule(db);
    expect(after).toMatchObject({ consecutive_failures: 1, last_error: "boom", live_runs: 0 });
    expect(after.next_run_at?.toISOString()).toMatch(/-01-01T00:00:00/);
  });

  test("that succeed in the second attempt count as a success", async ({ db }) => {
    await setPolicy(db, "fetch", { base_ms: 0 });
    await ensure(db, { every: "1h", retry_runs: true });
    const { id } = await claimRun(db);
    await fail(db, id);
    await complete(db, (await claimRun(db)).id);
    expect(await schedule(db)).toMatchObject({
      consecutive_failures: 0,
      last_status: "succeeded",
      last_error: null,
    });
  });
});

describe("a failed run that is rescheduled", () => {
  test("is the same run, and its end counts for the schedule", async ({ db }) => {
    await ensure(db, { every: "1h" });
    const { id } = await claimRun(db);
    await fail(db, id);
    await reschedule(db, id);
    expect(await claimRun(db)).toMatchObject({ id, attempts: 2 });
    await complete(db, id);
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 0 });
  });

  test("does not run at the same time as another run of its schedule", async ({ db }) => {
    await setPolicy(db, "fetch", { base_ms: 0 });
    await ensure(db);
    const failed: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      failed.push((await claimRun(db)).id);
      await fail(db, failed[n] ?? "");
    }
    await steer(db, "disable");
    const answer = 'select jobforge_reschedule_jobs($1, \'{"status": "failed"}\')';
    expect(await db.value(answer, [T])).toEqual({ matched: 3, changed: 1 });
    expect((await claimRun(db)).id).toBe(failed[2]);
    await expectError(reschedule(db, failed[0] ?? ""), "JF006");
  });
});

describe("the history of a schedule", () => {
  test("has its runs, live and finished, newest first, in pages", async ({ db }) => {
    await setPolicy(db, "fetch", { base_ms: 0 });
    await ensure(db);
    await ensure(db, { every: "1h" }, { type: "another" });
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const { id } = await claimRun(db, "w1", ["fetch"]);
      ids.unshift(id);
      if (n % 2 === 0) await complete(db, id, { next_run_at: "2020-01-01T00:00:00Z" });
      else if (n < 5) await fail(db, id);
    }
    const page = async (filters: unknown): Promise<string[]> =>
      (await runsOf(db, filters)).map(({ id }) => id);
    expect(await page({})).toEqual(ids);
    expect(await page({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await page({ limit: 2, cursor: ids[1] })).toEqual(ids.slice(2, 4));
    expect(await page({ status: "running" })).toEqual(ids.slice(0, 1));
    expect(await page({ status: ["failed"] })).toEqual([ids[2], ids[4]]);
    await expectError(runsOf(db, { stauts: "failed" }), "JF002", "stauts");
    await expectError(runsOf(db, { cursor: "x" }), "JF002", "cursor");
  });

  test("is kept as long as its type keeps history, and the schedule stays", async ({ db }) => {
    await setPolicy(db, "fetch", { retention_days: 1, base_ms: 0 });
    await maintain(db);
    await ensure(db);
    for (let n = 0; n < 5; n += 1) await fail(db, (await claimRun(db)).id);
    expect(await runsOf(db)).toHaveLength(5);
    await steer(db, "disable");
    await db.travel("5 days");
    await maintainAll(db);
    expect(await runsOf(db)).toEqual([]);
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 5 });
  });

  test("is not kept if the type keeps none, not even for failures", async ({ db }) => {
    await setPolicy(db, "fetch", { keep_history: false, base_ms: 0 });
    await ensure(db, { dynamic: true, payload: { text: "x".repeat(9000) } });
    await fail(db, (await claimRun(db)).id);
    await complete(db, (await claimRun(db)).id);
    expect(await runsOf(db)).toEqual([]);
    expect(await schedule(db)).toMatchObject({ last_status: "succeeded" });
    expect(await db.value("select count(*)::int from jobforge.payloads")).toBe(0);
  });
});

describe("a list of schedules", () => {
  test("has a tenant's own schedules in order of type and key, with pages and filters", async ({ db }) => {
    for (const which of [
      { type: "b", key: "1" },
      { type: "a", key: "2" },
      { type: "a", key: "1" },
    ])
      await ensure(db, { every: "1h" }, which);
    await ensure(db, { dynamic: true }, { tenant: U });
    await fail(db, (await claimRun(db, "w1", ["b"])).id);
    await steer(db, "disable", { type: "a", key: "2" });
    const list = async (filters: unknown, tenant: string | null = T): Promise<string[]> =>
      (
        await db.query<{ type: string; key: string }>("select * from jobforge_list_schedules($1, $2)", [
          tenant,
          JSON.stringify(filters),
        ])
      ).map(({ type, key }) => type + key);
    expect(await list({})).toEqual(["a1", "a2", "b1"]);
    expect(await list({}, null)).toEqual(["a1", "a2", "b1", "fetchfeed"]);
    expect(await list({ type: "a" })).toEqual(["a1", "a2"]);
    expect(await list({ type: ["b", "c"] })).toEqual(["b1"]);
    expect(await list({ enabled: false })).toEqual(["a2"]);
    expect(await list({ failing: true })).toEqual(["b1"]);
    const { id } = await schedule(db, { type: "a", key: "1" });
    expect(await list({ limit: 1, cursor: id })).toEqual(["a2"]);
    for (const [field, filters] of [
      ["typo", { typo: 1 }],
      ["enabled", { enabled: "yes" }],
      ["cursor", { cursor: T }],
      ["limit", { limit: "many" }],
    ] as const)
      await expectError(list(filters), "JF002", field);
  });
});
