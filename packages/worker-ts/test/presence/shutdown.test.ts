/** How workers end: after one signal, after two, when they are stopped, or when they are killed. */
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { expect, onTestFinished } from "vitest";
import { startProcess } from "../support/child.ts";
import { abortOf, stuckAfter } from "../support/handlers.ts";
import { Happening, until } from "../support/happening.ts";
import {
  attemptsOf,
  enqueueMany,
  jobOf,
  markedWorkers,
  statuses,
  untilFinished,
  untilMarked,
} from "../support/jobs.ts";
import { keptLog, makeWorker, startWorker, T, test } from "../support/work.ts";

const slow = defineJob({ type: "slow" });
const noop = defineJob({ type: "noop" });
const patient = defineJob({ type: "patient" });
const obedient = defineJob({ type: "obedient" });
const deaf = defineJob({ type: "deaf" });

test("after SIGTERM a worker lets its job finish, claims no other, keeps its heartbeat, and exits with 0", async ({
  db,
  forge,
}) => {
  const file = join(tmpdir(), `jobforge-worker-${randomUUID()}`);
  onTestFinished(() => rm(file, { force: true }));
  const { id } = await forge.enqueue(patient, { file }, { tenantId: T });
  const child = startProcess(db.url, { id: "polite", heartbeatMs: 500, graceMs: 600_000 });
  await child.logged(({ message, job_id }) => message === "Job started" && job_id === id);
  child.process.kill("SIGTERM");
  await child.logged(({ message }) => message.startsWith("Worker stops"));
  const asked = await db.value<Date>("select clock_timestamp()");
  await enqueueMany(db, "noop", 5);
  // More than two heartbeats, and no claim in between.
  const seenLater =
    "select seen_at > $1::timestamptz + interval '1 second' from jobforge_list_workers() where id = 'polite'";
  await until(() => db.value<boolean>(seenLater, [asked]));
  expect(await statuses(db)).toEqual({ running: 1, queued: 5 });
  await writeFile(file, "");
  expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(await jobOf(db, id)).toMatchObject({ status: "succeeded", attempts: 1 });
  // A claim that was in flight when the signal came may have found a job. The worker has then released it, at no cost.
  expect(await db.value("select max(attempts - uncounted) from jobforge_jobs where type = 'noop'")).toBe(0);
  expect(child.noise()).toBe("");
});

test("a second signal aborts the running jobs and hands them back; the process exits with 0", async ({
  db,
  forge,
}) => {
  const ids = [
    (await forge.enqueue(obedient, {}, { tenantId: T })).id,
    (await forge.enqueue(deaf, {}, { tenantId: T })).id,
  ];
  const child = startProcess(db.url, { graceMs: 600_000 });
  for (const id of ids)
    await child.logged(({ message, job_id }) => message === "Job started" && job_id === id);
  child.process.kill("SIGINT");
  await child.logged(({ message }) => message.startsWith("Worker stops: no new jobs"));
  expect(await statuses(db)).toEqual({ running: 2 });
  child.process.kill("SIGTERM");
  expect(await child.ended).toEqual({ code: 0, signal: null });
  for (const id of ids) {
    expect(await attemptsOf(db, id)).toEqual(["released"]);
    expect(await jobOf(db, id)).toMatchObject({ status: "queued", uncounted: 1 });
  }
});

test("a job whose worker was killed is finished by another worker, and its first attempt is lost", async ({
  db,
  forge,
}) => {
  await forge.policies.set("slow", { leaseMs: 1_000 });
  const { id } = await forge.enqueue(slow, { ms: 600_000 }, { tenantId: T });
  const child = startProcess(db.url);
  await child.logged(({ message, job_id }) => message === "Job started" && job_id === id);
  child.process.kill("SIGKILL");
  expect(await child.ended).toEqual({ code: null, signal: "SIGKILL" });
  // Any worker that claims also takes back lost leases, here that of a worker silent for more than a second.
  await startWorker(forge, { handlers: [slow.handle(() => "by another")] });
  await untilFinished(db, 1);
  expect(await attemptsOf(db, id)).toEqual(["lost", "succeeded"]);
});

test("when a worker is killed in the middle of many jobs, none is lost and none ends twice", async ({
  db,
  forge,
}) => {
  await forge.policies.set("noop", { leaseMs: 1_000 });
  await enqueueMany(db, "noop", 4_000, 10);
  const child = startProcess(db.url, {}, { LOG_LEVEL: "warn" });
  await until(async () => Number((await statuses(db))["succeeded"] ?? 0) > 0);
  child.process.kill("SIGKILL");
  await child.ended;
  await startWorker(forge, { handlers: [noop.handle(() => undefined)] });
  await untilFinished(db, 4_000);
  expect(await statuses(db)).toEqual({ succeeded: 4_000 });
  const ends = await db.query(
    "select job_id from jobforge_job_attempts where status = 'succeeded' group by job_id having count(*) > 1",
  );
  expect(ends).toEqual([]);
});

