/** Imports from the real pg-boss: the last version that supports Node 20. newest.test.ts has the newest one. */
import { tenantId } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import PgBoss from "pg-boss";
import { describe, expect, onTestFinished } from "vitest";
import { T, test } from "../support.ts";
import { importFrom, importText, jobsOf, work } from "./support.ts";

/** A pg-boss that enqueues only. */
async function startBoss(db: TestDatabase): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: db.url, supervise: false, schedule: false, max: 2 });
  boss.on("error", () => undefined);
  await boss.start();
  onTestFinished(() => boss.stop({ graceful: false, close: true, wait: true }));
  return boss;
}

const inAnHour = new Date(Date.now() + 3_600_000);

/** Two queues with jobs in every state, and cron entries. */
async function fill(boss: PgBoss): Promise<void> {
  await boss.createQueue("mail.send");
  await boss.createQueue("report");
  await boss.send("mail.send", { n: 1 }, { priority: 5, retryLimit: 3 });
  await boss.send("mail.send", { n: 2 }, { startAfter: inAnHour, retryLimit: 0 });
  // One job has failed and is retried, one has failed for good, one is running.
  await boss.send("report", { n: 3 }, { retryLimit: 4, retryDelay: 3600 });
  await end(boss, "report");
  await boss.send("report", { n: 4 }, { retryLimit: 0 });
  await end(boss, "report");
  await boss.send("report", { n: 5 });
  await boss.fetch("report");
}

async function end(boss: PgBoss, queue: string): Promise<void> {
  const [job] = await boss.fetch(queue);
  await boss.fail(queue, job?.id ?? "", { message: "no" });
}

