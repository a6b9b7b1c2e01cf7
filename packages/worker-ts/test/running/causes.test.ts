/** What is stored and logged of an error: its causes, the members of an AggregateError, and where it was thrown. */
import { createServer } from "node:net";
import { runInNewContext } from "node:vm";
import { defineJob, failureLine } from "@jobforge/sdk-ts";
import { describeError } from "@jobforge/sdk-ts/internal";
import { describe, expect } from "vitest";
import { ownFrame } from "../../src/error-frames.ts";
import type { RunError } from "../../src/index.ts";
import { jobOf } from "../support/jobs.ts";
import { keptLog, makeWorker, T, test } from "../support/work.ts";

const job = defineJob({ type: "caused", retry: { maxAttempts: 1 } });

/** A port on which nothing listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

test("a failed fetch says why, and where it was called, in the log, the hook and the job", async ({
  db,
  forge,
}) => {
  const url = `http://127.0.0.1:${await freePort()}/`;
  const { id } = await forge.enqueue(job, {}, { tenantId: T });
  const log = keptLog();
  const seen: string[] = [];
  const handler = job.handle(async function callApi() {
    await fetch(url);
  });
  const hooks = {
    onFailure: ({ error }: { error: { fullMessage: string } }) => seen.push(error.fullMessage),
  };
  await makeWorker(forge, { logger: log.logger, hooks, handlers: [handler] }).tick();
  const line = `fetch failed: connect ECONNREFUSED ${new URL(url).host}`;
  expect(await jobOf(db, id)).toMatchObject({ last_error: line });
  expect(seen).toEqual([line]);
  const failed = log.lines.find(({ job_id, level }) => job_id === id && level !== "debug");
  expect(failed).toMatchObject({ error_name: "TypeError", error: line });
  expect(failed?.["error_at"]).toMatch(
    /callApi \(packages\/worker-ts\/test\/running\/causes\.test\.ts:\d+:\d+\)$/,
  );
  expect(failed).not.toHaveProperty("stack");
});

test("with logStacks, a line has the stack of the error and of its causes", async ({ forge }) => {
  await forge.enqueue(job, {}, { tenantId: T });
  const log = keptLog();
  const handler = job.handle(() => {
    throw new Error("outer", { cause: new RangeError("token=s3cr3t") });
  });
  await makeWorker(forge, { logger: log.logger, logStacks: true, handlers: [handler] }).tick();
  const stack = log.lines.find(({ error_name }) => error_name === "Error")?.["stack"];
  expect(stack).toMatch(/^Error: outer\n +at .*causes\.test\.ts/);
  expect(stack).toMatch(/\nCaused by: RangeError: token=\[redacted\]\n +at .*causes\.test\.ts/);
});

test("a program that ends its run itself keeps the error as a worker does", async ({ db, forge }) => {
  const cause = new Error("no connection", { cause: "the cable" });
  const members = [new RangeError("first"), new Error("second token=s3cr3t")];
  const thrown = Object.assign(new AggregateError(members, "both failed", { cause }), {
    ...{ code: "E_BOTH", details: { tried: 2 } },
  });
  const ofWorker = await forge.enqueue(job, {}, { tenantId: T });
  const handler = job.handle(() => {
    throw thrown;
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  const ofProgram = await forge.enqueue(job, {}, { tenantId: T });
  const [run] = await forge.runs.claim({ workerId: "script", job });
  expect(await run?.fail(thrown)).toMatchObject({ status: "dead" });

  const [expected, kept] = [await jobOf(db, ofWorker.id), await jobOf(db, ofProgram.id)];
  const error = { ...(expected["error"] as object), attemptedAt: expect.any(String) };
  expect(kept).toMatchObject({ error, last_error: expected["last_error"] });
  expect(kept["error"]).toMatchObject({
    name: "AggregateError",
    stack: expect.stringContaining("causes.test.ts"),
    code: "E_BOTH",
    details: { tried: 2 },
    cause: { message: "no connection", cause: { message: "the cable" } },
    errors: [{ name: "RangeError" }, { message: "second token=[redacted]" }],
  });
});

test("a program may end its run with a text", async ({ db, forge }) => {
  const { id } = await forge.enqueue(job, {}, { tenantId: T });
  const [run] = await forge.runs.claim({ workerId: "script", job });
  await run?.fail("410 Gone");
  expect(await jobOf(db, id)).toMatchObject({ error: { name: "Error", message: "410 Gone" } });
});

describe("the description of an error", () => {
  test("has the members of an AggregateError that are errors, and how many were left out", () => {
    const members = Array.from({ length: 8 }, (_, n) => new Error(`member ${n}`));
    const described = describeError(new AggregateError([...members, "not an error"], "all failed"));
    expect(described).toMatchObject({ name: "AggregateError", message: "all failed", omittedErrors: 3 });
    expect(described.errors?.map(({ message }) => message)).toEqual(
      members.slice(0, 5).map(({ message }) => message),
    );
    expect(failureLine(described)).toBe("all failed: member 0; member 1; member 2; and 5 more");
  });

  test("ends where causes form a circle", () => {
    const [one, other] = [new Error("one"), new Error("other")];
    one.cause = other;
    other.cause = one;
    expect(failureLine(describeError(one))).toBe("one: other");
    const self = new AggregateError([], "self");
    self.errors.push(self);
    expect(describeError(self)).not.toHaveProperty("errors");
  });

  test("stays below what the database stores whole, however long and many the causes are", () => {
    const long = (depth: number): Error => {
      const error = new AggregateError(
        depth === 0 ? [] : Array.from({ length: 20 }, () => long(depth - 1)),
        "m".repeat(50_000),
        depth === 0 ? {} : { cause: long(depth - 1) },
      );
      return Object.assign(error, { stack: "s".repeat(50_000), name: "n".repeat(5000) });
    };
    const described = describeError(long(3));
    expect(Buffer.byteLength(JSON.stringify(described))).toBeLessThan(16_384);
    expect(described.cause?.cause).toBeDefined();
  });

  test("survives getters that throw, and values that are not errors", () => {
    const refuse = (): never => {
      throw new Error("no");
    };
    const odd = Object.defineProperties(new Error("odd"), {
      cause: { get: refuse },
      errors: { get: refuse },
    });
    expect(describeError(odd)).toMatchObject({ message: "odd" });
    expect(describeError(new Error("x", { cause: "a text" })).cause).toEqual({
      name: "NonError",
      message: "a text",
    });
    expect(describeError(new Error("x", { cause: { status: 503 } })).cause).toMatchObject({
      message: '{"status":503}',
    });
    expect(describeError(new Error("x", { cause: null }))).not.toHaveProperty("cause");
  });

  test("knows errors of another realm", () => {
    const foreign: unknown = runInNewContext(`new TypeError("foreign", { cause: new Error("far away") })`);
    expect(failureLine(describeError(foreign))).toBe("foreign: far away");
  });
});

test("no cut leaves a part of a secret, neither in the job nor in the log", async ({ db, forge }) => {
  const log = keptLog();
  const split = (length: number): string => {
    const start = " postgres://u:hunter2pass";
    return `${"x".repeat(length - start.length)}${start}@db/x ${"y".repeat(9000)}`;
  };
  const cut = (length: number, cause?: Error): Error =>
    Object.assign(new Error(split(length), { cause }), { stack: split(cause === undefined ? 1500 : 4000) });
  const errors = [cut(4000, cut(1000)), cut(2000), Object.assign(cut(300), { name: split(200) })];
  for (const error of errors) {
    const { id } = await forge.enqueue(job, {}, { tenantId: T });
    const handlers = [
      job.handle(() => {
        throw error;
      }),
    ];
    await makeWorker(forge, { logger: log.logger, logStacks: true, handlers }).tick();
    const { status, error: stored } = await jobOf(db, id);
    expect(status).toBe("dead");
    expect(JSON.stringify(stored)).not.toContain("hunter2");
  }
  expect(JSON.stringify(log.lines)).not.toContain("hunter2");
});

test("a key that the type lists is masked in the line of the log as in the job", async ({ db, forge }) => {
  const listed = defineJob({ type: "listed", redact: ["cause"], retry: { maxAttempts: 1 } });
  const { id } = await forge.enqueue(listed, {}, { tenantId: T });
  const log = keptLog();
  const handler = listed.handle(() => {
    throw new Error("no", { cause: new Error("private") });
  });
  await db.query("select jobforge_set_policy('listed', $1)", [{ redact: ["cause"] }]);
  await makeWorker(forge, { logger: log.logger, logStacks: true, handlers: [handler] }).tick();
  const { last_error } = await jobOf(db, id);
  expect(last_error).toBe("no: [redacted]");
  const failed = log.lines.find(({ job_id, level }) => job_id === id && level !== "debug");
  expect(failed).toMatchObject({ error: last_error });
  expect(JSON.stringify(log.lines)).not.toContain("private");
});

describe("the first own frame", () => {
  const frame = (...frames: string[]): string | undefined =>
    ownFrame({
      name: "Error",
      message: "x",
      stack: ["Error: x", ...frames.map((at) => `    at ${at}`)].join("\n"),
    });
  const here = process.cwd();

  test.for([
    ["skips Node's frames", ["node:internal/deps/undici/undici:13502:13", `send (${here}/mail.ts:3:5)`]],
    ["skips dependencies", [`f (${here}/node_modules/pg/lib/client.js:1:1)`, `send (${here}/mail.ts:3:5)`]],
    [
      "skips JobForge",
      [`f (${here}/packages/worker-ts/src/running/run.ts:1:1)`, `send (${here}/mail.ts:3:5)`],
    ],
    ["skips frames without a file", ["new Promise (<anonymous>)", `send (${here}/mail.ts:3:5)`]],
    ["reads URLs", [`send (file://${here}/mail.ts:3:5)`]],
  ] as const)("%s", ([, frames]) => {
    expect(frame(...frames)).toBe("send (mail.ts:3:5)");
  });

  test("has the path alone in code without a function, and in full outside of the working directory", () => {
    expect(frame(`file://${here}/a%20b/mail.ts:3:5`)).toBe("a b/mail.ts:3:5");
    expect(frame("async send (/srv/app/mail.ts:3:5)")).toBe("async send (/srv/app/mail.ts:3:5)");
    expect(frame("async file:///srv/app/mail.mjs:6:67")).toBe("/srv/app/mail.mjs:6:67");
    expect(frame("C:\\app\\mail.js:3:5")).toBe("C:\\app\\mail.js:3:5");
  });

  test("is that of a cause if the error has none, and is undefined if no error has one", () => {
    const inner: RunError = {
      name: "Error",
      message: "y",
      stack: `Error: y\n    at send (${here}/mail.ts:3:5)`,
    };
    const outer = { name: "Error", message: "x", stack: "Error: x\n    at node:net:1:1", cause: inner };
    expect(ownFrame(outer)).toBe("send (mail.ts:3:5)");
    expect(ownFrame({ name: "Error", message: "x" })).toBeUndefined();
  });

  test("is that of a member if an AggregateError has none", async () => {
    const thrown: unknown = await Promise.any([Promise.reject(new Error("inner"))]).catch((error) => error);
    expect(ownFrame(describeError(thrown))).toMatch(/causes\.test\.ts:\d+:\d+\)?$/);
    const member = { name: "Error", message: "y", stack: `Error: y\n    at send (${here}/mail.ts:3:5)` };
    expect(
      ownFrame({ name: "AggregateError", message: "x", errors: [{ name: "Error", message: "z" }, member] }),
    ).toBe("send (mail.ts:3:5)");
  });
});
