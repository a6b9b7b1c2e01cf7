/** transaction(): it leaves connections to the worker, and a run that has ended cannot succeed through it. */
import { defineJob, type JobContext, JobForge, type PgClient } from "@jobforge/sdk-ts";
import pg from "pg";
import { expect } from "vitest";
import { abortOf } from "../support/handlers.ts";
import { Crowd, Happening } from "../support/happening.ts";
import { attemptsOf, enqueueMany, jobOf, untilFinished } from "../support/jobs.ts";
import { makeWorker, startWorker, T, test } from "../support/work.ts";

const write = defineJob({ type: "write" });

test("a transport knows the maximum number of its connections", async ({ db, forge }) => {
  expect(forge.transport.maxConnections).toBe(10);
  await using small = new JobForge({ database: db.url, pool: { max: 3 } });
  expect(small.transport.maxConnections).toBe(3);
  const pool = new pg.Pool({ connectionString: db.url, max: 7 });
  expect(new JobForge({ database: pool }).transport.maxConnections).toBe(7);
  await pool.end();
  const client = new pg.Client({ connectionString: db.url });
  expect(new JobForge({ database: client }).transport.maxConnections).toBe(1);
});

test("transactions leave two connections for heartbeats, settling and progress; further transactions wait", async ({
  db,
}) => {
  await using forge = new JobForge({ database: db.url, pool: { max: 4 } });
  await enqueueMany(db, "write", 6);
  const inside = new Happening();
  const open = new Crowd();
  const handler = write.handle((_, job) =>
    job.transaction(() =>
      open.during(async () => {
        inside.now();
        await inside.times(2);
        await job.progress({ half: true });
      }),
    ),
  );
  const summary = await makeWorker(forge, { concurrency: 6, handlers: [handler] }).tick();
  expect(summary).toMatchObject({ claimed: 6, succeeded: 6 });
  expect(open.most).toBe(2);
});

test("all workers on one client share its connections", async ({ db }) => {
  await using forge = new JobForge({ database: db.url, pool: { max: 3 } });
  await enqueueMany(db, "write", 4);
  const open = new Crowd();
  const handler = write.handle((_, job) => job.transaction(() => open.during(() => job.progress(1))));
  const tick = (): Promise<{ succeeded: number }> =>
    makeWorker(forge, { concurrency: 2, prefetch: 0, handlers: [handler] }).tick({ limit: 2 });
  const summaries = await Promise.all([tick(), tick()]);
  expect(summaries.map(({ succeeded }) => succeeded)).toEqual([2, 2]);
  expect(open.most).toBe(1);
});

test("a run that times out while it waits for a connection fails, and the next one gets its turn", async ({
  db,
}) => {
  await using forge = new JobForge({ database: db.url, pool: { max: 3 } });
  const hasty = defineJob({ type: "hasty", timeoutMs: 50 });
  const entered = new Happening<string>();
  const failed = new Happening<{ readonly error: { readonly name: string } }>();
  const gate = new Happening();
  const enter = (job: JobContext): Promise<void> =>
    job.transaction(async () => {
      entered.now(job.type);
      if (job.type === "write") await gate.once();
    });
  const last = defineJob({ type: "last" });
  await startWorker(forge, {
    hooks: { onFailure: failed.now },
    handlers: [write, hasty, last].map((definition) => definition.handle((_, job) => enter(job))),
  });
  await forge.enqueue(write, {}, { tenantId: T });
  await entered.once();
  await forge.enqueue(hasty, {}, { tenantId: T, maxAttempts: 1 });
  expect((await failed.once()).error.name).toBe("JobTimeoutError");
  await forge.enqueue(last, {}, { tenantId: T });
  gate.now();
  expect(await entered.times(2)).toEqual(["write", "last"]);
  await untilFinished(db, 3);
});

test("a run that timed out during transaction() has failed, and its writes are rolled back", async ({
  db,
  forge,
}) => {
  await db.query("create table written (n integer)");
  const hasty = defineJob({ type: "hasty", timeoutMs: 20 });
  const { id } = await forge.enqueue(hasty, {}, { tenantId: T, maxAttempts: 1 });
  const handler = hasty.handle((_, job) =>
    job.transaction(async (client) => {
      await (client as PgClient).query("insert into written values (1)", []);
      await abortOf(job.signal);
    }),
  );
  expect(await makeWorker(forge, { handlers: [handler] }).tick()).toMatchObject({ succeeded: 0, failed: 1 });
  expect(await jobOf(db, id)).toMatchObject({ status: "dead", error: { name: "JobTimeoutError" } });
  expect(await db.value("select count(*)::int from written")).toBe(0);
});

test("a run that was given up during transaction() cannot succeed afterwards", async ({ db, forge }) => {
  await db.query("create table written (n integer)");
  const deaf = defineJob({ type: "deaf", timeoutMs: 20 });
  const { id } = await forge.enqueue(deaf, {}, { tenantId: T, maxAttempts: 1 });
  const failed = new Happening<unknown>();
  const refused = new Happening<unknown>();
  const handler = deaf.handle(async (_, job) => {
    const writes = job.transaction(async (client) => {
      await (client as PgClient).query("insert into written values (1)", []);
      await failed.once();
    });
    await writes.catch(refused.now);
  });
  await startWorker(forge, { abortGraceMs: 10, hooks: { onFailure: failed.now }, handlers: [handler] });
  expect(await refused.once()).toMatchObject({ kind: "timeout" });
  await untilFinished(db, 1);
  expect(await jobOf(db, id)).toMatchObject({ status: "dead", error: { name: "JobTimeoutError" } });
  expect(await attemptsOf(db, id)).toEqual(["failed"]);
  expect(await db.value("select count(*)::int from written")).toBe(0);
});
