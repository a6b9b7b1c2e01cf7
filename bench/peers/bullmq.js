/** BullMQ on Redis or, with DATABASE_URL instead of REDIS_URL, on its Postgres backend. */
import { readFileSync } from "node:fs";
import { createPostgresBackend, Queue, runMigrations, Worker } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { serve } from "../src/contestants/runtime.ts";

const name = "noop";
const best = process.env.BENCH_SETTINGS !== "default";
const redis = process.env.REDIS_URL;
const { version } = JSON.parse(
  readFileSync(new URL("node_modules/bullmq/package.json", import.meta.url), "utf8"),
);
/** The concurrency at best settings, within the range that the documentation of BullMQ recommends for each store. */
const usual = redis ? 100 : 32;
const pool = best ? { max: 32 } : {};
let queue;

function connection() {
  if (redis) return new Redis(redis, { maxRetriesPerRequest: null });
  return { connectionString: process.env.DATABASE_URL, ...pool };
}

function backend() {
  return redis ? [] : [createPostgresBackend];
}

function sending() {
  queue ??= new Queue(name, { connection: connection() }, ...backend());
  return queue;
}

/** A failing job gets two attempts without a delay, which makes BullMQ retry immediately. */
function spec({ payload, delaySeconds }) {
  return {
    ...(best ? { removeOnComplete: true } : {}),
    ...(payload.fail ? { attempts: 2 } : {}),
    ...(delaySeconds > 0 ? { delay: delaySeconds * 1000 } : {}),
  };
}

const keeps = best
  ? "nothing: removeOnComplete, as its production guide advises"
  : "every job with its payload and result, forever";
const bulk = redis ? "1,000 a call" : "1,000 a call, 4 calls at a time";
const fsync = redis ? "; Redis writes its log to disk once a second" : "";

await serve({
  manySize: 1_000,
  manyAtOnce: redis ? 1 : 4,
  prepare: async () => {
    if (!redis) {
      const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
      await client.connect();
      await runMigrations(client);
      await client.end();
    }
    const own = best ? `${usual} jobs at once` : "defaults: 1 job at once";
    const connections = redis ? "" : `, pool of ${pool.max ?? 10}`;
    return { version, keeps, settings: `${own}${connections}; bulk: ${bulk}${fsync}` };
  },
  send: (job) => sending().add(name, job.payload, spec(job)),
  sendMany: (jobs) => sending().addBulk(jobs.map((job) => ({ name, data: job.payload, opts: spec(job) }))),
  work: async ({ concurrency, limit, run }) => {
    if (limit !== null) await sending().setGlobalConcurrency(limit);
    const worker = new Worker(
      name,
      async (job) => await run(job.data, job.attemptsMade + 1),
      { connection: connection(), concurrency: concurrency ?? (best ? usual : 1) },
      ...backend(),
    );
    worker.on("error", (error) => console.error(error));
    await worker.waitUntilReady();
    return () => worker.close();
  },
  close: async () => queue?.close(),
});
