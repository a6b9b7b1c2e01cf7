/** Thousands of worker ids: what they cost the worker that does maintenance, and how many a tenant may register. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueueMany, expectError, T, U, workerHeartbeat } from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

/** Lets this many workers hold one job each. */
async function holdJobs(db: TestDatabase, workers: number): Promise<void> {
  await enqueueMany(db, workers);
  while ((await claim(db, "w", { limit: 1000 })).length > 0);
  await db.query(
    "update jobforge.runs j set worker_id = 'w' || n.n from (select id, row_number() over () as n from jobforge.runs) n where n.id = j.id",
  );
}

/** Runs one pass over lost leases. Returns how many workers it visited and how many runs it ended. */
async function pass(db: TestDatabase, limit = 100_000): Promise<{ visited: number; ended: number }> {
  const session = await db.connect();
  await session.query("set track_functions = 'all'");
  await session.query("begin");
  await session.query("select set_config('jobforge.clock_offset', '6 minutes', true)");
  const ended = await session.value<number>("select jobforge.reclaim(jobforge.now(), $1)", [limit]);
  const visited = await session.value<number>(
    "select coalesce(sum(calls), 0)::int from pg_stat_xact_user_functions where funcname = 'lose_runs'",
  );
  await session.query("commit");
  return { visited, ended };
}

test("a pass over lost leases visits a thousand workers, and the next one goes on", async ({ db }) => {
  await holdJobs(db, 2300);
  const passes = [await pass(db), await pass(db), await pass(db)];
  expect(passes).toEqual([
    { visited: 1000, ended: 1000 },
    { visited: 1000, ended: 1000 },
    { visited: 300, ended: 300 },
  ]);
  expect(await pass(db)).toEqual({ visited: 0, ended: 0 });
}, 60_000);

test("a pass starts again at the first worker, and visits each at most once", async ({ db }) => {
  await holdJobs(db, 5);
  await db.query("update jobforge.maintenance set place = 'w3' where task = 'jobs'");
  expect(await pass(db)).toEqual({ visited: 5, ended: 5 });
  expect(await db.value("select place from jobforge.maintenance where task = 'jobs'")).toBe("");
});

test("a worker with more lost runs than the limit is visited again", async ({ db }) => {
  await enqueueMany(db, 5);
  await db.query("select jobforge_claim_jobs('w', 5)");
  const passes = [await pass(db, 2), await pass(db, 2), await pass(db, 2)];
  expect(passes.map(({ ended }) => ended)).toEqual([2, 2, 1]);
});

test("a tenant's bound roles register at most a thousand workers; silent ones make room", async ({ db }) => {
  const bound = await boundLogin(db, T, "jobforge_worker");
  await db.query(
    `insert into jobforge.workers (id, scope, started_at, seen_at) select 'ghost' || n, $1, now(), now()
     from generate_series(1, 999) n`,
    [T],
  );
  await workerHeartbeat(bound, "one");
  const error = await expectError(workerHeartbeat(bound, "another"), "JF007");
  expect(error.name).toBe("worker_limit_exceeded");
  await workerHeartbeat(bound, "one");
  await workerHeartbeat(await boundLogin(db, U, "jobforge_worker"), "another");
  await workerHeartbeat(db, "shared");
  await db.query(
    "update jobforge.workers set seen_at = now() - interval '11 minutes' where id like 'ghost%'",
  );
  await workerHeartbeat(bound, "another");
  expect(await db.value("select count(*)::int from jobforge.workers where scope = $1", [T])).toBe(901);
});
