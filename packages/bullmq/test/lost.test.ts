/** Lost workers and masters: a lost run counts as an attempt, and no job is lost. */
import { defineJob } from "@jobforge/sdk-ts";
import { Cluster } from "ioredis";
import { expect, onTestFinished } from "vitest";
import { startRedisCluster } from "../../../test/redis.ts";
import { BullForge } from "../src/index.ts";
import { anotherForge, makeWorker, newPrefix, startWorker, stopWorkers, T, test, U } from "./support/work.ts";

const patient = { timeoutMs: 40_000 };
const stuck = defineJob({ type: "stuck", retry: { baseMs: 1, factor: 1, maxAttempts: 2 } });

/** Takes the next job as a worker does that dies at once: nothing keeps or ends its run. */
async function claimAndDie(forge: BullForge, token: string): Promise<boolean> {
  const [queue] = forge.queues.all([stuck.type]);
  const [job] = (await queue?.store.moveToActive(token)) ?? [];
  return Boolean(job);
}

test("a job whose worker dies is run by another worker, and the lost run counts", async ({
  redis,
  forge,
}) => {
  const prefix = newPrefix();
  const quick = anotherForge({ redis: redis.url, prefix, leaseMs: 1000 });
  const job = await quick.enqueue(stuck, {}, { tenantId: T });
  expect(await claimAndDie(quick, "dead:1")).toBe(true);
  await startWorker(quick, { handlers: [stuck.handle(async (_input, { attempt }) => attempt)] });
  expect(await job.result(patient)).toBe(2);
  expect(await job.get()).toMatchObject({ status: "succeeded", attempts: 2, uncounted: 0 });
  expect(forge.leaseMs).toBe(2000);
});

test("a job whose workers die in every attempt is dead, and is not run again", async ({ redis }) => {
  const quick = anotherForge({ redis: redis.url, prefix: newPrefix(), leaseMs: 1000 });
  const job = await quick.enqueue(stuck, {}, { tenantId: T });
  expect(await claimAndDie(quick, "dead:1")).toBe(true);
  const [queue] = quick.queues.all([stuck.type]);
  const backAgain = async (): Promise<boolean> => {
    await queue?.store.moveStalledJobsToWait();
    return await claimAndDie(quick, "dead:2");
  };
  await expect.poll(backAgain).toBe(true);
  await startWorker(quick, { handlers: [stuck.handle(async () => expect.fail("it has no attempts left"))] });
  await expect(job.result(patient)).rejects.toThrow(/is dead/);
  expect(await job.get()).toMatchObject({
    status: "dead",
    reason: "exhausted",
    error: { name: "LeaseLost" },
  });
});

test("three lost runs in a row make a job dead, whatever attempts are left, and other ends begin again", async ({
  redis,
}) => {
  const forge = anotherForge({ redis: redis.url, prefix: newPrefix(), leaseMs: 1000 });
  const patientJob = defineJob({ type: stuck.type, retry: { baseMs: 0, maxAttempts: 50 } });
  const job = await forge.enqueue(patientJob, {}, { tenantId: T });
  const [queue] = forge.queues.all([stuck.type]);
  let tokens = 0;
  const lose = async (times: number): Promise<void> => {
    for (let lost = 0; lost < times; lost += 1) {
      const again = async (): Promise<boolean> => {
        tokens += 1;
        await queue?.store.moveStalledJobsToWait();
        return await claimAndDie(forge, `dead:${tokens}`);
      };
      await expect.poll(again, { timeout: 20_000 }).toBe(true);
    }
  };
  const backInQueue = async (): Promise<string | undefined> => {
    await queue?.store.moveStalledJobsToWait();
    return await queue?.store.getState(job.id);
  };
  await lose(2);
  await expect.poll(backInQueue, { timeout: 20_000 }).not.toBe("active");
  // A run that ends otherwise is between them.
  const failing = patientJob.handle(async () => {
    throw new Error("no");
  });
  // At most one run: its retry is due at once.
  await makeWorker(forge, { handlers: [failing], heartbeatMs: 300 }).tick({ limit: 1 });
  expect(await job.get()).toMatchObject({ status: "queued", attempts: 3 });
  await lose(3);
  await expect.poll(backInQueue, { timeout: 20_000 }).not.toBe("active");
  const never = patientJob.handle(async () => expect.fail("it kills its workers"));
  await makeWorker(forge, { handlers: [never], heartbeatMs: 300 }).tick();
  expect(await job.get()).toMatchObject({
    status: "dead",
    reason: "crashed",
    attempts: 6,
    error: { name: "LeaseLost" },
  });
});

