/** Tests each network fault against a real Postgres. */
import type { Socket } from "node:net";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { test as base } from "../../test/database.ts";
import { FaultProxy } from "../src/proxy/proxy.ts";

const test = base.extend<{ proxy: FaultProxy; client: pg.Client }>({
  proxy: async ({ db }, use) => {
    const proxy = await FaultProxy.before(Number(new URL(db.url).port));
    await use(proxy);
    await proxy.close();
  },
  client: async ({ db, proxy }, use) => {
    const client = await connect(proxy.through(db.url));
    await use(client);
    await client.end().catch(() => undefined);
  },
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => void client.end().catch(() => undefined));
  return client;
}

const select42 = async (client: pg.Client): Promise<unknown> => (await client.query("select 42 as n")).rows;

/** Whether a promise settles within 20 round trips to the server. This does not depend on the speed of the machine. */
async function isSettled(work: Promise<unknown>, other: () => Promise<unknown>): Promise<boolean> {
  let settled = false;
  work.then(
    () => {
      settled = true;
    },
    () => {
      settled = true;
    },
  );
  for (let turn = 0; turn < 20; turn += 1) await other();
  return settled;
}

test("bytes are forwarded, even many of them", async ({ client }) => {
  const { rows } = await client.query("select repeat('x', 5000000) as text");
  expect(rows[0].text).toHaveLength(5_000_000);
});

test("a cut closes every connection immediately, and new ones work", async ({ db, proxy, client }) => {
  const broken = client.query("select pg_sleep(60)").catch((error: Error) => error.message);
  const open = proxy.open;
  expect(proxy.cut()).toBe(open);
  expect(await broken).toMatch(/ECONNRESET|terminated/);
  expect(await select42(await connect(proxy.through(db.url)))).toEqual([{ n: 42 }]);
});

test("a cut also closes a connection whose client has stopped reading", async ({ db, proxy }) => {
  const client = await connect(proxy.through(db.url));
  const sessions = (): Promise<unknown[]> =>
    db.query("select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()");
  const { connection } = client as unknown as { connection: { stream: Socket } };
  connection.stream.pause();
  client.query("select repeat('x', 50000000)").catch(() => undefined);
  while ((await db.query("select from pg_stat_activity where wait_event = 'ClientWrite'")).length === 0);
  expect(proxy.cut()).toBe(1);
  while ((await sessions()).length > 0);
  expect(proxy.open).toBe(0);
});

test("a stall blocks all connections, including new ones, and then continues in order", async ({
  db,
  proxy,
  client,
}) => {
  proxy.set({ stalled: true });
  const waiting = select42(client);
  const coming = connect(proxy.through(db.url));
  expect(await isSettled(Promise.race([waiting, coming]), () => db.query("select 1"))).toBe(false);
  proxy.set({ stalled: false });
  expect(await waiting).toEqual([{ n: 42 }]);
  expect(await select42(await coming)).toEqual([{ n: 42 }]);
});

test("a slow network delivers all bytes, in small pieces", async ({ proxy, client }) => {
  proxy.set({ delayMs: 1, chunkBytes: 100 });
  const { rows } = await client.query("select repeat('x', 5000) as text");
  expect(rows[0].text).toBe("x".repeat(5000));
});

test("while notifications are dropped, all other messages are delivered", async ({ db, proxy, client }) => {
  const heard: string[] = [];
  client.on("notification", ({ payload = "" }) => heard.push(payload));
  await client.query("listen news");
  proxy.set({ dropNotifications: true });
  await db.query("select pg_notify('news', 'lost')");
  while (proxy.dropped < 1) await select42(client);
  proxy.set({ dropNotifications: false });
  await db.query("select pg_notify('news', 'heard')");
  while (heard.length < 1) await select42(client);
  expect(heard).toEqual(["heard"]);
});

test("a forgotten connection never receives anything, its session lives until the server notices, new ones work", async ({
  db,
  proxy,
  client,
}) => {
  const pid = (await client.query("select pg_backend_pid() as pid")).rows[0].pid;
  const isThere = async (): Promise<boolean> =>
    (await db.query("select from pg_stat_activity where pid = $1", [pid])).length > 0;
  expect(proxy.forget(2_000)).toBe(1);
  const never = select42(client);
  never.catch(() => undefined);
  expect(await isThere()).toBe(true);
  const other = await connect(proxy.through(db.url));
  while (await isThere()) await select42(other);
  expect(await isSettled(never, () => select42(other))).toBe(false);
});

test("the last error of a server is delivered before the connection ends", async ({ db, proxy }) => {
  const login = new URL(proxy.through(db.url));
  login.pathname = "/there_is_no_such_database";
  const client = new pg.Client({ connectionString: login.href });
  await expect(client.connect()).rejects.toMatchObject({ code: "3D000" });
});

test("if the server is down, the connection is closed", async () => {
  const proxy = await FaultProxy.before(1);
  onTestFinished(() => proxy.close());
  const client = new pg.Client({ host: "127.0.0.1", port: proxy.port, user: "nobody", database: "none" });
  await expect(client.connect()).rejects.toThrow(/ECONNRESET|terminated/);
});
