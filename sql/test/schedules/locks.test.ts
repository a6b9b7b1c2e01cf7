/** The lock rule for schedules: no claim, settle or firing waits for a transaction that an application leaves open. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { maintain } from "../support/archive.ts";
import {
  cancel,
  claim,
  codeOf,
  complete,
  enqueue,
  fail,
  reschedule,
  T,
  workerHeartbeat,
} from "../support/kernel.ts";
import { startCall } from "../support/pending-call.ts";
import { claimRun, ensure, inTime, type Run, runsOf, schedule, steer, update } from "../support/schedules.ts";
import { settle, success } from "../support/settle.ts";

/** Three schedules: "running" has a run under worker w1, "waiting" has an unclaimed run, "due" is due. */
interface Stage {
  readonly run: string;
  readonly failed: string;
}

const keys = ["running", "waiting", "due"] as const;

async function prepare(db: TestDatabase): Promise<Stage> {
  await ensure(db, { dynamic: true, priority: 9 }, { key: "failed" });
  const failed = (await claimRun(db)).id;
  await fail(db, failed, { retry_at: "2100-01-01T00:00:00Z" });
  await ensure(db, { dynamic: true, priority: 2 }, { key: "running" });
  await ensure(db, { dynamic: true, priority: 1 }, { key: "waiting" });
  const run = ((await claim(db, "w1", { limit: 1 })) as Run[])[0]?.id ?? "";
  await ensure(db, { dynamic: true }, { key: "due" });
  await enqueue(db, { type: "free" });
  return { run, failed };
}

type Hold = (open: TestConnection, stage: Stage) => Promise<unknown>;

/** Makes the same call for each of the three schedules. */
const each =
  (call: (open: TestConnection, key: string) => Promise<unknown>): Hold =>
  async (open) => {
    for (const key of keys) await call(open, key);
  };

const holds: Record<string, Hold> = {
  "an ensure that changes nothing": each((open, key) =>
    ensure(open, { dynamic: true, priority: 2 }, { key }),
  ),
  "an ensure that changes several options": each((open, key) =>
    ensure(open, { every: "1h", priority: 5 }, { key }),
  ),
  "an ensure of a new schedule": (open) => ensure(open, { dynamic: true }, { key: "new" }),
  "an update": each((open, key) =>
    update(open, { payload: { new: true }, next_run_at: "2020-01-01T00:00:00Z" }, { key }),
  ),
  "a lock": each((open, key) => steer(open, "lock", { key })),
  "a disable": each((open, key) => steer(open, "disable", { key })),
  "a disable and an enable": each(async (open, key) => {
    await steer(open, "disable", { key });
    await steer(open, "enable", { key });
  }),
  "a lock and a decision": each(async (open, key) => {
    await steer(open, "lock", { key });
    await open.query("select jobforge_set_schedule_enabled($1, 'fetch', $2, false)", [T, key]);
  }),
  "a requested run": each((open, key) => steer(open, "run", { key })),
  "a delete": each((open, key) => steer(open, "delete", { key })),
  "a cancel of a waiting run": async (open) => {
    const [run] = await runsOf(open, {}, { key: "waiting" });
    await cancel(open, run?.id ?? "");
  },
  "a cancel of a running run": (open, { run }) => cancel(open, run),
  "a reschedule of a failed run": (open, { failed }) => reschedule(open, failed),
  "a long read": (open) => open.query("select * from jobforge_list_schedules($1), jobforge_schedules", [T]),
};

describe("no worker waits for a transaction left open after:", () => {
  test.for(Object.keys(holds))("%s", async (name, { db }) => {
    const stage = await prepare(db);
    const [open, worker] = [await db.connect(), await db.connect()];
    await worker.query("set lock_timeout = '400ms'");
    await open.query("begin");
    await holds[name]?.(open, stage);
    const next = await inTime(db, "1 hour");
    const codes: Record<string, unknown> = {};
    const called = async (what: string, call: Promise<unknown>): Promise<void> => {
      codes[what] = await codeOf(call);
    };
    await called("claim", claim(worker, "w2", { types: ["fetch"] }));
    const answer = await settle(worker, [success(stage.run, { next_run_at: next })], { claim: 10 });
    codes["settle"] = answer.settled[0]?.outcome;
    codes["claim error"] = answer.claim_error;
    await called("heartbeat", workerHeartbeat(worker, "w1", { held: [], instance: "2" }));
    await called("maintain", maintain(worker));
    await worker.travel("10 minutes");
    await called("claim, leases expired", claim(worker, "w3", { limit: 100 }));
    expect(codes).toEqual({
      claim: "ok",
      settle: "ok",
      "claim error": undefined,
      heartbeat: "ok",
      maintain: "ok",
      "claim, leases expired": "ok",
    });
    await open.query("commit");
    await claim(worker, "w3", { limit: 100 });
    expect(await db.value("select count(*)::int from jobforge.schedule_ends")).toBe(0);
    expect(
      await db.query("select from jobforge_jobs where id = $1 and finished_at is null", [stage.run]),
    ).toEqual([]);
  });
});

