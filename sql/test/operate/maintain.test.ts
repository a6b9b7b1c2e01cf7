/** A maintenance call is bounded and never waits. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { finishedToday, maintain } from "../support/archive.ts";
import {
  claim,
  codeOf,
  complete,
  enqueue,
  impatient,
  type Job,
  nowSql,
  setPolicy,
  T,
  workerHeartbeat,
} from "../support/kernel.ts";

test("a call does at most its limit of each kind of work", async ({ db }) => {
  await finishedToday(db, 12);
  for (let i = 0; i < 12; i += 1) {
    await enqueue(db, { type: `later.${i % 3}`, in: "1 hour" });
    await enqueue(db, { type: "expiring", expires_in: "1 hour" });
    await enqueue(db, { type: "lost" });
  }
  await claim(db, "silent 1", { limit: 6, types: ["lost"] });
  await claim(db, "silent 2", { limit: 6, types: ["lost"] });
  await db.travel("3 days");
  const left = async () => ({
    expiring: await db.value(
      "select count(*)::int from jobforge_jobs where type = 'expiring' and status = 'queued'",
    ),
    lost: await db.value(
      "select count(*)::int from jobforge_jobs where type = 'lost' and status = 'running'",
    ),
  });
  for (const expected of [7, 2, 0]) {
    const { promoted, retired, forgotten } = await maintain(db, 5);
    expect(Math.max(promoted, retired ?? 0, forgotten ?? 0)).toBeLessThanOrEqual(5);
    expect(await left()).toEqual({ expiring: expected, lost: expected });
  }
  for (const limit of [0, -1, 100_001, null]) {
    expect(await codeOf(db.query("select jobforge_maintain($1)", [limit])), `limit ${limit}`).toBe("JF002");
  }
});

test("a task that another session is doing is skipped, and neither that session nor claims and settles wait", async ({
  db,
}) => {
  const late = await enqueue(db, { type: "expiring", expires_in: "1 hour" });
  const { id: running } = await enqueue(db);
  const worker = await impatient(db);
  await claim(worker, "w1", { types: ["a"] });
  const holder = await db.connect();
  await holder.query("begin");
  expect(await maintain(holder)).toHaveProperty("retired");

  await worker.travel("2 hours");
  const skipped = await maintain(worker);
  expect(Object.keys(skipped).sort()).toEqual(["flowing", "promoted"]);
  expect(await codeOf(workerHeartbeat(worker, "w1", { held: [{ id: running, attempt: 1 }] }))).toBe("ok");
  expect(await claim(worker, "w2", { types: ["none"] })).toEqual([]);
  await complete(worker, running);
  await holder.query("commit");

  await maintain(worker);
  const [job] = await db.query<Job>("select * from jobforge_get_job($1, $2)", [late.id, T]);
  expect(job).toMatchObject({ status: "canceled", reason: "expired" });
});

test("rows that other transactions hold are left for the next call", async ({ db }) => {
  const ids: string[] = [];
  for (let i = 0; i < 4; i += 1) ids.push((await enqueue(db, { expires_in: "1 hour" })).id);
  const { id: watched } = await enqueue(db, { type: "watched" });
  await db.query("select jobforge_watch_job($1, $2)", [watched, T]);
  await setPolicy(db, "unkept", { keep_history: false });
  await enqueue(db, { type: "unkept", idempotency_key: "k" });
  for (const { id } of await claim(db, "w1", { types: ["unkept"] })) await complete(db, id);

  const application = await db.connect();
  await application.query("begin");
  await application.query("select jobforge_update_job($1, $2, '{\"priority\": 3}')", [ids[0], T]);
  await application.query("select jobforge_watch_job($1, $2)", [watched, T]);
  await application.query("select from jobforge.job_keys for update");

  const worker = await impatient(db);
  await worker.travel("3 days");
  await maintain(worker);
  expect(await db.query("select id from jobforge_jobs where type = 'a' and status = 'queued'")).toEqual([
    { id: ids[0] },
  ]);
  await application.query("commit");
  await maintain(worker);
  expect(
    await db.value("select count(*)::int from jobforge_jobs where type = 'a' and status = 'queued'"),
  ).toBe(0);
  expect(await db.value("select count(*)::int from jobforge.job_keys")).toBe(0);
  expect(
    await db.value(`select count(*)::int from jobforge.watches where until < ${nowSql} + interval '1 day'`),
  ).toBe(0);
});

test("a watch left open in a transaction delays no settle", async ({ db }) => {
  const { id } = await enqueue(db);
  await db.query("select jobforge_watch_job($1, $2)", [id, T]);
  const application = await db.connect();
  await application.query("begin");
  await application.query("select jobforge_watch_job($1, $2)", [id, T]);
  const worker = await impatient(db);
  await claim(worker);
  expect(await codeOf(complete(worker, id))).toBe("ok");
  await application.query("commit");
});
