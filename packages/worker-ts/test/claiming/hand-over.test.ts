/** Jobs that enqueues hand to an idle worker, without a claim. */
import { defineJob } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import type { WorkerMetrics, WorkerOptions } from "../../src/index.ts";
import { Happening, until } from "../support/happening.ts";
import { untilFinished, untilMarked } from "../support/jobs.ts";
import { startWorker, T, test } from "../support/work.ts";

const job = defineJob({ type: "a" });

/** So long between two polls that only a notification or a hand-off can wake the worker during a test. */
const rarely = 60_000;

/** From now on no notification is sent, as if every one was lost. */
async function loseNotifications(db: TestDatabase): Promise<void> {
  await db.query(
    "create or replace function jobforge.notify(p_channel text, p_payload text) returns void language sql as 'select'",
  );
}

test("an idle worker runs the jobs that enqueues hand to it, each once", async ({ db, forge }) => {
  const ran = new Happening<string>();
  const worker = await startWorker(forge, {
    pollMs: rarely,
    handlers: [job.handle((_, { id }) => ran.now(id))],
  });
  await untilMarked(db, 1);
  const ids: string[] = [];
  for (let n = 1; n <= 5; n++) {
    ids.push((await forge.enqueue(job, { n }, { tenantId: T })).id);
    await ran.times(n);
    await untilFinished(db, n);
  }
  expect(await ran.times(5)).toEqual(ids);
  expect(worker.metrics().handed).toBe(5);
  expect(await db.query("select distinct status, attempts, uncounted from jobforge_jobs")).toEqual([
    { status: "succeeded", attempts: 1, uncounted: 0 },
  ]);
});

/** How many calls of a worker have claimed, and how many have settled. */
function callsOf(worker: { metrics(): WorkerMetrics }): { claims: number; settles: number } {
  const { claim, settle } = worker.metrics();
  const count = (bins: WorkerMetrics["claim"]): number => bins.reduce((sum, [calls]) => sum + calls, 0);
  return { claims: count(claim), settles: count(settle) };
}

test("the ends of jobs that were handed over are settled without a claim, unless they may free others", async ({
  db,
  forge,
}) => {
  const parent = defineJob({ type: "parent" });
  const ran = new Happening<string>();
  const worker = await startWorker(forge, {
    pollMs: rarely,
    handlers: [
      job.handle(() => ran.now("a")),
      parent.handle((_, { enqueue }) => {
        enqueue(job, {});
        ran.now("parent");
      }),
    ],
  });
  await untilMarked(db, 2);
  await forge.enqueue(job, {}, { tenantId: T });
  await untilFinished(db, 1);
  await until(() => callsOf(worker).settles === 1);
  const before = callsOf(worker);
  await forge.enqueue(job, {}, { tenantId: T });
  await untilFinished(db, 2);
  await until(() => callsOf(worker).settles === 2);
  expect(callsOf(worker).claims).toBe(before.claims);
  await forge.enqueue(parent, {}, { tenantId: T });
  await untilFinished(db, 4);
  expect(await ran.times(4)).toEqual(["a", "a", "parent", "a"]);
  expect(worker.metrics().handed).toBe(3);
  expect(callsOf(worker).claims).toBeGreaterThan(before.claims);
});

describe("no slot is offered by a worker", () => {
  const cases: [what: string, options: Partial<WorkerOptions>][] = [
    ["with handOff: false", { handOff: false }],
    ["of one tenant", { tenantId: T }],
    ["whose only type has a cap", { maxPerType: { a: 1 } }],
  ];
  test.for(cases)("%s", async ([, options], { db, forge }) => {
    const ran = new Happening();
    const handlers = [job.handle(() => ran.now())];
    const worker = await startWorker(forge, { pollMs: rarely, handlers, ...options });
    await untilMarked(db, 1);
    await forge.enqueue(job, {}, { tenantId: T });
    await ran.once();
    expect(worker.metrics().handed).toBe(0);
    expect(await db.value("select count(*)::int from jobforge.offers")).toBe(0);
  });

  test("that only polls", async ({ db, forge }) => {
    const ran = new Happening();
    await startWorker(forge, { pollMs: 20, listen: false, handlers: [job.handle(() => ran.now())] });
    await forge.enqueue(job, {}, { tenantId: T });
    await ran.once();
    expect(await db.value("select count(*)::int from jobforge.offers")).toBe(0);
  });
});

test("a job whose notification is lost starts with the next heartbeat", async ({ db, forge }) => {
  const ran = new Happening();
  const worker = await startWorker(forge, {
    pollMs: rarely,
    heartbeatMs: 100,
    handlers: [job.handle(() => ran.now())],
  });
  await untilMarked(db, 1);
  await loseNotifications(db);
  await forge.enqueue(job, {}, { tenantId: T });
  await ran.once();
  await untilFinished(db, 1);
  expect(worker.metrics().handed).toBe(1);
});

test("a worker that stops leaves behind no job that was handed to it", async ({ db, forge }) => {
  const worker = await startWorker(forge, { pollMs: rarely, handlers: [job.handle(() => undefined)] });
  await untilMarked(db, 1);
  await loseNotifications(db);
  await forge.enqueue(job, {}, { tenantId: T });
  await worker.stop();
  expect(await db.query("select status, attempts, uncounted from jobforge_jobs")).toEqual([
    { status: "queued", attempts: 1, uncounted: 1 },
  ]);
});

test("a worker whose listener was killed receives what it missed, and offers its slots again", async ({
  db,
  forge,
}) => {
  const ran = new Happening();
  const worker = await startWorker(forge, { pollMs: rarely, handlers: [job.handle(() => ran.now())] });
  await untilMarked(db, 1);
  // The notification is committed while no connection listens.
  await db.query(
    `with killed as materialized (
       select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid())
     select jobforge_enqueue_job($1, 'a', p_hand_off => true) from (select count(*) from killed) k`,
    [T],
  );
  await ran.once();
  const before = worker.metrics().handed;
  await until(async () => {
    await forge.enqueue(job, {}, { tenantId: T });
    return worker.metrics().handed > before;
  });
});
