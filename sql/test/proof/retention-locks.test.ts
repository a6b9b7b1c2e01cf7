/** Retention and leaf creation next to readers and workers: no caller waits for long, and each task is done once. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  finishedToday,
  largePayload,
  leafOf,
  leaves,
  type Maintained,
  maintain,
  maintainAll,
  makeLeaves,
  remembered,
  tracesOf,
} from "../support/archive.ts";
import { load } from "../support/cost.ts";
import {
  claim,
  codeOf,
  complete,
  connections,
  enqueue,
  enqueueMany,
  type Job,
  setPolicy,
  workerHeartbeat,
} from "../support/kernel.ts";

/** Opens connections that wait at most `patience` for a lock, with their clocks moved. */
async function crew(
  db: TestDatabase,
  count: number,
  travel: string,
  patience = "2s",
): Promise<TestConnection[]> {
  const all = await connections(db, count);
  for (const connection of all) {
    await connection.travel(travel);
    await connection.query("select set_config('lock_timeout', $1, false)", [patience]);
  }
  return all;
}

/** Settles and claims until no job of the type is left, or `going` returns false. Returns the errors. */
async function drain(
  worker: TestConnection,
  name: string,
  type: string,
  going: () => boolean = () => true,
): Promise<string[]> {
  const errors: string[] = [];
  let results: unknown[] = [];
  for (;;) {
    try {
      const { jobs, claim_error } = await worker.value<{ jobs: Job[]; claim_error?: { message: string } }>(
        "select jobforge_settle_jobs($1, $2, 5, array[$3])",
        [name, JSON.stringify(results), type],
      );
      if (claim_error !== undefined) errors.push(claim_error.message);
      results = jobs.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
      if (jobs.length === 0 || !going()) return errors;
    } catch (error) {
      errors.push(String(error));
      if (errors.length > 20) return errors;
    }
  }
}

/** Runs maintenance repeatedly while `going` returns true. Returns the errors. */
async function keepMaintaining(worker: TestConnection, going: () => boolean): Promise<string[]> {
  const errors: string[] = [];
  do {
    const code = await codeOf(maintain(worker));
    if (code !== "ok") errors.push(code);
  } while (going());
  return errors;
}

test("a long reader of the history delays no claim, settle or maintenance, and retention completes after it", async ({
  db,
}) => {
  const old = await finishedToday(db, 30);
  const leaf = await leafOf(db, old[0] as string);
  const before = (await leaves(db)).length;
  await enqueueMany(db, 600, { type: "short" });

  const reader = await db.connect();
  await reader.query("begin isolation level repeatable read");
  expect(await reader.value("select count(*)::int from jobforge.archive")).toBe(30);

  const workers = await crew(db, 3, "3 days");
  const maintainers = await crew(db, 2, "3 days");
  let working = workers.length;
  const errors = await Promise.all([
    ...workers.map(async (worker, i) => {
      const met = await drain(worker, `w${i}`, "short");
      working -= 1;
      return met;
    }),
    ...maintainers.map((maintainer) => keepMaintaining(maintainer, () => working > 0)),
  ]);
  expect(errors.flat()).toEqual([]);
  expect(await reader.value("select count(*)::int from jobforge.archive"), "rows that the reader sees").toBe(
    30,
  );
  expect((await leaves(db)).map(({ name }) => name)).toContain(leaf.name);

  await reader.query("commit");
  await db.travel("3 days");
  await maintainAll(db);
  const after = await leaves(db);
  expect(after.map(({ name }) => name)).not.toContain(leaf.name);
  expect(after.length).toBeGreaterThanOrEqual(before);
  expect(await remembered(db, old)).toEqual([]);
  expect(await tracesOf(db, old)).toEqual({ keys: 0, payloads: 0, attempts: 0 });
  expect(await db.query("select status, attempts, count(*)::int from jobforge_jobs group by 1, 2")).toEqual([
    { status: "succeeded", attempts: 1, count: 600 },
  ]);
});

