/** Runs of schedules in a worker: what a handler knows about its schedule, and how it sets the next run. */
import { defineJob, type JobContext, JobNotHeldError, type RunSchedule, typed } from "@jobforge/sdk-ts";
import { drain } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { createWorker } from "../src/index.ts";
import { Happening, until } from "./support/happening.ts";
import { jobOf, untilMarked } from "./support/jobs.ts";
import { observedClaims } from "./support/observed.ts";
import { clientAt, keptLog, startWorker, T, test } from "./support/work.ts";

const fetchFeed = defineJob({ type: "fetch_feed", input: typed<{ feed: string }>() });
const ofT = { tenantId: T };
const feed = { ...ofT, dynamic: true, payload: { feed: "f1" } } as const;
const quiet = { logger: keptLog().logger };
const hour = 3_600_000;

describe("a handler", () => {
  test("knows when its run was due, its schedule, and how the previous run ended", async ({ forge }) => {
    const nextRunAt = new Date(Date.now() - 60_000);
    await forge.schedules.ensure(fetchFeed, "f1", { ...feed, nextRunAt });
    const seen: { schedule: RunSchedule | undefined; scheduledFor: Date | undefined }[] = [];
    const handler = fetchFeed.handle((_, { schedule, scheduledFor, nextRun }) => {
      seen.push({ schedule, scheduledFor });
      if (seen.length < 3) nextRun(0);
      if (seen.length === 1) throw new Error("503");
    });
    await drain(forge, [handler], quiet);
    expect(seen).toHaveLength(3);
    expect(seen[0]).toEqual({ scheduledFor: nextRunAt, schedule: { key: "f1", previousRun: undefined } });
    expect(seen[1]?.schedule?.previousRun).toEqual({
      scheduledFor: nextRunAt,
      finishedAt: expect.any(Date),
      status: "failed",
      error: "503",
      consecutiveFailures: 1,
    });
    expect(seen[2]?.schedule?.previousRun).toMatchObject({
      scheduledFor: seen[1]?.scheduledFor,
      status: "succeeded",
      error: undefined,
      consecutiveFailures: 0,
    });
  });

  test("of a job without a schedule has none, and may call nextRun() without effect", async ({ forge }) => {
    const seen = new Happening<JobContext>();
    const handler = fetchFeed.handle((_, job) => {
      job.nextRun(hour);
      seen.now(job);
    });
    const { id } = await forge.enqueue(fetchFeed, { feed: "f1" }, ofT);
    await drain(forge, [handler], quiet);
    expect(await seen.once()).toMatchObject({ schedule: undefined, scheduledFor: undefined });
    expect(await forge.get(id, ofT)).toMatchObject({ status: "succeeded", scheduledFor: undefined });
  });

  test("sets the next run as an exact time or as milliseconds from now; the last call counts", async ({
    forge,
  }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    const exact = new Date("2100-01-01T00:00:00.123Z");
    await drain(
      forge,
      [
        fetchFeed.handle((_, job) => {
          job.nextRun(hour);
          job.nextRun(exact);
        }),
      ],
      quiet,
    );
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({ nextRunAt: exact });
    await forge.schedules.run(fetchFeed, "f1", ofT);
    const before = Date.now();
    await drain(forge, [fetchFeed.handle((_, job) => job.nextRun(hour))], quiet);
    const { nextRunAt } = (await forge.schedules.get(fetchFeed, "f1", ofT)) ?? {};
    expect(nextRunAt?.getTime()).toBeGreaterThanOrEqual(before + hour - 1000);
    expect(nextRunAt?.getTime()).toBeLessThanOrEqual(Date.now() + hour + 1000);
  });

  test("that does not call nextRun() leaves a dynamic schedule without a next run", async ({ forge }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    await drain(forge, [fetchFeed.handle(() => undefined)], quiet);
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      nextRunAt: undefined,
      enabled: true,
      lastStatus: "succeeded",
    });
  });

  test("may call nextRun() inside its transaction, but not after it", async ({ db, forge }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    const next = new Date("2100-01-01T00:00:00Z");
    const late = new Happening<unknown>();
    const handler = fetchFeed.handle(async (_, job) => {
      await job.transaction(async () => job.nextRun(next));
      try {
        job.nextRun(0);
      } catch (error) {
        late.now(error);
      }
    });
    await startWorker(forge, { handlers: [handler] });
    expect(String(await late.once())).toContain("too late");
    await until(async () => (await db.value("select last_status from jobforge_schedules")) === "succeeded");
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({ nextRunAt: next });
  });

  test("of a batch sets the next run of each of its schedules", async ({ forge }) => {
    const times = ["2100-01-01T00:00:00Z", "2100-01-02T00:00:00Z"].map((time) => new Date(time));
    for (const key of ["f0", "f1"])
      await forge.schedules.ensure(fetchFeed, key, { ...feed, payload: { feed: key } });
    const handler = fetchFeed.handleBatch(2, async (items) =>
      items.map(({ input, job }) => job.nextRun(times[Number(input.feed.at(1))] ?? 0)),
    );
    await drain(forge, [handler], quiet);
    for (const [index, nextRunAt] of times.entries())
      expect(await forge.schedules.get(fetchFeed, `f${index}`, ofT)).toMatchObject({ nextRunAt });
  });
});

