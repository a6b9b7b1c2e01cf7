/** Sessions that are open when the server stops. */
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { identityOf, isAlive } from "../src/processes.ts";
import { userForData } from "../src/server-user.ts";
import { stopServer } from "../src/stop.ts";
import { query, start, usedDirectory } from "./support/world.ts";

/** A connection that stores the errors it receives between its statements. */
async function connect(url: string): Promise<{ client: pg.Client; errors: string[] }> {
  const client = new pg.Client({ connectionString: url });
  const errors: string[] = [];
  client.on("error", (error: Error & { code?: string }) => errors.push(error.code ?? error.message));
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  return { client, errors };
}

test("a session that leaves while the server stops gets no error", async () => {
  const directory = await usedDirectory();
  const { pid, port, url } = await start({ directory });
  const { client, errors } = await connect(url);
  const dataDirectory = join(directory, "postgres-18", "data");
  const server = {
    ...identityOf(pid),
    port,
    dataDirectory,
    user: userForData(dataDirectory),
    pgCtl: "pg_ctl",
  };
  const stopped = stopServer(server, 120_000);
  // From now on the server only waits for sessions to leave.
  await expect
    .poll(async () => {
      const refusal: unknown = await query(url, "select 1").catch((error: unknown) => error);
      return refusal instanceof Error && "code" in refusal ? refusal.code : "accepted";
    })
    .toBe("57P03");
  expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await client.end();
  await stopped;
  expect(errors).toEqual([]);
  expect(isAlive(pid)).toBe(false);
});

test("the sessions of a pool that was ended just before get no error", async () => {
  const server = await start({ directory: await usedDirectory() });
  const pool = new pg.Pool({ connectionString: server.url, max: 10 });
  const errors: unknown[] = [];
  pool.on("error", (error) => errors.push(error));
  pool.on("connect", (client) => client.on("error", (error) => errors.push(error)));
  await Promise.all(Array.from({ length: 10 }, () => pool.query("select pg_sleep(0.01)")));
  await pool.end();
  await server.stop();
  expect(errors).toEqual([]);
});

test("a session that stays is ended", async () => {
  const server = await start({ directory: await usedDirectory() });
  const { errors } = await connect(server.url);
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  await expect.poll(() => errors).toContain("57P01");
});
