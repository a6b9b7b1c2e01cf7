/**
 * Imports from River, and from the newest pg-boss and graphile-worker, which need a newer Node. The benchmarks bring
 * all of them. The first build takes minutes, so these tests run only with JOBFORGE_BENCH_PEERS=1.
 */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { install as installRiver } from "../../../../bench/peers/river/install.js";
import { nodeForPeers, peersFolder } from "../../../../bench/src/driver/install.ts";
import { startContestant } from "../../../../bench/test/contestant.ts";
import { test } from "../support.ts";
import { createRiver, importFrom, jobsOf, work } from "./support.ts";

const asked = process.env["JOBFORGE_BENCH_PEERS"] === "1";
const timeout = 900_000;

/** Runs a program with the Node and the packages of the peers. */
async function runWithPeers(program: string, db: TestDatabase): Promise<void> {
  const node = nodeForPeers((message) => console.warn(message));
  const file = join(peersFolder, "node_modules", `import-test-${process.pid}.mjs`);
  await writeFile(file, program);
  await promisify(execFile)(node ?? "", [file], { env: { ...process.env, DATABASE_URL: db.url } });
}

/** The columns of a table with their types. */
const columns = `select attname, format_type(atttypid, atttypmod) as type, attnotnull
  from pg_attribute where attrelid = 'river_job'::regclass and attnum > 0 and not attisdropped order by attnum`;

describe.runIf(asked)("from River itself", () => {
  test("jobs that its client has inserted run here", { timeout }, async ({ db }) => {
    const river = startContestant(installRiver(console.warn), {
      DATABASE_URL: db.url,
      BENCH_SETTINGS: "best",
    });
    try {
      expect(await river.ask({ do: "prepare" })).toMatchObject({ version: "v0.51.0" });
      await river.ask({ do: "enqueue", jobs: 20, how: "one", concurrency: 2, seconds: 60 });
      await river.ask({ do: "enqueue", jobs: 30, how: "bulk", delaySeconds: 3600, seconds: 60 });
    } finally {
      await river.kill();
    }
    expect(await importFrom(db, ["river"])).toMatchObject({
      types: [{ from: "bench", waiting: 20, delayed: 30 }],
    });
    expect(await work(db, ["bench"])).toHaveLength(20);
    expect(await db.value("select count(*)::int from river_job")).toBe(0);
  });

  test("the schema of the other tests is the one that River makes", { timeout }, async ({ db, empty }) => {
    const river = startContestant(installRiver(console.warn), {
      DATABASE_URL: db.url,
      BENCH_SETTINGS: "best",
    });
    await river.ask({ do: "prepare" });
    await river.kill();
    await createRiver(empty);
    expect(await db.query(columns)).toEqual(await empty.query(columns));
  });
});

describe.runIf(asked)("from the newest releases", () => {
  test("pg-boss", { timeout }, async ({ db }) => {
    await runWithPeers(
      `import { PgBoss } from "pg-boss";
      const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, supervise: false, schedule: false });
      await boss.start();
      await boss.createQueue("mail.send");
      await boss.createQueue("one", { policy: "exclusive" });
      await boss.send("mail.send", { n: 1 }, { priority: 5, retryLimit: 3 });
      await boss.send("mail.send", { n: 2 }, { startAfter: 3600, group: { id: "g" } });
      await boss.send("one", { n: 3 }, { singletonKey: "k" });
      await boss.schedule("mail.send", "0 7 * * *", { n: 4 }, { tz: "Europe/Berlin", key: "early" });
      await boss.stop();`,
      db,
    );
    const report = await importFrom(db, ["pg-boss"]);
    expect(report.types).toMatchObject([
      { from: "mail.send", waiting: 1, delayed: 1, schedules: 1 },
      { from: "one", waiting: 1 },
    ]);
    const jobs = (await jobsOf(db)).toSorted((a, b) => Number(b["priority"]) - Number(a["priority"]));
    expect(jobs).toMatchObject([
      { priority: 5, max_attempts: 4, payload: { n: 1 } },
      { concurrency_key: "g", payload: { n: 2 } },
      { dedupe_key: "k", payload: { n: 3 } },
    ]);
    expect(await db.value("select key from jobforge_schedules")).toBe("early");
    expect(await work(db, ["mail.send", "one"])).toHaveLength(2);
  });

  test("graphile-worker", { timeout }, async ({ db }) => {
    await runWithPeers(
      `import { makeWorkerUtils } from "graphile-worker";
      const utils = await makeWorkerUtils({ connectionString: process.env.DATABASE_URL });
      await utils.migrate();
      await utils.addJob("send", { n: 1 }, { priority: 3, jobKey: "k", queueName: "q", flags: ["f"] });
      await utils.release();`,
      db,
    );
    expect(await importFrom(db, ["graphile-worker"])).toMatchObject({ imported: 1 });
    expect(await jobsOf(db)).toMatchObject([
      { priority: -3, dedupe_key: "k", concurrency_key: "q", tags: ["f"], payload: { n: 1 } },
    ]);
    expect(await work(db, ["send"])).toEqual([{ n: 1 }]);
  });
});
