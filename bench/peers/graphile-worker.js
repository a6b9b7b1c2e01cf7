/** graphile-worker. Run with `graphile-worker.js PACKAGE`: two versions are installed under different package names. */
import { readFileSync } from "node:fs";
import { serve, UnsupportedRequest } from "../src/contestants/runtime.ts";

const name = process.argv[2] ?? "graphile-worker";
const { Logger, makeWorkerUtils, run, runMigrations } = await import(name);
const { version } = JSON.parse(
  readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url), "utf8"),
);
const best = process.env.BENCH_SETTINGS !== "default";
const connection = {
  connectionString: process.env.DATABASE_URL,
  logger: new Logger(() => () => undefined),
};
/** The settings behind the figures that graphile-worker publishes. */
const batching = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
let utils;

async function sender() {
  utils ??= makeWorkerUtils(connection);
  return await utils;
}

function spec({ delaySeconds }) {
  return delaySeconds > 0 ? { runAt: new Date(Date.now() + delaySeconds * 1000) } : {};
}

await serve({
  manySize: 10_000,
  prepare: async () => {
    await runMigrations(connection);
    return {
      version,
      keeps: "nothing: the row of a succeeded job is deleted",
      settings: best
        ? "24 jobs at once, pool of 25, a local queue of 500, ends batched without delay; bulk: 10,000 a call. The delay before a retry is fixed at 2.7 s"
        : "defaults: 1 job at once, pool of 10, no local queue, no batches; bulk: 10,000 a call",
    };
  },
  send: async (job) => (await sender()).addJob("noop", job.payload, spec(job)),
  sendMany: async (jobs) =>
    (await sender()).addJobs(jobs.map((job) => ({ identifier: "noop", payload: job.payload, ...spec(job) }))),
  work: async ({ concurrency, limit, run: execute }) => {
    if (limit !== null) {
      throw new UnsupportedRequest("it has no concurrency limit over all processes");
    }
    const jobs = concurrency ?? (best ? 24 : 1);
    const runner = await run({
      ...connection,
      ...(best ? { preset: { worker: batching } } : {}),
      concurrency: jobs,
      maxPoolSize: best ? Math.min(jobs + 1, 25) : 10,
      noHandleSignals: true,
      taskList: { noop: async (payload, { job }) => execute(payload, job.attempts) },
    });
    return () => runner.stop();
  },
  close: async () => (await utils)?.release(),
});
