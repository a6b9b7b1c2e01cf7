/** Workers and applications concurrently use a few schedules: no deadlock occurs, no run is lost or runs twice. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, connections, fail, type Sql, T } from "../support/kernel.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { ensure, type Run, steer, update } from "../support/schedules.ts";
import { settle } from "../support/settle.ts";

const keys = ["a", "b", "c"] as const;
const stepCount = Number(process.env["JOBFORGE_PROOF_STEPS"] ?? 60);

const definitions = [
  { dynamic: true },
  { every: "1s" },
  { every: "1s", overlap: "queue", missed: "all", missed_limit: 3 },
  { cron: "* * * * * *", missed: "skip" },
  { dynamic: true, retry_runs: true, max_attempts: 2 },
];

/** Makes one call of an application, in its own transaction or with a lock before it. */
async function change(db: TestConnection, random: Random): Promise<void> {
  const which = { key: random.pick(keys) };
  switch (random.below(8)) {
    case 0:
    case 1:
      await ensure(db, { ...random.pick(definitions), enabled: random.chance(0.8) }, which);
      return;
    case 2:
      await steer(db, "run", which);
      return;
    case 3:
      await steer(db, random.pick(["enable", "enable", "disable"] as const), which);
      return;
    case 4:
      await update(db, { next_run_at: random.chance(0.3) ? null : "2020-01-01T00:00:00Z" }, which);
      return;
    case 5:
      if (random.chance(0.3)) await steer(db, "delete", which);
      return;
    default:
      await db.query("begin");
      await steer(db, "lock", which);
      await db.query("select jobforge_set_schedule_enabled($1, 'fetch', $2, $3)", [
        T,
        which.key,
        random.chance(0.8),
      ]);
      await db.query(random.chance(0.8) ? "commit" : "rollback");
  }
}

/** Changes schedules repeatedly. A missing schedule is not a failure. */
async function application(db: TestConnection, random: Random): Promise<string[]> {
  const failures: string[] = [];
  for (let step = 0; step < stepCount; step += 1) {
    await change(db, random).catch(async (error: { code: string; message: string }) => {
      await db.query("rollback");
      if (error.code !== "JF010") failures.push(`${error.code} ${error.message}`);
    });
  }
  return failures;
}

/** Claims and ends runs repeatedly, some of them as failed. Returns the failures of its calls. */
async function worker(
  db: TestConnection,
  name: string,
  random: Random,
  done: () => boolean,
): Promise<string[]> {
  const failures: string[] = [];
  let results: object[] = [];
  while (!done()) {
    const answer = await settle(db, results, { worker: name, claim: 2 }).catch(
      (error: { message: string }) => {
        failures.push(error.message);
        return undefined;
      },
    );
    if (answer?.claim_error !== undefined) failures.push(answer.claim_error.message);
    failures.push(
      ...(answer?.settled ?? []).filter(({ outcome }) => outcome !== "ok").map(({ outcome }) => outcome),
    );
    results = (answer?.jobs ?? []).map(({ id, attempts }) => ({
      id,
      attempt: attempts,
      status: random.pick(["succeeded", "succeeded", "failed", "released"]),
      ...(random.chance(0.5) ? { next_run_at: "2020-01-01T00:00:00Z" } : {}),
    }));
  }
  await settle(db, results, { worker: name });
  return failures;
}

/** Returns the schedules with more than one live run, which none of them allows. */
async function overlapping(db: Sql): Promise<unknown[]> {
  return await db.query(
    "select schedule_id from jobforge.live_rows where schedule_id is not null group by 1 having count(*) > 1",
  );
}

async function watch(db: Sql, done: () => boolean): Promise<unknown[]> {
  while (!done()) {
    const found = await overlapping(db);
    if (found.length > 0) return found;
  }
  return [];
}

/** Ends all live runs, and expects that every schedule then runs on request. */
async function expectCalm(db: TestDatabase): Promise<void> {
  await db.travel("10 minutes");
  for (let round = 0; round < 50; round += 1) {
    const runs = (await claim(db, "last", { limit: 100 })) as Run[];
    if (runs.length === 0) break;
    for (const run of runs)
      if (round % 2 === 0)
        await complete(db, run.id, { worker: "last", next_run_at: "2100-01-01T00:00:00Z" });
      else await fail(db, run.id, { worker: "last", retry: false, retry_at: "2100-01-01T00:00:00Z" });
  }
  expect(await db.value("select count(*)::int from jobforge.schedule_ends")).toBe(0);
  expect(await db.value("select count(*)::int from jobforge.live_rows")).toBe(0);
  for (const key of keys) {
    await ensure(db, { dynamic: true, enabled: true }, { key });
    await steer(db, "run", { key });
    const [run, ...more] = await claim(db, "last");
    expect([run?.type, more], `the run of ${key}`).toEqual(["fetch", []]);
    await complete(db, run?.id ?? "", { worker: "last", next_run_at: "2100-01-01T00:00:00Z" });
  }
}

test.for([1, 2, 3])("a storm of applications and workers with seed %i loses no run", async (seed, { db }) => {
  for (const key of keys) await ensure(db, { dynamic: true }, { key });
  const clients = await connections(db, 8);
  let running = true;
  const done = (): boolean => !running;
  const watched = watch(await db.connect(), done);
  const isApplication = (n: number): boolean => n % 2 === 0;
  const workers = clients.map((client, n) =>
    isApplication(n) ? [] : worker(client, `w${n}`, randomFrom(seed * 100 + n), done),
  );
  const failures = await Promise.all(
    clients.map((client, n) => (isApplication(n) ? application(client, randomFrom(seed * 100 + n)) : [])),
  );
  running = false;
  failures.push(...(await Promise.all(workers)));
  expect(failures.flat()).toEqual([]);
  expect(await watched, "schedules with two live runs").toEqual([]);
  const runs = "select count(*)::int from jobforge_jobs where schedule_id is not null and attempts > 0";
  expect(await db.value(runs), "runs that started").toBeGreaterThan(0);
  await expectCalm(db);
});
