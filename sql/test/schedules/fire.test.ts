/** Firing: exactly once per due time, by any worker, and in bounded batches. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { travelTo } from "../support/archive.ts";
import {
  backendOf,
  claim,
  complete,
  connections,
  enqueue,
  fail,
  T,
  workerHeartbeat,
} from "../support/kernel.ts";
import { listen } from "../support/listen.ts";
import {
  claimRun,
  ensure,
  inTime,
  manyDue,
  type Run,
  schedule,
  steer,
  update,
} from "../support/schedules.ts";
import { hintedWorker, settle } from "../support/settle.ts";

const runs = "select count(*)::int from jobforge_jobs where schedule_id is not null";

describe("a due time", () => {
  test("fires once when twenty workers claim at the same time, in every round", async ({ db }) => {
    await ensure(db);
    const workers = await connections(db, 20);
    for (let round = 0; round < 10; round += 1) {
      const claimed = (await Promise.all(workers.map((worker, n) => claim(worker, `w${n}`)))).flatMap(
        (jobs, n) => jobs.map((job) => ({ id: job.id, worker: `w${n}` })),
      );
      expect(claimed, `round ${round}`).toHaveLength(1);
      for (const { id, worker } of claimed)
        await complete(db, id, { worker, next_run_at: await inTime(db, "-1 hour") });
    }
    expect(await db.value(runs)).toBe(10);
  });

  test("fires once for each of many schedules, whichever worker claims it", async ({ db }) => {
    await manyDue(db, 300);
    const workers = await connections(db, 8);
    const rounds = await Promise.all(
      workers.map(async (worker, n) => {
        const ids: string[] = [];
        for (let jobs = await claim(worker, `w${n}`, { limit: 20 }); jobs.length > 0; ) {
          ids.push(...jobs.map((job) => (job as Run).schedule_id));
          jobs = await claim(worker, `w${n}`, { limit: 20 });
        }
        return ids;
      }),
    );
    for (;;) {
      const rest = await claim(db, "last", { limit: 100 });
      if (rest.length === 0) break;
      rounds.push(rest.map((job) => (job as Run).schedule_id));
    }
    const all = rounds.flat();
    expect(all).toHaveLength(300);
    expect(new Set(all).size).toBe(300);
  });

  test("is neither lost nor fired twice when the connection of a claim is terminated", async ({ db }) => {
    await ensure(db);
    const worker = await db.connect();
    await worker.query("begin");
    await claimRun(worker);
    const backend = await backendOf(worker);
    await db.query("select pg_terminate_backend($1)", [backend]);
    // Its locks are released when the backend has exited.
    while (await db.value<boolean>("select exists (select from pg_stat_activity where pid = $1)", [backend]));
    await claimRun(db);
    expect(await db.value(runs)).toBe(1);
  });

  test("fires for a worker of its type or of any type, and for no other", async ({ db }) => {
    await ensure(db);
    expect(await claim(db, "w1", { types: ["other"] })).toEqual([]);
    expect(await db.value(runs)).toBe(0);
    await claimRun(db, "w1", ["other", "fetch"]);
    await ensure(db, { dynamic: true }, { key: "second" });
    await claimRun(db, "w1", null);
  });

  test("waits while no worker handles its type, and runs once when one does", async ({ db }) => {
    await ensure(db, { every: "1m" });
    await enqueue(db, { type: "other" });
    await db.travel("1 day");
    await claim(db, "w1", { types: ["other"] });
    await db.query("select jobforge_maintain()");
    expect(await db.value(runs)).toBe(0);
    const run = await claimRun(db, "w2", ["fetch"]);
    await complete(db, run.id, { worker: "w2" });
    expect(await claim(db, "w2", { types: ["fetch"] })).toEqual([]);
  });

  test.for([
    ["all", null],
    ["type", "fetch"],
    ["tenant", T],
  ])("waits while a gate pauses: %s %s", async ([scope, key], { db }) => {
    await ensure(db, { every: "1m" });
    await db.query("select jobforge_set_gate($1, $2, true)", [scope, key]);
    expect(await claim(db)).toEqual([]);
    await db.travel("10 minutes");
    expect(await claim(db)).toEqual([]);
    await db.query("select jobforge_set_gate($1, $2, false)", [scope, key]);
    const run = await claimRun(db);
    await complete(db, run.id);
    expect(await db.value(runs)).toBe(1);
  });

  test("lets live runs end while everything is paused", async ({ db }) => {
    await ensure(db);
    const run = await claimRun(db);
    await db.query("select jobforge_set_gate('all', null, true)");
    await complete(db, run.id, { next_run_at: await inTime(db, "-1 second") });
    expect(await claim(db)).toEqual([]);
    await db.query("select jobforge_set_gate('all', null, false)");
    await claimRun(db);
  });

  test("runs in order of priority among other jobs", async ({ db }) => {
    await ensure(db, { dynamic: true, priority: 5 });
    const low = await enqueue(db, { priority: 1 });
    const high = await enqueue(db, { priority: 9 });
    const claimed = await claim(db);
    expect(claimed.map((job) => [job.id === low.id, job.id === high.id, job.priority])).toEqual([
      [false, true, 9],
      [false, false, 5],
      [true, false, 1],
    ]);
  });
});

test("a schedule that can no longer be evaluated is disabled, and delays no other schedule", async ({
  db,
}) => {
  await ensure(
    db,
    { cron: "0 0 * * *", timezone: "Europe/Berlin", next_run_at: "2020-01-01T00:00:00Z" },
    { key: "bad" },
  );
  await ensure(db, { cron: "0 0 * * *", next_run_at: "2020-01-02T00:00:00Z" });
  // As if the server's time zone database had changed.
  await db.query("update jobforge.schedules set timezone = 'Mars/Olympus' where key = 'bad'");
  await claimRun(db);
  const bad = await schedule(db, { key: "bad" });
  expect(bad).toMatchObject({ enabled: false, consecutive_failures: 1, live_runs: 0 });
  expect(bad.last_error).toContain("Mars/Olympus");
  expect(await claim(db)).toEqual([]);
  await update(db, { timezone: "Asia/Tokyo", enabled: true }, { key: "bad" });
  expect(await schedule(db, { key: "bad" })).toMatchObject({ enabled: true });
});

describe("ten thousand schedules due at once", () => {
  test("fire in bounded batches, and delay no claim", async ({ db }) => {
    await manyDue(db, 10_000);
    const { id } = await enqueue(db, { priority: 10 });
    const first = await claim(db, "w1", { limit: 1 });
    expect(first.map((job) => job.id)).toEqual([id]);
    const fired = await db.value<number>(runs);
    expect(fired).toBeGreaterThan(0);
    expect(fired).toBeLessThanOrEqual(200);
    let claims = 0;
    let claimed = 0;
    for (let before = fired; claimed < 10_000; claims += 1) {
      claimed += (await claim(db, "w1", { limit: 1000 })).length;
      const after = await db.value<number>(runs);
      expect(after - before, "runs that one claim creates").toBeLessThanOrEqual(1200);
      before = after;
    }
    expect(claims).toBeGreaterThanOrEqual(9);
    expect(await db.value(runs)).toBe(10_000);
    expect(await claim(db)).toEqual([]);
  }, 120_000);
});

describe("an idle worker", () => {
  test("gets the exact due time of the next schedule from every call", async ({ db }) => {
    const next = await inTime(db, "7 minutes");
    await ensure(db, { dynamic: true, next_run_at: next });
    await enqueue(db, { type: "fetch", in: "1 hour" });
    const dueTimes = async (types: readonly string[] | null): Promise<unknown[]> =>
      [
        (await settle(db, [], { claim: 1, types })).next_due_at,
        (await hintedWorker(db, "w2", { types }).call(1)).next_due_at,
        (await workerHeartbeat(db, "w1", types === null ? {} : { types })).next_due_at,
      ].map((time) => new Date(time ?? 0));
    expect(await dueTimes(["fetch"])).toEqual([next, next, next]);
    expect(await dueTimes(null)).toEqual([next, next, next]);
    expect((await settle(db, [], { claim: 1, types: ["other"] })).next_due_at).toBeNull();
    await steer(db, "disable");
    expect(await dueTimes(["fetch"])).not.toContainEqual(next);
  });

  test("gets no due time for a run that waits for another run to end", async ({ db }) => {
    await ensure(db);
    await claimRun(db);
    await steer(db, "run");
    await claim(db);
    expect((await settle(db, [], { claim: 1 })).next_due_at).toBeNull();
  });

  test("finds runs that became due after its hint", async ({ db }) => {
    await ensure(db, { every: "1h" }, { key: "other" });
    const worker = hintedWorker(db, "w1");
    expect((await worker.call(10)).jobs).toHaveLength(1);
    await ensure(db, { dynamic: true, next_run_at: await inTime(db, "-1 day") });
    expect((await worker.call(10)).jobs).toHaveLength(1);
  });

  test("is woken for runs that are due now or later", async ({ db }) => {
    const listener = await listen(db);
    await workerHeartbeat(db, "w1", { types: ["fetch"], idle: true });
    await travelTo(db, "'2027-03-01T10:30:00Z'::timestamptz");
    const later = "jobforge_wake: fetch\n2027-03-01T12:00:00.000000Z";
    await ensure(db, { dynamic: true, next_run_at: "2027-03-01T12:00:00Z" });
    expect(await listener.heard()).toEqual([later]);
    await ensure(db, { dynamic: true });
    expect(await listener.heard()).toEqual([]);
    await steer(db, "disable");
    expect(await listener.heard()).toEqual([]);
    await steer(db, "enable");
    expect(await listener.heard()).toEqual([later]);
    await steer(db, "run");
    expect(await listener.heard()).toEqual(["jobforge_wake: fetch"]);
    await fail(db, (await claimRun(db)).id, { retry_at: "2027-03-01T12:00:00Z" });
    expect(await listener.heard()).toEqual([later]);
    await update(db, { next_run_at: "2027-03-01T10:00:00Z" });
    expect(await listener.heard()).toEqual(["jobforge_wake: fetch"]);
  });
});

test("a schedule that is deleted while it fires runs once or not at all", async ({ db }) => {
  const [worker, application] = await connections(db, 2);
  if (worker === undefined || application === undefined) throw new Error("no connections");
  for (let round = 0; round < 20; round += 1) {
    await ensure(db);
    const [claimed] = await Promise.all([claim(worker), steer(application, "delete")]);
    for (const job of claimed) await complete(db, job.id);
    expect(await claim(db)).toEqual([]);
  }
  expect(await db.query("select * from jobforge_schedules")).toEqual([]);
  expect(await schedule(db).catch(() => "none")).toBe("none");
});
