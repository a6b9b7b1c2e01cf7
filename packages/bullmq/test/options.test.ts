/**
 * Every option of a definition, an enqueue and a worker, and every member of the context, on Redis: either it has an
 * effect, or it is refused. The types of the tables make sure that none is missing.
 */
import {
  defineJob,
  type EnqueueOptions,
  type JobContext,
  type JobDefinition,
  type JobDefinitionOptions,
  NotSupportedError,
} from "@jobforge/sdk-ts";
import type { WorkerOptions } from "@jobforge/worker-ts";
import { expect } from "vitest";
import { z } from "zod";
import { type BullForge, type BullWorkerOptions, createBullWorker } from "../src/index.ts";
import { keptLog, makeWorker, startWorker, T, test, U } from "./support/work.ts";

type Names<O> = Readonly<Record<keyof O & string, (forge: BullForge) => Promise<unknown>>>;
type Definition = JobDefinitionOptions<string, z.ZodType, z.ZodType>;

const plain = defineJob({ type: "plain", retry: { maxAttempts: 1 } });

/** Enqueues one job, runs what is due, and returns the job. */
async function runOne(
  forge: BullForge,
  job: JobDefinition,
  run: (input: unknown, job: JobContext) => Promise<unknown>,
  options: Partial<EnqueueOptions> = {},
) {
  const handle = await forge.enqueue(job, {}, { tenantId: T, ...options });
  await makeWorker(forge, { handlers: [job.handle(run)] }).tick();
  return await handle.get();
}

const returnsOne = async (): Promise<number> => 1;

async function fails(): Promise<never> {
  throw new Error("iban: DE12");
}

/** The stored job of an enqueue of the definition, which no worker runs. */
async function stored(forge: BullForge, job: JobDefinition, options: Partial<EnqueueOptions> = {}) {
  return await (await forge.enqueue(job, {}, { tenantId: T, ...options })).get();
}

/** Refused by the enqueue, by the worker of the type, and by a handler that enqueues it as a child. */
async function refusedDefinition(forge: BullForge, job: JobDefinition, field: string): Promise<void> {
  const refusal = expect.objectContaining({ name: "NotSupportedError", field });
  await expect(forge.enqueue(job, {}, { tenantId: T })).rejects.toEqual(refusal);
  await expect(forge.enqueueMany([{ job, input: {} }], { tenantId: T })).rejects.toEqual(refusal);
  expect(() => createBullWorker(forge, { handlers: [job.handle(returnsOne)] })).toThrow(refusal);
  const parent = await runOne(forge, plain, async (_input, { enqueue }) => enqueue(job, {}));
  expect(parent).toMatchObject({ status: "dead", error: { name: "NotSupportedError" } });
}

async function refusedWorkerOption(forge: BullForge, options: object, field: string): Promise<void> {
  const all = { handlers: [plain.handle(returnsOne)], ...options } as BullWorkerOptions;
  expect(() => createBullWorker(forge, all)).toThrow(NotSupportedError);
  expect(() => createBullWorker(forge, all)).toThrow(field);
}

/** How long Redis keeps the lock of a running job. */
async function lockMs(forge: BullForge, { type, id, tenantId }: JobContext): Promise<number> {
  return await forge.connection.client.pttl(forge.queues.of(type, tenantId).lockKey(id));
}

/** Whether a success that is four days old is forgotten when the next one comes. */
async function isForgotten(forge: BullForge, retentionDays: number): Promise<boolean> {
  const job = defineJob({ type: `kept-${retentionDays}`, retentionDays });
  const old = await runOne(forge, job, returnsOne);
  const queue = forge.queues.of(job.type, T);
  const fourDaysAgo = Date.now() - 4 * 86_400_000;
  await forge.connection.client.zadd(queue.store.toKey("completed"), fourDaysAgo, old?.id ?? "");
  await runOne(forge, job, returnsOne);
  return (await forge.get(old?.id ?? "", { job, tenantId: T })) === undefined;
}

