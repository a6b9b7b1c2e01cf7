/** One run: what a handler gets, and the effects of what it returns, throws or calls. */
import { defineJob } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { z } from "zod";
import { Happening } from "../support/happening.ts";
import { attemptsOf, jobOf, untilFinished } from "../support/jobs.ts";
import { clientAt, makeWorker, startWorker, T, test } from "../support/work.ts";

const mail = defineJob({ type: "mail", input: z.object({ to: z.string() }) });

test("a handler gets its input and the facts of its run, and its return value is the job's result", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(
    mail,
    { to: "ada@example.com" },
    { tenantId: T, tags: ["vip"], subject: "order-1", maxAttempts: 3 },
  );
  const seen = new Happening<Record<string, unknown>>();
  const handler = mail.handle(async (input, job) => {
    const { id, type, tenantId, attempt, maxAttempts, subject, tags } = job;
    const { traceId, traceparent } = job;
    seen.now({
      input,
      id,
      type,
      tenantId,
      attempt,
      maxAttempts,
      subject,
      tags: [...tags],
      traceId,
      traceparent,
    });
    return { messageId: "m-1", late: job.runAt < job.createdAt };
  });
  await startWorker(forge, { handlers: [handler] });
  const { traceId, traceparent, ...facts } = await seen.once();
  expect(facts).toEqual({
    input: { to: "ada@example.com" },
    id,
    type: "mail",
    tenantId: T,
    attempt: 1,
    maxAttempts: 3,
    subject: "order-1",
    tags: ["vip"],
  });
  expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  await untilFinished(db, 1);
  expect(await db.value("select result from jobforge_job_results")).toEqual({
    messageId: "m-1",
    late: false,
  });
  expect(await db.value("select trace_id from jobforge_job_attempts")).toBe(traceId);
});

test("the members of a context can be destructured", async ({ db, forge }) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const handler = mail.handle(async (_, { progress, cost, log, signal, enqueue }) => {
    await progress({ done: 1 });
    cost(2);
    cost(3);
    enqueue(defineJob({ type: "other" }), {});
    log.info({ step: 1 }, `not aborted: ${!signal.aborted}`);
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "succeeded", progress: { done: 1 }, cost_cents: 5 });
});

test("what a handler throws is stored, and the job is retried", async ({ db, forge }) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const handler = mail.handle(() => {
    throw Object.assign(new TypeError("no such\u0000 address", { cause: new Error("550") }), {
      code: "EADDR",
    });
  });
  const summary = await makeWorker(forge, { handlers: [handler] }).tick();
  expect(summary).toMatchObject({ claimed: 1, retried: 1, failed: 0, succeeded: 0 });
  const { status, error } = await jobOf(db, id);
  expect(status).toBe("queued");
  expect(error).toMatchObject({
    name: "TypeError",
    message: "no such\uFFFD address",
    code: "EADDR",
    cause: { name: "Error", message: "550" },
  });
});

test("any thrown value fails the run, even if it is not an Error", async ({ db, forge }) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const handler = mail.handle(async () => {
    throw "just a text";
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect((await jobOf(db, id))["error"]).toMatchObject({ name: "NonError", message: "just a text" });
});

test("fail() ends the job without retries, even if the handler catches what it throws", async ({
  db,
  forge,
}) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const handler = mail.handle(async (_, job) => {
    try {
      job.fail("The address does not exist", { smtp: 550 });
    } catch {
      return "caught";
    }
  });
  const summary = await makeWorker(forge, { handlers: [handler] }).tick();
  expect(summary).toMatchObject({ failed: 1, retried: 0 });
  const { status, error } = await jobOf(db, id);
  expect(status).toBe("failed");
  expect(error).toMatchObject({ message: "The address does not exist", details: { smtp: 550 } });
});

test("retryAfter() fails the run and sets the time of the retry", async ({ db, forge }) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const at = new Date(Date.now() + 7_200_000);
  const handler = mail.handle(async (_, job) => job.retryAfter(at, "429"));
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "queued", last_error: "429", run_at: at });
  expect(await attemptsOf(db, id)).toEqual(["failed"]);
});

test("retryAfter() with an error stores it, with its details", async ({ db, forge }) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const busy = Object.assign(new RangeError("busy"), { details: { status: 503 } });
  const handler = mail.handle(async (_, job) => job.retryAfter(60_000, busy));
  await makeWorker(forge, { handlers: [handler] }).tick();
  const { error } = await jobOf(db, id);
  expect(error).toMatchObject({ name: "RangeError", message: "busy", details: { status: 503 } });
});

test("retryAfter() with milliseconds counts from now", async ({ db, forge }) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const before = Date.now();
  const handler = mail.handle(async (_, job) => job.retryAfter(3_600_000));
  await makeWorker(forge, { handlers: [handler] }).tick();
  const { run_at } = await jobOf(db, id);
  expect((run_at as Date).getTime()).toBeGreaterThanOrEqual(before + 3_600_000 - 50);
  expect((run_at as Date).getTime()).toBeLessThanOrEqual(Date.now() + 3_600_000 + 50);
});

