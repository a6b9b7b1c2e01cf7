/**
 * An open snapshot keeps dead entries at the head of every index. With the hint of a settle, claims need not walk over
 * them, and the hint hides no job for longer than it is valid. Cost is counted in buffers.
 */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { finishedToday, leafOf, leaves, maintain, maintainAll, remembered } from "../support/archive.ts";
import { load, mean, median, tenant } from "../support/cost.ts";
import {
  type Clock,
  type FlowWorker,
  flow,
  flowWorker,
  pinSnapshot,
  proofJobs,
  requestedJobs,
  type Step,
  stopClock,
} from "../support/flow.ts";
import { codeOf, connections, enqueue, type Sql, setPolicy } from "../support/kernel.ts";
import { settle, success } from "../support/settle.ts";

/** How many jobs are processed under an open snapshot. */
const jobs = proofJobs(10_000);
const timeout = 60_000 + jobs * 5;

/** The median cost of calls, and the average, which includes the full looks once a second. */
const typical = (steps: readonly Step[]): number => median(steps.map((step) => step.buffers));
const average = (steps: readonly Step[]): number => mean(steps.map((step) => step.buffers));

/**
 * Expects calls to cost as much as before, with a margin for indexes that grew by a level. The average is higher: a
 * full look walks over all dead entries, but each worker does only one a second.
 */
function expectSameCost(after: readonly Step[], before: readonly Step[]): void {
  const [was, is] = [before, after].map(
    (steps) => `${typical(steps)} (on average ${Math.round(average(steps))})`,
  );
  const figures = `buffers of a call: ${was} before, ${is} after`;
  if (requestedJobs) console.log(figures);
  expect(typical(after), figures).toBeLessThan(1.25 * typical(before));
  expect(average(after), figures).toBeLessThan(3 * average(before));
}

/** Returns the shortest time between two full looks of the same worker, in milliseconds. */
function timeBetweenLooks(steps: readonly Step[]): number {
  const last = new Map<string, Date>();
  let least = Number.POSITIVE_INFINITY;
  for (const { worker, looked, at } of steps) {
    if (!looked) continue;
    least = Math.min(least, Number(at) - Number(last.get(worker) ?? 0));
    last.set(worker, at);
  }
  return least;
}

/** Creates a worker on each connection, with cached plans. */
async function crew(db: TestDatabase, clock: Clock, count: number): Promise<[FlowWorker, ...FlowWorker[]]> {
  const [first, ...others] = (await connections(db, count)).map((connection, n) =>
    flowWorker(connection, `w${n}`, clock, ["a", "b"]),
  );
  if (first === undefined) throw new Error("a crew needs at least one worker");
  await load(db, { count: 300 * count, tenants: 10 });
  await flow([first, ...others], Number.POSITIVE_INFINITY);
  return [first, ...others];
}

/** Fills the queue with due jobs of type 'a'. */
async function fill(db: TestDatabase, count: number, tenants = 10): Promise<void> {
  await load(db, { count, tenants });
  await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
}

test.for([10, 200])(
  "under an open snapshot a claim costs the same after all jobs of %i tenants were processed",
  { timeout },
  async (tenants, { db }) => {
    const workers = await crew(db, await stopClock(db), 3);
    await fill(db, jobs, tenants);
    await pinSnapshot(db);
    const steps = await flow(workers, jobs);
    expect(new Set(steps.flatMap((step) => step.jobs.map((job) => job.id))).size).toBe(jobs);
    // The first calls have no hint yet. In the last calls lanes become empty, which causes a full look for each.
    const [begun, part] = [steps.slice(15, -20), Math.floor(steps.length / 4)];
    expectSameCost(begun.slice(-part), begun.slice(0, part));
    expect(timeBetweenLooks(begun)).toBeGreaterThanOrEqual(1000);
  },
);

test("under an open snapshot a claim costs the same when one run in five has failed and was retried", {
  timeout,
}, async ({ db }) => {
  const clock = await stopClock(db);
  const [worker] = await crew(db, clock, 1);
  await fill(db, Math.max(jobs / 4, 5000));
  await pinSnapshot(db);
  const steps: Step[] = [];
  for (let step = await worker.step(); step.jobs.length === 100; ) {
    steps.push(step);
    // The jobs wait for a moment first, so that the index of waiting jobs also has dead entries at its head.
    const retry_at = new Date(clock.now + 25);
    step = await worker.step(({ id, attempts }) =>
      attempts === 1 && Number.parseInt(id.slice(-2), 16) % 5 === 0
        ? { status: "failed", retry_at }
        : { status: "succeeded" },
    );
  }
  const begun = steps.slice(10);
  expectSameCost(begun.slice(-15), begun.slice(0, 15));
});

/** Claims and completes jobs of type 'b', a thousand at a time. */
async function workOff(session: Sql, count: number): Promise<void> {
  let reports: ReturnType<typeof success>[] = [];
  for (let done = 0; done <= count; done += 1000) {
    const answer = await settle(session, reports, { worker: "quick", claim: 1000, types: ["b"] });
    reports = answer.jobs.map((job) => success(job.id));
  }
}

