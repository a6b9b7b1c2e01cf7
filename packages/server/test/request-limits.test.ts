/** Limits on the size and the duration of requests. */
import { expect } from "vitest";
import { appToken, startServer, T, test } from "./support/server.ts";

test("a request that is too large is refused", async ({ db }) => {
  await using http = await startServer(db, { maxBodyBytes: 1000 });
  const token = await appToken(T);
  const body = { type: "a", payload: "x".repeat(2000) };
  expect((await http.request("/v1/jobs", { token, body })).status).toBe(413);
  const large = await http.request("/rest/v1/rpc/jobforge_enqueue_job", {
    token,
    body: { p_payload: body.payload },
  });
  expect([large.status, await large.json()]).toMatchObject([413, { code: "PGRST413" }]);
});

test("a request that takes too long in the database is ended", async ({ db }) => {
  await using http = await startServer(db, { timeoutMs: 300 });
  await using other = await db.connect();
  await other.query("begin");
  await other.query("lock table jobforge.queue in access exclusive mode");
  const response = await http.request("/v1/jobs", { token: await appToken(T), body: { type: "a" } });
  expect([response.status, await response.json()]).toMatchObject([504, { code: "57014", name: "timeout" }]);
  await other.query("rollback");
  expect((await http.request("/v1/jobs", { token: await appToken(T), body: { type: "a" } })).status).toBe(
    201,
  );
});