test("a poll handler that defers three times and then finishes is one job, and takes no slot meanwhile", async ({
  db,
  forge,
}) => {
  const poll = defineJob({ type: "poll" });
  const { id } = await forge.enqueue(poll, {}, { tenantId: T, maxAttempts: 50 });
  const handlers = [
    poll.handle(async (_, job) => (job.attempt < 4 ? job.defer({ inMs: 3_600_000 }) : "ready")),
  ];
  for (const minutes of [0, 61, 122, 183]) {
    await using later = clientAt(db, `${minutes}min`);
    const worker = makeWorker(later, { concurrency: 1, handlers });
    expect(await worker.tick()).toMatchObject({ claimed: 1 });
    expect(await worker.tick(), "it is not due again").toMatchObject({ claimed: 0 });
    const gap = await db.value<number>(
      `select extract(epoch from j.run_at - max(a.finished_at))::float8
       from jobforge_jobs j join jobforge_job_attempts a on a.job_id = j.id where a.status = 'deferred' group by j.run_at`,
    );
    // By the database's clock, minus the time between the call of defer() and the end of the run.
    expect(gap).toBeGreaterThan(minutes === 183 ? -3_600 : 3_540);
    expect(gap).toBeLessThanOrEqual(3_600);
  }
  expect(await attemptsOf(db, id)).toEqual(["deferred", "deferred", "deferred", "succeeded"]);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(1);
});

test("a job whose poll handler is never ready is dead when its attempts are used up", async ({
  db,
  forge,
}) => {
  const poll = defineJob({ type: "poll" });
  const { id } = await forge.enqueue(poll, {}, { tenantId: T, maxAttempts: 50 });
  const handler = poll.handle(async (_, job) => job.defer({ at: new Date(0) }));
  const summary = await makeWorker(forge, { handlers: [handler] }).tick({ limit: 100 });
  expect(summary).toMatchObject({ claimed: 50, deferred: 50, failed: 1 });
  expect(await jobOf(db, id)).toMatchObject({ status: "dead", attempts: 50 });
});

test("a defer that does not count uses up no execution", async ({ db, forge }) => {
  const poll = defineJob({ type: "poll" });
  const { id } = await forge.enqueue(poll, {}, { tenantId: T, maxAttempts: 1 });
  const handler = poll.handle(async (_, job) =>
    job.attempt < 3 ? job.defer({ at: new Date(0) }, { counts: false }) : "ready",
  );
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "succeeded", attempts: 3, uncounted: 2 });
});

test("an invalid payload fails the job without retries and without its handler", async ({ db, forge }) => {
  await db.query("select jobforge_enqueue_job($1, 'mail', '{\"to\": 7}')", [T]);
  let called = false;
  const handler = mail.handle(() => {
    called = true;
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  const [job] = await db.query("select status, error from jobforge_jobs");
  expect(job).toMatchObject({ status: "failed", error: { name: "InvalidValueError" } });
  expect(job?.["error"]).toHaveProperty("message", expect.stringContaining("payload.to"));
  expect(called).toBe(false);
});

test("an invalid output fails the job without retries", async ({ db, forge }) => {
  const sum = defineJob({ type: "sum", output: z.object({ total: z.number() }) });
  const { id } = await forge.enqueue(sum, {}, { tenantId: T });
  const handler = sum.handle(async () => JSON.parse('{"total": "7"}'));
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "failed", error: { name: "InvalidValueError" } });
});

test("a handler gets the schema's output, not the raw payload", async ({ forge }) => {
  const doubled = defineJob({ type: "doubled", input: z.object({ n: z.number().transform((n) => n * 2) }) });
  await forge.enqueue(doubled, { n: 21 }, { tenantId: T });
  const seen = new Happening<number>();
  await makeWorker(forge, { handlers: [doubled.handle(({ n }) => seen.now(n))] }).tick();
  expect(seen.values).toEqual([42]);
});

test("a progress that is too large is an error of the handler, not of the worker", async ({ db, forge }) => {
  const { id } = await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const handler = mail.handle(async (_, job) => {
    await expect(job.progress("x".repeat(70_000))).rejects.toMatchObject({ code: "JF008" });
    await job.progress({ ok: true });
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect(await jobOf(db, id)).toMatchObject({ status: "succeeded", progress: { ok: true } });
});

test("a context throws when it is used after its run has ended", async ({ forge }) => {
  await forge.enqueue(mail, { to: "a" }, { tenantId: T });
  const kept = new Happening<{ progress(value: unknown): Promise<void> }>();
  await makeWorker(forge, { handlers: [mail.handle((_, job) => kept.now(job))] }).tick();
  const job = await kept.once();
  await expect(job.progress(1)).rejects.toThrow("called too late");
});
