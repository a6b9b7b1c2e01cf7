/** Mistakes are found before any round trip, and named. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { T } from "../../../sql/test/support/kernel.ts";
import {
  type CallArguments,
  defineJob,
  defineSchedule,
  type EnqueueOptions,
  InvalidArgumentError,
  InvalidValueError,
  type JobDefinition,
  JobForge,
  type JobForgeError,
  type JobHandler,
  PayloadTooLargeError,
  type ScheduleDefinition,
  TenantRequiredError,
  type Transport,
  toStorableJson,
} from "../src/index.ts";
import { cleanUp, countWords, sendMail } from "./support/jobs.ts";

/** A transport that only notes what it is asked. */
function recorder(): {
  readonly transport: Transport;
  readonly calls: { name: string; args: CallArguments }[];
} {
  const calls: { name: string; args: CallArguments }[] = [];
  const transport: Transport = {
    call: async <A>(name: string, args: CallArguments) => {
      calls.push({ name, args });
      return {} as A;
    },
    close: async () => undefined,
  };
  return { transport, calls };
}

async function refusal(work: () => unknown): Promise<JobForgeError> {
  try {
    await work();
  } catch (error) {
    return error as JobForgeError;
  }
  return expect.fail("it was accepted");
}

/** What a program that has no types, or lies about them, may pass. */
function wrong(value: unknown): never {
  return value as never;
}

