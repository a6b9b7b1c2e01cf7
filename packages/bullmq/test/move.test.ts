/** Moving jobs between Postgres and Redis: each exactly once, while both run, and after kills at any point. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { createWorker } from "@jobforge/worker-ts";
import { afterAll, expect, onTestFinished } from "vitest";
import { z } from "zod";
import { test as base } from "../../../test/database.ts";
import { type RedisServer, startRedis, startRedisCluster } from "../../../test/redis.ts";
import { BullForge, moveToPostgres, moveToRedis, planToPostgres, planToRedis } from "../src/index.ts";
import { hasRedis, keptLog, newPrefix, startWorker, stopWorkers, T, U } from "./support/work.ts";

const moved = defineJob({ type: "moved", input: z.object({ n: z.number() }), retry: { baseMs: 3_600_000 } });
const types = ["moved"];
const test = base.skipIf(!hasRedis);

let server: Promise<RedisServer> | undefined;
afterAll(async () => void (await (await server)?.stop()));

interface Both {
  readonly postgres: JobForge;
  readonly redis: BullForge;
  readonly arguments: readonly [database: string, redis: string, prefix: string];
}

async function openBoth(db: TestDatabase): Promise<Both> {
  server ??= startRedis();
  const { url } = await server;
  const prefix = newPrefix();
  const postgres = new JobForge({ database: db.url });
  const redis = new BullForge({ redis: url, prefix });
  onTestFinished(async () => {
    await stopWorkers(redis);
    await Promise.all([redis.close(), postgres.close()]);
  });
  return { postgres, redis, arguments: [db.url, url, prefix] };
}

test("jobs keep their id, keys, times, priority and runs on the way to Redis and back", async ({ db }) => {
  const { postgres, redis } = await openBoth(db);
  const later = await postgres.enqueue(
    moved,
    { n: 1 },
    {
      tenantId: T,
      delayMs: 3_600_000,
      idempotencyKey: "k",
      dedupeKey: "d",
      tags: ["x"],
      subject: "s",
      priority: 9,
    },
  );
  const failing = createWorker(postgres, {
    logger: keptLog().logger,
    handlers: [
      moved.handle(async () => {
        throw new Error("once");
      }),
    ],
  });
  const retrying = await postgres.enqueue(moved, { n: 2 }, { tenantId: U });
  await failing.tick();
  const before = await Promise.all([later, retrying].map((job) => job.get()));
  expect(await planToRedis(postgres, { types })).toEqual({ jobs: 2, left: 0 });
  expect(await moveToRedis(postgres, redis, { types })).toEqual({ moved: 2 });
  expect(await later.get()).toBeUndefined();
  const there = await Promise.all([
    redis.get(later.id, { job: moved, tenantId: T }),
    redis.get(retrying.id, { job: moved, tenantId: U }),
  ]);
  const kept = [
    "payload",
    "status",
    "priority",
    "attempts",
    "maxAttempts",
    "tags",
    "subject",
    "dedupeKey",
    "createdAt",
  ];
  for (const [place, job] of there.entries())
    for (const name of kept) expect(job, name).toHaveProperty(name, before[place]?.[name as "id"]);
  const again = await redis.enqueue(moved, { n: 3 }, { tenantId: T, idempotencyKey: "k" });
  expect(again).toMatchObject({ id: later.id, outcome: "existing" });
  expect(await redis.enqueue(moved, { n: 3 }, { tenantId: T, dedupeKey: "d" })).toMatchObject({
    outcome: "existing",
  });
  expect(await planToPostgres(redis, { types })).toEqual({ jobs: 2, left: 0 });
  expect(await moveToPostgres(postgres, redis, { types })).toEqual({ moved: 2 });
  expect(await redis.get(later.id, { job: moved, tenantId: T })).toBeUndefined();
  const back = await Promise.all([later, retrying].map((job) => job.get()));
  for (const [place, job] of back.entries())
    for (const name of [...kept, "idempotencyKey", "lastError"])
      expect(job, name).toHaveProperty(name, before[place]?.[name as "id"]);
  const due = (place: number): number =>
    Math.abs((back[place]?.runAt.getTime() ?? 0) - (before[place]?.runAt.getTime() ?? 0));
  expect(due(0)).toBeLessThan(60_000);
  expect(due(1)).toBeLessThan(60_000);
});

test("while workers run on both sides, every job runs exactly once", async ({ db }) => {
  const { postgres, redis } = await openBoth(db);
  const ran: number[] = [];
  const handler = moved.handle(async ({ n }) => void ran.push(n));
  const jobs = Array.from({ length: 300 }, (_, n) => ({ job: moved, input: { n } }));
  await postgres.enqueueMany(jobs, { tenantId: T });
  await using worker = createWorker(postgres, {
    logger: keptLog().logger,
    handlers: [handler],
    concurrency: 2,
  });
  await worker.start();
  await startWorker(redis, { handlers: [handler], concurrency: 2 });
  await moveToRedis(postgres, redis, { types, batchSize: 20 });
  await moveToPostgres(postgres, redis, { types, batchSize: 20 });
  await expect.poll(() => ran.length, { timeout: 40_000 }).toBe(300);
  expect(ran.toSorted((a, b) => a - b)).toEqual(jobs.map(({ input }) => input.n));
});

test("of several moves at once the last one goes on, and every job runs once", { timeout: 120_000 }, async ({
  db,
}) => {
  const { postgres, redis } = await openBoth(db);
  const ran: number[] = [];
  const handler = moved.handle(async ({ n }) => void ran.push(n));
  const jobs = Array.from({ length: 200 }, (_, n) => ({ job: moved, input: { n } }));
  await postgres.enqueueMany(jobs, { tenantId: T });
  const options = { types, batchSize: 10 };
  for (const move of [moveToRedis, moveToPostgres]) {
    const ends = await Promise.allSettled([1, 2, 3].map(() => move(postgres, redis, options)));
    for (const end of ends)
      if (end.status === "rejected") expect(String(end.reason)).toContain("another move of these types");
    expect(ends.some(({ status }) => status === "fulfilled")).toBe(true);
    await move(postgres, redis, options);
  }
  expect(await planToRedis(postgres, { types })).toEqual({ jobs: 200, left: 0 });
  await createWorker(postgres, { logger: keptLog().logger, handlers: [handler] }).tick({ limit: 1000 });
  expect(ran.toSorted((a, b) => a - b)).toEqual(jobs.map(({ input }) => input.n));
});

/** The database, with something that happens when it has done a step of a move. */
function afterStep(
  { transport }: JobForge,
  step: string,
  act: () => Promise<unknown>,
): Pick<JobForge, "transport"> {
  return {
    transport: {
      ...transport,
      close: () => transport.close(),
      call: async (name, args, options) => {
        const result = await transport.call<never>(name, args, options);
        if ((args as { p_step?: string }).p_step === step) await act();
        return result;
      },
    },
  };
}