test("stop() waits for handlers, then aborts them, and hands back the unfinished jobs", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(obedient, {}, { tenantId: T });
  const started = new Happening();
  const worker = await startWorker(forge, {
    handlers: [
      obedient.handle(async (_, { signal }) => {
        started.now();
        throw await abortOf(signal);
      }),
    ],
  });
  await started.once();
  await worker.stop({ graceMs: 20 });
  expect(await attemptsOf(db, id)).toEqual(["released"]);
});

test("a handler that returns after it was aborted by a shutdown has succeeded", async ({ db, forge }) => {
  const { id } = await forge.enqueue(obedient, {}, { tenantId: T });
  const started = new Happening();
  const worker = await startWorker(forge, {
    handlers: [
      obedient.handle(async (_, { signal }) => {
        started.now();
        await abortOf(signal);
        return "just in time";
      }),
    ],
  });
  await started.once();
  await worker.stop({ graceMs: 0 });
  expect(await jobOf(db, id)).toMatchObject({ status: "succeeded" });
});

test("stop() hands back the jobs that were claimed ahead, at no cost", async ({ db, forge }) => {
  await enqueueMany(db, "noop", 2_000);
  const { handler, stuck, gate } = stuckAfter("noop", 500);
  const worker = await startWorker(forge, { concurrency: 2, handlers: [handler] });
  await stuck.times(2);
  const stopped = worker.stop();
  await until(async () => (await statuses(db))["running"] === 2);
  gate.now();
  await stopped;
  // Two calls claim at the same time, so it is not known which jobs were the first.
  const { succeeded = 0, queued = 0, ...others } = await statuses(db);
  expect(others).toEqual({});
  expect(succeeded + queued).toBe(2_000);
  expect(succeeded).toBeGreaterThanOrEqual(2);
  expect(await db.value("select max(attempts - uncounted) from jobforge_jobs where status = 'queued'")).toBe(
    0,
  );
  expect(
    await db.value("select count(*)::int from jobforge_job_attempts where status = 'released'"),
  ).toBeGreaterThan(0);
});

test("a worker can be stopped before it has started, twice, and started again", async ({ db, forge }) => {
  const worker = makeWorker(forge, { handlers: [noop.handle(() => undefined)] });
  await worker.stop();
  await worker.start();
  await expect(worker.start()).rejects.toThrow("already running");
  await expect(worker.tick()).rejects.toThrow("already running");
  await Promise.all([worker.stop(), worker.stop()]);
  await enqueueMany(db, "noop", 1);
  await worker.start();
  await untilFinished(db, 1);
});

test("run() resolves when the program stops the worker, and no longer handles signals", async ({ forge }) => {
  const before = process.listenerCount("SIGTERM");
  const worker = makeWorker(forge, { handlers: [noop.handle(() => undefined)] });
  const running = worker.run();
  expect(process.listenerCount("SIGTERM")).toBe(before + 1);
  await expect(worker.run(), "the first call is not affected").rejects.toThrow("already running");
  await until(async () => (await forge.workers.list()).length === 1);
  await worker.stop();
  await running;
  expect(process.listenerCount("SIGTERM")).toBe(before);
});

test("run() resolves when the worker is stopped before the database has responded", async () => {
  await using away = new JobForge({ database: "postgres://nobody@127.0.0.1:1/none" });
  const worker = makeWorker(away, { handlers: [noop.handle(() => undefined)] });
  const running = worker.run();
  await worker.stop({ graceMs: 0 });
  await running;
});

test("a worker that was stopped does not count as alive, and starts again under its name", async ({
  forge,
}) => {
  const worker = makeWorker(forge, { handlers: [noop.handle(() => undefined)] });
  const status = async (): Promise<string[]> => (await forge.workers.list()).map(({ status }) => status);
  expect(worker.isRunning).toBe(false);
  await worker.start();
  expect([worker.isRunning, await status()]).toEqual([true, ["alive"]]);
  await worker.stop();
  expect([worker.isRunning, await status()]).toEqual([false, ["stopped"]]);
  await worker.start();
  expect(await status()).toEqual(["alive"]);
});

test("a stopped worker is no longer notified", async ({ db, forge }) => {
  const log = keptLog();
  const worker = await startWorker(forge, { logger: log.logger, handlers: [noop.handle(() => undefined)] });
  await untilMarked(db, 1);
  await worker.stop();
  expect(await markedWorkers(db)).toBe(0);
});
