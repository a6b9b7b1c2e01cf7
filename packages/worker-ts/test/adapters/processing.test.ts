/** The processing-jobs design: its worker loop and stages, on JobForge, in memory and on Redis. */

import { randomBytes } from "node:crypto";
import { BullForge, BullJobQueue } from "@jobforge/bullmq";
import {
  type JobForge,
  JobForgeJobQueue,
  MemoryJobQueue,
  type QueueJob,
  type StageQueue,
} from "@jobforge/sdk-ts";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import {
  findRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from "../../../../test/redis.ts";
import { workerLoop } from "../../src/index.ts";
import { Happening, until } from "../support/happening.ts";
import { loseLeases, statuses } from "../support/jobs.ts";
import { T, test } from "../support/work.ts";

interface World {
  readonly ran: string[];
  polls: number;
}

/** The stages of a call, for any queue. With `namesParent` they use more than the design's own interface. */
function stagesOn(queue: StageQueue, world: World, namesParent = true) {
  const next = (job: QueueJob, stage: QueueJob["stage"], max_attempts: number): Promise<void> => {
    const { org_id, call_id, payload } = job;
    const child = { org_id, call_id, stage, payload, max_attempts };
    return namesParent ? queue.enqueue(child, { parent: job }) : queue.enqueue(child);
  };
  return async (job: QueueJob): Promise<void> => {
    world.ran.push(job.stage);
    if (job.stage === "extract_audio") await next(job, "transcribe_start", 5);
    if (job.stage === "transcribe_start") await next(job, "transcribe_poll", 50);
    if (job.stage === "transcribe_poll") {
      world.polls += 1;
      if (world.polls < 4) await queue.defer(job.id, 0);
      else await next(job, "analyze", 5);
    }
  };
}

const start = (queue: StageQueue): Promise<void> =>
  queue.enqueue({
    org_id: T,
    call_id: "call-1",
    stage: "extract_audio",
    payload: { lang: "en" },
    max_attempts: 5,
  });

/** Runs the loop until no job is due. */
async function drain(queue: StageQueue, runStage: (job: QueueJob) => Promise<unknown>): Promise<void> {
  const stop = new AbortController();
  const watched: StageQueue = {
    enqueue: (job, options) => queue.enqueue(job, options),
    complete: (id) => queue.complete(id),
    fail: (id, error, seconds) => queue.fail(id, error, seconds),
    defer: (id, seconds) => queue.defer(id, seconds),
    claim: async (workerId) => {
      const job = await queue.claim(workerId);
      if (job === null) stop.abort();
      return job;
    },
  };
  const onError = (error: unknown): void => {
    stop.abort();
    throw error;
  };
  await workerLoop(watched, "w1", { runStage, signal: stop.signal, onError });
}

let server: Promise<RedisServer> | undefined;
let cluster: Promise<RedisCluster> | undefined;
afterAll(async () => {
  await (await server)?.stop();
  await (await cluster)?.stop();
});

function bullQueue(redis: string | readonly string[]): StageQueue {
  const forge = new BullForge({ redis, prefix: `p-${randomBytes(6).toString("hex")}` });
  onTestFinished(() => forge.close());
  return new BullJobQueue(forge);
}

async function onRedis(): Promise<StageQueue> {
  server ??= startRedis();
  return bullQueue((await server).url);
}

async function onCluster(): Promise<StageQueue> {
  cluster ??= startRedisCluster();
  return bullQueue((await cluster).urls);
}

const queues: Readonly<Record<string, (forge: JobForge) => StageQueue | Promise<StageQueue>>> = {
  "on JobForge": (forge) => new JobForgeJobQueue(forge),
  "in memory": () => new MemoryJobQueue(),
  ...((await findRedis()) === undefined ? {} : { "on Redis": onRedis, "on a Redis Cluster": onCluster }),
};

describe.each(Object.entries(queues))("%s", (_name, queueOn) => {
  test("the same stages run to the end, polls included", async ({ forge }) => {
    const queue = await queueOn(forge);
    const world: World = { ran: [], polls: 0 };
    await start(queue);
    await drain(queue, stagesOn(queue, world));
    expect(world.ran).toEqual([
      "extract_audio",
      "transcribe_start",
      ...Array(4).fill("transcribe_poll"),
      "analyze",
    ]);
    expect(await queue.claim("w2")).toBeNull();
  });

  test("a stage that fails is retried after 30 seconds, doubled each time", async ({ forge }) => {
    const queue = await queueOn(forge);
    await start(queue);
    const seconds: number[] = [];
    const stop = new AbortController();
    // Retries without a delay, so that the next execution is due at once.
    const impatient: StageQueue = {
      enqueue: (job) => queue.enqueue(job),
      complete: (id) => queue.complete(id),
      defer: (id, delay) => queue.defer(id, delay),
      fail: async (id, error, backoff) => {
        seconds.push(backoff);
        expect(error).toBe("Error: no ffmpeg");
        await queue.fail(id, error, 0);
      },
      claim: async (workerId) => {
        const job = await queue.claim(workerId);
        if (job === null) stop.abort();
        return job;
      },
    };
    const runStage = (): Promise<never> => Promise.reject(new Error("no ffmpeg"));
    await workerLoop(impatient, "w1", { runStage, signal: stop.signal });
    expect(seconds).toEqual([30, 60, 120, 240, 480]);
  });
});

test.for([
  ["when the stage names its parent", true],
  ["through the design's own interface", false],
] as const)(
  "a crash after a stage has enqueued the next one, but before it ends, makes no second next stage, %s",
  async ([_way, namesParent], { db, forge }) => {
    const world: World = { ran: [], polls: 3 };
    const crashed = new JobForgeJobQueue(forge);
    await start(crashed);
    const job = await crashed.claim("w-crash");
    if (job === null) return expect.fail("nothing to claim");
    await stagesOn(crashed, world, namesParent)(job);
    // The process dies here. Its lease runs out, and another process runs the stage again.
    await loseLeases(db);
    const queue = new JobForgeJobQueue(forge);
    await drain(queue, stagesOn(queue, world, namesParent));
    expect(world.ran.filter((stage) => stage === "extract_audio")).toHaveLength(2);
    expect(world.ran.filter((stage) => stage === "transcribe_start")).toHaveLength(1);
    expect(await db.value("select count(*)::int from jobforge_jobs where type = 'transcribe_start'")).toBe(1);
    expect(await statuses(db)).toEqual({ succeeded: 4 });
  },
);

test("the loop renews the claim of a stage that takes long, and no longer when the stage has ended", async ({
  db,
  forge,
}) => {
  const queue = new JobForgeJobQueue(forge);
  await start(queue);
  const stop = new AbortController();
  const wasRenewed = () => db.value<boolean>("select heartbeat_at > locked_at from jobforge_jobs");
  const errors: unknown[] = [];
  await workerLoop(queue, "w1", {
    heartbeatMs: 1,
    signal: stop.signal,
    onError: (error) => errors.push(error),
    runStage: async () => {
      await until(wasRenewed);
      stop.abort();
    },
  });
  expect(errors).toEqual([]);
  expect(await statuses(db)).toEqual({ succeeded: 1 });
});

test("a heartbeat that fails is reported, and the stage ends as usual", async () => {
  const queue = new MemoryJobQueue();
  await start(queue);
  const stop = new AbortController();
  const reported = new Happening<unknown>();
  const watched = Object.assign(queue, { heartbeat: () => Promise.reject(new Error("no connection")) });
  await workerLoop(watched, "w1", {
    heartbeatMs: 1,
    signal: stop.signal,
    onError: reported.now,
    runStage: async () => {
      await reported.once();
      stop.abort();
    },
  });
  expect(await reported.once()).toEqual(new Error("no connection"));
  expect(queue.jobs.map(({ status }) => status)).toEqual(["done"]);
});

test("a queue that fails does not end the loop, and is called again after a growing delay", async () => {
  const times: number[] = [];
  const stop = new AbortController();
  const broken = new MemoryJobQueue();
  broken.claim = () => {
    times.push(performance.now());
    if (times.length === 5) stop.abort();
    return Promise.reject(new Error("the queue is down"));
  };
  const errors: unknown[] = [];
  await workerLoop(broken, "w1", {
    runStage: () => expect.fail("there is nothing to run"),
    signal: stop.signal,
    onError: (error) => errors.push(error),
  });
  expect(errors).toHaveLength(5);
  // The delays are at least half of 100, 200, 400 and 800 ms.
  expect((times[4] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(740);
});