test("maintenance that cannot get one lock does not make others wait for the locks it has", async ({
  db,
}) => {
  await finishedToday(db, 3);
  for (const days of [3, 7, 14, 90, 365]) await setPolicy(db, `keep-${days}`, { retention_days: days });
  await makeLeaves(db);
  // The state after maintenance could empty the leaves but, because of a reader, not drop them.
  await db.query(
    "update jobforge.leaves set emptied_at = from_at where branch = 'finished_jobs' and keep_days < 10",
  );
  await load(db, { count: 10_000, type: "short" });
  // The reader holds the dead jobs of all times, not the finished ones: leaves of the latter can be dropped, but about
  // twenty new leaves of the former cannot be created.
  const reader = await db.connect();
  await reader.query("begin");
  await reader.query("select count(*) from jobforge.dead_jobs");

  // Maintenance waits 50 ms for a lock.
  const [worker, maintainer] = await crew(db, 2, "20 days", "800ms");
  if (worker === undefined || maintainer === undefined) throw new Error("no connection");
  const before = (await leaves(db)).length;
  let maintaining = true;
  const [met] = await Promise.all([
    drain(worker, "w", "short", () => maintaining),
    (async () => {
      for (let round = 0; round < 20; round += 1) await maintain(maintainer);
    })().finally(() => {
      maintaining = false;
    }),
  ]);
  await reader.query("commit");
  expect(met).toEqual([]);
  expect(
    await db.value("select count(*)::int from jobforge.live_rows where type = 'short'"),
    "jobs left",
  ).toBeGreaterThan(0);
  expect((await leaves(db)).length, "leaves dropped in the meantime").toBeLessThan(before);
});

test("ten concurrent callers do each due task once, while workers claim and settle", async ({ db }) => {
  const old = await finishedToday(db, 40);
  await setPolicy(db, "unkept", { keep_history: false });
  const due = { expired: [] as string[], lost: [] as string[], later: [] as string[] };
  for (let i = 0; i < 30; i += 1) {
    const { id: expired } = await enqueue(db, {
      type: "expiring",
      expires_in: "1 hour",
      payload: largePayload,
    });
    const { id: lost } = await enqueue(db, { type: "lost" });
    const { id: later } = await enqueue(db, { type: "later", in: "2 hours" });
    await enqueue(db, { type: "unkept", idempotency_key: `unkept ${i}` });
    due.expired.push(expired);
    due.lost.push(lost);
    due.later.push(later);
  }
  await claim(db, "silent", { limit: 30, types: ["lost"] });
  for (const { id } of await claim(db, "w1", { limit: 30, types: ["unkept"] })) await complete(db, id);
  await workerHeartbeat(db, "silent");
  await enqueueMany(db, 300, { type: "short" });
  const before = await leaves(db);

  const workers = await crew(db, 2, "3 days");
  const maintainers = await crew(db, 10, "3 days");
  const sums = { promoted: 0, retired: 0, forgotten: 0, leaves: 0 };
  const count = (done: Maintained) => {
    for (const what of ["promoted", "retired", "forgotten", "leaves"] as const) sums[what] += done[what] ?? 0;
  };
  const errors = await Promise.all([
    ...workers.map((worker, i) => drain(worker, `w${i}`, "short")),
    ...maintainers.map(async (maintainer) => {
      const met: string[] = [];
      for (let round = 0; round < 40; round += 1) {
        await maintain(maintainer, 10).then(count, (error: Error) => void met.push(error.message));
      }
      return met;
    }),
  ]);
  expect(errors.flat()).toEqual([]);
  // A caller skips a task that another caller is doing, so forty rounds may be too few for all tasks.
  await db.travel("3 days");
  await maintainAll(db, 10, count);
  const made = (await leaves(db)).filter(({ name }) => before.every((leaf) => leaf.name !== name));
  // Forgotten: thirty keys, their type and the silent worker. Promoted: the jobs due later, and lost jobs after their
  // backoff.
  expect(sums).toMatchObject({ retired: old.length, forgotten: 32, leaves: made.length });
  expect(made.length).toBeGreaterThan(0);
  expect(sums.promoted).toBeGreaterThanOrEqual(30);
  expect(await remembered(db, old)).toEqual([]);
  expect(
    await db.query(
      `select type, status, reason, count(*)::int from jobforge_jobs
       where type in ('expiring', 'short') group by 1, 2, 3 order by 1`,
    ),
  ).toEqual([
    { type: "expiring", status: "canceled", reason: "expired", count: 30 },
    { type: "short", status: "succeeded", reason: "done", count: 300 },
  ]);
  expect(
    await db.query(
      "select status, count(*)::int, count(distinct job_id)::int as jobs from jobforge_job_attempts where job_id = any ($1::uuid[]) group by 1",
      [due.lost],
    ),
  ).toEqual([{ status: "lost", count: 30, jobs: 30 }]);
  expect(
    await db.value("select count(*)::int from jobforge.live_rows where type = 'later' and state = 'ready'"),
  ).toBe(30);
});
