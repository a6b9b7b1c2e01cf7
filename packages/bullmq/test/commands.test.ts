/** What a job costs in Redis: the commands of our clients and workers next to those of plain BullMQ. No times. */
import { defineJob } from "@jobforge/sdk-ts";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { expect, onTestFinished } from "vitest";
import { anotherForge, newPrefix, startWorker, T, test } from "./support/work.ts";

const jobs = 1_000;
const noop = defineJob({ type: "noop", keepHistory: false });

interface Cost {
  /** Scripts that a client has called, for each job. */
  readonly scripts: number;
  /** All commands, also those that scripts call, for each job. */
  readonly commands: number;
}

/** What Redis does until `work` has ended. */
async function costOf(url: string, work: () => Promise<unknown>): Promise<Cost> {
  const redis = new Redis(url);
  try {
    await redis.config("RESETSTAT");
    await work();
    const counts = [...(await redis.info("commandstats")).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
    const sum = (isCounted: (name: string) => boolean): number =>
      counts.reduce((total, [, name = "", calls]) => total + (isCounted(name) ? Number(calls) : 0), 0);
    return {
      scripts: sum((name) => name.startsWith("eval")) / jobs,
      // A heartbeat has four commands for each job that is held, and HEXISTS is one of them.
      commands:
        (sum((name) => !/^(?:config|info|client|hello)/.test(name)) - 4 * sum((name) => name === "hexists")) /
        jobs,
    };
  } finally {
    redis.disconnect();
  }
}

/** A queue of plain BullMQ. */
function plainQueue(url: string): { readonly queue: Queue; readonly connection: Redis } {
  const connection = new Redis(url, { maxRetriesPerRequest: null });
  const queue = new Queue("plain", { connection });
  onTestFinished(async () => {
    await queue.close();
    connection.disconnect();
  });
  return { queue, connection };
}

/** Resolves when `handle` was called for each job. */
function allOf(): { readonly handle: () => Promise<void>; readonly all: Promise<void> } {
  let left = jobs;
  let resolve = (): void => undefined;
  const all = new Promise<void>((done) => {
    resolve = done;
  });
  const handle = async (): Promise<void> => {
    left -= 1;
    if (left === 0) resolve();
  };
  return { handle, all };
}

test("a job costs a few commands more than in plain BullMQ, and a small part of a script", async ({
  redis,
}) => {
  const forge = anotherForge({ redis: redis.url, prefix: newPrefix(), leaseMs: 600_000 });
  const { queue, connection } = plainQueue(redis.url);
  const numbers = Array.from({ length: jobs }, (_, n) => n);
  // The first call says what is there, and loads the scripts.
  await queue.add("noop", {}, { removeOnComplete: true });
  await queue.drain();
  await forge.enqueue(noop, {}, { tenantId: T, idempotencyKey: "first" });

  const plainAdds = await costOf(redis.url, () =>
    queue.addBulk(numbers.map((n) => ({ name: "noop", data: { n }, opts: { removeOnComplete: true } }))),
  );
  const adds = await costOf(redis.url, () =>
    forge.enqueueMany(
      numbers.map((n) => ({ job: noop, input: { n } })),
      { tenantId: T },
    ),
  );
  expect(plainAdds.scripts).toBeCloseTo(1);
  expect(adds.scripts).toBeLessThan(0.05);
  // A job of ours has a priority and an id of its own, which BullMQ looks up.
  expect(adds.commands).toBeLessThanOrEqual(plainAdds.commands + 1.1);

  const plain = allOf();
  const plainRuns = await costOf(redis.url, async () => {
    const worker = new Worker("plain", plain.handle, { connection, concurrency: 50 });
    await plain.all;
    await worker.close();
  });
  const ours = allOf();
  const runs = await costOf(redis.url, async () => {
    const handlers = [noop.handle(ours.handle)];
    const worker = await startWorker(forge, { handlers, concurrency: 50, heartbeatMs: 30_000 });
    await ours.all;
    await worker.stop();
  });
  expect(plainRuns.scripts).toBeGreaterThan(0.9);
  expect(runs.scripts).toBeLessThan(0.2);
  // Taken from the set of priorities, two. An end that takes no job along looks whether the queue is empty, two more.
  expect(runs.commands).toBeLessThanOrEqual(plainRuns.commands + 4.5);
});

test("enqueues of one tick share a script, and each gets its own outcome", async ({ redis, forge }) => {
  await forge.enqueue(noop, {}, { tenantId: T });
  const call = (n: number) =>
    forge.enqueue(noop, { n }, { tenantId: T, ...(n % 10 === 0 ? { idempotencyKey: "same" } : {}) });
  let outcomes: readonly string[] = [];
  const { scripts } = await costOf(redis.url, async () => {
    const made = await Promise.all(Array.from({ length: 100 }, (_, n) => call(n)));
    outcomes = made.map(({ outcome }) => outcome);
    expect(new Set(made.map(({ id }) => id)).size).toBe(91);
  });
  expect(scripts * jobs).toBeLessThan(20);
  expect(outcomes.filter((outcome) => outcome === "existing")).toHaveLength(9);
});

test("a worker that is woken for one job asks with few scripts, however many slots are free", async ({
  redis,
  forge,
}) => {
  await startWorker(forge, { handlers: [noop.handle(async () => "done")], concurrency: 200 });
  const kept = defineJob({ type: "noop" });
  const { scripts } = await costOf(redis.url, async () => {
    for (let n = 0; n < 10; n += 1) {
      const job = await forge.enqueue(kept, {}, { tenantId: T });
      await job.result({ timeoutMs: 20_000 }).catch(() => undefined);
    }
  });
  expect((scripts * jobs) / 10).toBeLessThan(40);
});
