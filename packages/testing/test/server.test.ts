/** Servers for test runs. */
import { cloneDatabase, startTestServer } from "@jobforge/testing";
import pg from "pg";
import { expect, inject, test } from "vitest";

test("one server serves several test runs of one process, each with its own template", async () => {
  const { url } = inject("server");
  await using one = await startTestServer({ url });
  await using other = await startTestServer({ url });
  expect(one.template).not.toBe(other.template);
  await using db = await cloneDatabase(other);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(0);
});

test("the template has what prepare creates, once for all clones", async () => {
  const { url } = inject("server");
  let calls = 0;
  await using server = await startTestServer({
    url,
    prepare: async (client, templateUrl) => {
      calls += 1;
      await client.query("create table orders (id int primary key)");
      const pool = new pg.Pool({ connectionString: templateUrl });
      await pool.query("insert into orders values (42)");
      await pool.end();
    },
  });
  await using one = await cloneDatabase(server);
  await using other = await cloneDatabase(server);
  await one.query("insert into orders values (43)");
  expect(await one.value("select array_agg(id order by id) from orders")).toEqual([42, 43]);
  expect(await other.value("select array_agg(id) from orders")).toEqual([42]);
  expect(await other.value("select count(*)::int from jobforge_jobs")).toBe(0);
  expect(calls).toBe(1);
});

test("an error in prepare rejects the start, and leaves no template behind", async () => {
  const { url } = inject("server");
  let template = "";
  const started = startTestServer({
    url,
    prepare: (_, templateUrl) => {
      template = new URL(templateUrl).pathname.slice(1);
      throw new Error("no such file: schema.sql");
    },
  });
  await expect(started).rejects.toThrow("no such file: schema.sql");
  expect(await databases(url)).not.toContain(template);
});

test("a connection that prepare leaves open is an error that says so", async () => {
  const { url } = inject("server");
  const clients: pg.Client[] = [];
  const started = startTestServer({
    url,
    prepare: async (_, templateUrl) => {
      const left = new pg.Client({ connectionString: templateUrl });
      left.on("error", () => undefined);
      clients.push(left);
      await left.connect();
    },
  });
  await expect(started).rejects.toThrow("prepare() left 1 connection to the template open");
  for (const client of clients) await client.end().catch(() => undefined);
});

async function databases(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ datname: string }>("select datname from pg_database");
  await client.end();
  return rows.map(({ datname }) => datname);
}