describe("from pg-boss", () => {
  test("moves what waits, with its time, priority and attempts left, and leaves the rest", async ({ db }) => {
    await fill(await startBoss(db));
    const report = await importFrom(db, ["pg-boss"]);
    expect(report.types).toMatchObject([
      { from: "mail.send", type: "mail.send", waiting: 1, delayed: 1, retrying: 0, running: 0, failed: 0 },
      { from: "report", type: "report", waiting: 0, delayed: 0, retrying: 1, running: 1, failed: 1 },
    ]);
    const jobs = await jobsOf(db);
    expect(jobs.toSorted((a, b) => Number(numberOf(a)) - Number(numberOf(b)))).toMatchObject([
      { type: "mail.send", payload: { n: 1 }, priority: 5, max_attempts: 4, status: "queued" },
      { type: "mail.send", payload: { n: 2 }, priority: 0, max_attempts: 1, run_at: inAnHour },
      // One of five executions was made.
      { type: "report", payload: { n: 3 }, max_attempts: 4 },
    ]);
    expect(
      await db.value(
        "select array_agg(state::text order by state) from pgboss.job where name in ('mail.send', 'report')",
      ),
    ).toEqual(["active", "failed"]);
    expect(await work(db, ["mail.send", "report"])).toEqual([{ n: 1 }]);
    expect(await importFrom(db, ["pg-boss"])).toMatchObject({ imported: 0 });
  });

  test("a dry run shows the same and changes nothing", async ({ db }) => {
    await fill(await startBoss(db));
    const { exitCode, stdout } = await importText(db, ["pg-boss", "--dry-run"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^from +type +waiting +delayed +retrying +schedules +existing +refused +running +failed$/m,
    );
    expect(stdout).toMatch(/^mail\.send +mail\.send +1 +1 +0 +0 +0 +0 +0 +0$/m);
    expect(stdout).toMatch(/^report +report +0 +0 +1 +0 +0 +0 +1 +1$/m);
    expect(stdout).toContain("Dry run: 3 jobs and 0 schedules would be imported. Nothing was changed.");
    expect(await jobsOf(db)).toEqual([]);
    expect(await db.value("select count(*)::int from pgboss.job where state in ('created', 'retry')")).toBe(
      3,
    );
  });

  test("--keep copies, and a second import finds the same jobs", async ({ db }) => {
    await fill(await startBoss(db));
    expect(await importFrom(db, ["pg-boss", "--keep"])).toMatchObject({ imported: 3 });
    expect(await db.value("select count(*)::int from pgboss.job where state in ('created', 'retry')")).toBe(
      3,
    );
    expect(await importFrom(db, ["pg-boss"])).toMatchObject({
      imported: 0,
      types: [{ existing: 2 }, { existing: 1 }],
    });
    expect(await jobsOf(db)).toHaveLength(3);
    expect(await db.value("select count(*)::int from pgboss.job where state in ('created', 'retry')")).toBe(
      0,
    );
  });

  test("cron entries become schedules", async ({ db }) => {
    const boss = await startBoss(db);
    await boss.createQueue("digest");
    await boss.schedule("digest", "0 7 * * 1-5", { list: "all" }, { tz: "Europe/Berlin" });
    expect(await importFrom(db, ["pg-boss", "--tenant", T])).toMatchObject({ types: [{ schedules: 1 }] });
    const rows = await db.query(
      "select tenant_id, type, key, cron, timezone, payload, overlap, missed, retry_runs from jobforge_schedules",
    );
    expect(rows).toEqual([
      {
        ...{ tenant_id: T, type: "digest", key: "default", cron: "0 7 * * 1-5", timezone: "Europe/Berlin" },
        ...{ payload: { list: "all" }, overlap: "allow", missed: "skip", retry_runs: true },
      },
    ]);
    expect(await db.value("select count(*)::int from pgboss.schedule")).toBe(0);
  });

  test("types and tenants are mapped, and what does not map stays with its reason", async ({ db }) => {
    const boss = await startBoss(db);
    for (const queue of ["send_mail", "other", "big"]) await boss.createQueue(queue);
    await boss.send("send_mail", { org: { id: "org_123" } });
    await boss.send("send_mail", { org: { id: T } });
    const orphan = await boss.send("send_mail", { org: {} });
    await boss.send("other", { org: { id: 7 } });
    await boss.send("big", { org: { id: 7 }, text: "x".repeat(1_100_000) });
    const args = [
      "pg-boss",
      "--map",
      "send_mail=mail.send",
      "--prefix",
      "old.",
      "--tenant-from",
      "data.org.id",
    ];
    const report = await importFrom(db, args, 1);
    expect(report.refused).toMatchObject([
      { type: "big", reason: "its payload is over 1 MiB", count: 1 },
      {
        type: "send_mail",
        reason: "it has no valid tenant at org.id of its payload",
        count: 1,
        ids: [orphan],
      },
    ]);
    const jobs = await jobsOf(db);
    expect(jobs.map(({ type, tenant_id }) => `${type} ${tenant_id}`).toSorted()).toEqual(
      [`mail.send ${tenantId("org_123")}`, `mail.send ${T}`, `old.other ${tenantId(7)}`].toSorted(),
    );
    expect(await db.value("select count(*)::int from pgboss.job where state = 'created'")).toBe(2);
    // A tenant for the rest.
    await importFrom(db, [...args, "--tenant", T, "--types", "send_mail"]);
    expect(await db.value("select array_agg(name) from pgboss.job where state = 'created'")).toEqual(["big"]);
  });

  test("keys follow the policy of the queue, and no job is merged away", async ({ db }) => {
    const boss = await startBoss(db);
    await boss.createQueue("short", { name: "short", policy: "short" });
    await boss.createQueue("one", { name: "one", policy: "singleton" });
    await boss.createQueue("standard");
    await boss.send("short", { n: 1 }, { singletonKey: "a" });
    for (const n of [2, 3]) await boss.send("one", { n }, { singletonKey: "a" });
    for (const n of [4, 5]) await boss.send("standard", { n }, { singletonKey: "a" });
    // JobForge has a job with this key already.
    await db.query("select jobforge_enqueue_job($1, 'short', '{}', p_dedupe_key => 'a')", [T]);
    const report = await importFrom(db, ["pg-boss", "--tenant", T], 1);
    expect(report.refused).toMatchObject([
      { type: "short", reason: expect.stringMatching(/^its key a is taken by job /) },
    ]);
    expect(report.notes[0]).toContain("2 jobs got a concurrency key");
    const jobs = (await jobsOf(db)).filter(({ idempotency_key }) => idempotency_key !== null);
    expect(jobs.map((job) => [numberOf(job), job["dedupe_key"], job["concurrency_key"]]).toSorted()).toEqual([
      [2, null, "a"],
      [3, null, "a"],
      [4, null, null],
      [5, null, null],
    ]);
    expect(await db.value("select count(*)::int from pgboss.job where state = 'created'")).toBe(1);
  });

  test("a number that no double holds is not changed on the way", async ({ db }) => {
    const boss = await startBoss(db);
    await boss.createQueue("exact");
    await db.query(`insert into pgboss.job (name, data) values ('exact', '{"id": 12345678901234567890}')`);
    await importFrom(db, ["pg-boss"]);
    expect(await db.value("select payload ->> 'id' from jobforge_jobs")).toBe("12345678901234567890");
  });

  test("a job that pg-boss has locked, or starts meanwhile, is not taken", async ({ db }) => {
    const boss = await startBoss(db);
    await boss.createQueue("held");
    for (const n of [1, 2]) await boss.send("held", { n });
    const other = await db.connect();
    await other.query("begin");
    await other.query("select from pgboss.job where data = '{\"n\": 1}' for update");
    expect(await importFrom(db, ["pg-boss"])).toMatchObject({ imported: 1 });
    await other.query("rollback");
    expect(await importFrom(db, ["pg-boss"])).toMatchObject({ imported: 1 });
    expect(await work(db, ["held"])).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test("if JobForge refuses a batch, the source keeps it", async ({ db }) => {
    const boss = await startBoss(db);
    await boss.createQueue("many");
    for (const n of [1, 2, 3]) await boss.send("many", { n });
    await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 2}')", [T]);
    const { exitCode, stderr } = await importText(db, ["pg-boss", "--tenant", T, "--batch", "2", "--yes"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("limit");
    expect(await jobsOf(db)).toHaveLength(2);
    expect(await db.value("select count(*)::int from pgboss.job where state = 'created'")).toBe(1);
  });
});

function numberOf(job: Record<string, unknown>): unknown {
  return (job["payload"] as { readonly n?: number }).n;
}

describe("jobforge import", () => {
  test("says what to do if the source is not there", async ({ db }) => {
    const { exitCode, stderr } = await importText(db, ["pg-boss"]);
    expect(exitCode).toBe(1);
    expect(stderr).toContain("There is no table pgboss.job of pg-boss in this database.");
    expect(stderr).toContain("--from");
  });

  test.for([
    [["pg-bos"], "pg-bos"],
    [["pg-boss", "--tenant-from", "orgId"], "data.orgId"],
    [["pg-boss", "--map", "a"], "send_mail=mail.send"],
    [["pg-boss", "--crontab", "crontab"], "graphile-worker"],
    [["bullmq"], "redis://"],
    [["bullmq", "--from", "http://localhost"], "redis://"],
  ] as const)("refuses %s", async ([args, says], { db }) => {
    const { exitCode, stderr } = await importText(db, args);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(says);
  });

  test("asks before it moves jobs", async ({ db }) => {
    const boss = await startBoss(db);
    await boss.createQueue("asked");
    await boss.send("asked", {});
    const { exitCode, stderr } = await importText(db, ["pg-boss"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("This moves 1 job from pg-boss.");
  });
});