test("a job that is canceled in Redis does not run after it has moved back", async ({ db }) => {
  const { postgres, redis } = await openBoth(db);
  const before = await redis.enqueue(moved, { n: 1 }, { tenantId: T });
  const meanwhile = await redis.enqueue(moved, { n: 2 }, { tenantId: T });
  await before.cancel();
  // The second one is canceled when the database has read it, and Redis has not let it go.
  let isCanceled = false;
  const racing = afterStep(postgres, "receive", async () => {
    if (!isCanceled) await meanwhile.cancel();
    isCanceled = true;
  });
  expect(await moveToPostgres(racing, redis, { types })).toEqual({ moved: 2 });
  expect(await db.query("select status::text, reason from jobforge_jobs")).toEqual([
    { status: "canceled", reason: "canceled" },
    { status: "canceled", reason: "canceled" },
  ]);
});

test("a job that an enqueue replaces while it moves back keeps the newer payload", async ({ db }) => {
  const { postgres, redis } = await openBoth(db);
  const options = { tenantId: T, dedupeKey: "d", dedupeMode: "replace" } as const;
  const job = await redis.enqueue(moved, { n: 1 }, options);
  let isReplaced = false;
  const racing = afterStep(postgres, "receive", async () => {
    if (!isReplaced)
      expect(await redis.enqueue(moved, { n: 2 }, options)).toMatchObject({ outcome: "replaced" });
    isReplaced = true;
  });
  expect(await moveToPostgres(racing, redis, { types })).toEqual({ moved: 1 });
  expect(await db.query("select id, payload from jobforge_jobs")).toEqual([
    { id: job.id, payload: { n: 2 } },
  ]);
});

