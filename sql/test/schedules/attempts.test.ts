/** How many executions a run of a schedule gets: what its caller, an operator, its definition and the policy say. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, expectError, fail, type Sql, setPolicy, T } from "../support/kernel.ts";
import { claimRun, ensure, schedule, steer, update } from "../support/schedules.ts";

const each = { every: "1h", retry_runs: true };

async function attemptsOfRun(db: Sql): Promise<number> {
  await steer(db, "run");
  const { id, max_attempts } = await claimRun(db);
  await fail(db, id, { retry: false });
  return max_attempts;
}

test("what the definition says counts before the policy", async ({ db }) => {
  await db.query("select jobforge_sync_policies($1)", [JSON.stringify({ fetch: { max_attempts: 7 } })]);
  await ensure(db, each);
  expect(await attemptsOfRun(db)).toBe(7);
  expect(await ensure(db, { ...each, default_attempts: 2 })).toMatchObject({
    outcome: "updated",
    default_attempts: 2,
    max_attempts: null,
  });
  expect(await attemptsOfRun(db)).toBe(2);
});

test("a number that an operator has set by hand counts before the definition", async ({ db }) => {
  await ensure(db, { ...each, default_attempts: 2 });
  await setPolicy(db, "fetch", { max_attempts: 9 });
  expect(await attemptsOfRun(db)).toBe(9);
});

test("a number of the schedule itself counts before all others", async ({ db }) => {
  await setPolicy(db, "fetch", { max_attempts: 9 });
  await ensure(db, { ...each, default_attempts: 2, max_attempts: 3 });
  expect(await attemptsOfRun(db)).toBe(3);
  await update(db, { max_attempts: null });
  expect(await attemptsOfRun(db)).toBe(9);
});

test("a run that fails as often as the definition allows is dead", async ({ db }) => {
  await setPolicy(db, "fetch", { base_ms: 0 });
  await ensure(db, { ...each, default_attempts: 2 });
  const { id } = await claimRun(db);
  expect(await fail(db, id)).toMatchObject({ status: "queued" });
  expect(await claim(db)).toMatchObject([{ id, attempts: 2 }]);
  expect(await fail(db, id)).toMatchObject({ status: "dead" });
  expect(await schedule(db)).toMatchObject({ consecutive_failures: 1 });
});

test("a run that waits gets a new number of the definition", async ({ db }) => {
  await ensure(db, { ...each, default_attempts: 2 });
  await ensure(db, { every: "1h", priority: 1 }, { key: "first" });
  // The claim takes one job, so the other run is created and waits.
  await claim(db, "w1", { limit: 1 });
  await update(db, { default_attempts: 4 });
  expect(await claimRun(db, "w2")).toMatchObject({ max_attempts: 4 });
});

test("a declaration has it, and the differences show it", async ({ db }) => {
  const declare = async (attempts: number): Promise<unknown> =>
    await db.value("select jobforge_sync_schedules('app', $1, $2)", [
      JSON.stringify([{ type: "fetch", key: "feed", ...each, default_attempts: attempts }]),
      T,
    ]);
  await declare(2);
  expect(await declare(3)).toMatchObject([
    { action: "changed", changes: [{ key: "default_attempts", from: 2, to: 3 }] },
  ]);
});

test.for([0, 100_001, 1.5, "two"])("%s is refused", async (default_attempts, { db }) => {
  await expectError(ensure(db, { ...each, default_attempts }), "JF009", "default_attempts");
});
