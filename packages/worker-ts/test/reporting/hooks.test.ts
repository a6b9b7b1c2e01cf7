/** Hooks and middleware: when they are called, and that they break nothing. */
import { defineJob, typed } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import type { Middleware, WorkerHooks } from "../../src/index.ts";
import { enqueueMany, keptLog, makeWorker, statuses, T, test } from "../support/work.ts";

const job = defineJob({ type: "a", input: typed<{ n: number }>() });

/** Hooks that write down what they are called with. */
function recorded(calls: string[]): WorkerHooks {
  return {
    onClaim: (jobs) => calls.push(`claim ${jobs.length}`),
    onStart: ({ attempt }) => calls.push(`start ${attempt}`),
    onSuccess: ({ status, durationMs }) => calls.push(`success ${status} ${durationMs >= 0}`),
    onFailure: ({ status, error }) => calls.push(`failure ${status} ${error.name}: ${error.message}`),
    onDead: ({ attempt, maxAttempts }) => calls.push(`dead ${attempt} of ${maxAttempts}`),
  };
}

test("hooks tell of a success, in order", async ({ forge }) => {
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

test("hooks tell of failures, and of the last one", async ({ forge }) => {
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

test("hooks and logs say why a result was refused, or where that is said", async ({ db, forge }) => {
  await enqueueMany(db, "a", 2);
  const calls: string[] = [];
  const log = keptLog();
  // 1e300 is five characters here, and 301 as Postgres prints it: only the database knows that this is too large.
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

test("a result of exactly 1 MiB is kept", async ({ db, forge }) => {
  const { id } = await forge.enqueue(job, { n: 1 }, { tenantId: T });
  const handler = job.handle(() => "x".repeat(1024 * 1024 - 2));
  expect(await makeWorker(forge, { handlers: [handler] }).tick()).toMatchObject({ succeeded: 1 });
  expect(
    await db.value("select octet_length(result::text) from jobforge_job_results where job_id = $1", [id]),
  ).toBe(1024 * 1024);
});

test("a hook that throws or rejects is logged and breaks no job", async ({ db, forge }) => {
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

test("middleware wraps handlers, the first one outermost, and sees what they answer", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(job, { n: 1 }, { tenantId: T });
  const calls: string[] = [];
  const layer =
    (name: string): Middleware =>
    async ({ input, job }, next) => {
      calls.push(`${name} in ${JSON.stringify(input)} ${job.attempt}`);
      const answer = await next();
      calls.push(`${name} out ${JSON.stringify(answer)}`);
      return { [name]: answer };
    };
  const worker = makeWorker(forge, {
    middleware: [layer("outer"), layer("inner")],
    handlers: [job.handle(({ n }) => n + 1)],
  });
  await worker.tick();
  expect(calls).toEqual(['outer in {"n":1} 1', 'inner in {"n":1} 1', "inner out 2", 'outer out {"inner":2}']);
  expect(await db.value("select result from jobforge_job_results where job_id = $1", [id])).toEqual({
    outer: { inner: 2 },
  });
});

test("middleware may answer for a handler, refuse a job, and turn errors into answers", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 3);
  const called: number[] = [];
  const guard: Middleware = async ({ input }, next) => {
    const { n } = input as { n: number };
    if (n === 1) return "from the cache";
    if (n === 2) throw new Error("refused");
    return await next().catch((error: Error) => `saved: ${error.message}`);
  };
  const handler = job.handle(({ n }) => {
    called.push(n);
    throw new Error("broken");
  });
  const summary = await makeWorker(forge, { middleware: [guard], handlers: [handler] }).tick({ limit: 3 });
  expect(summary).toMatchObject({ succeeded: 2, retried: 1 });
  expect(called).toEqual([3]);
  const results = await db.query("select result from jobforge_job_results order by result::text");
  expect(results).toEqual([{ result: "from the cache" }, { result: "saved: broken" }]);
});

test("middleware is around each job of a batch, and the handler gets those that come through", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "a", 6);
  const batches: number[][] = [];
  const skipEven: Middleware = async ({ input }, next) => {
    if ((input as { n: number }).n % 2 === 0) return "skipped";
    return `around ${await next()}`;
  };
  const handler = job.handleBatch(6, async (items) => {
    batches.push(items.map(({ input }) => input.n));
    return items.map(({ input }) => (input.n === 5 ? new Error("not five") : input.n));
  });
  const summary = await makeWorker(forge, { middleware: [skipEven], handlers: [handler] }).tick({ limit: 6 });
  expect(summary).toMatchObject({ succeeded: 5, retried: 1 });
  expect(batches.flat().sort()).toEqual([1, 3, 5]);
  const results = await db.query<{ result: string }>(
    "select result from jobforge_job_results order by result::text",
  );
  expect(results.map(({ result }) => result)).toEqual([
    "around 1",
    "around 3",
    "skipped",
    "skipped",
    "skipped",
  ]);
});
