/** Timeouts, cancels and lost leases: how they reach a handler, and how its job ends. */
import { defineJob, type JobForge } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { JobAbortedError } from "../../src/index.ts";
import { abortOf } from "../support/handlers.ts";
import { Happening, until } from "../support/happening.ts";
import { attemptsOf, jobOf, loseLeases, statuses, untilFinished } from "../support/jobs.ts";
import { keptLog, makeWorker, startWorker, T, test } from "../support/work.ts";

const slow = defineJob({ type: "slow" });

/** A handler that continues until it is aborted, and then throws the reason, as fetch does. */
function obedient(started: Happening<AbortSignal> = new Happening()) {
  return slow.handle(async (_, { signal }) => {
    started.now(signal);
    throw await abortOf(signal);
  });
}

async function enqueueSlow(forge: JobForge): Promise<string> {
  return (await forge.enqueue(slow, {}, { tenantId: T })).id;
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

test("a policy's timeout holds for runs that had started before the policy was read", async ({
  db,
  forge,
}) => {
  await forge.policies.set("slow", { timeoutMs: 60 });
  const id = await enqueueSlow(forge);
  await makeWorker(forge, { handlers: [obedient()] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "queued", error: { name: "JobTimeoutError" } });
});

test("a job without a timeout is not aborted", async ({ db, forge }) => {
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
  // The next heartbeat is far away, so only a notification can be this fast.
  await startWorker(forge, { heartbeatMs: 30_000, handlers: [obedient(started)] });
  const signal = await started.once();
  await forge.cancel(id, { tenantId: T });
  await abortOf(signal);
  await untilFinished(db, 1);
  expect(signal.reason).toMatchObject({ kind: "canceled", name: "JobCanceledError" });
  expect(await jobOf(db, id)).toMatchObject({ status: "canceled" });
  expect(await attemptsOf(db, id)).toEqual(["canceled"]);
});

test("without LISTEN, a cancel reaches the handler with a heartbeat", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const started = new Happening<AbortSignal>();
  await startWorker(forge, { listen: false, heartbeatMs: 100, handlers: [obedient(started)] });
  await started.once();
  await forge.cancel(id, { tenantId: T });
  await untilFinished(db, 1);
  expect(await jobOf(db, id)).toMatchObject({ status: "canceled" });
});

test("a cancel also reaches the handler with progress()", async ({ db, forge }) => {
  const id = await enqueueSlow(forge);
  const handler = slow.handle(async (_, { progress, signal }) => {
    await forge.cancel(id, { tenantId: T });
    await progress({ half: true });
    throw signal.aborted ? signal.reason : new Error("not aborted");
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "canceled", progress: { half: true } });
});

test("a canceled job whose handler succeeds all the same is canceled, and its result is stored", async ({
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

test("a lost lease aborts the handler, and its result is dropped", async ({ db, forge }) => {
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
  await untilFinished(db, 1);
  expect(await attemptsOf(db, id)).toEqual(["lost", "succeeded"]);
  expect(await db.value("select result from jobforge_job_results")).toBe("attempt 2");
  expect(stale.values).toEqual([1]);
});

test("the end of a run that was lost unnoticed is refused", async ({ db, forge }) => {
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
    hooks: { onStale: (job) => stale.now(job.id), onSuccess: () => expect.fail("it was refused") },
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
  const gate = new Happening();
  const log = keptLog();
  const calls = new Happening();
  await startWorker(forge, {
    concurrency: 1,
    abortGraceMs: 40,
    logger: log.logger,
    handlers: [
      limited.handle(async () => {
        calls.now();
        await gate.once();
        return "much too late";
      }),
    ],
  });
  await untilFinished(db, 2);
  expect(calls.values).toHaveLength(2);
  expect(await db.value("select array_agg(distinct error ->> 'name') from jobforge_jobs")).toEqual([
    "JobTimeoutError",
  ]);
  const report = log.lines.filter(({ message }) => message.includes("ignores its aborted signal"));
  expect(report).toHaveLength(2);
  expect(report[0]).toMatchObject({ level: "error", reason: "timeout", job_type: "slow" });
  gate.now();
  expect(await db.value("select count(*)::int from jobforge_job_results"), "later results were dropped").toBe(
    0,
  );
});