test("jobs move back in the order in which they would have run", async ({ db }) => {
  const { postgres, redis } = await openBoth(db);
  const numbers = Array.from({ length: 40 }, (_, n) => n);
  await redis.enqueueMany(
    numbers.map((n) => ({ job: moved, input: { n }, priority: n < 20 ? 0 : 1 })),
    { tenantId: T },
  );
  await moveToPostgres(postgres, redis, { types, batchSize: 7 });
  const order = "select (payload ->> 'n')::int as n from jobforge.queue order by rank, run_at, seq";
  expect((await db.query<{ n: number }>(order)).map(({ n }) => n)).toEqual([
    ...numbers.slice(20),
    ...numbers.slice(0, 20),
  ]);
});

test("a key that is used again in Redis leads to the job that has run in Postgres", async ({ db }) => {
  const { postgres, redis } = await openBoth(db);
  const handler = moved.handle(async () => undefined);
  for (const times of [1, 2]) {
    const job = await redis.enqueue(moved, { n: times }, { tenantId: T, idempotencyKey: "k" });
    expect(job.outcome).toBe("created");
    await moveToPostgres(postgres, redis, { types });
    await createWorker(postgres, { logger: keptLog().logger, handlers: [handler] }).tick();
  }
  expect(await db.query("select status::text, payload, id from jobforge_jobs")).toMatchObject([
    { status: "succeeded", payload: { n: 1 } },
  ]);
});

test("a moved job leaves nothing behind in Redis, neither when it returns nor when it has ended", async ({
  db,
}) => {
  const { postgres, redis } = await openBoth(db);
  const { client } = redis.connection;
  const keys = async (): Promise<string[]> => await client.keys(`{${redis.queues.layout.prefix}}:*jf:key:*`);
  await postgres.enqueue(moved, { n: 1 }, { tenantId: T, idempotencyKey: "k" });
  await moveToRedis(postgres, redis, { types });
  expect(await keys()).toHaveLength(1);
  await moveToPostgres(postgres, redis, { types });
  expect(await keys()).toEqual([]);
  await moveToRedis(postgres, redis, { types });
  await startWorker(redis, { handlers: [moved.handle(async () => undefined)] });
  const [key = ""] = await keys();
  await expect.poll(() => client.pttl(key)).toBeGreaterThan(0);
});

test("jobs whose end a webhook tells of, and jobs with durable steps, stay in Postgres", async ({ db }) => {
  const { postgres, redis } = await openBoth(db);
  await postgres.enqueue(moved, { n: 1 }, { tenantId: T });
  const durable = moved.handle(async (_input, job) => {
    await job.step("once", () => 1);
    throw new Error("later");
  });
  await createWorker(postgres, { logger: keptLog().logger, handlers: [durable] }).tick({ limit: 1 });
  await postgres.enqueue(moved, { n: 2 }, { tenantId: T, notify: { url: "https://example.com/done" } });
  await postgres.enqueue(moved, { n: 3 }, { tenantId: T });
  const plan = await planToRedis(postgres, { types });
  expect(plan).toEqual({ jobs: 1, left: 2 });
  expect(await moveToRedis(postgres, redis, { types })).toEqual({ moved: 1 });
});

test("jobs move to a Redis Cluster and back", { timeout: 120_000 }, async ({ db }) => {
  await using cluster = await startRedisCluster();
  const postgres = new JobForge({ database: db.url });
  const redis = new BullForge({ redis: cluster.urls, prefix: newPrefix(), groups: 8 });
  onTestFinished(async () => {
    await Promise.all([redis.close(), postgres.close()]);
  });
  const tenants = [T, U, ...Array.from({ length: 10 }, () => randomUUID())];
  for (const [n, tenantId] of tenants.entries())
    await postgres.enqueue(
      moved,
      { n },
      { tenantId, idempotencyKey: "k", dedupeKey: "d", delayMs: n * 1000 },
    );
  const facts = "select id, tenant_id, payload, idempotency_key, dedupe_key from jobforge_jobs order by id";
  const before = await db.query(facts);
  expect(await moveToRedis(postgres, redis, { types, batchSize: 5 })).toEqual({ moved: tenants.length });
  expect(await planToPostgres(redis, { types })).toEqual({ jobs: tenants.length, left: 0 });
  expect(await moveToPostgres(postgres, redis, { types, batchSize: 5 })).toEqual({ moved: tenants.length });
  expect(await db.query(facts)).toEqual(before);
});