/** An object so many levels deep, with a value at its end. */
function nested(depth: number, end: unknown = 1): unknown {
  let value = end;
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

/** A declared schedule that defineSchedule never saw. */
function declared(settings: ScheduleDefinition["settings"]): ScheduleDefinition {
  return { ...defineSchedule({ job: cleanUp, key: "k", every: "1 hour" }), settings };
}

test("what a policy may be without is removed by null", async () => {
  const { transport, calls } = recorder();
  const without = { capMs: null, timeoutMs: null, leaseMs: null, auditAction: null, maxPriority: null };
  await new JobForge({ transport }).policies.set("a", without);
  expect(calls).toMatchObject([{ args: { p_policy: { cap_ms: null, audit_action: null } } }]);
});

describe("an enqueue", () => {
  const options: EnqueueOptions = { tenantId: T };
  test.for<[string, Partial<EnqueueOptions>]>([
    ["tenantId", { tenantId: "not-a-uuid" }],
    ["tenantId", { tenantId: "" }],
    ["maxAttempts", { maxAttempts: 0 }],
    ["maxAttempts", { maxAttempts: 1.5 }],
    ["maxAttempts", { maxAttempts: 100_001 }],
    ["priority", { priority: 1_000_001 }],
    ["priority", { priority: Number.NaN }],
    ["priority", { priority: wrong("high") }],
    ["runAt", { runAt: new Date("soon") }],
    ["runAt", { runAt: wrong("2030-01-01") }],
    ["runAt", { runAt: new Date(8.64e15) }],
    ["runAt", { runAt: new Date("0000-12-31T23:59:59.999Z") }],
    ["expiresAt", { expiresAt: new Date(Number.NaN) }],
    ["expiresAt", { runAt: new Date(2), expiresAt: new Date(2) }],
    ["idempotencyKey", { idempotencyKey: "" }],
    ["idempotencyKey", { idempotencyKey: "ü".repeat(513) }],
    ["dedupeKey", { dedupeKey: wrong(7) }],
    ["dedupeMode", { dedupeMode: wrong("sometimes") }],
    ["subject", { subject: "a\u0000b" }],
    ["concurrencyKey", { concurrencyKey: "" }],
    ["tags", { tags: wrong("one") }],
    ["tags", { tags: Array.from({ length: 51 }, String) }],
    ["tags", { tags: ["x".repeat(2500), "y".repeat(2500)] }],
    ["tags[1]", { tags: ["a", ""] }],
    ["tags[0]", { tags: wrong([7]) }],
    ["traceparent", { traceparent: "00-xyz" }],
  ])("with a bad %s is refused: %o", async ([field, given]) => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const error = await refusal(() => forge.enqueue(cleanUp, {}, { ...options, ...given }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ code: "JF002", field, retryable: false });
    expect(error.message).toContain(field);
    expect(calls).toEqual([]);
  });

  test("without a tenant says which one to take for none", async () => {
    const { transport } = recorder();
    const error = await refusal(() => new JobForge({ transport }).enqueue(cleanUp, {}, wrong({})));
    expect(error).toBeInstanceOf(TenantRequiredError);
    expect(error.hint).toContain("00000000-0000-0000-0000-000000000000");
  });

  const cycle: Record<string, unknown> = { a: { list: [{}] } };
  cycle["a"] = { list: [1, cycle] };
  const shared = { same: true };
  const deep = nested(6000);
  const deepWithNul = nested(4000, "a\u0000b");
  test.for<[string, unknown, string]>([
    ["payload", undefined, "Pass {}"],
    ["payload", null, "Pass {}"],
    ["payload", () => 1, "plain JSON"],
    ["payload", Symbol("x"), "plain JSON"],
    ["payload", new Map([["a", 1]]), "plain JSON"],
    ["payload", new Set([1]), "plain JSON"],
    ["payload", 1n, "plain JSON"],
    ["payload", { toJSON: () => null }, "Pass {}"],
    ["payload", Number.NaN, "Pass {}"],
    ["payload", deep, "plain JSON"],
    ["payload", deepWithNul, "base64"],
    ["payload.lines[1].price", { lines: [{ price: 1 }, { price: 2n }] }, "plain JSON"],
    ["payload.a.list[1]", cycle, "plain JSON"],
    ["payload.text", { shared, again: shared, text: "a\u0000b" }, "base64"],
    ["payload.half", { half: "\ud83d" }, "base64"],
    ["payload", { "key\u0000": 1 }, "base64"],
  ])("with a payload that cannot be kept at %s is refused", async ([field, input, hint]) => {
    const { transport, calls } = recorder();
    const error = await refusal(() => new JobForge({ transport }).enqueue(cleanUp, input, options));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ field, hint: expect.stringContaining(hint) });
    expect(calls).toEqual([]);
  });

  test("with a definition that defineJob never saw is checked like one", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const [nameless, broken]: JobDefinition[] = wrong([{ type: "" }, { type: "a\nb" }]);
    expect(await refusal(() => forge.enqueue(nameless ?? cleanUp, {}, options))).toMatchObject({
      code: "JF002",
      field: "type",
    });
    const jobs = [{ job: broken ?? cleanUp, input: {} }];
    expect(await refusal(() => forge.enqueueMany(jobs, options))).toMatchObject({ field: "jobs[0].type" });
    expect(calls).toEqual([]);
  });

  test("takes times of the first and the last year that Postgres and JSON share", async () => {
    const { transport, calls } = recorder();
    const runAt = new Date("0001-01-01T00:00:00.000Z");
    const expiresAt = new Date("9999-12-31T23:59:59.999Z");
    await new JobForge({ transport }).enqueue(cleanUp, {}, { ...options, runAt, expiresAt });
    expect(calls).toMatchObject([{ args: { p_run_at: runAt, p_expires_at: expiresAt } }]);
  });

  test("with a payload over a mebibyte is refused, counted in bytes", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const error = await refusal(() => forge.enqueue(cleanUp, "ü".repeat(2 ** 19), options));
    expect(error).toBeInstanceOf(PayloadTooLargeError);
    expect(error).toMatchObject({
      code: "JF008",
      field: "payload",
      hint: expect.stringContaining("reference"),
    });
    expect(calls).toEqual([]);
    await forge.enqueue(cleanUp, "x".repeat(2 ** 20 - 2), options);
    expect(calls).toHaveLength(1);
  });

  test("keeps text that only looks like an escaped NUL", async () => {
    const { transport, calls } = recorder();
    const text = "\\u0000 \\\\u0000 😀 \\ud83d";
    await new JobForge({ transport }).enqueue(cleanUp, { text }, options);
    expect(calls[0]?.args["p_payload"]).toMatchObject({ text: JSON.stringify({ text }) });
  });

  test("is refused by the schema with every issue and its place", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const error = await refusal(() => forge.enqueue(sendMail, wrong({ to: "nobody" }), options));
    expect(error).toBeInstanceOf(InvalidValueError);
    expect(error).toMatchObject({
      field: "payload.to",
      issues: [
        { path: ["to"], message: expect.any(String) },
        { path: ["subject"], message: expect.any(String) },
      ],
      message: expect.stringContaining("and 1 more"),
    });
    const valibot = await refusal(() => forge.enqueue(countWords, wrong({ text: 1 }), options));
    expect(valibot).toMatchObject({ field: "payload.text" });
    expect(calls).toEqual([]);
  });

  test("waits for a schema that is asynchronous", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const known = defineJob({
      type: "known",
      input: z.object({ user: z.string().refine(async (name) => name === "ada", "no such user") }),
      subject: ({ user }) => user,
    });
    expect(await refusal(() => forge.enqueue(known, { user: "bob" }, options))).toMatchObject({
      message: "payload.user: no such user",
    });
    await forge.enqueue(known, { user: "ada" }, options);
    expect(calls).toMatchObject([{ args: { p_subject: "ada" } }]);
  });

  test("is refused when the definition's own key or subject is none", async () => {
    const { transport } = recorder();
    const job = defineJob({ type: "a", dedupe: () => "", subject: () => "s" });
    const error = await refusal(() => new JobForge({ transport }).enqueue(job, {}, options));
    expect(error).toMatchObject({ field: "dedupeKey" });
  });
});

