/** Runs that a worker hands back unstarted, while their schedule is disabled, locked or deleted. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { backendOf, claim, type Sql, started, untilBlocked } from "../support/kernel.ts";
import { claimRun, ensure, inTime, schedule, steer } from "../support/schedules.ts";
import { settle } from "../support/settle.ts";

/** Hands back a run that has not begun, as a worker does that stops. */
async function handBack(db: Sql, run: { id: string }): Promise<void> {
  await settle(db, [{ id: run.id, attempt: 1, status: "released" }]);
}

test.for([
  { dynamic: true },
  { every: "1h" },
  { every: "1h", missed: "all" },
  { every: "1h", missed: "skip" },
])(
  "a run does not start if the transaction that disables its schedule is still open: %o",
  async (rhythm, { db }) => {
    const due = await inTime(db, "-1 minute");
    await ensure(db, { ...rhythm, next_run_at: due });
    const run = await claimRun(db);
    const open = await db.connect();
    await open.query("begin");
    await steer(open, "disable");
    await handBack(db, run);
    expect(await claim(db)).toEqual([]);
    await open.query("commit");
    expect(await claim(db)).toEqual([]);
    expect(await schedule(db)).toMatchObject({ enabled: false, live_runs: 0, next_run_at: due });
    await steer(db, "enable");
    expect(await claim(db)).toMatchObject([{ scheduled_for: due }]);
    expect(await claim(db)).toEqual([]);
  },
);

test.for(["commit", "rollback"])(
  "a run starts again once the transaction that held its schedule has ended with %s, and the schedule is enabled",
  async (end, { db }) => {
    const due = await inTime(db, "-1 minute");
    await ensure(db, { every: "1h", next_run_at: due });
    const run = await claimRun(db);
    const open = await db.connect();
    await open.query("begin");
    if (end === "commit") await steer(open, "lock");
    else await steer(open, "disable");
    await handBack(db, run);
    expect(await claim(db)).toEqual([]);
    await open.query(end);
    expect(await claimRun(db)).toMatchObject({ scheduled_for: due, attempts: 1 });
    expect(await claim(db)).toEqual([]);
  },
);

test("a run stays queued if runs may overlap, also while a transaction holds the schedule", async ({
  db,
}) => {
  await ensure(db, { every: "1h", overlap: "allow", next_run_at: await inTime(db, "-1 minute") });
  const run = await claimRun(db);
  const open = await db.connect();
  await open.query("begin");
  await steer(open, "lock");
  await handBack(db, run);
  expect(await claim(db)).toMatchObject([{ id: run.id }]);
  await open.query("rollback");
});

test("a run does not start if its schedule was deleted", async ({ db }) => {
  await ensure(db, { every: "1h", next_run_at: await inTime(db, "-1 minute") });
  const run = await claimRun(db);
  await steer(db, "delete");
  await handBack(db, run);
  expect(await claim(db)).toEqual([]);
});

test("a run that is being handed back makes a disable wait, and then leaves the queue", async ({ db }) => {
  await ensure(db, { every: "1h", next_run_at: await inTime(db, "-1 minute") });
  const run = await claimRun(db);
  const worker = await db.connect();
  const operator = await db.connect();
  const backend = await backendOf(operator);
  await worker.query("begin");
  await handBack(worker, run);
  const disabled = started(steer(operator, "disable"));
  await untilBlocked(db, backend);
  await worker.query("commit");
  expect(await disabled).toMatchObject({ enabled: false, live_runs: 0 });
  expect(await claim(db)).toEqual([]);
});