describe("a failure", () => {
  test("is counted, and a success resets the count", async ({ forge }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    const next = new Date(Date.now() + hour);
    let runs = 0;
    const handler = fetchFeed.handle((_, job) => {
      runs += 1;
      job.nextRun(runs < 3 ? 0 : next);
      if (runs < 3) throw new Error(`Error ${runs}`);
    });
    const worker = { ...quiet, concurrency: 1 };
    const states: unknown[] = [];
    while (runs < 3) {
      await drain(forge, [handler], worker);
      states.push(await forge.schedules.get(fetchFeed, "f1", ofT));
    }
    const { items } = await forge.schedules.runs(fetchFeed, "f1", ofT).page();
    expect(items.map(({ status, reason, lastError }) => [status, reason, lastError])).toEqual([
      ["succeeded", "done", undefined],
      ["failed", "failed", "Error 2"],
      ["failed", "failed", "Error 1"],
    ]);
    expect(states.at(-1)).toMatchObject({ consecutiveFailures: 0, lastError: undefined, nextRunAt: next });
    expect(states.at(-1)).toMatchObject({ lastRunAt: expect.any(Date) });
  });

  test("leaves its error and the count on the schedule", async ({ forge }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    const handler = fetchFeed.handle((_, job) => {
      const failures = job.schedule?.previousRun?.consecutiveFailures ?? 0;
      job.nextRun(failures === 0 ? 0 : hour);
      throw new Error(`Error ${failures + 1}`);
    });
    await drain(forge, [handler], quiet);
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      consecutiveFailures: 2,
      lastError: "Error 2",
      lastRunAt: expect.any(Date),
      lastStatus: "failed",
    });
  });

  test("with retryAfter() sets the next run of a dynamic schedule", async ({ forge }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    const at = new Date("2100-01-01T00:00:00Z");
    const handler = fetchFeed.handle((_, job) => {
      job.nextRun(0);
      job.retryAfter(at, "503, come back later");
    });
    await drain(forge, [handler], quiet);
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      nextRunAt: at,
      consecutiveFailures: 1,
      lastError: "503, come back later",
      liveRuns: 0,
    });
  });

  test("that occurs fifty times in a row leaves the schedule enabled and due, with one row and no dead job", async ({
    db,
    forge,
  }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    let runs = 0;
    const handler = fetchFeed.handle((_, job) => {
      runs += 1;
      job.nextRun(runs < 50 ? 0 : hour);
      throw new Error("down");
    });
    await drain(forge, [handler], quiet);
    expect(runs).toBe(50);
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      enabled: true,
      consecutiveFailures: 50,
      nextRunAt: expect.any(Date),
    });
    expect(await db.value("select count(*)::int from jobforge.schedules")).toBe(1);
    expect(await db.value("select count(*)::int from jobforge_jobs where status = 'dead'")).toBe(0);
  });

  test("is retried with retryRuns, and the schedule records only the last attempt", async ({ db, forge }) => {
    const daily = { ...ofT, cron: "0 4 * * *", retryRuns: true, payload: { feed: "f1" }, maxAttempts: 2 };
    await forge.schedules.ensure(fetchFeed, "f1", daily);
    await forge.schedules.run(fetchFeed, "f1", ofT);
    const attempts: number[] = [];
    const handler = fetchFeed.handle((_, job) => {
      attempts.push(job.attempt);
      if (job.attempt === 1) throw new Error("once");
    });
    await drain(forge, [handler], quiet);
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      consecutiveFailures: 0,
      liveRuns: 1,
    });
    await using later = clientAt(db, "1min");
    await drain(later, [handler], quiet);
    expect(attempts).toEqual([1, 2]);
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      lastStatus: "succeeded",
      liveRuns: 0,
    });
  });
});

