/** Trouble with the database: nothing is lost, no call is repeated in a tight loop, and the log reports it once. */
import { defineJob, JobForge, sleep } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { backoffVectors } from "../../../../test/vectors.ts";
import { createWorker, type Trouble } from "../../src/index.ts";
import { backoff } from "../../src/presence/outage.ts";
import { Happening, until } from "../support/happening.ts";
import { enqueueMany, statuses, untilFinished, untilMarked } from "../support/jobs.ts";
import { observedClaims } from "../support/observed.ts";
import { test } from "../support/own-server.ts";
import { keptLog, type Line, startWorker, T } from "../support/work.ts";

const job = defineJob({ type: "a" });

const troubles = (lines: readonly Line[]): Line[] =>
  lines.filter(({ message }) => message.startsWith("Database trouble:"));
const recoveries = (lines: readonly Line[]): Line[] =>
  lines.filter(({ message }) => message === "Database trouble is over");

test("a run that ends while the database is down is settled afterwards, and the log has two lines about it", async ({
  server,
  ownForge: forge,
}) => {
  const handle = await forge.enqueue(job, {}, { tenantId: T });
  const [started, gate] = [new Happening(), new Happening()];
  const log = keptLog();
  const reported = { begun: new Happening<Trouble>(), over: new Happening<{ durationMs: number }>() };
  const observed = observedClaims(forge);
  await using worker = createWorker(observed.forge, {
    logger: log.logger,
    hooks: {
      onTrouble: (error, trouble) => {
        expect(error).toBeInstanceOf(Error);
        reported.begun.now(trouble);
      },
      onTroubleOver: reported.over.now,
    },
    handlers: [
      job.handle(async () => {
        started.now();
        await gate.once();
        return "worth keeping";
      }),
    ],
  });
  await worker.start();
  await started.once();

  await server.stop();
  const callsBefore = observed.claims.values.length;
  const cpu = process.cpuUsage();
  const since = performance.now();
  gate.now();
  const times = (await observed.claims.times(callsBefore + 5)).slice(callsBefore);
  const waited = (times.at(-1) ?? 0) - (times[0] ?? 0);
  // The delays between five tries are at least half of 100, 200, 400 and 800 ms.
  expect(waited).toBeGreaterThanOrEqual(740);
  const { user, system } = process.cpuUsage(cpu);
  expect((user + system) / 1_000, "CPU time while the database was down").toBeLessThan(
    (performance.now() - since) / 2,
  );

  await server.start();
  expect(await handle.result()).toBe("worth keeping");
  const next = await forge.enqueue(job, {}, { tenantId: T });
  expect(await next.result()).toBe("worth keeping");
  expect((await forge.get(handle.id, { tenantId: T }))?.attempts).toBe(1);
  await until(() => recoveries(log.lines).length > 0);
  expect(troubles(log.lines)).toHaveLength(1);
  expect(reported.begun.values).toMatchObject([{ workerId: worker.id, activity: expect.any(String) }]);
  expect(reported.over.values).toMatchObject([{ workerId: worker.id, durationMs: expect.any(Number) }]);
  expect(troubles(log.lines)[0]).toMatchObject({ level: "error", error: expect.stringMatching(/./) });
  expect(recoveries(log.lines)).toHaveLength(1);
});

test("when the database restarts in the middle of many jobs, none is lost and none ends twice", async ({
  server,
  ownForge: forge,
}) => {
  const jobs = Array.from({ length: 3_000 }, () => ({ job, input: {} }));
  await forge.enqueueMany(jobs, { tenantId: T });
  const ended = new Happening<string>();
  await using worker = createWorker(forge, {
    logger: keptLog().logger,
    handlers: [job.handle(() => sleep(1))],
    hooks: { onSuccess: ({ id }) => ended.now(id) },
  });
  await worker.start();
  await ended.times(200);
  await server.stop();
  expect(ended.values.length, "it was in the middle").toBeLessThan(3_000);
  await server.start();
  await ended.times(3_000);
  expect(new Set(ended.values).size).toBe(3_000);
  const counts = await forge.transport.call<readonly unknown[]>("jobforge_list_jobs", {
    p_tenant_id: T,
    p_filters: { status: ["queued", "running", "dead", "failed"] },
  });
  expect(counts).toEqual([]);
});

