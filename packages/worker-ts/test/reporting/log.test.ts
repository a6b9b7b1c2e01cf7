/** Log lines: the ten fields, no payloads, and the log level. */
import { defineJob } from "@jobforge/sdk-ts";
import { pino } from "pino";
import { expect } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { humanLine, withoutControls } from "../../src/reporting/human.ts";
import { version } from "../../src/version.ts";
import { startProcess } from "../support/child.ts";
import { until } from "../support/happening.ts";
import { untilFinished } from "../support/jobs.ts";
import { keptLog, makeWorker, startWorker, T, test } from "../support/work.ts";

const fixedFields = [
  "timestamp",
  "level",
  "worker_id",
  "trace_id",
  "job_id",
  "job_type",
  "tenant_id",
  "attempt_no",
  "message",
  "duration_ms",
];

const slow = defineJob({ type: "slow" });

test("every line is JSON with the ten fields, and the trace is the same in logs, attempt and outbound header", async ({
  db,
  forge,
}) => {
  const secret = "4111-1111-1111-1111";
  const { id } = await forge.enqueue(slow, { ms: 20, secret }, { tenantId: T });
  const child = startProcess(db.url, { id: "w-1" });
  const succeeded = await child.logged(({ message }) => message === "Job succeeded");
  child.process.kill("SIGTERM");
  expect((await child.ended).code).toBe(0);
  expect(child.noise()).toBe("");
  for (const line of child.lines) {
    expect(Object.keys(line)).toEqual(expect.arrayContaining(fixedFields));
    expect(line["worker_id"]).toBe("w-1");
    expect(new Date(String(line["timestamp"])).toISOString()).toBe(line["timestamp"]);
    expect(JSON.stringify(line)).not.toContain(secret);
  }
  const traceId = await db.value("select trace_id from jobforge_job_attempts where job_id = $1", [id]);
  expect(succeeded).toMatchObject({
    level: "info",
    job_id: id,
    job_type: "slow",
    tenant_id: T,
    attempt_no: 1,
    trace_id: traceId,
  });
  expect(succeeded["duration_ms"]).toBeGreaterThanOrEqual(19);
  const own = child.lines.find(({ message }) => message === "Half done");
  expect(own).toMatchObject({ job_id: id, trace_id: traceId });
  expect(own?.["outbound"]).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
});

test("LOG_LEVEL decides what is written", async ({ db, forge }) => {
  await forge.enqueue(slow, { ms: 1 }, { tenantId: T });
  const child = startProcess(db.url, {}, { LOG_LEVEL: "error" });
  await untilFinished(db, 1);
  child.process.kill("SIGTERM");
  expect((await child.ended).code).toBe(0);
  expect(child.lines).toEqual([]);
});

test("lines go to the application's own logger", async ({ forge }) => {
  const written: string[] = [];
  const logger = pino({ level: "info" }, { write: (line) => void written.push(line) });
  await forge.enqueue(slow, {}, { tenantId: T });
  const handler = slow.handle((_, { log }) => {
    log.debug({}, "too quiet");
    log.info({ step: 2, job_id: "mine" }, "from the handler");
    throw new Error("failed on purpose");
  });
  await makeWorker(forge, { logger, handlers: [handler] }).tick();
  const lines = written.map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toEqual(["from the handler", "Job failed and will be retried"]);
  expect(lines[0]).toMatchObject({ step: 2, job_type: "slow" });
  expect(lines[0].job_id, "a handler cannot pretend to be another job").not.toBe("mine");
  expect(lines[1]).toMatchObject({ error: "failed on purpose", error_name: "Error", attempt_no: 1 });
});

test("an error is logged as pino does it: as err, with its own message unless another one is given", async ({
  forge,
}) => {
  const log = keptLog();
  await forge.enqueue(slow, {}, { tenantId: T });
  const handler = slow.handle((_, job) => {
    job.log.error(new TypeError("out of paper"), "could not print");
    job.log.info(new Error("token=s3cr3t"));
    job.log.info({ message: "a message among the fields" });
    job.log.info(JSON.parse("null"), "no fields at all");
  });
  await makeWorker(forge, { logger: log.logger, handlers: [handler] }).tick();
  const lines = log.lines.filter(({ job_id, message }) => job_id !== null && !message.startsWith("Job "));
  expect(lines).toMatchObject([
    { level: "error", message: "could not print", err: { type: "TypeError", message: "out of paper" } },
    { level: "info", message: "token=[redacted]", err: { message: "token=[redacted]" } },
    { message: "a message among the fields" },
    { message: "no fields at all" },
  ]);
  expect(lines[0]?.["err"]).toHaveProperty("stack", expect.stringContaining("log.test.ts"));
});

