/** Imports from the real graphile-worker: the version that supports Node 20. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestDatabase } from "@jobforge/testing";
import { Logger, makeWorkerUtils, runOnce, type WorkerUtils } from "graphile-worker";
import { describe, expect, onTestFinished } from "vitest";
import { temporaryFolder } from "../files.ts";
import { T, test } from "../support.ts";
import { importFrom, jobsOf, work } from "./support.ts";

const logger = new Logger(() => () => undefined);

async function startUtils(db: TestDatabase): Promise<WorkerUtils> {
  const utils = await makeWorkerUtils({ connectionString: db.url, logger });
  onTestFinished(() => utils.release());
  await utils.migrate();
  return utils;
}

/** Lets graphile-worker run the due jobs of a task, which fail. */
async function fail(db: TestDatabase, task: string): Promise<void> {
  const taskList = {
    [task]: async () => {
      throw new Error("no");
    },
  };
  await runOnce({ connectionString: db.url, logger, taskList });
}

const inAnHour = new Date(Date.now() + 3_600_000);

describe("from graphile-worker", () => {
  test("moves what waits, and its lower priorities still come first", async ({ db }) => {
    const utils = await startUtils(db);
    await utils.addJob("retried", { n: 1 }, { maxAttempts: 3 });
    await utils.addJob("lost", { n: 2 }, { maxAttempts: 1 });
    await fail(db, "retried");
    await fail(db, "lost");
    const { id } = await utils.addJob("held", { n: 3 });
    await db.query("update graphile_worker._private_jobs set locked_at = now() where id = $1", [id]);
    await utils.addJob("send", { n: 4 }, { priority: 10, maxAttempts: 7 });
    await utils.addJob("send", { n: 5 }, { priority: -10, jobKey: "k", flags: ["slow"] });
    await utils.addJob("send", { n: 6 }, { runAt: inAnHour, queueName: "q" });
    const report = await importFrom(db, ["graphile-worker", "--prefix", "gw."]);
    expect(report.types).toMatchObject([
      { from: "held", running: 1, waiting: 0 },
      { from: "lost", failed: 1, waiting: 0 },
      { from: "retried", retrying: 1 },
      { from: "send", type: "gw.send", waiting: 2, delayed: 1 },
    ]);
    expect(report.notes[0]).toContain("1 job got a concurrency key");
    expect(await jobsOf(db)).toMatchObject([
      { type: "gw.retried", payload: { n: 1 }, max_attempts: 2 },
      { type: "gw.send", payload: { n: 4 }, priority: -10, max_attempts: 7 },
      { type: "gw.send", payload: { n: 5 }, priority: 10, dedupe_key: "k", tags: ["slow"] },
      { type: "gw.send", payload: { n: 6 }, run_at: inAnHour, concurrency_key: "q" },
    ]);
    expect(await db.value("select count(*)::int from graphile_worker._private_jobs")).toBe(2);
    expect(await work(db, ["gw.send"])).toEqual([{ n: 5 }, { n: 4 }]);
    expect(await importFrom(db, ["graphile-worker"])).toMatchObject({ imported: 0 });
  });

  test("a dry run changes nothing, --keep copies, and a second import finds the same jobs", async ({
    db,
  }) => {
    const utils = await startUtils(db);
    await utils.addJob("send", { n: 1 });
    await utils.addJob("send", { n: 2 }, { runAt: inAnHour });
    const there = "select count(*)::int from graphile_worker._private_jobs";
    expect(await importFrom(db, ["graphile-worker", "--dry-run"])).toMatchObject({ imported: 2 });
    expect([await jobsOf(db), await db.value(there)]).toEqual([[], 2]);
    expect(await importFrom(db, ["graphile-worker", "--keep"])).toMatchObject({ imported: 2 });
    expect(await db.value(there)).toBe(2);
    expect(await importFrom(db, ["graphile-worker"])).toMatchObject({
      imported: 0,
      types: [{ existing: 2 }],
    });
    expect([(await jobsOf(db)).length, await db.value(there)]).toEqual([2, 0]);
  });

  test("a payload that jsonb cannot hold stays, with its reason", async ({ db }) => {
    const utils = await startUtils(db);
    await utils.addJob("texts", { ok: "a\\u0000b" });
    await db.query(
      `insert into graphile_worker._private_jobs (task_id, payload) values (1, '{"nul": "a\\u0000b"}')`,
    );
    const report = await importFrom(db, ["graphile-worker"], 1);
    expect(report.refused).toMatchObject([
      { type: "texts", reason: "payload.nul has a character that Postgres cannot store", count: 1 },
    ]);
    expect(await work(db, ["texts"])).toEqual([{ ok: "a\\u0000b" }]);
  });

  test("the lines of a crontab become schedules", async ({ db }) => {
    await startUtils(db);
    const folder = await temporaryFolder();
    const file = join(folder.path, "crontab");
    await writeFile(
      file,
      [
        "# m h dom mon dow task",
        "0 4 * * 1 rollup",
        '*/15 0-12 * * * sync ?id=sync-orders&fill=2h&max=3 {"what": "orders"}',
        "0 5 * * * odd {what: 'orders'}",
        "0 99 * * * wrong",
      ].join("\n"),
    );
    const args = ["graphile-worker", "--tenant", T, "--crontab", file];
    const report = await importFrom(db, args, 1);
    expect(report.refused).toMatchObject([
      { type: "odd", reason: "its payload is JSON5: write it as JSON" },
      { type: "wrong", reason: expect.stringContaining("99") },
    ]);
    const schedules = await db.query(
      "select type, key, cron, timezone, payload, missed from jobforge_schedules order by type",
    );
    expect(schedules).toMatchObject([
      { type: "rollup", key: "rollup", cron: "0 4 * * 1", timezone: "UTC", missed: "skip" },
      {
        type: "sync",
        key: "sync-orders",
        cron: "*/15 0-12 * * *",
        payload: { what: "orders" },
        missed: "all",
      },
    ]);
  });
});