test("one bad job among many is named by its place, and none is sent", async () => {
  const { transport, calls } = recorder();
  const forge = new JobForge({ transport });
  const jobs = Array.from({ length: 20 }, (_, n) => ({
    job: countWords,
    input: { text: n === 13 ? wrong(n) : "x" },
  }));
  expect(await refusal(() => forge.enqueueMany(jobs, { tenantId: T }))).toMatchObject({
    field: "jobs[13].payload.text",
    message: expect.stringContaining("jobs[13].payload.text"),
  });
  expect(await refusal(() => forge.enqueueMany([{ job: cleanUp, input: {} }]))).toMatchObject({
    code: "JF001",
    field: "jobs[0].tenantId",
  });
  expect(await refusal(() => forge.enqueueMany(wrong(undefined)))).toMatchObject({ field: "jobs" });
  expect(calls).toEqual([]);
});

test("an option that is undefined in a job leaves the shared one", async () => {
  const { transport, calls } = recorder();
  const call: Transport["call"] = async <A>(name: string, args: CallArguments) => {
    await transport.call(name, args);
    return [] as A;
  };
  const job = { job: cleanUp, input: {}, tenantId: undefined, priority: undefined };
  await new JobForge({ transport: { ...transport, call } }).enqueueMany([wrong(job)], {
    tenantId: T,
    priority: 4,
  });
  expect(calls).toMatchObject([{ args: { p_tenant_id: T } }]);
  expect(calls[0]?.args["p_jobs"]).toMatchObject({ text: expect.stringContaining('"priority":4') });
});

const noTime = new Date("garbage");
test.for<[string, (forge: JobForge) => unknown]>([
  ["createdBefore", (forge) => forge.cancelMany({ tenantId: T, status: "queued", createdBefore: noTime })],
  ["createdAfter", (forge) => forge.rescheduleMany({ tenantId: T, type: "a", createdAfter: noTime })],
  ["finishedBefore", (forge) => forge.jobs.purge({ tenantId: T, finishedBefore: new Date(8.64e15) })],
  ["finishedAfter", (forge) => forge.jobs.search({ finishedAfter: noTime })],
  ["createdAfter", (forge) => forge.list({ tenantId: T, createdAfter: wrong("x") })],
  ["createdBefore", (forge) => forge.list({ tenantId: T, createdBefore: wrong(null) })],
  ["createdAfter", (forge) => forge.jobs.count({ createdAfter: noTime })],
  ["finishedBefore", (forge) => forge.jobs.deadGroups({ finishedBefore: noTime })],
  ["after", (forge) => forge.audit.list({ after: noTime })],
  ["before", (forge) => forge.audit.list({ before: wrong("yesterday") })],
  ["from", (forge) => forge.usage.report({ from: noTime })],
  ["startsAt", (forge) => forge.sync([declared({ startsAt: noTime })], { app: "a" })],
  ["payload", (forge) => forge.update(T, { payload: { toJSON: () => null } }, { tenantId: T })],
  ["payload", (forge) => forge.schedules.update(cleanUp, "k", { payload: wrong(null) }, { tenantId: T })],
  ["maxAttempts", (forge) => forge.policies.set("a", { maxAttempts: 0 })],
  ["capMs", (forge) => forge.policies.set("*", { capMs: -1 })],
  ["timeoutMs", (forge) => forge.policies.set("a", { timeoutMs: 0 })],
  ["leaseMs", (forge) => forge.policies.set("a", { leaseMs: 999 })],
  ["preset", (forge) => forge.policies.set("a", { preset: wrong("often") })],
  ["keepHistory", (forge) => forge.policies.set("a", { keepHistory: wrong("no") })],
  ["auditAction", (forge) => forge.policies.set("a", { auditAction: "" })],
  ["redact", (forge) => forge.policies.set("a", { redact: wrong("password") })],
  ["timeoutMs", (forge) => forge.result(T, { tenantId: T, timeoutMs: Number.NaN })],
  ["timeoutMs", (forge) => forge.handle(T, { tenantId: T }).result({ timeoutMs: -1 })],
  ["timeoutMs", (forge) => forge.within({ timeoutMs: wrong("1 s") })],
  ["id", (forge) => forge.get("1", { tenantId: T })],
  ["id", (forge) => forge.handle("1", { tenantId: T })],
  ["id", (forge) => forge.result("1", { tenantId: T })],
  ["tenantId", (forge) => forge.cancel(T, { tenantId: "acme" })],
  ["runAt", (forge) => forge.reschedule(T, { tenantId: T, runAt: new Date("x") })],
  ["maxAttempts", (forge) => forge.reschedule(T, { tenantId: T, maxAttempts: 0 })],
  ["priority", (forge) => forge.update(T, { priority: 0.5 }, { tenantId: T })],
  ["payload.n", (forge) => forge.update(T, { payload: { n: 1n } }, { tenantId: T })],
  ["limit", (forge) => forge.cancelMany({ tenantId: T, type: "a", limit: 10_001 })],
  ["status", (forge) => forge.list({ tenantId: T, status: wrong("done") })],
  ["pageSize", (forge) => forge.list({ tenantId: T, pageSize: 0 })],
  ["cursor", (forge) => forge.list({ tenantId: T }).page("2")],
  ["tenantId", (forge) => forge.list({ tenantId: "" })],
  ["scope", (forge) => forge.gates.pause(wrong("type"))],
  ["type", (forge) => forge.gates.pause({ type: " " })],
  ["until", (forge) => forge.gates.pause("all", { until: new Date("x") })],
  ["type", (forge) => forge.policies.get("")],
  ["role", (forge) => forge.tenants.bindRole("", T)],
])("a bad %s is refused by %o", async ([field, call]) => {
  const { transport, calls } = recorder();
  expect(await refusal(() => call(new JobForge({ transport })))).toMatchObject({ field, code: "JF002" });
  expect(calls).toEqual([]);
});

