/** Closing a server. */
import { expect } from "vitest";
import { appToken, startServer, T, test } from "./support/server.ts";

test("closing a server lets requests in progress finish, and leaves no connection", async ({ db }) => {
  const http = await startServer(db);
  const token = await appToken(T);
  await using other = await db.connect();
  await other.query("begin");
  await other.query("lock table jobforge.queue in access exclusive mode");
  const slow = http.request("/v1/jobs", { token, body: { type: "a" } });
  await expect.poll(async () => await waiting(db)).toBe(1);
  const closed = http.server.close();
  await other.query("rollback");
  expect((await slow).status).toBe(201);
  await closed;
  // Postgres ends a session shortly after its client has disconnected.
  await expect.poll(async () => await sessions(db)).toBe(0);
  await expect(http.request("/healthz")).rejects.toThrow();
  await http.server.close();
});

async function waiting(db: { value(sql: string): Promise<unknown> }): Promise<unknown> {
  return await db.value(
    "select count(*)::int from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
  );
}

async function sessions(db: { value(sql: string): Promise<unknown> }): Promise<unknown> {
  return await db.value(
    "select count(*)::int from pg_stat_activity where application_name = 'jobforge-server' and datname = current_database()",
  );
}
