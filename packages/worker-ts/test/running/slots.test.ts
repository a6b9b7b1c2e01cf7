/** How many jobs run at the same time, which ones, and how many are claimed before they can start. */
import { defineJob, sleep, typed } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { createWorker } from "../../src/index.ts";
import { stuckAfter } from "../support/handlers.ts";
import { Crowd, Happening, until } from "../support/happening.ts";
import { enqueueMany, statuses, untilFinished } from "../support/jobs.ts";
import { observedClaims } from "../support/observed.ts";
import { keptLog, makeWorker, startWorker, T, test } from "../support/work.ts";

const a = defineJob({ type: "a", input: typed<{ n: number }>() });
const b = defineJob({ type: "b", input: typed<{ n: number }>() });

const tick = (): Promise<void> => sleep(1);

test("a worker claims the types that it has handlers for, and no others", async ({ db, forge }) => {
  await enqueueMany(db, "a", 20);
  await enqueueMany(db, "b", 20);
  const summary = await makeWorker(forge, { handlers: [a.handle(() => undefined)] }).tick({ limit: 100 });
  expect(summary).toMatchObject({ claimed: 20, succeeded: 20 });
  expect(await db.value("select max(attempts) from jobforge_jobs where type = 'b'")).toBe(0);
});

test("as many handlers run at the same time as the concurrency allows, and no more", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 300);
  const crowd = new Crowd();
  await startWorker(forge, { concurrency: 7, handlers: [a.handle(() => crowd.during(tick))] });
  await untilFinished(db, 300);
  expect(crowd.most).toBe(7);
});

test("one slow job blocks no other slot", async ({ db, forge }) => {
  await enqueueMany(db, "a", 1);
  await enqueueMany(db, "b", 20);
  const gate = new Happening();
  const short = new Happening();
  await startWorker(forge, {
    concurrency: 3,
    handlers: [a.handle(() => gate.once()), b.handle(tick)],
    hooks: { onSuccess: ({ type }) => type === "b" && short.now() },
  });
  await short.times(20);
  expect(await statuses(db)).toEqual({ running: 1, succeeded: 20 });
  gate.now();
  await untilFinished(db, 21);
});

test("a type's own cap holds, and the other types use the remaining slots", async ({ db, forge }) => {
  await enqueueMany(db, "a", 60);
  await enqueueMany(db, "b", 60);
  const [all, capped] = [new Crowd(), new Crowd()];
  await startWorker(forge, {
    concurrency: 6,
    prefetch: 0,
    maxPerType: { a: 2 },
    handlers: [a.handle(() => all.during(() => capped.during(tick))), b.handle(() => all.during(tick))],
  });
  await untilFinished(db, 120);
  expect(capped.most).toBe(2);
  expect(all.most).toBe(6);
  expect(await db.value("select count(*)::int from jobforge_job_attempts where status = 'released'")).toBe(0);
});

test("a type at its cap is claimed again as soon as a handler of it ends", async ({ db, forge }) => {
  await enqueueMany(db, "a", 5);
  const started = new Happening<number>();
  const gates = Array.from({ length: 6 }, () => new Happening());
  await startWorker(forge, {
    concurrency: 4,
    maxPerType: { a: 1 },
    // Only the end of a run makes the worker claim again.
    pollMs: 60_000,
    handlers: [
      a.handle(async ({ n }) => {
        started.now(n);
        await gates[n]?.once();
      }),
      b.handle(tick),
    ],
  });
  for (let n = 1; n <= 5; n += 1) {
    expect(await started.times(n)).toHaveLength(n);
    gates[n]?.now();
  }
  await untilFinished(db, 5);
});

test("slow jobs are not claimed before there is a slot for them", async ({ db, forge }) => {
  await enqueueMany(db, "a", 12);
  const slow = a.handle(() => sleep(100));
  await startWorker(forge, { concurrency: 2, handlers: [slow] });
  let most = 0;
  await until(async () => {
    const { running = 0, succeeded = 0 } = await statuses(db);
    most = Math.max(most, running);
    return succeeded === 12;
  });
  expect(most).toBe(2);
});