const definitions: Names<Definition> = {
  type: async (forge) => {
    expect(await runOne(forge, defineJob({ type: "a:b/c@d" as string }), returnsOne)).toMatchObject({
      type: "a:b/c@d",
      status: "succeeded",
    });
  },
  input: async (forge) => {
    const job = defineJob({ type: "in", input: z.object({ n: z.number() }) });
    await expect(forge.enqueue(job, {} as never, { tenantId: T })).rejects.toThrow("payload.n");
  },
  output: async (forge) => {
    const job = defineJob({ type: "out", output: z.string() });
    expect(await runOne(forge, job, returnsOne)).toMatchObject({
      status: "failed",
      error: { name: "InvalidValueError" },
    });
  },
  retry: async (forge) => {
    const job = defineJob({ type: "retried", retry: { baseMs: 3_600_000, maxAttempts: 2 } });
    const after = await runOne(forge, job, fails);
    expect(after).toMatchObject({ status: "queued", attempts: 1, maxAttempts: 2 });
    expect(Math.abs((after?.runAt.getTime() ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  },
  timeoutMs: async (forge) => {
    const job = defineJob({ type: "slow", timeoutMs: 30, retry: { maxAttempts: 1 } });
    const aborted = async (_input: unknown, { signal }: JobContext): Promise<void> =>
      await new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
    expect(await runOne(forge, job, aborted)).toMatchObject({ error: { name: "JobTimeoutError" } });
  },
  leaseMs: async (forge) => {
    const job = defineJob({ type: "leased", leaseMs: 900_000 });
    let leftMs = 0;
    await runOne(forge, job, async (_input, context) => {
      leftMs = await lockMs(forge, context);
    });
    expect(leftMs).toBeGreaterThan(600_000);
  },
  priority: async (forge) => {
    expect(await stored(forge, defineJob({ type: "p", priority: 7 }))).toMatchObject({ priority: 7 });
  },
  maxPriority: async (forge) => {
    const job = defineJob({ type: "capped", maxPriority: 3 });
    expect(await stored(forge, job, { priority: 9 })).toMatchObject({ priority: 3 });
  },
  auditAction: (forge) =>
    refusedDefinition(forge, defineJob({ type: "audited", auditAction: "DONE" }), "auditAction"),
  keepLogs: (forge) => refusedDefinition(forge, defineJob({ type: "logged", keepLogs: "all" }), "keepLogs"),
  keepHistory: async (forge) => {
    expect(await runOne(forge, defineJob({ type: "brief", keepHistory: false }), returnsOne)).toBeUndefined();
  },
  retentionDays: async (forge) => {
    expect([await isForgotten(forge, 2), await isForgotten(forge, 9)]).toEqual([true, false]);
  },
  redact: async (forge) => {
    const job = defineJob({ type: "secret", redact: ["iban"], retry: { maxAttempts: 1 } });
    expect((await runOne(forge, job, fails))?.lastError).toBe("iban: [redacted]");
  },
  tags: async (forge) => {
    const job = defineJob({ type: "tagged", tags: ["all"] });
    expect(await stored(forge, job, { tags: ["own"] })).toMatchObject({ tags: ["all", "own"] });
  },
  dedupe: async (forge) => {
    const job = defineJob({ type: "deduped", dedupe: () => "one" });
    expect((await stored(forge, job))?.id).toBe((await stored(forge, job))?.id);
  },
  dedupeMode: async (forge) => {
    const job = defineJob({ type: "replaced", dedupe: () => "one", dedupeMode: "replace" });
    await stored(forge, job, { priority: 1 });
    expect(await stored(forge, job, { priority: 2 })).toMatchObject({ priority: 2 });
  },
  subject: async (forge) => {
    expect(await stored(forge, defineJob({ type: "about", subject: () => "s-1" }))).toMatchObject({
      subject: "s-1",
    });
  },
};

const hour = 3_600_000;
const isIn = (time: Date | undefined, ms: number): boolean =>
  Math.abs((time?.getTime() ?? 0) - Date.now() - ms) < 60_000;

const enqueues: Names<EnqueueOptions> = {
  tenantId: async (forge) => {
    const job = await forge.enqueue(plain, {}, { tenantId: T });
    expect(await forge.get(job.id, { job: plain, tenantId: U })).toBeUndefined();
    expect(await job.get()).toMatchObject({ tenantId: T });
  },
  idempotencyKey: async (forge) => {
    const [first, second] = [1, 2].map(() => stored(forge, plain, { idempotencyKey: "k" }));
    expect((await first)?.id).toBe((await second)?.id);
  },
  dedupeKey: async (forge) => {
    const first = await stored(forge, plain, { dedupeKey: "d" });
    expect((await stored(forge, plain, { dedupeKey: "d" }))?.id).toBe(first?.id);
  },
  dedupeMode: async (forge) => {
    await stored(forge, plain, { dedupeKey: "d", tags: ["old"] });
    const again = await stored(forge, plain, { dedupeKey: "d", dedupeMode: "replace", tags: ["new"] });
    expect(again?.tags).toEqual(["new"]);
  },
  runAt: async (forge) => {
    const runAt = new Date(Date.now() + hour);
    expect(isIn((await stored(forge, plain, { runAt }))?.runAt, hour)).toBe(true);
  },
  delayMs: async (forge) => {
    expect(isIn((await stored(forge, plain, { delayMs: hour }))?.runAt, hour)).toBe(true);
  },
  expiresAt: async (forge) => {
    const expiresAt = new Date(Date.now() + hour);
    expect(await stored(forge, plain, { expiresAt })).toMatchObject({ expiresAt });
  },
  maxAttempts: async (forge) => {
    expect(await stored(forge, plain, { maxAttempts: 8 })).toMatchObject({ maxAttempts: 8 });
  },
  priority: async (forge) => {
    expect(await stored(forge, plain, { priority: -8 })).toMatchObject({ priority: -8 });
  },
  tags: async (forge) => {
    expect(await stored(forge, plain, { tags: ["x"] })).toMatchObject({ tags: ["x"] });
  },
  subject: async (forge) => {
    expect(await stored(forge, plain, { subject: "s" })).toMatchObject({ subject: "s" });
  },
  concurrencyKey: async (forge) => {
    const refusal = expect.objectContaining({ name: "NotSupportedError", field: "concurrencyKey" });
    const options = { concurrencyKey: "k" };
    await expect(forge.enqueue(plain, {}, { tenantId: T, ...options })).rejects.toEqual(refusal);
    const jobs = [{ job: plain, input: {}, ...options }];
    await expect(forge.enqueueMany(jobs, { tenantId: T })).rejects.toEqual(refusal);
    const parent = await runOne(forge, plain, async (_input, { enqueue }) => enqueue(plain, {}, options));
    expect(parent).toMatchObject({ status: "dead", error: { name: "NotSupportedError" } });
  },
  notify: async (forge) => {
    const refusal = expect.objectContaining({ name: "NotSupportedError", field: "notify" });
    const options = { notify: { url: "https://example.com/done" } };
    await expect(forge.enqueue(plain, {}, { tenantId: T, ...options })).rejects.toEqual(refusal);
    const parent = await runOne(forge, plain, async (_input, { enqueue }) => enqueue(plain, {}, options));
    expect(parent).toMatchObject({ status: "dead", error: { name: "NotSupportedError" } });
  },
  offload: async (forge) => {
    const refusal = expect.objectContaining({ name: "NotSupportedError", field: "offload" });
    const options = { offload: true };
    await expect(forge.enqueue(plain, {}, { tenantId: T, ...options })).rejects.toEqual(refusal);
    const jobs = [{ job: plain, input: {}, ...options }];
    await expect(forge.enqueueMany(jobs, { tenantId: T })).rejects.toEqual(refusal);
    const parent = await runOne(forge, plain, async (_input, { enqueue }) => enqueue(plain, {}, options));
    expect(parent).toMatchObject({ status: "dead", error: { name: "NotSupportedError" } });
  },
  traceparent: async (forge) => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    expect(await stored(forge, plain, { traceparent })).toMatchObject({ traceparent });
  },
};

/** Runs some jobs with the options. Returns how many handlers ran at once, at most. */
async function mostAtOnce(forge: BullForge, options: Partial<BullWorkerOptions>): Promise<number> {
  await forge.enqueueMany(
    Array.from({ length: 12 }, () => ({ job: plain, input: {} })),
    { tenantId: T },
  );
  let running = 0;
  let most = 0;
  const handler = plain.handle(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
  });
  expect(await makeWorker(forge, { handlers: [handler], ...options }).tick()).toMatchObject({
    succeeded: 12,
  });
  return most;
}

/** What the worker logs about a run that fails. */
async function linesOfFailure(forge: BullForge, options: Partial<BullWorkerOptions>) {
  const { logger, lines } = keptLog();
  await forge.enqueue(plain, {}, { tenantId: T });
  await makeWorker(forge, { handlers: [plain.handle(fails)], logger, ...options }).tick();
  return lines;
}

/** A job that another worker runs after this one was stopped. */
async function stoppedAt(forge: BullForge, options: Partial<BullWorkerOptions>): Promise<unknown> {
  const job = await forge.enqueue(plain, {}, { tenantId: T });
  let isRunning = false;
  const handler = plain.handle(async (_input, { signal }) => {
    isRunning = true;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    throw signal.reason;
  });
  const worker = await startWorker(forge, { handlers: [handler], ...options });
  await expect.poll(() => isRunning).toBe(true);
  await worker.stop();
  return await job.get();
}

const released = { status: "queued", attempts: 1, uncounted: 1 };

/** The number of connections to Redis. */
async function connections({ connection }: BullForge): Promise<number> {
  return String(await connection.client.call("CLIENT", "LIST"))
    .trim()
    .split("\n").length;
}

/** What the worker must find by itself, or be woken for. */
async function foundByWorker(forge: BullForge, options: Partial<BullWorkerOptions>): Promise<void> {
  await startWorker(forge, { handlers: [plain.handle(returnsOne)], ...options });
  const job = await forge.enqueue(plain, {}, { tenantId: T });
  expect(await job.result({ timeoutMs: 40_000 })).toBe(1);
}

const workers: Names<WorkerOptions> = {
  handlers: async (forge) => {
    const other = await stored(forge, defineJob({ type: "unhandled" }));
    expect(await runOne(forge, plain, returnsOne)).toMatchObject({ status: "succeeded" });
    expect(other).toMatchObject({ status: "queued" });
  },
  concurrency: async (forge) => {
    expect(await mostAtOnce(forge, { concurrency: 2 })).toBe(2);
  },
  maxPerType: async (forge) => {
    expect(await mostAtOnce(forge, { concurrency: 9, maxPerType: { plain: 1 } })).toBe(1);
  },
  id: async (forge) => {
    const job = await forge.enqueue(plain, {}, { tenantId: T });
    let seen: string | undefined;
    const handler = plain.handle(async () => {
      seen = (await job.get())?.lockedBy;
    });
    await makeWorker(forge, { handlers: [handler], id: "w-7" }).tick();
    expect(seen).toMatch(/^w-7/);
  },
  tenantId: (forge) => refusedWorkerOption(forge, { tenantId: T }, "tenantId"),
  listen: async (forge) => {
    await forge.ready();
    const before = await connections(forge);
    await foundByWorker(forge, { listen: false });
    expect(await connections(forge)).toBe(before);
    await foundByWorker(forge, { listen: true });
    expect(await connections(forge)).toBeGreaterThan(before);
  },
  // Redis hands nothing over, so the option changes nothing.
  handOff: (forge) => foundByWorker(forge, { handOff: false }),
  pollMs: (forge) => foundByWorker(forge, { listen: false, pollMs: 20 }),
  heartbeatMs: async (forge) => {
    const handlers = [plain.handle(returnsOne)];
    // The lease of this client is two seconds.
    expect(() => createBullWorker(forge, { handlers, heartbeatMs: 1500 })).toThrow("heartbeatMs");
    const short = [defineJob({ type: "s", leaseMs: 1000 }).handle(returnsOne)];
    expect(() => createBullWorker(forge, { handlers: short, heartbeatMs: 900 })).toThrow("heartbeatMs");
    await forge.enqueue(plain, {}, { tenantId: T });
    let isKept = false;
    const handler = plain.handle(async (_input, job) => {
      for (let last = await lockMs(forge, job); !isKept; ) {
        const left = await lockMs(forge, job);
        isKept = left > last;
        last = left;
      }
    });
    await startWorker(forge, { handlers: [handler], heartbeatMs: 100 });
    await expect.poll(() => isKept).toBe(true);
  },
  graceMs: async (forge) => {
    expect(await stoppedAt(forge, { graceMs: 0 })).toMatchObject(released);
  },
  abortGraceMs: async (forge) => {
    expect(await stoppedAt(forge, { graceMs: 0, abortGraceMs: 60_000 })).toMatchObject(released);
  },
  batchSize: async (forge) => {
    const claims: number[] = [];
    const hooks = { onClaim: ({ jobs }: { jobs: readonly unknown[] }) => void claims.push(jobs.length) };
    await mostAtOnce(forge, { batchSize: 3, hooks: hooks as never });
    expect(Math.max(...claims)).toBeLessThanOrEqual(3);
  },
  prefetch: async (forge) => {
    expect(await mostAtOnce(forge, { concurrency: 3, prefetch: 0 })).toBe(3);
  },
  logger: async (forge) => {
    expect((await linesOfFailure(forge, {})).map(({ message }) => message)).toContain(
      "Job failed in its last attempt",
    );
  },
  logStacks: async (forge) => {
    const has = (lines: readonly object[]): boolean => lines.some((line) => "stack" in line);
    expect(has(await linesOfFailure(forge, { logStacks: true }))).toBe(true);
    expect(has(await linesOfFailure(forge, { logStacks: false }))).toBe(false);
  },
  handleCrashes: (forge) => foundByWorker(forge, { handleCrashes: true }),
  hooks: async (forge) => {
    const called: string[] = [];
    const hooks = { onDead: () => void called.push("dead"), onFailure: () => void called.push("failure") };
    await linesOfFailure(forge, { hooks });
    expect(called.toSorted()).toEqual(["dead", "failure"]);
  },
  sync: (forge) => refusedWorkerOption(forge, { sync: true }, "sync"),
  offload: (forge) => refusedWorkerOption(forge, { offload: true }, "offload"),
  appVersion: (forge) => refusedWorkerOption(forge, { appVersion: "1" }, "appVersion"),
  middleware: async (forge) => {
    const job = await forge.enqueue(plain, {}, { tenantId: T });
    const middleware = [async (): Promise<number> => 2];
    await makeWorker(forge, { handlers: [plain.handle(returnsOne)], middleware }).tick();
    expect(await job.result()).toBe(2);
  },
};

/** What a handler sees of the member. */
function sees(read: (job: JobContext) => unknown, expected: unknown) {
  return async (forge: BullForge): Promise<void> => {
    let seen: unknown;
    const options = { subject: "s", tags: ["t"], maxAttempts: 4 };
    const look = async (_input: unknown, job: JobContext): Promise<void> => {
      seen = read(job);
    };
    await runOne(forge, plain, look, options);
    expect(seen).toEqual(expected);
  };
}

/** What becomes of the job if its handler does this. */
function becomes(run: (job: JobContext) => unknown, expected: object) {
  return async (forge: BullForge): Promise<void> => {
    const job = defineJob({ type: "acts", retry: { baseMs: hour, maxAttempts: 3 } });
    expect(await runOne(forge, job, async (_input, context) => await run(context))).toMatchObject(expected);
  };
}

const refusedCall = { error: { name: "NotSupportedError" } };

const context: Names<JobContext> = {
  id: sees(({ id }) => id, expect.stringMatching(/^[0-9a-f-]{36}$/)),
  type: sees(({ type }) => type, "plain"),
  tenantId: sees(({ tenantId }) => tenantId, T),
  attempt: sees(({ attempt }) => attempt, 1),
  maxAttempts: sees(({ maxAttempts }) => maxAttempts, 4),
  traceId: sees(({ traceId }) => traceId, expect.stringMatching(/^[0-9a-f]{32}$/)),
  subject: sees(({ subject }) => subject, "s"),
  tags: sees(({ tags }) => tags, ["t"]),
  runAt: sees(({ runAt }) => isIn(runAt, 0), true),
  createdAt: sees(({ createdAt }) => isIn(createdAt, 0), true),
  // No job in Redis belongs to a schedule.
  scheduledFor: sees(({ scheduledFor }) => scheduledFor, undefined),
  schedule: sees(({ schedule }) => schedule, undefined),
  signal: sees(({ signal }) => signal.aborted, false),
  log: sees(({ log }) => typeof log.info, "function"),
  traceparent: sees(({ traceparent }) => traceparent, expect.stringMatching(/^00-/)),
  progress: becomes(({ progress }) => progress({ done: 1 }), { progress: { done: 1 } }),
  defer: becomes(({ defer }) => defer({ inMs: hour }), { status: "queued", attempts: 1 }),
  fail: becomes(({ fail }) => fail("no"), { status: "failed", lastError: "no" }),
  retryAfter: becomes(({ retryAfter }) => retryAfter(hour, "later"), {
    status: "queued",
    lastError: "later",
  }),
  holdKey: becomes(({ holdKey }) => holdKey(hour), refusedCall),
  nextRun: becomes(({ nextRun }) => nextRun(hour), refusedCall),
  cost: becomes(({ cost }) => cost(7), { status: "succeeded", costCents: 7 }),
  enqueue: async (forge) => {
    const child = defineJob({ type: "child", dedupe: () => "one" });
    await runOne(forge, plain, async (_input, { enqueue }) => enqueue(child, {}));
    expect((await forge.enqueue(child, {}, { tenantId: T })).outcome).toBe("existing");
  },
  transaction: becomes(({ transaction }) => transaction(async () => 1), refusedCall),
  step: becomes(({ step }) => step("a", () => 1), refusedCall),
  stepIn: becomes(({ stepIn }) => stepIn("a", async () => 1), refusedCall),
  sleep: becomes(({ sleep }) => sleep(1), refusedCall),
  waitFor: becomes(({ waitFor }) => waitFor("a"), refusedCall),
  call: sees(({ call }) => call(plain, {}).definition.type, "plain"),
  run: becomes(({ run }) => run(plain, {}), refusedCall),
  all: becomes(({ all, call }) => all([call(plain, {})]), refusedCall),
  addSteps: becomes(({ addSteps }) => addSteps(() => undefined), refusedCall),
  addStepsNow: becomes(({ addStepsNow }) => addStepsNow(() => undefined), refusedCall),
  results: becomes(({ results }) => results(plain, "a"), refusedCall),
  version: becomes(({ version }) => version("a"), refusedCall),
  saga: becomes(({ saga }) => saga(async () => 1), refusedCall),
};

test.for(Object.entries(definitions))("an option of a definition: %s", async ([, check], { forge }) => {
  await check(forge);
});
test.for(Object.entries(enqueues))("an option of an enqueue: %s", async ([, check], { forge }) => {
  await check(forge);
});
test.for(Object.entries(workers))("an option of a worker: %s", async ([, check], { forge }) => {
  await check(forge);
});
test.for(Object.entries(context))("a member of the context: %s", async ([, check], { forge }) => {
  await check(forge);
});
