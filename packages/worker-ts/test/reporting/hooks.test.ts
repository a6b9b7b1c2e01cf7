/** Hooks: when they are called, and that their errors have no effect. */
import { defineJob, typed } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import type { WorkerHooks } from "../../src/index.ts";
import { enqueueMany, statuses } from "../support/jobs.ts";
import { keptLog, makeWorker, T, test } from "../support/work.ts";

const job = defineJob({ type: "a", input: typed<{ n: number }>() });

/** Hooks that record their calls. */
function recorded(calls: string[]): WorkerHooks {
  return {
    onClaim: (jobs) => calls.push(`claim ${jobs.length}`),
    onStart: ({ attempt }) => calls.push(`start ${attempt}`),
    onSuccess: ({ status, durationMs }) => calls.push(`success ${status} ${durationMs >= 0}`),
    onFailure: ({ status, error }) => calls.push(`failure ${status} ${error.name}: ${error.message}`),
    onDead: ({ attempt, maxAttempts }) => calls.push(`dead ${attempt} of ${maxAttempts}`),
  };
}

test("hooks report a success, in order", async ({ forge }) => {
  const { id } = await forge.enqueue(job, { n: 1 }, { tenantId: T });
  const calls: string[] = [];
  const seen: unknown[] = [];
  const worker = makeWorker(forge, {
    handlers: [job.handle(() => calls.push("run"))],
    hooks: { ...recorded(calls), onStart: (info) => seen.push(info) },
  });
  await worker.tick();
  expect(calls).toEqual(["claim 1", "run", "success succeeded true"]);
  expect(seen).toEqual([
    {
      id,
      type: "a",
      tenantId: T,
      attempt: 1,
      maxAttempts: 5,
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      workerId: worker.id,
    },
  ]);
});

test("hooks report failures, and the last one separately", async ({ forge }) => {
  const { id } = await forge.enqueue(job, { n: 1 }, { tenantId: T, maxAttempts: 2 });
  const calls: string[] = [];
  const handler = job.handle(() => {
    throw new TypeError("no");
  });
  const worker = makeWorker(forge, { handlers: [handler], hooks: recorded(calls) });
  await worker.tick();
  await forge.reschedule(id, { tenantId: T });
  await worker.tick();
  expect(calls).toEqual([
    "claim 1",
    "start 1",
    "failure queued TypeError: no",
    "claim 1",
    "start 2",
    "failure dead TypeError: no",
    "dead 2 of 2",
  ]);
});

test("hooks and logs say why a result was refused, or where to find the reason", async ({ db, forge }) => {
  await enqueueMany(db, "a", 2);
  const calls: string[] = [];
  const log = keptLog();
  // 1e300 has five characters here, and 301 as Postgres prints it, so only the database knows that this is too large.
  const results = ["x".repeat(1024 * 1024 - 1), Array(10_000).fill(1e300)];
  const handler = job.handle(({ n }) => results[n - 1]);
  await makeWorker(forge, { logger: log.logger, hooks: recorded(calls), handlers: [handler] }).tick();
  const tooLarge = "Payload too large: result is over 1 MiB";
  const refused = "The database refused the run's result or children; the job's error says why";
  expect(calls.filter((call) => call.startsWith("failure")).sort()).toEqual([
    `failure failed InvalidResult: ${tooLarge}`,
    `failure failed InvalidResult: ${refused}`,
  ]);
  const errors = log.lines.filter(({ level }) => level === "error").map(({ error }) => error);
  expect(errors.sort()).toEqual([tooLarge, refused]);
  expect(await db.query("select distinct status, error->>'message' as message from jobforge_jobs")).toEqual([
    { status: "failed", message: tooLarge },
  ]);
});

test("a hook that throws or rejects is logged and does not affect jobs", async ({ db, forge }) => {
  await enqueueMany(db, "a", 3);
  const log = keptLog();
  const hooks: WorkerHooks = {
    onClaim: () => {
      throw new Error("claim hook");
    },
    onStart: () => Promise.reject(new Error("start hook")),
    onSuccess: () => {
      throw new Error("success hook");
    },
  };
  await makeWorker(forge, { logger: log.logger, hooks, handlers: [job.handle(() => undefined)] }).tick();
  expect(await statuses(db)).toEqual({ succeeded: 3 });
  const reports = log.lines.filter(({ level }) => level === "error").map(({ hook }) => hook);
  expect(reports.sort()).toEqual(["onClaim", ...Array(3).fill("onStart"), ...Array(3).fill("onSuccess")]);
});
