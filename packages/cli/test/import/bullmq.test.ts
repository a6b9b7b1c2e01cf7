/** Imports from the real BullMQ on a real Redis. */
import type { TestDatabase } from "@jobforge/testing";
import { FlowProducer, Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { beforeAll, describe, expect, onTestFinished } from "vitest";
import { type RedisServer, startRedis } from "../../../../bench/src/driver/redis.ts";
import { findTool } from "../../../../scripts/tools.js";
import { startJobforge } from "../child.ts";
import { T, test } from "../support.ts";
import { importFrom, importText, jobsOf, work } from "./support.ts";

const isThere = (await findTool("redis-server")) !== undefined;

describe.runIf(isThere)("from BullMQ", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
    return () => server[Symbol.asyncDispose]();
  });

  /** A connection to the emptied Redis. */
  async function connect(): Promise<Redis> {
    await server.empty();
    const redis = new Redis(server.url, { maxRetriesPerRequest: null });
    onTestFinished(() => redis.disconnect());
    return redis;
  }

  function queueOf(name: string, connection: Redis): Queue {
    const queue = new Queue(name, { connection });
    onTestFinished(() => queue.close());
    return queue;
  }

  const importBull = (
    db: TestDatabase,
    args: readonly string[] = [],
    exit = 0,
  ): ReturnType<typeof importFrom> => importFrom(db, ["bullmq", "--from", server.url, ...args], exit);

  test("moves what waits, and its lower priorities still come first", async ({ db }) => {
    const redis = await connect();
    const mail = queueOf("mail", redis);
    await failOnce(mail, redis);
    await mail.add("welcome", { n: 1 }, { priority: 7, attempts: 4 });
    await mail.add("welcome", { n: 2 }, { priority: 3 });
    await mail.add("mail", { n: 3 });
    const later = await mail.add("digest", { n: 4 }, { delay: 3_600_000, deduplication: { id: "d" } });
    const report = await importBull(db);
    expect(report.types).toMatchObject([
      { from: "mail", waiting: 1, failed: 1 },
      { from: "mail.digest", delayed: 1 },
      { from: "mail.retried", retrying: 1 },
      { from: "mail.welcome", type: "mail.welcome", waiting: 2 },
    ]);
    const jobs = await jobsOf(db);
    expect(jobs).toMatchObject([
      { type: "mail", payload: { n: 3 }, priority: 0, max_attempts: 1 },
      {
        type: "mail.digest",
        payload: { n: 4 },
        dedupe_key: "d",
        idempotency_key: `bullmq-mail-${later.id}-${later.timestamp}`,
      },
      { type: "mail.retried", payload: { n: 0 }, max_attempts: 2 },
      { type: "mail.welcome", payload: { n: 1 }, priority: -7, max_attempts: 4 },
      { type: "mail.welcome", payload: { n: 2 }, priority: -3 },
    ]);
    expect(Number(jobs[1]?.["run_at"])).toBe(later.timestamp + 3_600_000);
    // The backoff counts from the failure, not from the creation of the job.
    expect(Number(jobs[2]?.["run_at"])).toBeGreaterThan(Date.now() + 3_000_000);
    expect(await mail.getJobCounts()).toMatchObject({ waiting: 0, delayed: 0, prioritized: 0, failed: 1 });
    expect(await mail.isPaused()).toBe(false);
    expect(await work(db, ["mail", "mail.welcome"])).toEqual([{ n: 3 }, { n: 2 }, { n: 1 }]);
    expect(await importBull(db)).toMatchObject({ imported: 0 });
  });

  test("a dry run and --keep leave Redis as it is", async ({ db }) => {
    const mail = queueOf("mail", await connect());
    await mail.add("a", { n: 1 });
    expect(await importFrom(db, ["bullmq", "--from", server.url, "--dry-run"])).toMatchObject({
      imported: 1,
    });
    expect(await jobsOf(db)).toEqual([]);
    await importBull(db, ["--keep"]);
    expect(await jobsOf(db)).toHaveLength(1);
    expect(await mail.getJobCounts()).toMatchObject({ waiting: 1 });
    expect(await importBull(db)).toMatchObject({ imported: 0, types: [{ from: "mail.a", existing: 1 }] });
    expect(await jobsOf(db)).toHaveLength(1);
    expect(await mail.getJobCounts()).toMatchObject({ waiting: 0 });
  });

  test("job schedulers become schedules, and their next runs are not imported as jobs", async ({ db }) => {
    const mail = queueOf("mail", await connect());
    await mail.upsertJobScheduler(
      "daily",
      { pattern: "0 0 7 * * *", tz: "Europe/Berlin" },
      { name: "digest", data: { n: 1 } },
    );
    await mail.upsertJobScheduler("often", { every: 90_000 }, { name: "poll" });
    await mail.upsertJobScheduler("thrice", { every: 90_000, limit: 3 }, { name: "poll" });
    const report = await importBull(db, ["--tenant", T], 1);
    expect(report.refused).toMatchObject([
      { type: "mail.poll", ids: ["thrice"], reason: "it ends after a number of runs or at a time" },
    ]);
    expect(
      await db.query(
        "select type, key, cron, timezone, every::text, payload from jobforge_schedules order by key",
      ),
    ).toMatchObject([
      {
        type: "mail.digest",
        key: "daily",
        cron: "0 0 7 * * *",
        timezone: "Europe/Berlin",
        payload: { n: 1 },
      },
      { type: "mail.poll", key: "often", every: "00:01:30" },
    ]);
    expect(await jobsOf(db)).toEqual([]);
    expect((await mail.getJobSchedulers()).map(({ key }) => key)).toEqual(["thrice"]);
  });

  test("flows stay, and so do jobs of other names and running jobs", async ({ db }) => {
    const redis = await connect();
    const mail = queueOf("mail", redis);
    const flows = new FlowProducer({ connection: redis });
    onTestFinished(() => flows.close());
    await flows.add({
      name: "parent",
      queueName: "mail",
      children: [{ name: "child", queueName: "mail", data: {} }],
    });
    await mail.add("other", {});
    const report = await importBull(db, ["--types", "mail.child"], 1);
    expect(report.refused).toMatchObject([
      { type: "mail.child", reason: "it is part of a flow, and another job waits for it" },
    ]);
    expect(report.types).toMatchObject([
      { from: "mail", running: 1 },
      { from: "mail.child", refused: 1 },
    ]);
    expect(await jobsOf(db)).toEqual([]);
    expect(await mail.getJobCounts()).toMatchObject({ waiting: 2, "waiting-children": 1 });
  });

  test("after a kill -9 a second import gives each job once, and resumes the queue", async ({ db }) => {
    const redis = await connect();
    const mail = queueOf("mail", redis);
    const all = Array.from({ length: 60 }, (_, n) => ({ name: "a", data: { n } }));
    const added = await mail.addBulk(all);
    const middle = `bullmq-mail-33-${added[32]?.timestamp}`;
    // An open transaction holds the key of a job in the middle, so the import waits for it.
    const holder = await db.connect();
    await holder.query("begin");
    await holder.query("select jobforge_enqueue_job($1, 'mail.a', p_idempotency_key => $2)", [T, middle]);
    const args = ["import", "bullmq", "--from", server.url, "--tenant", T, "--batch", "10", "--yes"];
    const child = startJobforge(args, { cwd: "/tmp", env: { DATABASE_URL: db.url } });
    await expect.poll(async () => (await mail.getJobCounts("waiting"))["waiting"]).toBe(30);
    // The next batch is enqueued, but Redis does not remove it: the worst moment.
    await redis.call("CLIENT", "PAUSE", "600000", "WRITE");
    await holder.query("rollback");
    await expect.poll(() => db.value("select count(*)::int from jobforge_jobs")).toBe(40);
    child.process.kill("SIGKILL");
    await child.ended;
    await redis.call("CLIENT", "UNPAUSE");
    expect(await mail.getJobCounts("waiting")).toEqual({ waiting: 30 });
    expect(await mail.isPaused()).toBe(true);
    expect(await importBull(db, ["--tenant", T])).toMatchObject({
      imported: 20,
      types: [{ waiting: 30, existing: 10 }],
    });
    const ran = (await work(db, ["mail.a"])) as { readonly n: number }[];
    expect(ran.map(({ n }) => n).toSorted((a, b) => a - b)).toEqual(all.map(({ data }) => data.n));
    expect(await mail.isPaused()).toBe(false);
  });

  test("an id that the application uses again is another job", async ({ db }) => {
    const mail = queueOf("mail", await connect());
    for (const n of [1, 2]) {
      await mail.add("report", { n }, { jobId: "daily" });
      expect(await importBull(db)).toMatchObject({ imported: 1 });
    }
    expect(await work(db, ["mail.report"])).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("a queue that its operator has paused stays paused", async ({ db }) => {
    const mail = queueOf("mail", await connect());
    await mail.add("a", { n: 1 });
    await mail.pause();
    expect(await importBull(db)).toMatchObject({ imported: 1 });
    expect(await mail.isPaused()).toBe(true);
  });

  test("says what to do if there is no Redis", async ({ db }) => {
    const error = await importFrom(db, ["bullmq", "--from", "redis://127.0.0.1:1"], 3).catch(String);
    expect(error).toContain("No connection to Redis");
  });

  test("says that a password is wrong", async ({ db }) => {
    await using locked = await startRedis();
    await locked.say("CONFIG SET requirepass right");
    const from = locked.url.replace("//", "//:wrong@");
    const refused = await importText(db, ["bullmq", "--from", from, "--yes"]);
    expect(refused).toMatchObject({ exitCode: 3, stdout: "" });
    expect(refused.stderr).toContain("No connection to Redis: WRONGPASS");
    expect(refused.stderr).not.toContain("wrong@");
  });

  test("ids with colons and names that JobForge refuses", async ({ db }) => {
    const redis = await connect();
    const mail = queueOf("mail", redis);
    const foreign = queueOf("почта", redis);
    await mail.add("mail", { n: 1 }, { jobId: "a:b:c" });
    await mail.add("mail", { n: 2 }, { jobId: "a-b" });
    await foreign.add("ünïcode", { text: "żółw 🐢" }, { delay: 86_400_000 * 365 * 30 });
    expect(await importBull(db, [], 1)).toMatchObject({ imported: 2 });
    expect(await foreign.getDelayedCount()).toBe(1);
    expect(await importBull(db, ["--map", "почта.ünïcode=mail.foreign"])).toMatchObject({ imported: 1 });
    expect((await jobsOf(db)).map(({ payload }) => payload)).toEqual(
      expect.arrayContaining([{ n: 1 }, { n: 2 }, { text: "żółw 🐢" }]),
    );
  });

  /** One job fails and waits for its retry, one fails for good. */
  async function failOnce(mail: Queue, connection: Redis): Promise<void> {
    await mail.add("retried", { n: 0 }, { attempts: 3, backoff: { type: "fixed", delay: 3_600_000 } });
    await mail.add("lost", {}, { attempts: 1 });
    const worker = new Worker(
      "mail",
      async () => {
        throw new Error("no");
      },
      { connection },
    );
    await expect.poll(() => mail.getJobCounts("failed", "delayed")).toEqual({ failed: 1, delayed: 1 });
    await worker.close();
  }
});
