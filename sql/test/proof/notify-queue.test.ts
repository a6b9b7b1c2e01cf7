/**
 * A full queue of notifications fails no call. Any login can fill the queue, which belongs to the whole cluster, so
 * this test has its own server with a small one. Postgres has had a setting for its size since 17.
 */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbedded } from "@jobforge/embedded";
import { migrate } from "@jobforge/sql";
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  cancel,
  claim,
  codeOf,
  complete,
  enqueue,
  enqueueAll,
  fail,
  T,
  workerHeartbeat,
} from "../support/kernel.ts";
import { listen } from "../support/listen.ts";

const directory: string = join(tmpdir(), `jobforge-notify-${process.pid}-${randomBytes(4).toString("hex")}`);
let server: EmbeddedPostgres;
let db: TestDatabase;

beforeAll(async () => {
  const settings = { fsync: "off", max_notify_queue_pages: "64" };
  server = await startEmbedded({ directory, version: 18, settings });
  db = await cloneDatabase({ url: server.url, template: "template0" });
  await migrate({ database: db.url });
});

afterAll(async () => {
  await db?.drop();
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

test("calls go on while the queue of notifications is full, and notify again once it is not", async () => {
  const [failing, canceled, watched] = await enqueueAll(db, [{}, {}, {}]);
  await claim(db, "w1");
  await workerHeartbeat(db, "w2", { idle: true });
  await db.query("select jobforge_watch_job($1, $2)", [watched, T]);

  const blocker = await db.connect();
  await blocker.query("listen x");
  await blocker.query("begin");
  await blocker.query("select 1");
  const stranger = await db.connect();
  const send = "select count(pg_notify('x', repeat('a', 7900) || random()))";
  let code = "ok";
  while (code === "ok") code = await codeOf(stranger.query(send));
  expect(await db.value("select jobforge_health() -> 'notify_queue'")).toBeGreaterThan(0.9);

  expect(await codeOf(enqueue(db))).toBe("ok");
  expect(await codeOf(db.query('select jobforge_enqueue_jobs($1, \'[{"type": "a"}]\')', [T]))).toBe("ok");
  expect(await codeOf(fail(db, failing)), "a retry wakes a worker").toBe("ok");
  expect(await codeOf(cancel(db, canceled)), "a cancel tells the worker").toBe("ok");
  expect(await codeOf(complete(db, watched)), "the end of a watched job is announced").toBe("ok");
  expect(await codeOf(db.query("select jobforge_set_gate('type', 'a', true)"))).toBe("ok");
  expect(await codeOf(db.query("select jobforge_set_gate('type', 'a', false)")), "it wakes all").toBe("ok");
  expect(await codeOf(db.query("select jobforge_set_limit('type', 'a', 5)")), "it wakes all").toBe("ok");

  await blocker.query("rollback");
  await blocker.close();
  await expect.poll(() => db.value<number>("select pg_notification_queue_usage()")).toBeLessThan(0.5);
  const listener = await listen(db);
  await enqueue(db);
  expect(await listener.heard()).toEqual(["jobforge_wake: a"]);
});
