/** Malformed errors, and loggers, hooks and schemas that fail: runs end all the same, and the worker goes on. */
import { defineJob, typed } from "@jobforge/sdk-ts";
import { expect, onTestFinished, vi } from "vitest";
import type { Logger } from "../../src/index.ts";
import { enqueueMany, statuses } from "../support/jobs.ts";
import { keptLog, makeWorker, T, test } from "../support/work.ts";

const job = defineJob({ type: "odd", input: typed<{ kind?: string }>() });

function refuse(): never {
  throw new Error("no");
}

/** An error with unusual properties. */
const errorWith = (properties: object): Error => Object.assign(new Error("x"), properties);

const oddErrors: Readonly<Record<string, () => unknown>> = {
  "an object as its message": () => errorWith({ message: { detail: "bad" } }),
  "a message that cannot become a string": () => errorWith({ message: Object.create(null) }),
  "an object without a prototype": () => Object.create(null),
  "no name": () => errorWith({ name: undefined }),
  "a stack that is not a string": () => errorWith({ stack: 7 }),
  "a cause whose message is not a string": () => errorWith({ cause: errorWith({ message: 7n }) }),
  "getters that throw": () =>
    Object.defineProperties(new Error("x"), { message: { get: refuse }, stack: { get: refuse } }),
  "a proxy that refuses": () => new Proxy(new Error("x"), { getPrototypeOf: refuse, get: refuse }),
  "a symbol": () => Symbol("odd"),
  nothing: () => undefined,
};

const kinds = Object.keys(oddErrors);

function throwOdd(kind = ""): never {
  throw oddErrors[kind]?.();
}

test("whatever a handler throws fails its run, with as much detail as possible, and is retried", async ({
  db,
  forge,
}) => {
  await forge.enqueueMany(
    kinds.map((kind) => ({ job, input: { kind } })),
    { tenantId: T },
  );
  const handler = job.handle(({ kind }) => throwOdd(kind));
  const summary = await makeWorker(forge, { handlers: [handler] }).tick();
  expect(summary).toMatchObject({ claimed: kinds.length, retried: kinds.length });
  const rows = await db.query<{ kind: string; error: Record<string, unknown> }>(
    "select payload->>'kind' as kind, error from jobforge_jobs",
  );
  const errors = new Map(rows.map(({ kind, error }) => [kind, error]));
  expect(errors.get("an object as its message")).toMatchObject({
    name: "Error",
    message: '{"detail":"bad"}',
  });
  expect(errors.get("an object without a prototype")).toMatchObject({ name: "NonError" });
  expect(errors.get("no name")).toMatchObject({ name: "Error", message: "x" });
  expect(errors.get("a stack that is not a string")).not.toHaveProperty("stack");
  expect(errors.get("a cause whose message is not a string")).toMatchObject({
    message: "x",
    cause: { name: "Error", message: "7" },
  });
  expect(errors.get("a symbol")).toMatchObject({ name: "NonError", message: "Symbol(odd)" });
});

test("a result that throws while it is read fails its run, without retries", async ({ db, forge }) => {
  await forge.enqueueMany(
    kinds.map((kind) => ({ job, input: { kind } })),
    { tenantId: T },
  );
  const handler = job.handle(({ kind }) => ({
    get value() {
      return throwOdd(kind);
    },
  }));
  const summary = await makeWorker(forge, { handlers: [handler] }).tick();
  expect(summary).toMatchObject({ claimed: kinds.length, failed: kinds.length });
  expect(await statuses(db)).toEqual({ failed: kinds.length });
});

test("a schema that throws instead of returning fails the run, without its handler", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "odd", 1);
  const validate = (): never => throwOdd("an object without a prototype");
  const checked = defineJob({
    type: "odd",
    input: { "~standard": { version: 1, vendor: "test", validate } },
  });
  const summary = await makeWorker(forge, { handlers: [checked.handle(() => undefined)] }).tick();
  expect(summary).toMatchObject({ claimed: 1, failed: 1 });
});

test("a logger that throws at every line has no effect except a warning of the process", async ({
  db,
  forge,
}) => {
  const warned = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  onTestFinished(() => warned.mockRestore());
  const logger: Logger = {
    debug: refuse,
    info: refuse,
    warn: refuse,
    error: refuse,
    isLevelEnabled: refuse,
  };
  await enqueueMany(db, "odd", 5);
  const handler = job.handle((_, { log }) => log.info({}, "from the handler"));
  const summary = await makeWorker(forge, { logger, handlers: [handler] }).tick();
  expect(summary).toMatchObject({ claimed: 5, succeeded: 5 });
  expect(warned.mock.calls).toEqual([[expect.stringContaining("Error: no"), "JobForgeWarning"]]);
});

test("a hook that throws a malformed error is logged like any other", async ({ db, forge }) => {
  await enqueueMany(db, "odd", 1);
  const log = keptLog();
  const hooks = {
    onStart: () => throwOdd("getters that throw"),
    onSuccess: async () => throwOdd("an object without a prototype"),
  };
  const handlers = [job.handle(() => undefined)];
  expect(await makeWorker(forge, { logger: log.logger, hooks, handlers }).tick()).toMatchObject({
    succeeded: 1,
  });
  const reports = log.lines.filter(({ level }) => level === "error").map(({ hook }) => hook);
  expect(reports).toEqual(["onStart", "onSuccess"]);
});

test("a line is written even if one of its fields cannot be read", async ({ forge }) => {
  const { id } = await forge.enqueue(job, {}, { tenantId: T });
  const log = keptLog();
  const handler = job.handle((_, job) => {
    const fields = {
      step: 1,
      get broken() {
        return refuse();
      },
    };
    job.log.info(fields, "half of it");
  });
  await makeWorker(forge, { logger: log.logger, handlers: [handler] }).tick();
  expect(log.lines.find(({ message }) => message === "half of it")).toMatchObject({
    job_id: id,
    step: 1,
    broken: "[unreadable]",
  });
});

test("a run with an error outside of its handler fails, is reported, and frees its slot", async ({
  db,
  forge,
}) => {
  await enqueueMany(db, "odd", 3);
  const log = keptLog();
  let isWorking = false;
  const definition = Object.defineProperty({ ...job }, "input", {
    get: () => (isWorking ? refuse() : undefined),
  });
  const handler = { ...job.handle(() => undefined), definition };
  const worker = makeWorker(forge, { concurrency: 1, logger: log.logger, handlers: [handler] });
  isWorking = true;
  expect(await worker.tick()).toMatchObject({ claimed: 3, retried: 3 });
  expect(await db.query("select distinct error->>'message' as message from jobforge_jobs")).toEqual([
    { message: "no" },
  ]);
  expect(log.lines.filter(({ message }) => message.startsWith("The run could not be ended"))).toHaveLength(3);
});

test("the details of an error are stored, unless they cannot be", async ({ db, forge }) => {
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  const given = [{ code: "busy", status: 503 }, ["a list"], circular, { text: "x".repeat(5000) }, "a text"];
  const handler = defineJob({ type: "mail", input: typed<{ n: number }>() }).handle(({ n }) => {
    throw Object.assign(new Error("no"), { details: given[n] });
  });
  const worker = makeWorker(forge, { handlers: [handler] });
  for (const n of given.keys()) await forge.enqueue(handler.definition, { n }, { tenantId: T });
  await worker.tick();
  const rows = await db.query("select error -> 'details' as details from jobforge_jobs order by created_at");
  expect(rows.map(({ details }) => details)).toEqual([given[0], null, null, null, null]);
});
