/**
 * The same story on Postgres and on Redis: the job looks the same afterwards. Times are compared by the minute. What
 * docs/guides/redis.md lists as different is not compared.
 */
import {
  defineJob,
  type EnqueueOptions,
  type Job,
  type JobContext,
  type JobDefinition,
} from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { z } from "zod";
import { test as base } from "../../../test/database.ts";
import { endServers, type Handle, type Store, stores } from "./support/stores.ts";
import { hasRedis, T } from "./support/work.ts";

endServers();
const test = base.skipIf(!hasRedis);
const [[, onPostgres], [, onRedis]] = stores;
const hour = 3_600_000;

interface Story {
  readonly job?: JobDefinition;
  readonly options?: Partial<EnqueueOptions>;
  /** What the handler does. */
  readonly run?: (job: JobContext, handle: Handle) => unknown;
  /** How often a worker runs what is due. Default 1. */
  readonly ticks?: number;
  /** What happens before the ticks. */
  readonly before?: (handle: Handle, store: Store) => Promise<unknown>;
  /** What happens between the first and the second tick. */
  readonly between?: (handle: Handle, store: Store) => Promise<unknown>;
}

const plain = defineJob({ type: "plain", retry: { baseMs: 0, maxAttempts: 3 } });
const slow = defineJob({ type: "slow", retry: { baseMs: hour, maxAttempts: 3 } });
const cancel = (handle: Handle): Promise<unknown> => handle.cancel();

function failsUntil(attempt: number, error: () => unknown = () => new Error("no")) {
  return (job: JobContext): unknown => {
    if (job.attempt < attempt) throw error();
    return "done";
  };
}

const stories: Readonly<Record<string, Story>> = {
  "a success": { run: () => ({ n: 1, list: [null, "a"] }) },
  "a success that returns nothing": { run: () => undefined },
  "a job that waits": { ticks: 0, options: { delayMs: hour, tags: ["b", "a"], subject: "s", priority: -7 } },
  "a job with keys": { options: { idempotencyKey: "i", dedupeKey: "d" }, run: () => 1 },
  "a success after a failure": { ticks: 2, run: failsUntil(2) },
  "a failure that is retried": { job: slow, run: failsUntil(9) },
  "attempts that are used up": { ticks: 3, run: failsUntil(9) },
  "an attempt limit of the enqueue": { options: { maxAttempts: 1 }, run: failsUntil(9) },
  "an error with a cause and a code": {
    job: slow,
    run: failsUntil(9, () =>
      Object.assign(new TypeError("outer", { cause: new Error("inner") }), { code: "E_OUT" }),
    ),
  },
  "a thrown text": {
    job: slow,
    run: failsUntil(9, () => "only a text"),
  },
  "a secret in an error": {
    job: defineJob({ type: "secret", redact: ["iban"], retry: { maxAttempts: 1 } }),
    run: failsUntil(9, () => new Error("password=hunter2 iban: DE12")),
  },
  "a refusal": { run: (job) => job.fail("never", { code: 7 }) },
  "a refusal after a failure": {
    ticks: 2,
    run: (job) => (job.attempt === 1 ? failsUntil(2)(job) : job.fail("never")),
  },
  "a retry at a time of the handler": { job: plain, run: (job) => job.retryAfter(2 * hour, "busy") },
  "an output that does not fit": {
    job: defineJob({ type: "out", output: z.string(), retry: { maxAttempts: 2 } }),
    run: () => 7,
  },
  "a timeout": {
    job: defineJob({ type: "timed", timeoutMs: 30, retry: { baseMs: hour } }),
    run: ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  },
  "a deferral": { run: (job) => job.defer({ inMs: hour }) },
  "a deferral that is free": { run: (job) => job.defer({ inMs: hour }, { counts: false }) },
  "a deferral after a failure": {
    ticks: 2,
    run: (job) => (job.attempt === 1 ? failsUntil(2)(job) : job.defer({ inMs: hour })),
  },
  "deferrals until the attempts are used up": { ticks: 3, run: (job) => job.defer({ inMs: 0 }) },
  "a failure, and deferrals until the attempts are used up": {
    ticks: 3,
    run: (job) => (job.attempt === 1 ? failsUntil(2)(job) : job.defer({ inMs: 0 })),
  },
  "progress before a failure": {
    job: slow,
    run: async (job) => {
      await job.progress({ done: 3 });
      throw new Error("no");
    },
  },
  "progress before a success": { run: (job) => job.progress(50) },
  "the costs of three runs": {
    ticks: 3,
    run: (job) => {
      job.cost(job.attempt * 10);
      if (job.attempt === 1) throw new Error("no");
      if (job.attempt === 2) job.defer({ inMs: 0 }, { counts: false });
    },
  },
  "a cost before a run without one": {
    ticks: 2,
    run: (job) => {
      if (job.attempt > 1) return;
      job.cost(5);
      throw new Error("no");
    },
  },
  "the cost of a refusal": {
    run: (job) => {
      job.cost(4);
      job.fail("no");
    },
  },
  "a cancel before the first run": { before: cancel, run: () => 1 },
  "a cancel of a job that is due later": { options: { delayMs: hour }, before: cancel, run: () => 1 },
  "a cancel in a run that defers": {
    ticks: 2,
    run: async (job, handle) => {
      await handle.cancel();
      job.defer({ inMs: 0 }, { counts: false });
    },
  },
  "a cancel in a run that fails": {
    ticks: 2,
    run: async (_job, handle) => {
      await handle.cancel();
      throw new Error("no");
    },
  },
  "a cancel between two runs": { ticks: 2, run: failsUntil(9), between: cancel },
};

