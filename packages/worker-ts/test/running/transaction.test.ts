/** transaction(): connections are left for the worker, and a run that is over cannot succeed through it. */
import { defineJob, type JobContext, JobForge, type PgClient } from "@jobforge/sdk-ts";
import pg from "pg";
import { expect } from "vitest";
import {
  attemptsOf,
  enqueueMany,
  Happening,
  jobOf,
  makeWorker,
  startWorker,
  T,
  test,
  untilEnded,
} from "../support/work.ts";

const write = defineJob({ type: "write" });

test("a transport says how many connections it has at most", async ({ db, forge }) => {
  expect(forge.transport.maxConnections).toBe(10);
  await using small = new JobForge({ database: db.url, pool: { max: 3 } });
  expect(small.transport.maxConnections).toBe(3);
  const pool = new pg.Pool({ connectionString: db.url, max: 7 });
  expect(new JobForge({ database: pool }).transport.maxConnections).toBe(7);
  await pool.end();
  const client = new pg.Client({ connectionString: db.url });
  expect(new JobForge({ database: client }).transport.maxConnections).toBe(1);
});

test("transactions leave two connections for heartbeats, settling and progress, and the others wait their turn", async ({
  db,
}) => {
  await using forge = new JobForge({ database: db.url, pool: { max: 4 } });
  await enqueueMany(db, "write", 6);
  const inside = new Happening();
  let open = 0;
  let most = 0;
  const handler = write.handle((_, job) =>
    job.transaction(async () => {
      open += 1;
      most = Math.max(most, open);
      inside.now();
      await inside.times(2);
      await job.progress({ half: true });
      open -= 1;
    }),
  );
  const summary = await makeWorker(forge, { concurrency: 6, handlers: [handler] }).tick();
  expect(summary).toMatchObject({ claimed: 6, succeeded: 6 });
  expect(most).toBe(2);
});

test("all workers on one client share its turns", async ({ db }) => {
  await using forge = new JobForge({ database: db.url, pool: { max: 3 } });
  await enqueueMany(db, "write", 4);
  let open = 0;
  let most = 0;
  const handler = write.handle((_, job) =>
    job.transaction(async () => {
      open += 1;
      most = Math.max(most, open);
      await job.progress(1);
      open -= 1;
    }),
  );
  const tick = (): Promise<{ succeeded: number }> =>
    makeWorker(forge, { concurrency: 2, prefetch: 0, handlers: [handler] }).tick({ limit: 2 });
  const summaries = await Promise.all([tick(), tick()]);
  expect(summaries.map(({ succeeded }) => succeeded)).toEqual([2, 2]);
  expect(most).toBe(1);
});

test("a run that times out while it waits for its turn fails, and the next one gets in", async ({ db }) => {
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
  await untilEnded(db, 3);
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
      await new Promise((resolve) => job.signal.addEventListener("abort", resolve, { once: true }));
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
  await untilEnded(db, 1);
  expect(await jobOf(db, id)).toMatchObject({ status: "dead", error: { name: "JobTimeoutError" } });
  expect(await attemptsOf(db, id)).toEqual(["failed"]);
  expect(await db.value("select count(*)::int from written")).toBe(0);
});
