/** A Redis for the tests of a file, and clients and workers that end with their test. */
import { randomBytes } from "node:crypto";
import type { Logger, Worker } from "@jobforge/worker-ts";
import { test as base, onTestFinished } from "vitest";
import { findRedis, type RedisServer, startRedis } from "../../../../test/redis.ts";
import {
  BullForge,
  type BullForgeOptions,
  type BullWorkerOptions,
  createBullWorker,
} from "../../src/index.ts";

/** Two tenants. */
export const T = "11111111-1111-4111-8111-111111111111";
export const U = "22222222-2222-4222-8222-222222222222";

/** Whether redis-server is available. Its tests are skipped otherwise, with a warning. */
export const hasRedis: boolean = (await findRedis()) !== undefined;

const withServer = base.extend<{ redis: RedisServer }>({
  redis: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the fixtures a test needs from this pattern
    async ({}, use) => {
      await using server = await startRedis();
      await use(server);
    },
    { scope: "file" },
  ],
});

/** Vitest's `test` with a client of the file's Redis as `forge`, whose keys are its own. */
export const test = withServer
  .extend<{ forge: BullForge }>({
    forge: async ({ redis }, use) => {
      await using forge = new BullForge({ redis: redis.url, prefix: newPrefix(), leaseMs: 2000 });
      await use(forge);
      await stopWorkers(forge);
    },
  })
  .skipIf(!hasRedis);

export function newPrefix(): string {
  return `t-${randomBytes(6).toString("hex")}`;
}

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** A logger that keeps its lines instead of writing them. */
export function keptLog(): { readonly logger: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const at =
    (level: string) =>
    (fields: object, message = ""): void =>
      void lines.push({ ...fields, level, message });
  return { lines, logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") } };
}

const workersOf = new WeakMap<BullForge, Worker[]>();

/** A worker that is stopped with the test. It writes no log unless `options` has a logger. */
export function makeWorker(forge: BullForge, options: BullWorkerOptions): Worker {
  const worker = createBullWorker(forge, {
    logger: keptLog().logger,
    abortGraceMs: 500,
    pollMs: 200,
    ...options,
  });
  workersOf.set(forge, [...(workersOf.get(forge) ?? []), worker]);
  return worker;
}

/** The same, started. */
export async function startWorker(forge: BullForge, options: BullWorkerOptions): Promise<Worker> {
  const worker = makeWorker(forge, options);
  await worker.start();
  return worker;
}

export async function stopWorkers(forge: BullForge): Promise<void> {
  await Promise.all((workersOf.get(forge) ?? []).map((worker) => worker.stop({ graceMs: 0 })));
}

/** Another client of the same Redis, closed with the test. */
export function anotherForge(options: BullForgeOptions): BullForge {
  const forge = new BullForge(options);
  onTestFinished(async () => {
    await stopWorkers(forge);
    await forge.close();
  });
  return forge;
}