describe("a schedule that is not due", () => {
  test("because it is disabled or has no next run gives a worker no job, and runs once it is enabled", async ({
    forge,
  }) => {
    const ran = new Happening<string>();
    const handler = fetchFeed.handle(({ feed }) => ran.now(feed));
    await forge.schedules.ensure(fetchFeed, "off", { ...feed, enabled: false });
    await forge.schedules.ensure(fetchFeed, "rests", { ...feed, nextRunAt: null });
    expect(await drain(forge, [handler], quiet)).toMatchObject({ claimed: 0 });
    await forge.schedules.enable(fetchFeed, "off", ofT);
    expect(await drain(forge, [handler], quiet)).toMatchObject({ claimed: 1, succeeded: 1 });
  });

  test("keeps its time while disabled, and runs at once if that has passed", async ({ db, forge }) => {
    const ran = new Happening();
    const handler = fetchFeed.handle(() => ran.now());
    const nextRunAt = new Date(Date.now() + 2 * hour);
    await forge.schedules.ensure(fetchFeed, "f1", { ...feed, nextRunAt });
    expect(await forge.schedules.disable(fetchFeed, "f1", ofT)).toMatchObject({ nextRunAt });
    expect(await forge.schedules.enable(fetchFeed, "f1", ofT)).toMatchObject({ nextRunAt });
    expect(await drain(forge, [handler], quiet)).toMatchObject({ claimed: 0 });
    await forge.schedules.disable(fetchFeed, "f1", ofT);
    await using later = clientAt(db, "3h");
    expect(await drain(later, [handler], quiet)).toMatchObject({ claimed: 0 });
    await later.schedules.enable(fetchFeed, "f1", ofT);
    expect(await drain(later, [handler], quiet)).toMatchObject({ succeeded: 1 });
  });

  test("because no worker handles its type waits for one that does", async ({ forge }) => {
    const other = defineJob({ type: "other" });
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    expect(await drain(forge, [other.handle(() => undefined)], quiet)).toMatchObject({ claimed: 0 });
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      liveRuns: 0,
      lastRunAt: undefined,
    });
    expect(await drain(forge, [fetchFeed.handle(() => undefined)], quiet)).toMatchObject({ succeeded: 1 });
  });

  test("because its tenant is paused runs once when the tenant is resumed", async ({ db, forge }) => {
    const every = { ...ofT, every: "1h", payload: { feed: "f1" } };
    await forge.schedules.ensure(fetchFeed, "f1", every);
    await forge.gates.pause({ tenantId: T });
    const handler = fetchFeed.handle(() => undefined);
    for (const offset of ["0", "90min", "3h"]) {
      await using then = clientAt(db, offset);
      expect(await drain(then, [handler], quiet)).toMatchObject({ claimed: 0 });
    }
    await using later = clientAt(db, "185min");
    await later.gates.resume({ tenantId: T });
    expect(await drain(later, [handler], quiet)).toMatchObject({ claimed: 1, succeeded: 1 });
  });
});

