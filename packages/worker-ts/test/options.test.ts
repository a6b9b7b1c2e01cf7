/** Options that make no sense are refused when the worker is made, by name. */
import { defineJob, type Transport } from "@jobforge/sdk-ts";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { createTickHandler, createWorker, type WorkerOptions } from "../src/index.ts";
import { keptLog, T } from "./support/work.ts";

const transport: Transport = {
  call: () => Promise.reject(new Error("nothing is called")),
  close: async () => undefined,
};
const forge = { transport };
const job = defineJob({ type: "a" });
const handlers = [job.handle(() => undefined)];

/** What is made of options that no type would allow. */
function make(options: object): unknown {
  return createWorker(forge, { handlers, ...options } as WorkerOptions);
}

describe("an option that makes no sense is a TypeError or RangeError that names it", () => {
  test.each<[string, object]>([
    ["handlers", { handlers: [] }],
    ["handlers", { handlers: job }],
    ["handlers[0]", { handlers: [job] }],
    ["handlers[1]", { handlers: [...handlers, undefined] }],
    ["handlers[0]", { handlers: [() => undefined] }],
    ["concurrency", { concurrency: 0 }],
    ["concurrency", { concurrency: "10" }],
    ["maxPerType", { maxPerType: 5 }],
    ['maxPerType["a"]', { maxPerType: { a: 0 } }],
    ["maxPerType", { maxPerType: { b: 1 } }],
    ["id", { id: "" }],
    ["id", { id: " " }],
    ["id", { id: 7 }],
    ["id", { id: "a\u0000" }],
    ["tenantId", { tenantId: "nope" }],
    ["tenantId", { tenantId: "" }],
    ["listen", { listen: "no" }],
    ["pollMs", { pollMs: 1 }],
    ["logger", { logger: {} }],
    ["logger", { logger: { ...keptLog().logger, warn: undefined } }],
    ["hooks.onStart", { hooks: { onStart: 5 } }],
    ["hooks", { hooks: "onStart" }],
    ["middleware", { middleware: {} }],
    ["middleware[0]", { middleware: [5] }],
  ])("%s in %j", (name, options) => {
    expect(() => make(options)).toThrow(
      expect.toSatisfy((error) => error instanceof TypeError || error instanceof RangeError),
    );
    expect(() => make(options)).toThrow(name);
  });
});

test("an id has at most 1024 bytes", () => {
  expect(() => make({ id: "ä".repeat(513) })).toThrow(
    new RangeError("id must not be longer than 1024 bytes"),
  );
  expect(() => make({ id: "ä".repeat(512) })).not.toThrow();
});

test("options that make sense are taken", () => {
  const hooks = { onStart: () => undefined, onDead: undefined };
  const options = { id: "w", tenantId: T, listen: false, logger: pino(), hooks, middleware: [async () => 1] };
  expect(() => make(options)).not.toThrow();
  expect(() =>
    make({ id: undefined, tenantId: undefined, logger: undefined, hooks: undefined }),
  ).not.toThrow();
});

test("a worker needs a client and options", () => {
  expect(() => createWorker(JSON.parse("{}"), { handlers })).toThrow(
    new TypeError("forge must be a JobForge, or have a transport"),
  );
  expect(() => createWorker(forge, JSON.parse("null"))).toThrow("options must be an object");
});

test("a tick handler refuses a limit and a secret that make no sense before the first request", () => {
  const tickWith = (options: object): unknown =>
    createTickHandler({ forge, handlers, secret: "s", ...options });
  expect(() => tickWith({ limit: 0 })).toThrow(RangeError);
  expect(() => tickWith({ limit: 0 })).toThrow("limit");
  expect(() => tickWith({ secret: 5 })).toThrow("secret must be set");
  expect(() => tickWith({ id: "" })).toThrow("id must be");
  expect(() => tickWith({ limit: 1 })).not.toThrow();
});
