/** Sleeping and waking: what an idle worker does, and what it does not. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { createWorker } from "../../src/index.ts";
import { observed } from "../support/observed.ts";
import { enqueueMany, Happening, keptLog, startWorker, T, test, until, untilEnded } from "../support/work.ts";

const job = defineJob({ type: "a" });

/** So far from one poll to the next that nothing but a notification or a due time can be the reason. */
const HARDLY = 60_000;

const marks = (db: TestDatabase): Promise<number> =>
  db.value("select count(*)::int from jobforge.idle_workers");

test("an idle worker is woken by an enqueue", async ({ db, forge }) => {
  const ran = new Happening();
  await startWorker(forge, { pollMs: HARDLY, handlers: [job.handle(() => ran.now())] });
  await until(async () => (await marks(db)) === 1);
  await forge.enqueue(job, {}, { tenantId: T });
  await ran.once();
});

test("an idle worker is woken by what psql enqueues, and by a gate that opens", async ({ db, forge }) => {
  const ran = new Happening();
  await startWorker(forge, { pollMs: HARDLY, handlers: [job.handle(() => ran.now())] });
  await until(async () => (await marks(db)) === 1);
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
  const looks = new Happening();
  const watched = observed(forge, (name) => name === "jobforge_exchange_jobs" && looks.now());
  await using worker = createWorker(watched, {
    pollMs: HARDLY,
    logger: keptLog().logger,
    handlers: [job.handle(() => ran.now(Date.now()))],
  });
  await worker.start();
  expect(await ran.once()).toBeGreaterThanOrEqual(dueAt.getTime() - 5);
  await untilEnded(db, 1);
  // At its start, after it asked to be woken, when the job was due, and with its end; once more when a clock was early.
  expect(looks.values.length).toBeLessThanOrEqual(8);
});

test("a worker that sleeps until a later job is told of an earlier one", async ({ db, forge }) => {
  await forge.enqueue(job, { n: 1 }, { tenantId: T, runAt: new Date(Date.now() + 3_600_000) });
  const ran = new Happening();
  await startWorker(forge, { pollMs: HARDLY, handlers: [job.handle(() => ran.now())] });
  await until(async () => (await marks(db)) === 1);
  await forge.enqueue(job, { n: 2 }, { tenantId: T, runAt: new Date(Date.now() + 300) });
  await ran.once();
});

test("a retry wakes the worker when it is due", async ({ db, forge }) => {
  const ran = new Happening<number>();
  const handler = job.handle((_, { attempt, retryAfter }) => {
    ran.now(attempt);
    if (attempt < 3) retryAfter(100);
  });
  await startWorker(forge, { pollMs: HARDLY, handlers: [handler] });
  await until(async () => (await marks(db)) === 1);
  await forge.enqueue(job, {}, { tenantId: T });
  expect(await ran.times(3)).toEqual([1, 2, 3]);
});

test("a worker that must not LISTEN finds its jobs by polling", async ({ db, forge }) => {
  const ran = new Happening();
  const listens = new Happening();
  const listen = (): Promise<never> => {
    listens.now();
    return Promise.reject(new Error("it must not listen"));
  };
  const transport = { ...forge.transport, listen };
  await using worker = createWorker(
    { transport },
    { listen: false, logger: keptLog().logger, handlers: [job.handle(() => ran.now())] },
  );
  await worker.start();
  await enqueueMany(db, "a", 1);
  await ran.once();
  await untilEnded(db, 1);
  await forge.enqueue(job, {}, { tenantId: T });
  await ran.times(2);
  expect(listens.values).toEqual([]);
  expect(await marks(db), "nobody is to be notified").toBe(0);
});

test("a client for a transaction-mode pooler makes workers that only poll", async ({ db }) => {
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
    if (unmarked.values.length === 0) await new Promise<void>((resolve) => setTimeout(resolve, 2));
  });
  await startWorker(forge, { concurrency: 2, handlers: [handler] });
  await until(async () => (await marks(db)) === 1);
  await enqueueMany(db, "a", 3_000);
  await until(async () => (await marks(db)) === 0);
  unmarked.now();
  await untilEnded(db, 3_000);
  await until(async () => (await marks(db)) === 1);
});

test("a due job that somebody has locked is looked for less and less often", async ({ db, forge }) => {
  const { id } = await forge.enqueue(job, {}, { tenantId: T, runAt: new Date(Date.now() + 200) });
  const application = await db.connect();
  await application.query("begin");
  await application.query('select jobforge_update_job($1, $2, \'{"tags": ["mine"]}\')', [id, T]);
  const looks = new Happening<number>();
  const watched = observed(
    forge,
    (name) => name === "jobforge_exchange_jobs" && looks.now(performance.now()),
  );
  await using worker = createWorker(watched, {
    logger: keptLog().logger,
    handlers: [job.handle(() => undefined)],
  });
  await worker.start();
  await until(async () => await db.value("select clock_timestamp() > run_at from jobforge.jobs"));
  const before = looks.values.length;
  const times = (await looks.times(before + 8)).slice(before);
  // 5 ms doubled each time: 5, 10, … 320 between eight looks.
  expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(250);
  await application.query("commit");
  await untilEnded(db, 1);
});
