/** Timeouts, cancels and lost leases: how they reach a handler, and what becomes of its job. */
import { defineJob, type JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { JobAbortedError } from "../../src/index.ts";
import {
  attemptsOf,
  Happening,
  jobOf,
  keptLog,
  makeWorker,
  startWorker,
  statuses,
  T,
  test,
  until,
  untilEnded,
} from "../support/work.ts";

const slow = defineJob({ type: "slow" });

/** Comes back when the signal is aborted, with its reason. */
function abortOf(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

/** A handler that goes on until it is aborted, and then throws the reason, as fetch does. */
function obedient(started: Happening<AbortSignal> = new Happening()) {
  return slow.handle(async (_, { signal }) => {
    started.now(signal);
    throw await abortOf(signal);
  });
}

async function enqueueSlow(forge: JobForge): Promise<string> {
  return (await forge.enqueue(slow, {}, { tenantId: T })).id;
}

/** Takes every lease away, as if all workers had been silent for long. */
async function loseLeases(db: TestDatabase): Promise<void> {
  const other = await db.connect();
  await other.travel("10 minutes");
  await other.query("select jobforge_maintain()");
}

test("a definition's timeout aborts the handler and fails the run", async ({ db, forge }) => {
  const limited = defineJob({ type: "slow", timeoutMs: 50 });
  const id = await enqueueSlow(forge);
  const reason = new Happening<unknown>();
  const handler = limited.handle(async (_, { signal }) => {
    reason.now(await abortOf(signal));
    return "too late";
  });
  const summary = await makeWorker(forge, { handlers: [handler] }).tick();
  expect(summary).toMatchObject({ retried: 1, succeeded: 0 });
  expect(reason.values[0]).toBeInstanceOf(JobAbortedError);
  expect(reason.values[0]).toMatchObject({ kind: "timeout", name: "JobTimeoutError" });
  expect(await jobOf(db, id)).toMatchObject({
    status: "queued",
    error: { name: "JobTimeoutError", message: "The handler took longer than 50 ms" },
  });
});

test("a policy's timeout holds for runs that have started before it was known", async ({ db, forge }) => {
  await forge.policies.set("slow", { timeoutMs: 60 });
  const id = await enqueueSlow(forge);
  await makeWorker(forge, { handlers: [obedient()] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "queued", error: { name: "JobTimeoutError" } });
});

test("a job without a timeout is not cut short", async ({ db, forge }) => {
  await forge.enqueue(slow, {}, { tenantId: T });
  const limited = defineJob({ type: "limited", timeoutMs: 30 });
  const id = (await forge.enqueue(limited, {}, { tenantId: T })).id;
  const both = new Happening();
  await startWorker(forge, {
    handlers: [
      limited.handle(async (_, { signal }) => void (await abortOf(signal))),
      slow.handle(async (_, { signal }) => {
        await both.once();
        if (signal.aborted) throw signal.reason;
      }),
    ],
    hooks: { onFailure: () => both.now() },
  });
  await until(async () => (await statuses(db))["succeeded"] === 1);
  expect((await jobOf(db, id))["last_error"]).toContain("longer than 30 ms");
});

test("a cancel reaches the handler at once, and the job ends as canceled", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const started = new Happening<AbortSignal>();
  // Only the notification can be so fast: the next heartbeat is far away.
  await startWorker(forge, { heartbeatMs: 30_000, handlers: [obedient(started)] });
  const signal = await started.once();
  await forge.cancel(id, { tenantId: T });
  await abortOf(signal);
  await untilEnded(db, 1);
  expect(signal.reason).toMatchObject({ kind: "canceled", name: "JobCanceledError" });
  expect(await jobOf(db, id)).toMatchObject({ status: "canceled" });
  expect(await attemptsOf(db, id)).toEqual(["canceled"]);
});

test("without LISTEN a heartbeat brings the cancel", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const started = new Happening<AbortSignal>();
  await startWorker(forge, { listen: false, heartbeatMs: 100, handlers: [obedient(started)] });
  await started.once();
  await forge.cancel(id, { tenantId: T });
  await untilEnded(db, 1);
  expect(await jobOf(db, id)).toMatchObject({ status: "canceled" });
});