const compared = [
  ...["status", "type", "payload", "priority", "attempts", "maxAttempts", "uncounted", "reason", "lastError"],
  ...["error", "costCents", "progress", "tags", "subject", "idempotencyKey", "dedupeKey", "cancelRequested"],
  ...["concurrencyKey", "scheduleId", "runAt", "startedAt", "finishedAt", "expiresAt", "createdAt"],
] as const satisfies readonly (keyof Job)[];

/** The facts of a job that must be the same. */
function factsOf(job: Job | undefined): object | undefined {
  if (job === undefined) return undefined;
  return Object.fromEntries(compared.map((name) => [name, comparable(job, job[name])]));
}

function comparable({ createdAt }: Job, value: unknown): unknown {
  if (value instanceof Date) return `${Math.round((value.getTime() - createdAt.getTime()) / 60_000)} min`;
  if (typeof value !== "object" || value === null || !("attemptedAt" in value)) return value;
  const { attemptedAt: _, stack: __, ...error } = value as Record<string, unknown>;
  return error;
}

async function play(store: Store, { job = plain, options, run, ticks = 1, before, between }: Story) {
  const handle = await store.client.enqueue(job, {}, { tenantId: T, ...options });
  const ended: unknown[] = [];
  const worker = store.worker({
    handlers: [job.handle(async (_input, context) => run?.(context as JobContext, handle))],
    hooks: {
      onSuccess: ({ attempt }) => void ended.push(`success ${attempt}`),
      onFailure: ({ attempt, status }) => void ended.push(`failure ${attempt} ${status}`),
      onDead: ({ attempt }) => void ended.push(`dead ${attempt}`),
    },
  });
  await before?.(handle, store);
  for (let tick = 1; tick <= ticks; tick += 1) {
    await worker.tick({ limit: 1 });
    if (tick === 1) await between?.(handle, store);
  }
  const facts = factsOf(await handle.get());
  const isOpen = (facts as { status?: string } | undefined)?.status === "queued";
  const result = isOpen
    ? "none yet"
    : await handle.result({ timeoutMs: 40_000 }).catch((error: Error) => `${error.name}`);
  return { facts, result, ended: ended.toSorted() };
}

test.for(Object.entries(stories))("%s", async ([, story], { db }) => {
  const [postgres, redis] = [await onPostgres(db), await onRedis()];
  const expected = await play(postgres, story);
  expect(expected.facts).toBeDefined();
  expect(await play(redis, story)).toEqual(expected);
});
