/** pg-boss. At best settings: batches of 500 in three loops, NOTIFY, and a separate table for the queue. */
import { readFileSync } from "node:fs";
import { PgBoss } from "pg-boss";
import { serve, UnsupportedRequest } from "../src/contestants/runtime.ts";

const queue = "noop";
const best = process.env.BENCH_SETTINGS !== "default";
const { version } = JSON.parse(
  readFileSync(new URL("node_modules/pg-boss/package.json", import.meta.url), "utf8"),
);
let sender;

async function start(options) {
  const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, ...options });
  // Without a listener, an error would end the process. A worker continues after an error.
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return boss;
}

/** A client that only sends jobs. It does no maintenance. */
function sending() {
  sender ??= start({ supervise: false, schedule: false });
  return sender;
}

function spec({ delaySeconds }) {
  return delaySeconds > 0 ? { startAfter: delaySeconds } : {};
}

/** A requested concurrency is split over four loops, each with a batch of a quarter of it. */
function workOptions({ concurrency, failing }) {
  const settled = failing ? { perJobResults: true, includeMetadata: true } : {};
  if (!best && concurrency === null) return settled;
  const [localConcurrency, batchSize] = concurrency === null ? [3, 500] : [4, Math.ceil(concurrency / 4)];
  return { ...settled, localConcurrency, batchSize, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
}

async function outcome(execute, job) {
  try {
    await execute(job.data, (job.retryCount ?? 0) + 1);
    return { id: job.id, status: "completed" };
  } catch (error) {
    return { id: job.id, status: "failed", output: { message: error.message } };
  }
}

await serve({
  manySize: 5_000,
  prepare: async () => {
    const boss = await start({});
    await boss.createQueue(queue, best ? { partition: true, notify: true, retryDelay: 0 } : {});
    await boss.stop({ graceful: false });
    return {
      version,
      keeps: "every job with its payload and output, for 7 days",
      settings: best
        ? "batches of 500 in 3 loops, fetched again immediately while full; NOTIFY on; a separate table for the queue; pool of 10; bulk: 5,000 a call"
        : "defaults: one job every 2 seconds for each worker, pool of 10; bulk: 5,000 a call",
    };
  },
  send: async (job) => (await sending()).send(queue, job.payload, spec(job)),
  sendMany: async (jobs) =>
    (await sending()).insert(
      queue,
      jobs.map((job) => ({ data: job.payload, ...spec(job) })),
    ),
  work: async (order) => {
    if (order.limit !== null) {
      throw new UnsupportedRequest("it limits concurrency per group, not over all processes");
    }
    const boss = await start(best ? { useListenNotify: true } : {});
    await boss.work(queue, workOptions(order), async (jobs) => {
      if (order.failing) return await Promise.all(jobs.map((job) => outcome(order.run, job)));
      await Promise.all(jobs.map((job) => order.run(job.data, 1)));
    });
    return async () => {
      await boss.offWork(queue, { wait: true });
      await boss.stop({ graceful: false });
    };
  },
  close: async () => (await sender)?.stop({ graceful: false }),
});