test("a worker that lost its job changes nothing, and its hook says so", async ({ redis }) => {
  const quick = anotherForge({ redis: redis.url, prefix: newPrefix(), leaseMs: 1000 });
  const job = await quick.enqueue(stuck, {}, { tenantId: T });
  const stale: number[] = [];
  const { client } = quick.connection;
  await startWorker(quick, {
    handlers: [
      stuck.handle(async (_input, { id, attempt, signal }) => {
        if (attempt > 1) return "second";
        // Another worker has the lock from now on, for a moment.
        const [queue] = quick.queues.all([stuck.type]);
        await client.set(queue?.lockKey(id) ?? "", "another", "PX", 500);
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return "first";
      }),
    ],
    hooks: { onStale: ({ attempt }) => stale.push(attempt) },
  });
  expect(await job.result(patient)).toBe("second");
  expect(stale).toEqual([1]);
});

test("no job is lost when a master of a cluster dies and its replica takes over", {
  timeout: 120_000,
}, async () => {
  await using cluster = await startRedisCluster();
  const forge = new BullForge({ redis: cluster.urls, prefix: newPrefix(), groups: 8, leaseMs: 2000 });
  onTestFinished(async () => {
    await stopWorkers(forge);
    await forge.close();
  });
  const plain = defineJob({ type: "plain" });
  const ran = new Set<string>();
  await startWorker(forge, {
    handlers: [plain.handle(async (_input, { id }) => void ran.add(id))],
    concurrency: 5,
  });
  const tenants = [
    T,
    U,
    ...Array.from({ length: 10 }, (_, n) => `33333333-3333-4333-8333-${String(n).padStart(12, "0")}`),
  ];
  const enqueue = (): ReturnType<typeof forge.enqueue>[] =>
    tenants.map((tenantId) => forge.enqueue(plain, {}, { tenantId }));
  const before = await Promise.all(enqueue());
  await Promise.all(before.map((job) => job.result(patient)));
  await cluster.masters[0]?.kill();
  const after = await Promise.all(enqueue());
  await Promise.all(after.map((job) => job.result({ timeoutMs: 80_000 })));
  expect(ran.size).toBe(2 * tenants.length);
});

test("jobs that run while their master dies end once, and are not lost", { timeout: 120_000 }, async () => {
  await using cluster = await startRedisCluster();
  const forge = new BullForge({ redis: cluster.urls, prefix: newPrefix(), groups: 8, leaseMs: 10_000 });
  onTestFinished(async () => {
    await stopWorkers(forge);
    await forge.close();
  });
  const held = defineJob({ type: "held" });
  let begun = 0;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const handler = held.handle(async (_input, { attempt }) => {
    begun += 1;
    await finished;
    return attempt;
  });
  await startWorker(forge, { handlers: [handler], concurrency: 30 });
  const tenants = Array.from(
    { length: 20 },
    (_, n) => `44444444-4444-4444-8444-${String(n).padStart(12, "0")}`,
  );
  const jobs = await Promise.all(tenants.map((tenantId) => forge.enqueue(held, {}, { tenantId })));
  await expect.poll(() => begun, { timeout: 40_000 }).toBe(tenants.length);
  // What a master has not sent to its replica is lost with it, so wait until all has arrived.
  await replicated(forge);
  await cluster.masters[0]?.kill();
  finish();
  const attempts = await Promise.all(jobs.map((job) => job.result({ timeoutMs: 80_000 })));
  expect(attempts.every((attempt) => attempt === 1 || attempt === 2)).toBe(true);
  const ends = await Promise.all(jobs.map((job) => job.get()));
  expect(ends.map((job) => job?.status)).toEqual(tenants.map(() => "succeeded"));
});

/** Resolves when the replicas have what their masters have now. */
async function replicated({ connection }: BullForge): Promise<void> {
  const { client } = connection;
  if (!(client instanceof Cluster)) throw new Error("This is no cluster");
  for (const node of client.nodes("master")) {
    const offset = async (pattern: RegExp): Promise<number> =>
      Number(pattern.exec(await node.info("replication"))?.[1] ?? -1);
    const sent = await offset(/^master_repl_offset:(\d+)/m);
    const received = (): Promise<number> => offset(/^slave0:.*offset=(\d+)/m);
    await expect.poll(received, { timeout: 40_000 }).toBeGreaterThanOrEqual(sent);
  }
}
