/** Invalid options are refused when the worker is created, by an error that names them. */
import { defineJob, InvalidArgumentError, type Transport } from "@jobforge/sdk-ts";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createTickHandler, createWorker, type WorkerOptions } from "../src/index.ts";
import { keptLog, T } from "./support/work.ts";

const transport: Transport = {
  call: () => Promise.reject(new Error("no function may be called")),
  close: async () => undefined,
};
const forge = { transport };
const job = defineJob({ type: "a" });
const handlers = [job.handle(() => undefined)];

function refusalOf(call: () => unknown): InvalidArgumentError {
  try {
    call();
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error;
    throw error;
  }
  throw new Error("Nothing was refused");
}

/** Creates a worker with options that the types would not allow. */
function make(options: object): unknown {
  return createWorker(forge, { handlers, ...options } as WorkerOptions);
}

describe("an invalid option is an InvalidArgumentError with its field and a hint", () => {
  test.each<[string, object]>([
    ["handlers", { handlers: [] }],
    ["handlers", { handlers: job }],
    ["handlers[0]", { handlers: [job] }],
    ["handlers[1]", { handlers: [...handlers, undefined] }],
    ["handlers[0]", { handlers: [() => undefined] }],
    ["handlers[1]", { handlers: [...handlers, ...handlers] }],
    ["concurrency", { concurrency: 0 }],
    ["concurrency", { concurrency: "10" }],
    ["maxPerType", { maxPerType: 5 }],
    ['maxPerType["a"]', { maxPerType: { a: 0 } }],
    ['maxPerType["b"]', { maxPerType: { b: 1 } }],
    ["id", { id: "" }],
    ["id", { id: " " }],
    ["id", { id: 7 }],
    ["id", { id: "a\u0000" }],
    ["tenantId", { tenantId: "nope" }],
    ["tenantId", { tenantId: "" }],
    ["listen", { listen: "no" }],
    ["pollMs", { pollMs: 1 }],
    ["pollMs", { pollMs: 100.5 }],
    ["logger", { logger: {} }],
    ["logger", { logger: { ...keptLog().logger, warn: undefined } }],
    ["hooks.onStart", { hooks: { onStart: 5 } }],
    ["hooks", { hooks: "onStart" }],
    ["concurency", { concurency: 5 }],
    ["appVersion", { appVersion: "" }],
    ["middleware", { middleware: {} }],
    ["middleware[0]", { middleware: [5] }],
  ])("%s in %j", (name, options) => {
    const error = refusalOf(() => make(options));
    expect(error).toMatchObject({ code: "JF002", field: name });
    expect(error.message).toContain(`Invalid argument: ${name} `);
    expect(error.hint).toMatch(/\.$|\?$/);
  });
});

test.each<[string, object]>([
  ["Did you mean concurrency?", { concurency: 5 }],
  ["Did you mean pollMs?", { pollInterval: 5 }],
  ["Did you mean graceMs?", { grace_ms: 5 }],
  ["defineJob({ timeoutMs })", { timeoutMs: 5 }],
  ["such as [sendMail.handle(", { handlers: { "mail.send": () => 1 } }],
  ["Bind it: definition.handle(", { handlers: [() => 1] }],
  ["Pass definition.handle(", { handlers: [job] }],
  ["A type has one handler", { handlers: [...handlers, ...handlers] }],
  ['tenantId("org_123")', { tenantId: "org_123" }],
  ["Did you mean onDead?", { hooks: { onDeath: () => 1 } }],
  ["Did you mean onSuccess?", { hooks: { onSucess: () => 1 } }],
  ["Did you mean onFailure", { hooks: { onError: () => 1 } }],
])("a mistake is met with what to do: %s", (advice, options) => {
  expect(refusalOf(() => make(options)).hint).toContain(advice);
});

test("an id has at most 1024 bytes", () => {
  expect(() => make({ id: "ä".repeat(513) })).toThrow(
    "Invalid argument: id must not be longer than 1024 bytes",
  );
  expect(() => make({ id: "ä".repeat(512) })).not.toThrow();
});

test("valid options are accepted", () => {
  const hooks = { onStart: () => undefined, onDead: undefined };
  const options = { id: "w", tenantId: T, listen: false, logger: pino(), hooks, middleware: [async () => 1] };
  expect(() => make(options)).not.toThrow();
  expect(() =>
    make({ id: undefined, tenantId: undefined, logger: undefined, hooks: undefined }),
  ).not.toThrow();
});

test("a worker needs a client and options", () => {
  for (const none of ["{}", "null"]) {
    const error = refusalOf(() => createWorker(JSON.parse(none), { handlers }));
    expect(error).toMatchObject({ field: "forge", hint: "Pass new JobForge({ database })." });
  }
  expect(refusalOf(() => createWorker(forge, JSON.parse("null")))).toMatchObject({ field: "options" });
});

test("a tick handler takes one object, and says so", () => {
  for (const options of [undefined, forge])
    expect(refusalOf(() => createTickHandler(options as never))).toMatchObject({
      field: "options",
      hint: "Pass { forge, handlers }.",
    });
});

test("a tick handler refuses an invalid limit or secret before the first request", () => {
  const tickWith = (options: object): unknown =>
    createTickHandler({ forge, handlers, secret: "s", ...options });
  expect(refusalOf(() => tickWith({ limit: 0 }))).toMatchObject({ field: "limit" });
  const noSecret = refusalOf(() => tickWith({ secret: 5 }));
  expect(noSecret).toMatchObject({ field: "secret", hint: expect.stringContaining("CRON_SECRET") });
  expect(refusalOf(() => tickWith({ id: "" }))).toMatchObject({ field: "id" });
  expect(() => tickWith({ limit: 1 })).not.toThrow();
});