test("jobs that were claimed ahead go back when the jobs before them are unexpectedly slow", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 3_000);
  const { handler, stuck, gate } = stuckAfter("a", 1_000);
  await startWorker(forge, { id: "first", concurrency: 2, handlers: [handler] });
  await stuck.times(2);
  await until(
    async () => (await db.value("select count(*)::int from jobforge_jobs where locked_by = 'first'")) === 2,
  );
  const other = await startWorker(forge, { handlers: [a.handle(() => undefined)] });
  await until(async () => (await statuses(db))["succeeded"] === 2_998);
  await other.stop();
  gate.now();
  await untilFinished(db, 3_000);
  expect(await db.value("select max(attempts - uncounted) from jobforge_jobs"), "it cost no attempt").toBe(1);
});

test("fast jobs are claimed and settled by the hundred", async ({ db, forge }) => {
  await enqueueMany(db, "a", 5_000, 10);
  const observed = observedClaims(forge);
  const worker = createWorker(observed.forge, {
    logger: keptLog().logger,
    handlers: [a.handle(() => undefined)],
  });
  const summary = await worker.tick({ limit: 5_000 });
  expect(summary).toMatchObject({ claimed: 5_000, succeeded: 5_000 });
  expect(observed.claims.values.length).toBeLessThan(5_000 / 100);
});

test("a batch handler is called once for many jobs, and each has its own end", async ({ db, forge }) => {
  await enqueueMany(db, "a", 35);
  const sizes: number[] = [];
  const crowd = new Crowd();
  const handler = a.handleBatch(10, async (items) => {
    sizes.push(items.length);
    return await crowd.during(async () => {
      await tick();
      return items.map(({ input, job }) =>
        input.n % 7 === 0 ? new Error(`no ${input.n}`) : { n: input.n, attempt: job.attempt },
      );
    });
  });
  const summary = await makeWorker(forge, { concurrency: 2, handlers: [handler] }).tick({ limit: 35 });
  expect(summary).toMatchObject({ claimed: 35, succeeded: 30, retried: 5 });
  expect(Math.max(...sizes)).toBe(10);
  expect(sizes.length).toBeLessThanOrEqual(5);
  expect(crowd.most, "a batch takes one slot").toBe(2);
  const wrong = await db.value(
    `select count(*)::int from jobforge_jobs j left join jobforge_job_results r on r.job_id = j.id
     where coalesce(r.result ->> 'n', substr(j.last_error, 4)) is distinct from j.payload ->> 'n'`,
  );
  expect(wrong).toBe(0);
});

test("a batch starts as it is when no more jobs are due", async ({ db, forge }) => {
  await enqueueMany(db, "a", 3);
  const sizes: number[] = [];
  const handler = a.handleBatch(10, async (items) => {
    sizes.push(items.length);
    return items.map(() => null);
  });
  await startWorker(forge, { concurrency: 3, handlers: [handler] });
  await untilFinished(db, 3);
  expect(sizes).toEqual([3]);
});

test("a batch handler that throws, or returns too few results, fails all of its jobs", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 4);
  await enqueueMany(db, "b", 4);
  const throws = a.handleBatch(4, () => Promise.reject(new Error("all of them")));
  const forgets = b.handleBatch(4, async () => [1]);
  const summary = await makeWorker(forge, { handlers: [throws, forgets] }).tick({ limit: 8 });
  expect(summary).toMatchObject({ claimed: 8, retried: 8 });
  const errors = await db.query("select distinct type, last_error from jobforge_jobs order by 1");
  expect(errors).toEqual([
    { type: "a", last_error: "all of them" },
    { type: "b", last_error: "The handler of b got 4 jobs and returned 1 results" },
  ]);
});

test("a worker for one tenant leaves the jobs of other tenants alone", async ({ db, forge }) => {
  await enqueueMany(db, "a", 20, 2);
  const worker = makeWorker(forge, { tenantId: T, handlers: [a.handle(() => undefined)] });
  expect(await worker.tick({ limit: 100 })).toMatchObject({ claimed: 10 });
  expect(
    await db.value("select count(*)::int from jobforge_jobs where status = 'queued' and tenant_id <> $1", [
      T,
    ]),
  ).toBe(10);
});