test("a move that fails before or after any of its calls goes on from there", { timeout: 120_000 }, async ({
  db,
}) => {
  const { postgres, redis } = await openBoth(db);
  await postgres.enqueueMany(
    Array.from({ length: 4 }, (_, n) => ({ job: moved, input: { n } })),
    { tenantId: T },
  );
  /** The database, which fails at one call: before the call takes effect, or after it. */
  const failing = (at: number, isAfter: boolean): Pick<JobForge, "transport"> => {
    let calls = 0;
    const { transport } = postgres;
    return {
      transport: {
        ...transport,
        close: () => transport.close(),
        call: async (name, args, options) => {
          calls += 1;
          if (calls === at && !isAfter) throw new Error("killed");
          const result = await transport.call<never>(name, args, options);
          if (calls === at) throw new Error("killed");
          return result;
        },
      },
    };
  };
  for (const [move, isThere] of [
    [moveToRedis, () => planToPostgres(redis, { types })],
    [moveToPostgres, () => planToRedis(postgres, { types })],
  ] as const) {
    let fails = 0;
    for (let at = 1; at < 40; at += 1)
      for (const isAfter of [false, true])
        await move(failing(at, isAfter), redis, { types, batchSize: 2 }).catch(() => {
          fails += 1;
        });
    expect(fails).toBeGreaterThan(3);
    expect(await isThere()).toEqual({ jobs: 4, left: 0 });
  }
  expect(await db.query("select (payload ->> 'n')::int as n from jobforge_jobs order by 1")).toEqual(
    [0, 1, 2, 3].map((n) => ({ n })),
  );
});

test.for([["out"], ["back"]] as const)(
  "a move %s that is killed again and again moves every job once",
  { timeout: 180_000 },
  async ([direction], { db }) => {
    const { postgres, redis, arguments: args } = await openBoth(db);
    const jobs = Array.from({ length: 60 }, (_, n) => ({
      job: moved,
      input: { n },
      delayMs: (n % 3) * 3_600_000,
    }));
    await postgres.enqueueMany(jobs, { tenantId: T });
    if (direction === "back") await moveToRedis(postgres, redis, { types });
    let exits = 0;
    // Each run is killed later than the one before, at whatever point it has reached, until one reaches its end.
    for (let killAfterMs = 5; exits === 0; killAfterMs = killAfterMs * 2 + Math.random() * 20)
      exits += await runMover(direction, args, killAfterMs);
    const waiting = async (): Promise<number> => (await planToPostgres(redis, { types })).jobs;
    const queued = async (): Promise<number> => (await planToRedis(postgres, { types })).jobs;
    expect([await waiting(), await queued()]).toEqual(direction === "out" ? [60, 0] : [0, 60]);
    expect(await db.value("select count(*)::int from jobforge.moves")).toBe(0);
    // All that are due run once, and none of those that are not.
    const ran: number[] = [];
    const handler = moved.handle(async ({ n }) => void ran.push(n));
    if (direction === "out") await startWorker(redis, { handlers: [handler] });
    else
      await createWorker(postgres, { logger: keptLog().logger, handlers: [handler] }).tick({ limit: 1000 });
    await expect.poll(() => ran.length).toBe(20);
    expect(ran.toSorted((a, b) => a - b)).toEqual(
      jobs.filter(({ delayMs }) => delayMs === 0).map(({ input }) => input.n),
    );
  },
);

/** Runs the mover in a process and kills it, a time after it has begun to move. Resolves to 1 if it ended by itself. */
async function runMover(direction: string, args: Both["arguments"], killAfterMs: number): Promise<0 | 1> {
  const mover = fileURLToPath(new URL("./support/mover.ts", import.meta.url));
  const child = spawn(process.execPath, ["--import", "tsx", mover, direction, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const begun = once(child.stdout, "data");
  await Promise.race([begun, ended]);
  const timer = setTimeout(() => child.kill("SIGKILL"), killAfterMs);
  const [code] = await ended;
  clearTimeout(timer);
  return code === 0 ? 1 : 0;
}
