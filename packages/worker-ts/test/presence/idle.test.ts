/** Sleeping and waking: what wakes an idle worker, and how often it looks for jobs. */
import { defineJob, JobForge, sleep } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { createWorker } from "../../src/index.ts";
import { Happening, until } from "../support/happening.ts";
import { enqueueMany, markedWorkers, untilFinished, untilMarked } from "../support/jobs.ts";
import { observedClaims } from "../support/observed.ts";
import { keptLog, startWorker, T, test } from "../support/work.ts";

const job = defineJob({ type: "a" });

/** So long between two polls that only a notification or a due time can wake the worker during a test. */
const rarely = 60_000;

test("an idle worker is woken by an enqueue", async ({ db, forge }) => {
  const ran = new Happening();
  await startWorker(forge, { pollMs: rarely, handlers: [job.handle(() => ran.now())] });
  await untilMarked(db, 1);
  await forge.enqueue(job, {}, { tenantId: T });
  await ran.once();
});

test("an idle worker is woken by an enqueue in psql, and by a gate that opens", async ({ db, forge }) => {
  const ran = new Happening();
  await startWorker(forge, { pollMs: rarely, handlers: [job.handle(() => ran.now())] });
  await untilMarked(db, 1);
  await db.query("select jobforge_enqueue_job($1, 'a')", [T]);
  await ran.times(1);
  await db.query("select jobforge_set_gate('type', 'a', true)");
  await db.query("select jobforge_enqueue_job($1, 'a')", [T]);
  await db.query("select jobforge_set_gate('type', 'a', false)");
  await ran.times(2);
});

test("a worker sleeps until the next job is due, and not longer", async ({ db, forge }) => {
  const dueAt = new Date(Date.now() + 700);
  await forge.enqueue(job, {}, { tenantId: T, runAt: dueAt });
  const ran = new Happening<number>();
  const observed = observedClaims(forge);
  await using worker = createWorker(observed.forge, {
    pollMs: rarely,
    logger: keptLog().logger,
    handlers: [job.handle(() => ran.now(Date.now()))],
  });
  await worker.start();
  expect(await ran.once()).toBeGreaterThanOrEqual(dueAt.getTime() - 5);
  await untilFinished(db, 1);
  // At its start, after it has asked to be notified, when the job was due, with its end; again if a clock was early.
  expect(observed.claims.values.length).toBeLessThanOrEqual(8);
});

test("a worker that sleeps until a later job is notified of an earlier one", async ({ db, forge }) => {
  await forge.enqueue(job, { n: 1 }, { tenantId: T, runAt: new Date(Date.now() + 3_600_000) });
  const ran = new Happening();
  await startWorker(forge, { pollMs: rarely, handlers: [job.handle(() => ran.now())] });
  await untilMarked(db, 1);
  await forge.enqueue(job, { n: 2 }, { tenantId: T, runAt: new Date(Date.now() + 300) });
  await ran.once();
});

test("a retry wakes the worker when it is due", async ({ db, forge }) => {
  const ran = new Happening<number>();
  const handler = job.handle((_, { attempt, retryAfter }) => {
    ran.now(attempt);
    if (attempt < 3) retryAfter(100);
  });
  await startWorker(forge, { pollMs: rarely, handlers: [handler] });
  await untilMarked(db, 1);
  await forge.enqueue(job, {}, { tenantId: T });
  expect(await ran.times(3)).toEqual([1, 2, 3]);
});

test("a heartbeat finds a job whose notification was lost", async ({ db, forge }) => {
  const ran = new Happening();
  await startWorker(forge, { pollMs: rarely, heartbeatMs: 100, handlers: [job.handle(() => ran.now())] });
  await untilMarked(db, 1);
  await db.query("select jobforge_enqueue_job($1, 'a', p_notify => false)", [T]);
  await ran.once();
});

test("a worker with listen: false finds its jobs by polling", async ({ db, forge }) => {
  const ran = new Happening();
  const listens = new Happening();
  const listen = (): Promise<never> => {
    listens.now();
    return Promise.reject(new Error("the worker must not listen"));
  };
  const transport = { ...forge.transport, listen };
  await using worker = createWorker(
    { transport },
    { listen: false, logger: keptLog().logger, handlers: [job.handle(() => ran.now())] },
  );
  await worker.start();
  await enqueueMany(db, "a", 1);
  await ran.once();
  await untilFinished(db, 1);
  await forge.enqueue(job, {}, { tenantId: T });
  await ran.times(2);
  expect(listens.values).toEqual([]);
  expect(await markedWorkers(db), "workers to notify").toBe(0);
});

test("workers on a client for a transaction-mode pooler only poll", async ({ db }) => {
  await using forge = new JobForge({ database: db.url, poolMode: "transaction" });
  const ran = new Happening();
  await startWorker(forge, { handlers: [job.handle(() => ran.now())] });
  await enqueueMany(db, "a", 1);
  await ran.once();
  const sessions = await db.query(
    "select query from pg_stat_activity where datname = $1 and query ilike '%listen%' and pid <> pg_backend_pid()",
    [db.name],
  );
  expect(sessions).toEqual([]);
});

test("a busy worker asks for no notifications, and asks again when it has nothing to do", async ({
  db,
  forge,
}) => {
  const unmarked = new Happening();
  const handler = job.handle(async () => {
    if (unmarked.values.length === 0) await sleep(2);
  });
  await startWorker(forge, { concurrency: 2, handlers: [handler] });
  await untilMarked(db, 1);
  await enqueueMany(db, "a", 3_000);
  await untilMarked(db, 0);
  unmarked.now();
  await untilFinished(db, 3_000);
  await untilMarked(db, 1);
});

test("a due job that another transaction has locked is looked for less and less often", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(job, {}, { tenantId: T, runAt: new Date(Date.now() + 200) });
  const application = await db.connect();
  await application.query("begin");
  await application.query('select jobforge_update_job($1, $2, \'{"tags": ["mine"]}\')', [id, T]);
  const observed = observedClaims(forge);
  await using worker = createWorker(observed.forge, {
    logger: keptLog().logger,
    handlers: [job.handle(() => undefined)],
  });
  await worker.start();
  await until(async () => await db.value("select clock_timestamp() > run_at from jobforge.live_rows"));
  const before = observed.claims.values.length;
  const times = (await observed.claims.times(before + 8)).slice(before);
  // 5 ms, doubled each time: 5, 10, … 320 ms between eight claims.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(250);
  await application.query("commit");
  await untilFinished(db, 1);
});