test("a worker whose connections are cut again and again ends every job once", async ({ db, forge }) => {
  await enqueueMany(db, "a", 5_000, 10);
  await startWorker(forge, { handlers: [job.handle(() => undefined)] });
  for (let cut = 0; cut < 5; cut += 1) {
    const before = (await statuses(db))["succeeded"] ?? 0;
    await until(async () => ((await statuses(db))["succeeded"] ?? 0) > before || before === 5_000);
    await db.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()",
      [db.name],
    );
  }
  await untilFinished(db, 5_000);
  expect(await statuses(db)).toEqual({ succeeded: 5_000 });
  expect(await db.value("select count(*)::int from jobforge_job_attempts where status = 'succeeded'")).toBe(
    5_000,
  );
});

test("a listening connection that was killed is replaced, and wakes the worker as before", async ({
  db,
  forge,
}) => {
  const log = keptLog();
  const ran = new Happening();
  // The worker polls only once a minute, so a job in between must wake it.
  await startWorker(forge, { pollMs: 60_000, logger: log.logger, handlers: [job.handle(() => ran.now())] });
  await untilMarked(db, 1);
  const killed = await db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and query like 'unlisten%'",
    [db.name],
  );
  expect(killed).toHaveLength(1);
  await until(() => recoveries(log.lines).length === 1);
  await untilMarked(db, 1);
  await forge.enqueue(job, {}, { tenantId: T });
  await ran.once();
  expect(troubles(log.lines)).toHaveLength(1);
  expect(troubles(log.lines)[0]).toMatchObject({ activity: "listen" });
});

test("a worker whose role is revoked goes on when the role is granted again", async ({ db }) => {
  const login = await db.createLogin("jobforge_worker");
  await using forge = new JobForge({ database: login.url });
  const log = keptLog();
  const ran = new Happening();
  const handlers = [job.handle(() => ran.now())];
  await using worker = createWorker(forge, { listen: false, logger: log.logger, handlers });
  await worker.start();
  await db.query(`revoke jobforge_worker from ${login.role}`);
  await until(() => troubles(log.lines).length === 1);
  await enqueueMany(db, "a", 1);
  await db.query(`grant jobforge_worker to ${login.role}`);
  await ran.once();
  await until(() => recoveries(log.lines).length === 1);
  expect(troubles(log.lines)[0]).toMatchObject({ code: "42501" });
});

test("a worker without a database starts when there is one, and can be stopped before", async ({
  server,
  ownForge: forge,
}) => {
  await server.stop();
  const log = keptLog();
  const worker = createWorker(forge, { logger: log.logger, handlers: [job.handle(() => "late")] });
  const first = worker.start();
  await until(() => troubles(log.lines).length === 1);
  await worker.stop();
  await first;
  const second = worker.start();
  await server.start();
  await second;
  expect(await (await forge.enqueue(job, {}, { tenantId: T })).result()).toBe("late");
  await worker.stop();
});

test("a worker stops when it is asked to, even if its last results cannot be settled", async ({
  server,
  ownForge: forge,
}) => {
  await forge.enqueue(job, {}, { tenantId: T });
  const [started, gate] = [new Happening(), new Happening()];
  const log = keptLog();
  const worker = createWorker(forge, {
    logger: log.logger,
    abortGraceMs: 0,
    handlers: [
      job.handle(async () => {
        started.now();
        await gate.once();
      }),
    ],
  });
  await worker.start();
  await started.once();
  await server.stop();
  gate.now();
  await worker.stop({ graceMs: 0 });
  expect(log.lines).toContainEqual(expect.objectContaining({ level: "warn", jobs: 1 }));
});

test("a tick fails when the database is down", async ({ db }) => {
  await using forge = new JobForge({ database: db.url.replace(/:\d+\//, ":1/") });
  const worker = createWorker(forge, { logger: keptLog().logger, handlers: [job.handle(() => undefined)] });
  await expect(worker.tick()).rejects.toThrow(/ECONNREFUSED|connect/);
});

test("delays between tries double from 100 ms to five seconds, and are never less than half of that", () => {
  for (const { times, longest_ms: full } of backoffVectors.outage) {
    const waits = Array.from({ length: 200 }, () => backoff(times));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(full / 2);
    expect(Math.max(...waits)).toBeLessThanOrEqual(full);
    expect(new Set(waits).size).toBeGreaterThan(100);
  }
});
