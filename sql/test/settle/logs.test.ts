/** Logs of runs: what settle keeps of them, for whom they are visible, and when they are deleted. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  codeOf,
  enqueue,
  reschedule,
  type Sql,
  setPolicy,
  T,
  travelToRun,
  U,
} from "../support/kernel.ts";
import { outcomes, settle, success } from "../support/settle.ts";

const at = "2026-01-02T03:04:05.678Z";

type Line = { at: string; level: string; message: string; fields?: object; truncated?: boolean };
type Log = { attempt_no: number; lines: Line[]; dropped: number };

function line(message: string, more: object = {}): object {
  return { at, level: "info", message, ...more };
}

async function logsOf(db: Sql, id: string, after = 0): Promise<Log[]> {
  return await db.query<Log>("select attempt_no, lines, dropped from jobforge_list_logs($1, $2, $3)", [
    id,
    T,
    after,
  ]);
}

/** Enqueues and claims a job, settles it with a log, and returns its id. */
async function runWithLog(db: Sql, logs: unknown, end: object = {}): Promise<string> {
  const { id } = await enqueue(db, { type: "a" });
  const [job] = await claim(db, "w1", { types: ["a"] });
  expect(job?.id).toBe(id);
  expect(outcomes(await settle(db, [success(id, { logs, ...end })]))).toEqual(["ok"]);
  return id;
}

describe("the policy key keep_logs", () => {
  const failure = { status: "failed", error: { message: "no" } };

  test("off, the default, keeps nothing", async ({ db }) => {
    const id = await runWithLog(db, [line("one")], failure);
    expect(await logsOf(db, id)).toEqual([]);
  });

  test("failed keeps the logs of runs that failed", async ({ db }) => {
    await setPolicy(db, "a", { keep_logs: "failed" });
    const failed = await runWithLog(db, [line("one")], failure);
    const fine = await runWithLog(db, [line("two")]);
    const deferred = await runWithLog(db, [line("three")], { status: "deferred" });
    expect(await logsOf(db, failed)).toEqual([{ attempt_no: 1, lines: [line("one")], dropped: 0 }]);
    expect([await logsOf(db, fine), await logsOf(db, deferred)]).toEqual([[], []]);
  });

  test("all keeps the logs of every run, attempt by attempt", async ({ db }) => {
    await setPolicy(db, "a", { keep_logs: "all" });
    const id = await runWithLog(db, [line("one")], failure);
    await travelToRun(db, id);
    await claim(db, "w1", { types: ["a"] });
    await settle(db, [{ id, attempt: 2, status: "deferred", logs: [line("two")] }]);
    await claim(db, "w1", { types: ["a"] });
    await settle(db, [success(id, { attempt: 3, logs: [line("three")] })]);
    const logs = await logsOf(db, id);
    expect(logs.map(({ attempt_no, lines }) => [attempt_no, lines[0]?.message])).toEqual([
      [1, "one"],
      [2, "two"],
      [3, "three"],
    ]);
    expect((await logsOf(db, id, 2)).map(({ attempt_no }) => attempt_no)).toEqual([3]);
  });

  test("refuses another word", async ({ db }) => {
    expect(await codeOf(setPolicy(db, "a", { keep_logs: "some" }))).toBe("JF002");
  });
});

test("a run that the fence refuses leaves no log, and a repeated call changes nothing", async ({ db }) => {
  await setPolicy(db, "*", { keep_logs: "all" });
  const id = await runWithLog(db, [line("first")]);
  const again = await settle(db, [success(id, { logs: [line("second")] })]);
  const stale = await settle(db, [success(id, { attempt: 2, logs: [line("third")] })]);
  expect([...outcomes(again), ...outcomes(stale)]).toEqual(["already", "stale"]);
  expect((await logsOf(db, id)).map(({ lines }) => lines[0]?.message)).toEqual(["first"]);
});

test("one call keeps the logs of some runs and ends the others on the short path", async ({ db }) => {
  await setPolicy(db, "*", { keep_logs: "all" });
  const jobs = [await enqueue(db), await enqueue(db), await enqueue(db)];
  await claim(db, "w1", { limit: 3 });
  const ends = jobs.map(({ id }, n) => success(id, n === 1 ? { logs: [line("middle")] } : {}));
  expect(outcomes(await settle(db, ends))).toEqual(["ok", "ok", "ok"]);
  expect(await db.query("select job_id, attempt_no from jobforge_job_logs")).toEqual([
    { job_id: jobs[1]?.id, attempt_no: 1 },
  ]);
});