test.for<[string, () => unknown]>([
  ["type", () => defineJob({ type: "" })],
  ["type", () => defineJob({ type: "x".repeat(201) })],
  ["type", () => defineJob({ type: "a\nb" })],
  ["type", () => defineJob({ type: "*" })],
  ["retry", () => defineJob({ type: "a", retry: wrong("often") })],
  ["retry.baseMs", () => defineJob({ type: "a", retry: { baseMs: -1 } })],
  ["retry.jitter", () => defineJob({ type: "a", retry: { jitter: 1.1 } })],
  ["retry.maxAttempts", () => defineJob({ type: "a", retry: { maxAttempts: 0 } })],
  ["timeoutMs", () => defineJob({ type: "a", timeoutMs: 0 })],
  ["leaseMs", () => defineJob({ type: "a", leaseMs: 999 })],
  ["retentionDays", () => defineJob({ type: "a", retentionDays: 4000 })],
  ["auditAction", () => defineJob({ type: "a", auditAction: "" })],
  ["tags[0]", () => defineJob({ type: "a", tags: [""] })],
  ["input", () => defineJob({ type: "a", input: wrong({ type: "object" }) })],
  ["size", () => defineJob({ type: "a" }).handleBatch(0, async () => [])],
  ["timeoutMs", () => new JobForge({ database: "postgres://localhost/db", timeoutMs: Number.NaN })],
  ["timeoutMs", () => new JobForge({ url: "http://localhost", token: "t", timeoutMs: -1 })],
  ["database", () => new JobForge({ database: undefined })],
  ["database", () => new JobForge({ database: wrong(7) })],
  ["database", () => new JobForge({ database: "" })],
])("a definition or client with a bad %s is refused when it is made", async ([field, make]) => {
  expect(await refusal(make)).toMatchObject({ name: "InvalidArgumentError", field });
});

test("what a handler leaves behind is made storable instead of refused", () => {
  expect(toStorableJson({ a: "x\u0000y", b: "\ud800", c: "\\u0000" }, "result").text).toBe(
    '{"a":"x\\ufffdy","b":"\\ufffd","c":"\\\\u0000"}',
  );
});

describe("a bound handler", () => {
  const context = wrong({ id: "1" });
  const items = (inputs: readonly unknown[]) => inputs.map((input) => ({ input, job: context }));

  test("runs for each job, or once for a batch, and answers in order", async () => {
    const single: JobHandler = countWords.handle(({ text }) => ({ words: text.length }));
    expect(single.batchSize).toBe(1);
    expect(single.definition.type).toBe("words.count");
    expect(await single.run(items([{ text: "abc" }]))).toEqual([{ words: 3 }]);
    const batch: JobHandler = countWords.handleBatch(10, async (jobs) =>
      jobs.map(({ input }) => (input.text === "" ? new Error("empty") : { words: 1 })),
    );
    expect(batch.batchSize).toBe(10);
    expect(await batch.run(items([{ text: "a" }, { text: "" }]))).toEqual([{ words: 1 }, new Error("empty")]);
  });

  test("that throws, at once or later, rejects", async () => {
    const thrower = cleanUp.handle(() => {
      throw new Error("at once");
    });
    await expect(thrower.run(items([{}]))).rejects.toThrow("at once");
  });
});