describe("the end of a run whose schedule is held", () => {
  async function heldRun(db: TestDatabase): Promise<{ run: Run; holder: TestConnection }> {
    await ensure(db);
    const run = await claimRun(db);
    const holder = await db.connect();
    await holder.query("begin");
    await steer(holder, "lock");
    return { run, holder };
  }

  test("is shown at once, and written when the holder's transaction ends", async ({ db }) => {
    const { run, holder } = await heldRun(db);
    await fail(db, run.id, { error: { message: "no" } });
    const shown = await schedule(db);
    expect(shown).toMatchObject({
      consecutive_failures: 1,
      last_error: "no",
      last_status: "failed",
      live_runs: 0,
    });
    expect(await db.query("select * from jobforge_get_schedule($1, 'fetch', 'feed')", [T])).toEqual([shown]);
    expect(await db.value("select consecutive_failures from jobforge.schedules")).toBe(0);
    await maintain(db);
    expect(await schedule(db)).toEqual(shown);
    await holder.query("commit");
    await maintain(db);
    expect(await db.value("select consecutive_failures from jobforge.schedules")).toBe(1);
    const { updated_at: before, ...state } = shown;
    const { updated_at: after, ...same } = await schedule(db);
    expect(same).toEqual(state);
    expect(Number(after)).toBeGreaterThanOrEqual(Number(before));
  });

  test("is written by the next claim, which then fires the run that became due", async ({ db }) => {
    const { run, holder } = await heldRun(db);
    await complete(db, run.id, { next_run_at: "2020-01-01T00:00:00Z" });
    expect(await claim(db)).toEqual([]);
    await holder.query("rollback");
    await claimRun(db);
  });

  test("is written by the holder itself when it changes the schedule afterwards", async ({ db }) => {
    const { run, holder } = await heldRun(db);
    await fail(db, run.id);
    const next = await inTime(db, "5 hours");
    await update(holder, { next_run_at: next });
    await holder.query("commit");
    expect(await schedule(db)).toMatchObject({ next_run_at: next, consecutive_failures: 1 });
    expect(await db.value("select count(*)::int from jobforge.schedule_ends")).toBe(0);
  });

  test("counts in order with the ends before and after it", async ({ db }) => {
    await ensure(db, { every: "1s", overlap: "allow" });
    const runs: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      await db.travel(`${2 * n} seconds`);
      runs.push((await claimRun(db)).id);
    }
    const holder = await db.connect();
    await holder.query("begin");
    await steer(holder, "lock");
    const [a = "", b = "", c = "", d = ""] = runs;
    await fail(db, a, { error: { message: "1" } });
    await complete(db, b);
    await fail(db, c, { error: { message: "3" } });
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 1, last_error: "3" });
    await holder.query("commit");
    await fail(db, d, { error: { message: "4" } });
    expect(await schedule(db)).toMatchObject({ consecutive_failures: 2, last_error: "4" });
    expect(await db.value("select count(*)::int from jobforge.schedule_ends")).toBe(0);
  });

  test("is dropped when the holder deletes the schedule", async ({ db }) => {
    const { run, holder } = await heldRun(db);
    await steer(holder, "delete");
    await complete(db, run.id);
    await holder.query("commit");
    await maintain(db);
    expect(await db.value("select count(*)::int from jobforge.schedule_ends")).toBe(0);
    expect(await db.query("select * from jobforge_schedules")).toEqual([]);
  });

  test("fires a run that the holder requested", async ({ db }) => {
    const { run, holder } = await heldRun(db);
    await steer(holder, "run");
    await complete(db, run.id);
    expect(await claim(db)).toEqual([]);
    await holder.query("commit");
    expect((await claimRun(db)).id).not.toBe(run.id);
  });
});

test("two workers that end runs of the same schedules in different orders do not wait for each other", async ({
  db,
}) => {
  for (const key of ["a", "b"]) await ensure(db, { every: "1s", overlap: "allow" }, { key });
  const first = await claim(db);
  await db.travel("5 seconds");
  const second = await claim(db);
  expect([first.length, second.length]).toEqual([2, 2]);
  const one = await db.connect();
  await one.query("begin");
  await settle(
    one,
    first.map(({ id }) => success(id)),
  );
  const other = await startCall(db, (caller) =>
    settle(
      caller,
      second.reverse().map(({ id }) => success(id)),
    ),
  );
  expect(await other.code).toBe("ok");
  await one.query("commit");
  await maintain(db);
  const rows = await db.query<{ last_status: string }>("select last_status from jobforge.schedules");
  expect(rows).toEqual([{ last_status: "succeeded" }, { last_status: "succeeded" }]);
});