describe("of a log", () => {
  test("the last 200 lines are kept, and the others are counted", async ({ db }) => {
    await setPolicy(db, "*", { keep_logs: "all" });
    const lines = Array.from({ length: 250 }, (_, n) => line(`line ${n}`));
    const id = await runWithLog(db, { lines, dropped: 7 });
    const [log] = await logsOf(db, id);
    expect(log?.lines).toHaveLength(200);
    expect([log?.lines[0]?.message, log?.lines.at(-1)?.message]).toEqual(["line 50", "line 249"]);
    expect(log?.dropped).toBe(57);
  });

  test("at most 64 kB are kept, the last ones", async ({ db }) => {
    await setPolicy(db, "*", { keep_logs: "all" });
    const lines = Array.from({ length: 30 }, (_, n) => line(`${n} ${"é ".repeat(2000)}`));
    const id = await runWithLog(db, lines);
    const [log] = await logsOf(db, id);
    const bytes = await db.value<number>("select octet_length(lines::text) from jobforge_job_logs");
    expect(bytes).toBeLessThanOrEqual(65_536);
    expect(bytes).toBeGreaterThan(57_000);
    expect(log?.lines.at(-1)?.message).toMatch(/^29 /);
    expect((log?.lines.length ?? 0) + (log?.dropped ?? 0)).toBe(30);
  });

  test("secrets are masked, also those of keys that the policy lists", async ({ db }) => {
    await setPolicy(db, "*", { keep_logs: "all", redact: ["iban"] });
    const fields = { iban: "DE02", token: "t", note: "Bearer abc.def123456", count: 3 };
    const id = await runWithLog(db, [line("password=hunter2 iban=DE02 done", { fields })]);
    const [log] = await logsOf(db, id);
    expect(log?.lines).toEqual([
      line("password=[redacted] iban=[redacted] done", {
        fields: { iban: "[redacted]", token: "[redacted]", note: "Bearer [redacted]", count: 3 },
      }),
    ]);
  });

  test("a long message is cut, and large fields are left out", async ({ db }) => {
    await setPolicy(db, "*", { keep_logs: "all" });
    const id = await runWithLog(db, [
      line("word ".repeat(5000)),
      line("wide", { fields: { n: Array.from({ length: 500 }, (_, n) => n) } }),
    ]);
    const [log] = await logsOf(db, id);
    expect(log?.lines[0]?.message.length).toBeLessThanOrEqual(8000);
    expect(log?.lines[0]?.truncated).toBe(true);
    expect(log?.lines[1]).toEqual(line("wide", { truncated: true }));
  });

  test("what is not a line becomes one, with a level and a time", async ({ db }) => {
    await setPolicy(db, "*", { keep_logs: "all" });
    const id = await runWithLog(db, [
      "text",
      7,
      null,
      { message: 5, level: "loud", at: "2026-99-01T00:00:00Z", fields: [1] },
    ]);
    const [log] = await logsOf(db, id);
    expect(log?.lines.map(({ message }) => message)).toEqual(["text", "", "", ""]);
    expect(new Set(log?.lines.map(({ level }) => level))).toEqual(new Set(["info"]));
    expect(log?.lines.every((each) => !Number.isNaN(Date.parse(each.at)))).toBe(true);
  });

  test.for([
    ["a text", "text"],
    ["a number", 7],
    ["an empty array", []],
    ["an object without lines", { dropped: 3 }],
    ["null", null],
  ])("what is not a log is ignored: %s", async ([, logs], { db }) => {
    await setPolicy(db, "*", { keep_logs: "all" });
    expect(await logsOf(db, await runWithLog(db, logs))).toEqual([]);
  });

  test("numbers that cannot be printed do not keep a run from ending", async ({ db }) => {
    await setPolicy(db, "*", { keep_logs: "all" });
    const { id } = await enqueue(db);
    await claim(db);
    const numbers = Array.from({ length: 500 }, () => "1e100000").join();
    const text = `[{"id":"${id}","attempt":1,"status":"succeeded","logs":[{"message":"m","fields":{"n":[${numbers}]}}]}]`;
    await db.query("select jobforge_settle_jobs('w1', $1)", [text]);
    expect((await logsOf(db, id))[0]?.lines).toMatchObject([{ message: "m", truncated: true }]);
  });
});

test("logs are visible to their tenant only, by function and by view", async ({ db }) => {
  await setPolicy(db, "*", { keep_logs: "all" });
  const id = await runWithLog(db, [line("mine")]);
  expect(await db.query("select * from jobforge_list_logs($1, $2)", [id, U])).toEqual([]);
  const [own, other] = [await db.createLogin("jobforge_tenant"), await db.createLogin("jobforge_tenant")];
  await db.query("select jobforge_bind_role($1, $2), jobforge_bind_role($3, $4)", [
    own.role,
    T,
    other.role,
    U,
  ]);
  const [tenant, stranger] = [await db.connect(own.url), await db.connect(other.url)];
  expect(await logsOf(tenant, id)).toHaveLength(1);
  expect(await tenant.query("select job_id from jobforge_job_logs")).toEqual([{ job_id: id }]);
  expect(await codeOf(logsOf(stranger, id))).toBe("42501");
  expect(await stranger.query("select job_id from jobforge_job_logs")).toEqual([]);
  expect(await codeOf(tenant.query("select * from jobforge.job_logs"))).toBe("42501");
});

test("the log of a finished job stays when the job is rescheduled", async ({ db }) => {
  await setPolicy(db, "*", { keep_logs: "all" });
  const id = await runWithLog(db, [line("one")], {
    status: "failed",
    retry: false,
    error: { message: "no" },
  });
  await reschedule(db, id);
  await claim(db, "w1", { types: ["a"] });
  await settle(db, [success(id, { attempt: 2, logs: [line("two")] })]);
  expect((await logsOf(db, id)).map(({ attempt_no }) => attempt_no)).toEqual([1, 2]);
});

test("a type without history keeps the log of a failed run until its job has succeeded", async ({ db }) => {
  await setPolicy(db, "a", { keep_logs: "all", keep_history: false });
  const id = await runWithLog(db, [line("one")], { status: "failed", error: { message: "no" } });
  expect(await logsOf(db, id)).toHaveLength(1);
  await travelToRun(db, id);
  await claim(db, "w1", { types: ["a"] });
  await settle(db, [success(id, { attempt: 2, logs: [line("two")] })]);
  expect(await db.value("select count(*)::int from jobforge.job_logs")).toBe(0);
});

test("a purge deletes the logs of its jobs", async ({ db }) => {
  await setPolicy(db, "*", { keep_logs: "all" });
  await runWithLog(db, [line("one")]);
  await db.query('select jobforge_purge_jobs($1, \'{"type": "a"}\')', [T]);
  expect(await db.value("select count(*)::int from jobforge.job_logs")).toBe(0);
});