test("under an open snapshot a claim costs the same after many urgent jobs as before them", {
  timeout,
}, async ({ db }) => {
  const clock = await stopClock(db);
  const [worker] = await crew(db, clock, 1);
  await load(db, { count: jobs / 2, tenants: 10, type: "b" });
  await db.query("update jobforge.queue set rank = -5 where type = 'b'");
  await fill(db, 8000);
  await db.query("select jobforge_set_gate('type', 'b', true)");
  await pinSnapshot(db);
  const before = await flow([worker], 3000);
  await db.query("select jobforge_set_gate('type', 'b', false)");
  await workOff(db, jobs / 2);
  const after = await flow([worker], 4000);
  expectSameCost(after.slice(5), before.slice(5));
});

test("under an open snapshot an urgent job is in the next call, and a new lane or a retry once the hint is a second old", async ({
  db,
}) => {
  const clock = await stopClock(db);
  const [worker] = await crew(db, clock, 1);
  await fill(db, 6000);
  await pinSnapshot(db);
  await flow([worker], 3000);
  const has = async (id: string): Promise<boolean> => (await worker.step()).jobs.some((job) => job.id === id);

  const single = await enqueue(db, { tenant_id: tenant(77), priority: 1, type: "b", in: "-1 hour" });
  expect(await has(single.id), "an urgent job, of a new lane and type").toBe(true);
  const retry_at = new Date(clock.now + 60_000);
  await worker.step(({ id }) =>
    id === single.id ? { status: "failed", retry_at } : { status: "succeeded" },
  );
  const fresh = await enqueue(db, { tenant_id: tenant(78), in: "-1 hour" });
  clock.now += 1000;
  expect(await has(fresh.id), "a job of a new lane").toBe(true);
  clock.now += 60_000;
  expect(await has(single.id), "a retry").toBe(true);
  const urgent = await enqueue(db, { tenant_id: tenant(79), priority: 1, in: "-1 hour" });
  expect(await has(urgent.id), "an urgent job, with a new hint").toBe(true);
});

test("without an open snapshot a hint adds almost no cost, for one worker and for ten", async ({ db }) => {
  const workers = await crew(db, await stopClock(db), 10);
  await fill(db, 17_000);
  const figures = { kept: [] as Step[], forgotten: [] as Step[] };
  const stepTwice = async (worker: FlowWorker): Promise<void> => {
    figures.kept.push(await worker.step());
    worker.forget();
    figures.forgotten.push(await worker.step());
  };
  const compare = (): void => {
    const { kept, forgotten } = figures;
    const room = `buffers of a call, ${typical(forgotten)} without a hint`;
    expect(typical(kept.splice(0)), room).toBeLessThan(1.15 * typical(forgotten.splice(0)));
  };
  for (let n = 0; n < 20; n += 1) await stepTwice(workers[0]);
  compare();
  for (let n = 0; n < 6; n += 1) await Promise.all(workers.map(stepTwice));
  compare();
});

/** Reads as pg_dump does: with one snapshot, and a lock on every table of the schema against being dropped. */
async function dump(db: TestDatabase): Promise<Sql> {
  const reader = await db.connect();
  await reader.query("begin isolation level repeatable read");
  const tables = await reader.query<{ name: string }>(
    "select oid::regclass::text as name from pg_class where relnamespace = 'jobforge'::regnamespace and relkind in ('r', 'p')",
  );
  await reader.query(`lock table ${tables.map(({ name }) => name).join()} in access share mode`);
  return reader;
}

const countFinished = async (reader: Sql): Promise<number> =>
  await reader.value<number>("select count(*)::int from jobforge.archive");

test("consecutive dumps delay no worker while old partitions are due, and these are dropped after the last dump", async ({
  db,
}) => {
  const old = await finishedToday(db, 20);
  const leaf = await leafOf(db, old[0] ?? "");
  await setPolicy(db, "a", { retention_days: 1 });
  const clock = await stopClock(db);
  clock.now += 3 * 24 * 3_600_000;
  const [maintainer, ...sessions] = await connections(db, 3);
  if (maintainer === undefined) throw new Error("no connection");
  await maintainer.travel("3 days");
  for (const session of [maintainer, ...sessions]) await session.query("set lock_timeout = '1s'");
  const workers = sessions.map((session, n) => flowWorker(session, `w${n}`, clock, ["a"]));
  await fill(db, 6000);
  const dropped = async (): Promise<boolean> => (await leaves(db)).every(({ name }) => name !== leaf.name);

  const codes: string[] = [];
  const steps: Step[] = [];
  const maintenance = async (): Promise<void> => {
    for (let n = 0; n < 3; n += 1) codes.push(await codeOf(maintain(maintainer)));
  };
  let reader = await dump(db);
  for (let shift = 0; shift < 3; shift += 1) {
    const seen = await countFinished(reader);
    const [work] = await Promise.all([flow(workers, 1500), maintenance()]);
    steps.push(...work);
    expect(await countFinished(reader), "rows that a dump sees").toBe(seen);
    const next = await dump(db);
    await reader.query("commit");
    reader = next;
  }
  expect(codes).toEqual(Array(9).fill("ok"));
  expect(await dropped()).toBe(false);
  const begun = steps.slice(10);
  expectSameCost(begun.slice(-10), begun.slice(0, 10));

  await reader.query("commit");
  await maintainAll(maintainer);
  expect(await dropped()).toBe(true);
  expect(await remembered(db, old)).toEqual([]);
});