test("a handler cannot replace the ten fields of a line", async ({ db, forge }) => {
  await forge.enqueue(
    slow,
    { ms: 1, fields: Object.fromEntries(fixedFields.map((name) => [name, "mine"])) },
    { tenantId: T },
  );
  const child = startProcess(db.url, { id: "w-1" });
  const line = await child.logged(({ message }) => message === "Half done");
  child.process.kill("SIGTERM");
  await child.ended;
  expect(Object.keys(line)).toEqual(expect.arrayContaining(fixedFields));
  expect(Object.values(line)).not.toContain("mine");
  expect(line.level).toBe("info");
});

test("lines contain no secrets, neither in what a handler logs nor in the errors that it throws", async ({
  db,
  forge,
}) => {
  const written: string[] = [];
  const logger = pino({ level: "info" }, { write: (line) => void written.push(line) });
  const paid = defineJob({ type: "paid", redact: ["iban"] });
  const handler = paid.handle(async (_, { log }) => {
    log.info({ iban: "DE123", pin: 4711, err: new Error("token=s3cr3t") }, "Authorization: Bearer s3cr3t-1");
    throw new Error("https://me:s3cr3t@bank said no, iban: DE123, pin=4711");
  });
  await db.query("select jobforge_set_policy('paid', $1)", [{ redact: ["iban", "pin"] }]);
  await startWorker(forge, { logger, handlers: [handler] });
  let ended = 0;
  const run = async (): Promise<string> => {
    await forge.enqueue(paid, {}, { tenantId: T, maxAttempts: 1 });
    ended += 1;
    await until(() => written.join("").includes("said no"));
    await untilFinished(db, ended);
    return written.splice(0).join("");
  };
  let lines = await run();
  expect(lines).not.toMatch(/s3cr3t|DE123/);
  // The policy is read when the first job of the type is claimed, and jobs do not wait for it.
  while (lines.includes("4711")) lines = await run();
  expect(lines).toContain("said no");
});

test("a worker reports its version, types and process to the database", async ({ forge }) => {
  expect(version).toBe(manifest.version);
  const worker = makeWorker(forge, { concurrency: 3, handlers: [slow.handle(() => undefined)] });
  await worker.start();
  const [seen] = await forge.workers.list();
  expect(seen).toMatchObject({
    id: worker.id,
    status: "alive",
    types: ["slow"],
    concurrency: 3,
    pid: process.pid,
    version,
  });
});

test("what a terminal gets has no control characters of the data, and the same text otherwise", () => {
  const attack = "a\u001b]0;t\u0007\u001b[2J\u009b31m\u0000\b\r\u007f\u202e";
  const lines: string[] = [];
  const logger = pino({ base: null }, { write: (line) => void lines.push(withoutControls(line)) });
  logger.info({ [attack]: [attack, 'kept\ttab\nline \\u001b "q" é'] }, attack);
  const { msg, time: _, level: __, ...fields } = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
  expect(JSON.stringify([msg, Object.keys(fields)])).not.toMatch(/\\u00|\\[bfr]|[\u007f-\u009f\u202e]/);
  expect(Object.values(fields)).toEqual([[msg, 'kept\ttab\nline \\u001b "q" é']]);
});

test("what a terminal gets has no empty fields, and a stack line by line", () => {
  const line = { message: "Worker started", job_id: null, duration_ms: null, types: ["a"], level: "info" };
  expect(JSON.parse(humanLine(JSON.stringify(line)))).toEqual({
    message: "Worker started",
    types: ["a"],
    level: "info",
  });
  const failed = {
    message: "Job failed",
    job_id: "x",
    error: "no",
    error_at: "f",
    stack: "Error: no\n    at f",
  };
  expect(JSON.parse(humanLine(JSON.stringify(failed)))).toEqual({
    message: "Job failed\n    Error: no\n        at f",
    job_id: "x",
  });
});
