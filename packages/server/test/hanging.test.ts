/**
 * A database that accepts data and sends nothing back, as happens when its machine stops or the network silently
 * drops a connection.
 */

import { clientRoles } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { FaultProxy } from "../../../chaos/src/proxy/proxy.ts";
import { appToken, test as base, type Running, startServer, T } from "./support/server.ts";

const test = base.extend<{ proxy: FaultProxy; hanging: Running }>({
  proxy: async ({ db }, use) => {
    const proxy = await FaultProxy.before(Number(new URL(db.url).port));
    await use(proxy);
    await proxy.close();
  },
  hanging: async ({ db, proxy }, use) => {
    const { url } = await db.createLogin(...clientRoles);
    await using http = await startServer(db, { database: proxy.through(url), timeoutMs: 1500, poolSize: 2 });
    await use(http);
    proxy.set({ stalled: false });
  },
});

test("a request ends at its time limit, and the server works again as soon as the database does", async ({
  db,
  proxy,
  hanging: http,
}) => {
  const { token: key } = await db.value<{ token: string }>(
    "select jobforge_create_token('k', 'jobforge_app', $1)",
    [T],
  );
  const jwt = await appToken(T);
  const enqueue = (token: string): Promise<Response> =>
    http.request("/v1/jobs", { token, body: { type: "a" } });
  for (const token of [jwt, key, jwt]) {
    // The connection worked before it hangs.
    expect((await enqueue(token)).status).toBe(201);
    proxy.set({ stalled: true });
    const response = await enqueue(token);
    expect([response.status, response.headers.get("content-type"), await response.json()]).toMatchObject([
      504,
      "application/problem+json",
      { name: "timeout", code: "57014" },
    ]);
    proxy.set({ stalled: false });
  }
});

test("a request that waits for a connection while all connections hang gets an error, too", async ({
  proxy,
  hanging: http,
}) => {
  const token = await appToken(T);
  expect((await http.request("/v1/jobs", { token })).status).toBe(200);
  proxy.set({ stalled: true });
  const statuses = Array.from({ length: 6 }, async () => (await http.request("/v1/jobs", { token })).status);
  for (const status of await Promise.all(statuses)) expect([503, 504]).toContain(status);
});

test("readiness has its own, shorter time limit", async ({ db, proxy }) => {
  const { url } = await db.createLogin(...clientRoles);
  await using http = await startServer(db, { database: proxy.through(url), timeoutMs: 60_000, poolSize: 1 });
  expect((await http.request("/readyz")).status).toBe(200);
  proxy.set({ stalled: true });
  // The second request waits for the only connection, which the first one holds.
  const requests = ["/readyz", "/readyz"].map((path) => http.request(path));
  for (const response of await Promise.all(requests))
    expect([response.status, await response.json()]).toMatchObject([503, { ok: false }]);
  proxy.set({ stalled: false });
  await expect.poll(async () => (await http.request("/readyz")).status, { timeout: 10_000 }).toBe(200);
});
