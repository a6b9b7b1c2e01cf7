/** The same handlers, with the same context, on every store. */
import { defineJob, type JobContext } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { z } from "zod";
import { test as base } from "../../../test/database.ts";
import { endServers, stores } from "./support/stores.ts";
import { hasRedis, keptLog, T } from "./support/work.ts";

const seconds = 1000;
const patient = { timeoutMs: 40 * seconds };
const quick = { baseMs: 10, factor: 1, maxAttempts: 3 } as const;

endServers();

describe.each(stores)("on %s", (_, open, needsRedis) => {
  const test = base.skipIf(needsRedis && !hasRedis);

  test("input and output are checked, and the result is what the handler returned", async ({ db }) => {
    const { client, start } = await open(db);
    const add = defineJob({
      type: "math:add",
      input: z.object({ a: z.number(), b: z.number().transform((b) => b * 10) }),
      output: z.number().max(100),
    });
    await start({ handlers: [add.handle(async ({ a, b }) => a + b)] });
    await expect(client.enqueue(add, { a: "1" } as never, { tenantId: T })).rejects.toThrow("payload.a");
    const job = await client.enqueue(add, { a: 1, b: 2 }, { tenantId: T });
    expect(await job.result(patient)).toBe(21);
    expect(await job.get()).toMatchObject({ status: "succeeded", attempts: 1, uncounted: 0, reason: "done" });
    const tooLarge = await client.enqueue(add, { a: 1, b: 200 }, { tenantId: T });
    await expect(tooLarge.result(patient)).rejects.toThrow(/is failed/);
    expect(await tooLarge.get()).toMatchObject({ status: "failed", attempts: 1 });
  });

  test("a failing job is retried as its definition says, and is dead after its last attempt", async ({
    db,
  }) => {
    const { client, start } = await open(db);
    const events: string[] = [];
    const broken = defineJob({ type: "broken", retry: quick });
    await start({
      handlers: [
        broken.handle(async (_input, { attempt }) => {
          throw new Error(`no ${attempt}`, { cause: new Error("deeper") });
        }),
      ],
      hooks: {
        onFailure: ({ attempt, status }) => events.push(`failure ${attempt} ${status}`),
        onDead: ({ attempt }) => events.push(`dead ${attempt}`),
      },
    });
    const job = await client.enqueue(broken, {}, { tenantId: T });
    await expect(job.result(patient)).rejects.toThrow("no 3: deeper");
    expect(await job.get()).toMatchObject({
      status: "dead",
      attempts: 3,
      lastError: "no 3: deeper",
      reason: "exhausted",
    });
    await expect
      .poll(() => events)
      .toEqual(["failure 1 queued", "failure 2 queued", "failure 3 dead", "dead 3"]);
  });

  test("fail ends the job, retryAfter and defer run it again, and only counted runs use up attempts", async ({
    db,
  }) => {
    const { client, start } = await open(db);
    const seen: number[] = [];
    const odd = defineJob({ type: "odd", retry: { ...quick, baseMs: 3_600_000, maxAttempts: 4 } });
    await start({
      handlers: [
        odd.handle(async (_input, job) => {
          seen.push(job.attempt);
          if (job.attempt === 1) job.defer({ inMs: 5 }, { counts: false });
          if (job.attempt === 2) job.defer({ inMs: 5 });
          if (job.attempt === 3) job.retryAfter(5, "busy");
          job.fail("enough", { code: 7 });
        }),
      ],
    });
    const job = await client.enqueue(odd, {}, { tenantId: T });
    await expect(job.result(patient)).rejects.toThrow("enough");
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(await job.get()).toMatchObject({ status: "failed", attempts: 4, uncounted: 1 });
  });

  test("a job that defers in its last attempt is dead", async ({ db }) => {
    const { client, start } = await open(db);
    const waits = defineJob({ type: "waits", retry: { maxAttempts: 2 } });
    await start({ handlers: [waits.handle(async (_input, job) => job.defer({ inMs: 5 }))] });
    const job = await client.enqueue(waits, {}, { tenantId: T });
    await expect(job.result(patient)).rejects.toThrow(/is dead/);
    expect(await job.get()).toMatchObject({ status: "dead", attempts: 2 });
  });

  test("the context has the facts of the job, and its log has the ten fields", async ({ db }) => {
    const { client, start } = await open(db);
    const { logger, lines } = keptLog();
    const facts = defineJob({ type: "facts", tags: ["a"] });
    let seen: Partial<JobContext> = {};
    await start({
      id: "w-facts",
      logger,
      handlers: [
        facts.handle(async (input, job) => {
          const { id, type, tenantId, attempt, maxAttempts, subject, tags, schedule } = job;
          seen = { id, type, tenantId, attempt, maxAttempts, subject, tags, schedule };
          job.log.info({ password: "x", size: 3 }, "hello");
          await job.progress({ done: 0.5 });
          job.cost(7);
          return input;
        }),
      ],
    });
    const options = { tenantId: T, subject: "s-1", tags: ["b"], maxAttempts: 9, priority: 5 };
    const job = await client.enqueue(facts, { deep: [1, { two: null }] }, options);
    expect(await job.result(patient)).toEqual({ deep: [1, { two: null }] });
    const { id } = job;
    expect(seen).toEqual({
      id,
      type: "facts",
      tenantId: T,
      attempt: 1,
      maxAttempts: 9,
      subject: "s-1",
      tags: ["a", "b"],
    });
    expect(await job.get()).toMatchObject({
      progress: { done: 0.5 },
      costCents: 7,
      priority: 5,
      subject: "s-1",
    });
    expect(lines.find(({ message }) => message === "hello")).toEqual({
      level: "info",
      message: "hello",
      worker_id: "w-facts",
      trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      job_id: id,
      job_type: "facts",
      tenant_id: T,
      attempt_no: 1,
      duration_ms: expect.any(Number),
      password: "[redacted]",
      size: 3,
    });
  });

  test("children of a success are enqueued once, and those of a failure are not", async ({ db }) => {
    const { client, start } = await open(db);
    const child = defineJob({ type: "child" });
    const parent = defineJob({ type: "parent", retry: quick });
    const ran: unknown[] = [];
    await start({
      handlers: [
        child.handle(async (input, { tenantId }) => void ran.push([tenantId, input])),
        parent.handle(async (_input, job) => {
          job.enqueue(child, { of: job.attempt, place: 1 });
          job.enqueue(child, { of: job.attempt, place: 2 }, { delayMs: 20 });
          if (job.attempt === 1) throw new Error("after its children");
        }),
      ],
    });
    await (await client.enqueue(parent, {}, { tenantId: T })).result(patient);
    await expect.poll(() => ran.length).toBe(2);
    expect(ran).toEqual([
      [T, { of: 2, place: 1 }],
      [T, { of: 2, place: 2 }],
    ]);
  });

  test("middleware wraps every job, and a batch handler gets several jobs in one call", async ({ db }) => {
    const { client, worker } = await open(db);
    const sizes: number[] = [];
    const batched = defineJob({
      type: "batched",
      input: z.object({ n: z.number() }),
      output: z.number(),
      retry: { maxAttempts: 1 },
    });
    const jobs = await client.enqueueMany(
      Array.from({ length: 6 }, (_each, n) => ({ job: batched, input: { n } })),
      { tenantId: T },
    );
    const made = worker({
      handlers: [
        batched.handleBatch(6, async (items) => {
          sizes.push(items.length);
          return items.map(({ input }) => (input.n === 3 ? new Error("three") : input.n * 2));
        }),
      ],
      middleware: [async ({ input }, next) => ((input as { n: number }).n === 5 ? 55 : await next())],
    });
    await made.start();
    const results = await Promise.allSettled(jobs.map((job) => job.result(patient)));
    expect(
      results.map((each) => (each.status === "fulfilled" ? each.value : String(each.reason.message))),
    ).toEqual([0, 2, 4, expect.stringContaining("three"), 8, 55]);
    expect(Math.max(...sizes)).toBeGreaterThan(1);
  });

  test("a timeout aborts the signal and fails the run", async ({ db }) => {
    const { client, start } = await open(db);
    const slow = defineJob({ type: "slow", timeoutMs: 100, retry: { maxAttempts: 1 } });
    const reasons: unknown[] = [];
    await start({
      handlers: [
        slow.handle(async (_input, { signal }) => {
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          reasons.push(signal.reason.kind);
          signal.throwIfAborted();
        }),
      ],
    });
    const job = await client.enqueue(slow, {}, { tenantId: T });
    await expect(job.result(patient)).rejects.toThrow("took longer than 100 ms");
    expect(reasons).toEqual(["timeout"]);
  });

  test("a canceled job does not start, and a running one is aborted", async ({ db }) => {
    const { client, start } = await open(db);
    const stoppable = defineJob({ type: "stoppable" });
    const ran: string[] = [];
    const waiting = await client.enqueue(stoppable, {}, { tenantId: T, delayMs: 3_600_000 });
    await waiting.cancel();
    expect(await waiting.get()).toMatchObject({ status: "canceled" });
    await expect(waiting.result(patient)).rejects.toThrow("was canceled");
    const running = await client.enqueue(stoppable, {}, { tenantId: T });
    await start({
      handlers: [
        stoppable.handle(async (_input, { id, signal }) => {
          ran.push(id);
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw signal.reason;
        }),
      ],
    });
    await expect.poll(() => ran).toEqual([running.id]);
    await running.cancel();
    await expect(running.result(patient)).rejects.toThrow("was canceled");
    await expect(running.cancel()).rejects.toThrow("cannot be canceled");
    expect(ran).toEqual([running.id]);
  });

  test("a shutdown lets running jobs finish and hands back the others, at no cost", async ({ db }) => {
    const { client, start } = await open(db);
    const slow = defineJob({ type: "slow" });
    let finish: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const started: string[] = [];
    const first = await start({
      concurrency: 1,
      handlers: [
        slow.handle(async (_input, { id }) => {
          started.push(id);
          await gate;
        }),
      ],
    });
    const jobs = await client.enqueueMany(
      [
        { job: slow, input: {} },
        { job: slow, input: {} },
      ],
      { tenantId: T },
    );
    await expect.poll(() => started.length).toBe(1);
    const stopping = first.stop();
    finish();
    await stopping;
    expect(started).toHaveLength(1);
    const states = await Promise.all(jobs.map((job) => job.get()));
    expect(states.map((job) => job?.status).toSorted()).toEqual(["queued", "succeeded"]);
    await start({ handlers: [slow.handle(async () => "late")] });
    await Promise.all(jobs.map((job) => job.result(patient)));
    for (const job of jobs) {
      const { attempts = 0, uncounted = 0 } = (await job.get()) ?? {};
      expect(attempts - uncounted).toBe(1);
    }
  });

  test("an aborted shutdown releases the job, and another worker runs it", async ({ db }) => {
    const { client, start } = await open(db);
    const slow = defineJob({ type: "slow", retry: { maxAttempts: 1 } });
    let isStarted = false;
    const first = await start({
      handlers: [
        slow.handle(async (_input, { signal }) => {
          isStarted = true;
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
          throw signal.reason;
        }),
      ],
    });
    const job = await client.enqueue(slow, {}, { tenantId: T });
    await expect.poll(() => isStarted).toBe(true);
    await first.stop({ graceMs: 0 });
    await start({ handlers: [slow.handle(async () => "second")] });
    expect(await job.result(patient)).toBe("second");
    expect(await job.get()).toMatchObject({ attempts: 2, uncounted: 1 });
  });

  test("a tick runs what is due and returns", async ({ db }) => {
    const { client, worker } = await open(db);
    const plain = defineJob({ type: "plain" });
    await client.enqueueMany(
      Array.from({ length: 7 }, () => ({ job: plain, input: {} })),
      { tenantId: T },
    );
    await client.enqueue(plain, {}, { tenantId: T, delayMs: 3_600_000 });
    const ticking = worker({ handlers: [plain.handle(async () => 1)] });
    expect(await ticking.tick({ limit: 5 })).toMatchObject({ claimed: 5, succeeded: 5 });
    expect(await ticking.tick({ limit: 5 })).toMatchObject({ claimed: 2, succeeded: 2 });
  });

  test("a tick runs all that is due, whatever becomes of the runs and however small its calls are", async ({
    db,
  }) => {
    const { client, worker } = await open(db);
    const mixed = defineJob({
      type: "mixed",
      input: z.object({ n: z.number() }),
      retry: { baseMs: 3_600_000 },
    });
    await client.enqueueMany(
      Array.from({ length: 40 }, (_each, n) => ({ job: mixed, input: { n } })),
      { tenantId: T },
    );
    const ticking = worker({
      concurrency: 4,
      batchSize: 3,
      handlers: [
        mixed.handle(async ({ n }, { defer }) => {
          if (n % 4 === 1) throw new Error("later");
          if (n % 4 === 2) defer({ inMs: 3_600_000 });
        }),
      ],
    });
    expect(await ticking.tick()).toMatchObject({ claimed: 40, succeeded: 20, retried: 10, deferred: 10 });
  });
});
