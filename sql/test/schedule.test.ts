/** Schedules: one row per task, whose runs are jobs. The feed reader's task, as its handler says when it runs next. */
import { describe, expect } from "vitest";
import { test } from "../../test/database.ts";
import { claim, complete, fail } from "./support/kernel.ts";
import { claimRun, ensure, inTime, schedule, steer } from "./support/schedules.ts";

describe("a dynamic schedule", () => {
  test("runs at once, and then when its handler says", async ({ db }) => {
    expect(await ensure(db)).toMatchObject({ outcome: "created", kind: "dynamic", enabled: true });
    const run = await claimRun(db);
    expect(await schedule(db)).toMatchObject({ live_runs: 1, next_run_at: null });
    const next = await inTime(db, "1 hour");
    await complete(db, run.id, { next_run_at: next });
    expect(await schedule(db)).toMatchObject({ live_runs: 0, next_run_at: next, last_status: "succeeded" });
    expect(await claim(db)).toEqual([]);
    await db.travel("61 minutes");
    expect((await claimRun(db)).scheduled_for).toEqual(next);
  });

  test("counts failures until a success, which forgets them", async ({ db }) => {
    await ensure(db);
    for (const [n, message] of ["Error 1", "Error 2"].entries()) {
      const run = await claimRun(db);
      expect(await fail(db, run.id, { error: { message } })).toMatchObject({ status: "failed" });
      expect(await schedule(db)).toMatchObject({ consecutive_failures: n + 1, last_error: message });
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
});
