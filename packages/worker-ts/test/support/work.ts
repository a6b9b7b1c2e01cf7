/** A client of a test's database, and workers that end with their test. */
import { JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { onTestFinished } from "vitest";
import { test as base } from "../../../../test/database.ts";
import { createWorker, type Logger, type Worker, type WorkerOptions } from "../../src/index.ts";

/** The tenant of most tests. */
export const T = "11111111-1111-4111-8111-111111111111";

const workersOf = new WeakMap<JobForge, Worker[]>();

/** Passes a client to a test, and stops the workers made for the client before it is closed. */
export async function useForge(database: string, use: (forge: JobForge) => Promise<void>): Promise<void> {
  await using forge = new JobForge({ database });
  const workers: Worker[] = [];
  workersOf.set(forge, workers);
  await use(forge);
  await Promise.all(workers.map((worker) => worker.stop({ graceMs: 0 })));
}

/** The suite's `test` with a client of its database as `forge`. */
export const test = base.extend<{ forge: JobForge }>({
  forge: ({ db }, use) => useForge(db.url, use),
});

/** A client whose database is ahead of time by the offset, such as `61min`. */
export function clientAt(db: TestDatabase, offset: string): JobForge {
  return new JobForge({ database: db.urlAt(offset) });
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

/** A worker that is stopped with the test. It writes no log unless `options` has a logger. */
export function makeWorker(forge: JobForge, options: WorkerOptions): Worker {
  const worker = createWorker(forge, { logger: keptLog().logger, abortGraceMs: 500, ...options });
  const workers = workersOf.get(forge);
  if (workers === undefined) onTestFinished(() => worker.stop({ graceMs: 0 }));
  else workers.push(worker);
  return worker;
}

/** The same, started. */
export async function startWorker(forge: JobForge, options: WorkerOptions): Promise<Worker> {
  const worker = makeWorker(forge, options);
  await worker.start();
  return worker;
}
