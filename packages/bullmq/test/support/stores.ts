/** The stores on which the same handlers must behave in the same way: Postgres, one Redis, and a Redis Cluster. */
import {
  type EnqueuedJob,
  type EnqueueOptions,
  type Job,
  type JobDefinition,
  JobForge,
  type JobInput,
  type NewJob,
  type WaitOptions,
} from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { createWorker, type Worker } from "@jobforge/worker-ts";
import { afterAll, onTestFinished } from "vitest";
import {
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from "../../../../test/redis.ts";
import { BullForge, type BullWorkerOptions, createBullWorker } from "../../src/index.ts";
import { keptLog, newPrefix } from "./work.ts";

/** What both kinds of handles have. */
export interface Handle {
  readonly id: string;
  readonly outcome: EnqueuedJob["outcome"];
  get(): Promise<Job | undefined>;
  result(options?: WaitOptions): Promise<unknown>;
  cancel(): Promise<unknown>;
}

/** What both kinds of clients have. */
export interface Client {
  enqueue<D extends JobDefinition>(job: D, input: JobInput<D>, options: EnqueueOptions): Promise<Handle>;
  enqueueMany(jobs: readonly NewJob[], shared?: Partial<EnqueueOptions>): Promise<readonly Handle[]>;
}

export interface Store {
  readonly client: Client;
  /** A worker that is stopped with the test. */
  worker(options: BullWorkerOptions): Worker;
  start(options: BullWorkerOptions): Promise<Worker>;
}

function storeOf(
  client: unknown,
  create: (options: BullWorkerOptions) => Worker,
  close: () => Promise<void>,
): Store {
  const workers: Worker[] = [];
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop({ graceMs: 0 })));
    await close();
  });
  const worker = (options: BullWorkerOptions): Worker => {
    const made = create({
      logger: keptLog().logger,
      abortGraceMs: 500,
      pollMs: 100,
      heartbeatMs: 300,
      ...options,
    });
    workers.push(made);
    return made;
  };
  const start = async (options: BullWorkerOptions): Promise<Worker> => {
    const made = worker(options);
    await made.start();
    return made;
  };
  // The types of the two clients differ in their overloads only.
  return { client: client as Client, worker, start };
}

async function onPostgres(db: TestDatabase): Promise<Store> {
  const forge = new JobForge({ database: db.url });
  return storeOf(
    forge,
    (options) => createWorker(forge, options),
    () => forge.close(),
  );
}

function onBull(redis: string | readonly string[]): Store {
  const forge = new BullForge({
    redis,
    prefix: newPrefix(),
    leaseMs: 2000,
    ...(Array.isArray(redis) ? { groups: 4 } : {}),
  });
  return storeOf(
    forge,
    (options) => createBullWorker(forge, options),
    () => forge.close(),
  );
}

let server: Promise<RedisServer> | undefined;
let cluster: Promise<RedisCluster> | undefined;

/** Ends the servers of the file. */
export function endServers(): void {
  afterAll(async () => {
    await (await server)?.stop();
    await (await cluster)?.stop();
  });
}

export const stores = [
  ["Postgres", onPostgres, false],
  [
    "Redis",
    async () => {
      server ??= startRedis();
      return onBull((await server).url);
    },
    true,
  ],
  [
    "a Redis Cluster",
    async () => {
      cluster ??= startRedisCluster();
      return onBull((await cluster).urls);
    },
    true,
  ],
] as const satisfies readonly (readonly [string, (db: TestDatabase) => Promise<Store>, boolean])[];