test("progress() brings a cancel, too", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const handler = slow.handle(async (_, { progress, signal }) => {
    await forge.cancel(id, { tenantId: T });
    await progress({ half: true });
    throw signal.aborted ? signal.reason : new Error("not told");
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "canceled", progress: { half: true } });
});

test("a canceled job that finishes all the same is canceled, and its result is kept", async ({
  db,
  forge,
}) => {
  const id = await enqueueSlow(forge);
  const handler = slow.handle(async () => {
    await forge.cancel(id, { tenantId: T });
    return "done";
  });
  const summary = await makeWorker(forge, { handlers: [handler] }).tick();
  expect(summary).toMatchObject({ canceled: 1, succeeded: 0 });
  expect(await jobOf(db, id)).toMatchObject({ status: "canceled" });
  expect(await db.value("select result from jobforge_job_results")).toBe("done");
});

test("a lost lease aborts the handler, and whatever it does is dropped", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const started = new Happening<number>();
  const stale = new Happening<number>();
  await startWorker(forge, {
    heartbeatMs: 100,
    handlers: [
      slow.handle(async (_, { attempt, signal }) => {
        started.now(attempt);
        if (attempt > 1) return `attempt ${attempt}`;
        await abortOf(signal);
        expect(signal.reason).toMatchObject({ kind: "lost", name: "LeaseLostError" });
        return "too late";
      }),
    ],
    hooks: { onStale: ({ attempt }) => stale.now(attempt) },
  });
  await started.once();
  await loseLeases(db);
  expect(await stale.once()).toBe(1);
  await untilEnded(db, 1);
  expect(await attemptsOf(db, id)).toEqual(["lost", "succeeded"]);
  expect(await db.value("select result from jobforge_job_results")).toBe("attempt 2");
  expect(stale.values).toEqual([1]);
});

test("a run that is lost unnoticed is refused when it ends", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const stale = new Happening<string>();
  const handler = slow.handle(async () => {
    await loseLeases(db);
    return "too late";
  });
  const log = keptLog();
  const worker = makeWorker(forge, {
    logger: log.logger,
    handlers: [handler],
    hooks: { onStale: (job) => stale.now(job.id), onSuccess: () => expect.fail("it was not kept") },
  });
  expect(await worker.tick({ limit: 1 })).toMatchObject({ claimed: 1, stale: 1, succeeded: 0 });
  expect(stale.values).toEqual([id]);
  expect(log.lines).toContainEqual(expect.objectContaining({ level: "warn", job_id: id, attempt_no: 1 }));
  expect(await attemptsOf(db, id)).toEqual(["lost"]);
});

test("progress() of a lost run fails, and aborts it", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const handler = slow.handle(async (_, { progress, signal }) => {
    await loseLeases(db);
    await expect(progress(1)).rejects.toMatchObject({ code: "JF003" });
    expect(signal.reason).toMatchObject({ kind: "lost" });
  });
  expect(await makeWorker(forge, { handlers: [handler] }).tick({ limit: 1 })).toMatchObject({ stale: 1 });
  expect((await jobOf(db, id))["attempts"]).toBe(1);
});

test("a handler that ignores its signal is reported, and its slot goes to the next job", async ({
  db,
  forge,
}) => {
  const limited = defineJob({ type: "slow", timeoutMs: 40 });
  for (let n = 0; n < 2; n += 1) await forge.enqueue(slow, {}, { tenantId: T, maxAttempts: 1 });
  const release = new Happening();
  const log = keptLog();
  const calls = new Happening();
  await startWorker(forge, {
    concurrency: 1,
    abortGraceMs: 40,
    logger: log.logger,
    handlers: [
      limited.handle(async () => {
        calls.now();
        await release.once();
        return "much too late";
      }),
    ],
  });
  await untilEnded(db, 2);
  expect(calls.values).toHaveLength(2);
  expect(await db.value("select array_agg(distinct error ->> 'name') from jobforge_jobs")).toEqual([
    "JobTimeoutError",
  ]);
  const report = log.lines.filter(({ message }) => message.includes("ignores its aborted signal"));
  expect(report).toHaveLength(2);
  expect(report[0]).toMatchObject({ level: "error", reason: "timeout", job_type: "slow" });
  release.now();
  expect(
    await db.value("select count(*)::int from jobforge_job_results"),
    "what came later was dropped",
  ).toBe(0);
});
