/** jobforge_watch_job: a client is notified when a job finishes. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  complete,
  enqueue,
  enqueueAll,
  fail,
  find,
  impatient,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { listen } from "../support/listen.ts";
import { claimAll, outcomes, settle, success } from "../support/settle.ts";

async function watch(db: Sql, id: string, tenant = T): Promise<unknown> {
  return await db.value("select jobforge_watch_job($1, $2)", [id, tenant]);
}

const endings: Record<string, (db: Sql, id: string) => Promise<unknown>> = {
  success: (db, id) => complete(db, id),
  "a settled success": (db, id) => settle(db, [success(id)]),
  "its last failure": (db, id) => fail(db, id),
  "a refused retry": (db, id) => fail(db, id, { retry: false }),
  "a canceled run": async (db, id) => {
    await cancel(db, id);
    await complete(db, id);
  },
};

test.for(Object.keys(endings))(
  "a watched job that finishes by %s sends one notification",
  async (name, { db }) => {
    const [watched, other] = await enqueueAll(db, [{ max_attempts: 1 }, { max_attempts: 1 }]);
    await claimAll(db);
    expect(await watch(db, watched)).toEqual({ id: watched, status: "running" });
    await watch(db, watched);
    const listener = await listen(db);
    for (const id of [watched, other]) await endings[name]?.(db, id);
    expect((await listener.heard()).filter((line) => line.startsWith("jobforge_done"))).toEqual([
      `jobforge_done: ${watched}`,
    ]);
  },
);

test("a watched job that is canceled or expires while queued sends a notification, and a retry sends none", async ({
  db,
}) => {
  const [canceled, expired, retried] = await enqueueAll(db, [
    { in: "1 hour" },
    { expires_in: "10 seconds", in: "5 seconds" },
    { priority: 1 },
  ]);
  await claim(db, "w1", { limit: 1 });
  for (const id of [canceled, expired, retried]) await watch(db, id);
  const listener = await listen(db);
  await cancel(db, canceled);
  await fail(db, retried);
  expect(await listener.heard()).toEqual([`jobforge_done: ${canceled}`]);
  await db.travel("20 seconds");
  await db.query("select jobforge_maintain()");
  expect(await listener.heard()).toEqual([`jobforge_done: ${expired}`]);
});

test("a watch returns the status, is refused for another tenant's job, and sends nothing for a finished job", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  expect(await watch(db, id)).toEqual({ id, status: "queued" });
  await expect(watch(db, id, U)).rejects.toMatchObject({ code: "JF002" });
  await claim(db);
  await complete(db, id);
  const listener = await listen(db);
  expect(await watch(db, id)).toEqual({ id, status: "succeeded" });
  expect(await listener.heard()).toEqual([]);
});

test("a transaction left open after watching a job delays the end of neither this job nor others", async ({
  db,
}) => {
  const [watched, other] = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  await watch(db, watched);
  const [app, worker] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await watch(app, watched);
  await watch(app, other);
  expect(outcomes(await settle(worker, [success(watched), success(other)]))).toEqual(["ok", "ok"]);
  await app.query("commit");
  expect(await find(db, watched)).toMatchObject({ status: "succeeded" });
});
