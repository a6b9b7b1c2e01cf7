/** Middleware: in which order it is called, and what it may decide. */
import { defineJob, typed } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import type { Middleware } from "../../src/index.ts";
import { enqueueMany } from "../support/jobs.ts";
import { makeWorker, T, test } from "../support/work.ts";

const job = defineJob({ type: "a", input: typed<{ n: number }>() });

test("middleware wraps handlers, the first one outermost, and sees what they return", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(job, { n: 1 }, { tenantId: T });
  const calls: string[] = [];
  const layer =
    (name: string): Middleware =>
    async ({ input, job }, next) => {
      calls.push(`${name} in ${JSON.stringify(input)} ${job.attempt}`);
      const result = await next();
      calls.push(`${name} out ${JSON.stringify(result)}`);
      return { [name]: result };
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

test("middleware may return a result itself, refuse a job, and turn errors into results", async ({
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

test("middleware wraps each job of a batch, and the handler gets the jobs that it lets through", async ({
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
