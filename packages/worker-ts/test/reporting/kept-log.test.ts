/** Logs that are kept with the attempt: what a worker sends with the end of a run, and what becomes of it. */
import { bounds, defineJob, type JobContext, type KeepLogs } from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { KeptLog } from "../../src/reporting/kept-log.ts";
import { untilFinished } from "../support/jobs.ts";
import { keptLog, startWorker, T, test } from "../support/work.ts";

function talkative(keepLogs: KeepLogs | undefined, log: (job: JobContext) => void) {
  const job = defineJob({ type: "talk", keepLogs, retry: { maxAttempts: 1 } });
  return {
    job,
    handler: job.handle((input, context) => {
      log(context);
      if ((input as { fails?: boolean }).fails) throw new Error("no");
    }),
  };
}

describe("what a handler logs", () => {
  test("is kept with the attempt, with its fields and without secrets", async ({ forge }) => {
    const { job, handler } = talkative("all", ({ log }) => {
      log.info("Starting");
      log.warn({ page: 2, apiKey: "k-123", err: new RangeError("off") }, "Slow: token=abc");
      log.debug("Details");
    });
    await startWorker(forge, { handlers: [handler] });
    const handle = await forge.enqueue(job, {}, { tenantId: T });
    await handle.result();
    const [log, ...others] = await handle.logs();
    expect(others).toEqual([]);
    expect(log).toMatchObject({ jobId: handle.id, tenantId: T, attemptNo: 1, dropped: 0 });
    expect(log?.lines.map(({ level, message }) => [level, message])).toEqual([
      ["info", "Starting"],
      ["warn", "Slow: token=[redacted]"],
      ["debug", "Details"],
    ]);
    expect(log?.lines[1]?.fields).toMatchObject({
      page: 2,
      apiKey: "[redacted]",
      err: { type: "RangeError", message: "off" },
    });
    expect(log?.lines[0]?.at).toBeInstanceOf(Date);
  });

  test("is kept of failed runs only, if the definition says so", async ({ forge, db }) => {
    const { job, handler } = talkative("failed", ({ log }) => log.info("Here"));
    await startWorker(forge, { handlers: [handler] });
    const fine = await forge.enqueue(job, {}, { tenantId: T });
    const failing = await forge.enqueue(job, { fails: true }, { tenantId: T });
    await untilFinished(db, 2);
    expect(await fine.logs()).toEqual([]);
    expect(await failing.logs()).toMatchObject([{ attemptNo: 1, lines: [{ message: "Here" }] }]);
  });

  test("is not kept by default", async ({ forge, db }) => {
    const { job, handler } = talkative(undefined, ({ log }) => log.error("Here"));
    await startWorker(forge, { handlers: [handler] });
    await forge.enqueue(job, { fails: true }, { tenantId: T });
    await untilFinished(db, 1);
    expect(await db.value("select count(*)::int from jobforge.job_logs")).toBe(0);
  });

  test("is committed with the own writes of the handler", async ({ forge, db }) => {
    await db.query("create table ledger (n int)");
    const job = defineJob({ type: "ledger", keepLogs: "all" });
    const handler = job.handle(async (_, context) => {
      context.log.info("Writing");
      await context.transaction(async (tx: { query(sql: string): Promise<unknown> }) => {
        await tx.query("insert into ledger values (1)");
      });
    });
    await startWorker(forge, { handlers: [handler] });
    const handle = await forge.enqueue(job, {}, { tenantId: T });
    await untilFinished(db, 1);
    expect(await handle.logs()).toMatchObject([{ lines: [{ message: "Writing" }] }]);
  });

  test("can be anything: the run ends all the same", async ({ forge }) => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const { job, handler } = talkative("all", ({ log }) => {
      log.info(circular, "circular");
      log.info({ big: 10n }, "BigInt");
      log.info({ long: Array.from({ length: 9000 }, (_, n) => n) }, "large");
      log.info("nul \u0000 and half \ud800");
      log.info({ message: "field", level: "loud" }, "own words");
    });
    await startWorker(forge, { handlers: [handler] });
    const handle = await forge.enqueue(job, {}, { tenantId: T });
    await handle.result();
    const [log] = await handle.logs();
    expect(log?.lines.map(({ message }) => message)).toEqual([
      "circular",
      "BigInt",
      "large",
      "nul \ufffd and half \ufffd",
      "own words",
    ]);
    expect(log?.lines[2]?.truncated).toBe(true);
  });
});

test("the worker's own log has the same lines", async ({ forge }) => {
  const { logger, lines } = keptLog();
  const { job, handler } = talkative("all", ({ log }) => log.info({ page: 1 }, "Turned"));
  await startWorker(forge, { handlers: [handler], logger });
  await (await forge.enqueue(job, {}, { tenantId: T })).result();
  expect(lines.filter(({ message }) => message === "Turned")).toMatchObject([{ page: 1, job_type: "talk" }]);
});

describe("a buffer", () => {
  test("holds the last lines, up to their number and their bytes", () => {
    const log = new KeptLog();
    for (let n = 0; n < 250; n += 1) log.add("info", undefined, `line ${n}`);
    const kept = JSON.parse(log.json) as { lines: { message: string }[]; dropped: number };
    expect(kept.lines).toHaveLength(bounds.logLines.max);
    expect([kept.lines[0]?.message, kept.dropped]).toEqual(["line 50", 50]);
    for (let n = 0; n < 20; n += 1) log.add("info", { text: "é".repeat(4000) }, "long");
    const full = JSON.parse(log.json) as { lines: { message: string }[]; dropped: number };
    expect(Buffer.byteLength(JSON.stringify(full.lines))).toBeLessThanOrEqual(bounds.logBytes.max + 400);
    expect(full.lines.length + full.dropped).toBe(270);
  });
});

test("the kernel has the same bounds", async ({ db }) => {
  expect(await db.query("select jobforge.log_lines() as lines, jobforge.log_bytes() as bytes")).toEqual([
    { lines: bounds.logLines.max, bytes: bounds.logBytes.max },
  ]);
});