describe("during a run", () => {
  test("a schedule that is disabled records the end and the next time, and does not run again", async ({
    db,
    forge,
  }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    const next = new Date(Date.now() + hour);
    const handler = fetchFeed.handle(async (_, job) => {
      await forge.schedules.disable(fetchFeed, "f1", ofT);
      job.nextRun(next);
    });
    expect(await drain(forge, [handler], quiet)).toMatchObject({ succeeded: 1 });
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toMatchObject({
      enabled: false,
      lastStatus: "succeeded",
      nextRunAt: next,
    });
    await using later = clientAt(db, "2h");
    expect(await drain(later, [handler], quiet)).toMatchObject({ claimed: 0 });
  });

  test("a schedule that is deleted lets the run end, and no longer exists", async ({ db, forge }) => {
    const { id } = await forge.schedules.ensure(fetchFeed, "f1", feed);
    const handler = fetchFeed.handle(async (_, job) => {
      await forge.schedules.delete(fetchFeed, "f1", ofT);
      job.nextRun(0);
    });
    expect(await drain(forge, [handler], quiet)).toMatchObject({ claimed: 1, succeeded: 1 });
    expect(await forge.schedules.get(fetchFeed, "f1", ofT)).toBeUndefined();
    expect(await db.value("select status from jobforge_jobs where schedule_id = $1", [id])).toBe("succeeded");
  });

  test("another run that is requested follows, once", async ({ forge }) => {
    await forge.schedules.ensure(fetchFeed, "f1", feed);
    let runs = 0;
    const handler = fetchFeed.handle(async () => {
      runs += 1;
      if (runs > 1) return;
      await forge.schedules.run(fetchFeed, "f1", ofT);
      await forge.schedules.run(fetchFeed, "f1", ofT);
    });
    await drain(forge, [handler], quiet);
    expect(runs).toBe(2);
  });
});

test("the end of an unknown run is refused with its id", async ({ forge }) => {
  const id = "33333333-3333-4333-8333-333333333333";
  const end = forge.transport.call("jobforge_complete_job", {
    p_job_id: id,
    p_worker_id: "w",
    p_status: "succeeded",
  });
  await expect(end).rejects.toMatchObject({
    constructor: JobNotHeldError,
    hint: expect.stringContaining(id),
  });
});

test("a worker sleeps until a schedule is due, and not longer", async ({ db, forge }) => {
  const nextRunAt = new Date(Date.now() + 700);
  await forge.schedules.ensure(fetchFeed, "f1", { ...feed, nextRunAt });
  const ran = new Happening<number>();
  const observed = observedClaims(forge);
  const handler = fetchFeed.handle((_, job) => {
    job.nextRun(ran.values.length === 0 ? 300 : hour);
    ran.now(Date.now());
  });
  await using worker = createWorker(observed.forge, { ...quiet, pollMs: 60_000, handlers: [handler] });
  await worker.start();
  const [first] = await ran.times(2);
  expect(first).toBeGreaterThanOrEqual(nextRunAt.getTime() - 5);
  await until(async () => (await db.value("select live_runs from jobforge_schedules")) === 0);
  // As for jobs, but twice: at its start, when it is due, and with its end; again if a clock was early.
  expect(observed.claims.values.length).toBeLessThanOrEqual(14);
});

test("an idle worker is notified of a schedule that is created, enabled or requested to run", async ({
  db,
  forge,
}) => {
  const ran = new Happening<string>();
  const handler = fetchFeed.handle(({ feed }) => ran.now(feed));
  await startWorker(forge, { pollMs: 60_000, handlers: [handler] });
  await untilMarked(db, 1);
  await forge.schedules.ensure(fetchFeed, "f1", feed);
  await ran.times(1);
  await forge.schedules.run(fetchFeed, "f1", ofT);
  await ran.times(2);
  await forge.schedules.ensure(fetchFeed, "f2", { ...feed, enabled: false });
  await untilMarked(db, 1);
  await forge.schedules.enable(fetchFeed, "f2", ofT);
  await ran.times(3);
  expect(
    (await jobOf(db, await db.value("select id from jobforge_jobs limit 1")))["schedule_id"],
  ).toBeTruthy();
});
