/** /healthz and /readyz. */
import { expect } from "vitest";
import { startServer, test } from "./support/server.ts";

test("health needs no token, and shows whether the server can work", async ({ http, db }) => {
  for (const path of ["/healthz", "/readyz"]) {
    const response = await http.request(path);
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
  }
  await using poor = await startServer(db, { database: (await db.createLogin("jobforge_app")).url });
  const unready = await poor.request("/readyz");
  expect([unready.status, await unready.json()]).toMatchObject([
    503,
    { reason: expect.stringContaining("not a member of jobforge_worker") },
  ]);
  await db.query("alter schema jobforge rename to elsewhere");
  expect([(await http.request("/healthz")).status, (await http.request("/readyz")).status]).toEqual([
    200, 503,
  ]);
});
