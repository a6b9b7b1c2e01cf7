/** Mistakes in arguments are found before any round trip, and errors name the field. */
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
  type JobHandler,
  PayloadTooLargeError,
  type ScheduleDefinition,
  TenantRequiredError,
  type Transport,
  toStorableJson,
} from "../src/index.ts";
import { cleanUp, countWords, sendMail } from "./support/jobs.ts";
import { recorder, refusal, wrong } from "./support/refusal.ts";

/** An object that is `depth` levels deep, with a value at the innermost level. */
function nested(depth: number, end: unknown = 1): unknown {
  let value = end;
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

/** A schedule definition that defineSchedule has not checked. */
function declared(settings: ScheduleDefinition["settings"]): ScheduleDefinition {
  return { ...defineSchedule({ job: cleanUp, key: "k", every: "1 hour" }), settings };
}

test("null removes an optional setting of a policy", async () => {
  const { transport, calls } = recorder();
  const without = { capMs: null, timeoutMs: null, leaseMs: null, auditAction: null, maxPriority: null };
  await new JobForge({ transport }).policies.set("a", without);
  expect(calls).toMatchObject([{ args: { p_policy: { cap_ms: null, audit_action: null } } }]);
});

describe("an enqueue", () => {
  const options: EnqueueOptions = { tenantId: T };
  // conformance/vectors/arguments.json has the values that JSON can express.
  test.for<[string, Partial<EnqueueOptions>]>([
    ["priority", { priority: Number.NaN }],
    ["runAt", { runAt: new Date("soon") }],
    ["runAt", { runAt: wrong("2030-01-01") }],
    ["runAt", { runAt: new Date(8.64e15) }],
    ["runAt", { runAt: new Date("0000-12-31T23:59:59.999Z") }],
    ["expiresAt", { expiresAt: new Date(Number.NaN) }],
    ["expiresAt", { runAt: new Date(2), expiresAt: new Date(2) }],
  ])("with an invalid %s is refused: %o", async ([field, given]) => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const error = await refusal(() => forge.enqueue(cleanUp, {}, { ...options, ...given }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ code: "JF002", field, retryable: false });
    expect(error.message).toContain(field);
    expect(calls).toEqual([]);
  });

  test("without a tenant is refused with a hint at globalTenant", async () => {
    const { transport } = recorder();
    const error = await refusal(() => new JobForge({ transport }).enqueue(cleanUp, {}, wrong({})));
    expect(error).toBeInstanceOf(TenantRequiredError);
    expect(error.message).toBe("tenantId is required");
    expect(error.hint).toContain("00000000-0000-0000-0000-000000000000");
  });

  class Hidden {
    readonly #value = 1;
    get(): number {
      return this.#value;
    }
  }
  async function fetchUser(): Promise<object> {
    return {};
  }
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
    ["payload", new Map([["a", 1]]), "Object.fromEntries"],
    ["payload", new Set([1]), "[...set]"],
    ["payload", Buffer.from("x"), "base64"],
    ["payload.file", { file: new Uint8Array([1, 2]) }, "base64"],
    ["payload.file", { file: Buffer.from("x") }, "base64"],
    ["payload.files[1]", { files: [null, new ArrayBuffer(2)] }, "base64"],
    ["payload.file", { file: new DataView(new ArrayBuffer(2)) }, "base64"],
    ["payload.scores", { scores: new Float64Array([1.5]) }, "[...array]"],
    ["payload", 1n, "String(value)"],
    ["payload", { toJSON: () => null }, "Pass {}"],
    ["payload", Number.NaN, "finite number"],
    ["payload", deep, "plain JSON"],
    ["payload", deepWithNul, "base64"],
    ["payload.lines[1].price", { lines: [{ price: 1 }, { price: 2n }] }, "String(value)"],
    ["payload.a.list[1]", cycle, "plain JSON"],
    ["payload.seen", { seen: new Set([1]) }, "[...set]"],
    ["payload.rows[0].scores", { rows: [{ scores: new Map() }] }, "Object.fromEntries"],
    ["payload.cause", { cause: Object.assign(new Error("boom"), { code: 7 }) }, "error.message"],
    ["payload.average", { average: 0 / 0 }, "finite number"],
    ["payload.list[1]", { list: [1, Number.POSITIVE_INFINITY] }, "finite number"],
    ["payload.onDone", { onDone: () => 1 }, "plain JSON"],
    ["payload.kind", { kind: Symbol("x") }, "plain JSON"],
    ["payload.user", { user: fetchUser() }, "Await"],
    ["payload.secret", { secret: new Hidden() }, "plain JSON"],
    ["payload.at", { at: new Date("soon") }, "valid Date"],
    ["payload.text", { shared, again: shared, text: "a\u0000b" }, "base64"],
    ["payload.half", { half: "\ud83d" }, "base64"],
    ["payload", { "key\u0000": 1 }, "base64"],
  ])("with a payload that cannot be stored at %s is refused", async ([field, input, hint]) => {
    const { transport, calls } = recorder();
    const error = await refusal(() => new JobForge({ transport }).enqueue(cleanUp, input, options));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ field, hint: expect.stringContaining(hint) });
    expect(calls).toEqual([]);
  });

  test("keeps what has a JSON form of its own", async () => {
    const { transport, calls } = recorder();
    class Money {
      readonly #cents = 250;
      toJSON(): string {
        return (this.#cents / 100).toFixed(2);
      }
    }
    class Point {
      x = 1;
      readonly hidden = undefined;
    }
    const bare: Record<string, unknown> = Object.assign(Object.create(null), { a: [null] });
    const input = {
      at: new Date(0),
      url: new URL("https://a.b"),
      money: new Money(),
      point: new Point(),
      bare,
    };
    const boxed = [Object(1), Object(""), Object(true), {}, [], undefined];
    await new JobForge({ transport }).enqueue(cleanUp, { ...input, boxed }, options);
    expect(calls[0]?.args["p_payload"]).toMatchObject({ text: JSON.stringify({ ...input, boxed }) });
  });

  test("checks the JSON form of the input, because that is what the handler gets", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const dated = defineJob({
      type: "dated",
      input: z.object({ items: z.array(z.object({ at: z.date() })) }),
    });
    const given = { items: [{ at: new Date(0) }] };
    expect(await refusal(() => forge.enqueue(dated, given, options))).toMatchObject({
      field: "payload.items[0].at",
      hint: expect.stringContaining("z.coerce.date()"),
    });
    const later = defineJob({ type: "later", input: z.object({ at: z.date().refine(async () => true) }) });
    expect(await refusal(() => forge.enqueue(later, { at: new Date(0) }, options))).toMatchObject({
      hint: expect.stringContaining("z.coerce.date()"),
    });
    expect(
      await refusal(() => forge.update(T, { payload: given }, { tenantId: T, job: dated })),
    ).toMatchObject({
      field: "payload.items[0].at",
    });
    const coerced = defineJob({
      type: "coerced",
      input: z.object({ at: z.coerce.date() }),
      subject: ({ at }) => String(at.getUTCFullYear()),
    });
    await forge.enqueue(coerced, { at: new Date(0) }, options);
    expect(calls).toMatchObject([
      { args: { p_subject: "1970", p_payload: { text: '{"at":"1970-01-01T00:00:00.000Z"}' } } },
    ]);
  });

  test("with a dedupe mode needs a key, unless the definition leaves this input without one", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const debounced: EnqueueOptions = { ...options, dedupeMode: "debounce" };
    expect(await refusal(() => forge.enqueue(cleanUp, {}, debounced))).toMatchObject({
      field: "dedupeMode",
      hint: expect.stringContaining("dedupeKey"),
    });
    const sometimes = defineJob({ type: "a", dedupe: () => undefined });
    await forge.enqueue(sometimes, {}, debounced);
    await forge.enqueue(cleanUp, {}, { ...debounced, dedupeKey: "k" });
    expect(calls.map(({ args }) => args["p_dedupe_mode"])).toEqual([undefined, "debounce"]);
  });

  test.for<[string, string, unknown]>([
    ["delay", "delayMs", { delay: 5 }],
    ["maxRetries", "maxAttempts", { maxRetries: 3 }],
    ["max_attempts", "maxAttempts", { max_attempts: 3 }],
    ["prioriy", "priority", { prioriy: 3 }],
    ["tenant", "tenantId", { tenant: "a" }],
    ["jobKey", "dedupeKey", { jobKey: "a" }],
    ["cron", "schedules.ensure", { cron: "* * * * *" }],
    ["zzz", "Known options", { zzz: 1 }],
    ["delayMs", "one of the two", { delayMs: 1, runAt: new Date(0) }],
    ["delayMs", "5 * 60_000", { delayMs: "5m" }],
    ["runAt", "new Date(text)", { runAt: "2030-01-01" }],
    ["runAt", "new Date(Date.now() + 60_000)", { runAt: "tomorrow" }],
    ["runAt", "new Date(milliseconds)", { runAt: 1_900_000_000_000 }],
    ["delayMs", "", { delayMs: -1 }],
  ])("with the unknown or wrong option %s gets the hint %s", async ([field, hint, given]) => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    const error = await refusal(() => forge.enqueue(cleanUp, {}, { ...options, ...(given as object) }));
    expect(error).toMatchObject({ code: "JF002", field, message: expect.stringContaining(field) });
    expect(error.hint ?? "").toContain(hint);
    const many = [{ job: cleanUp, input: {}, ...(given as object) }];
    expect(await refusal(() => forge.enqueueMany(many, options))).toMatchObject({
      field: `jobs[0].${field}`,
    });
    expect(calls).toEqual([]);
  });

  test("from plain JavaScript without options, or with a text for the definition, says what to pass", async () => {
    const { transport, calls } = recorder();
    const forge = new JobForge({ transport });
    expect(await refusal(() => forge.enqueue(cleanUp, {}, wrong(undefined)))).toMatchObject({
      field: "options",
      hint: expect.stringContaining("tenantId"),
    });
    expect(await refusal(() => forge.enqueue(wrong("any.job"), wrong({}), options))).toMatchObject({
      field: "job",
      hint: expect.stringContaining('defineJob({ type: "any.job" })'),
    });
    expect(await refusal(() => forge.enqueue(wrong(undefined), wrong({}), options))).toMatchObject({
      field: "job",
    });
    expect(
      await refusal(() => forge.enqueue(wrong(cleanUp.handle(async () => 1)), wrong({}), options)),
    ).toMatchObject({ field: "job", message: expect.stringContaining("handler") });
    expect(await refusal(() => forge.enqueueMany([wrong(null)], options))).toMatchObject({
      field: "jobs[0]",
    });
    expect(await refusal(() => forge.enqueue(cleanUp, {}, { tenantId: "org_123" }))).toMatchObject({
      field: "tenantId",
      hint: expect.stringContaining('tenantId("org_123")'),
    });
    expect(calls).toEqual([]);
  });

  test("checks a definition that defineJob did not create", async () => {
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

  test("accepts times from the first to the last year that both Postgres and JSON support", async () => {
    const { transport, calls } = recorder();
    const runAt = new Date("0001-01-01T00:00:00.000Z");
    const expiresAt = new Date("9999-12-31T23:59:59.999Z");
    await new JobForge({ transport }).enqueue(cleanUp, {}, { ...options, runAt, expiresAt });
    expect(calls).toMatchObject([{ args: { p_run_at: runAt, p_expires_at: expiresAt } }]);
  });

  test("with a payload of more than 1 MiB, counted in bytes, is refused", async () => {
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

  test("accepts text that only looks like an escaped NUL", async () => {
    const { transport, calls } = recorder();
    const text = "\\u0000 \\\\u0000 😀 \\ud83d";
    await new JobForge({ transport }).enqueue(cleanUp, { text }, options);
    expect(calls[0]?.args["p_payload"]).toMatchObject({ text: JSON.stringify({ text }) });
  });

  test("that the schema refuses has every issue with its place", async () => {
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

  test("awaits an asynchronous schema", async () => {
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

  test("is refused if the key or subject that the definition makes is invalid", async () => {
    const { transport } = recorder();
    const job = defineJob({ type: "a", dedupe: () => "", subject: () => "s" });
    const error = await refusal(() => new JobForge({ transport }).enqueue(job, {}, options));
    expect(error).toMatchObject({ field: "dedupeKey" });
  });
});

test("one invalid job among many is named by its index, and no job is sent", async () => {
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

test("an undefined option of a job leaves the shared option in place", async () => {
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
])("an invalid %s is refused by %o", async ([field, call]) => {
  const { transport, calls } = recorder();
  expect(await refusal(() => call(new JobForge({ transport })))).toMatchObject({ field, code: "JF002" });
  expect(calls).toEqual([]);
});

test("the error of an unknown preset names the presets, without their older names", async () => {
  const forge = new JobForge({ transport: recorder().transport });
  const message = expect.stringMatching(/must be one of standard, quick, gentle, patient, webhook$/);
  expect(await refusal(() => forge.policies.set("a", { preset: wrong("often") }))).toMatchObject({ message });
  expect(defineJob({ type: "a", retry: "harmonyk" }).type).toBe("a");
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
])("a definition or client with an invalid %s is refused when it is created", async ([field, make]) => {
  expect(await refusal(make)).toMatchObject({ name: "InvalidArgumentError", field });
});

test("results and errors of handlers are made storable instead of refused", () => {
  expect(toStorableJson({ a: "x\u0000y", b: "\ud800", c: "\\u0000" }, "result").text).toBe(
    '{"a":"x\\ufffdy","b":"\\ufffd","c":"\\\\u0000"}',
  );
});

describe("a bound handler", () => {
  const context = wrong({ id: "1" });
  const items = (inputs: readonly unknown[]) => inputs.map((input) => ({ input, job: context }));

  test("runs for each job, or once for a batch, and returns results in order", async () => {
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

  test("that throws or rejects makes run reject", async () => {
    const thrower = cleanUp.handle(() => {
      throw new Error("at once");
    });
    await expect(thrower.run(items([{}]))).rejects.toThrow("at once");
  });
});

test.for<[string, unknown, string]>([
  ["options", undefined, "DATABASE_URL"],
  ["options", "postgres://localhost/db", "database"],
  ["options", { query: () => undefined, connect: () => undefined }, "{ database: pool }"],
  ["database", {}, "DATABASE_URL"],
  ["connectionString", { connectionString: "postgres://localhost/db" }, "database"],
  ["shema", { database: "postgres://localhost/db", shema: "a" }, "schema"],
  ["database", { database: "http://localhost:4470" }, "{ url, token }"],
  ["database", { database: "mysql://localhost/db" }, "postgres://"],
  ["database", { database: "jdbc:postgresql://localhost/db" }, "jdbc"],
  ["database", { database: "host=localhost dbname=db" }, "postgres://"],
  ["database", { database: "postgres://u:p#ss@localhost/db" }, "Percent-encode"],
  ["database", { database: "postgres://u:p@ss/word@localhost/db" }, "Percent-encode"],
  ["database", { database: "postgres://u:p?ss@localhost/db" }, "Percent-encode"],
])("a JobForge with wrong options names %s: %o", async ([field, given, hint]) => {
  const error = await refusal(() => new JobForge(wrong(given)));
  expect(error).toMatchObject({ code: "JF002", field, hint: expect.stringContaining(hint) });
  expect(`${error.message} ${error.hint}`).not.toMatch(/p[#?@]ss/);
});

test.for([
  "postgres://localhost/db",
  "postgresql://u:p%40ss@[::1]:5432/db?sslmode=disable",
  "postgres://u:p@ss@localhost/db",
  "postgres:///db?host=/var/run/postgresql",
  "postgres://u:p@/db?host=/tmp",
  "socket:/tmp/?db=a",
  "/var/run/postgresql db",
])("the database URL %s is accepted", (database) => {
  expect(() => new JobForge({ database })).not.toThrow();
});
