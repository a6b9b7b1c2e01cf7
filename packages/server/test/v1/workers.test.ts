/** /v1/workers. */
import { expect } from "vitest";
import { clientOf, test } from "../support/client.ts";
import { sign, T } from "../support/server.ts";

test("an operator sees the workers that send heartbeats", async ({ operator, db }) => {
  await db.query(`select jobforge_heartbeat_worker('w1', '{"types": ["a"], "concurrency": 3}')`);
  expect((await operator("/v1/workers")).body).toMatchObject({
    items: [{ id: "w1", status: "alive", concurrency: 3 }],
  });
});

test("an operator sees a worker with the jobs that it holds, and asks it to stop", async ({
  app,
  operator,
  db,
  http,
}) => {
  const { body } = await app("/v1/jobs", { body: { type: "a" } });
  await db.query("select id from jobforge_claim_jobs('host/1', 1)");
  await db.query(`select jobforge_heartbeat_worker('host/1', '{"concurrency": 3}')`);
  const path = `/v1/workers/${encodeURIComponent("host/1")}`;
  expect(await operator(path)).toMatchObject({
    status: 200,
    body: { id: "host/1", running: 1, held: [{ id: body["id"], tenant_id: T, attempt: 1 }] },
  });
  const reader = clientOf(http, await sign({ role: "jobforge_reader" }));
  expect((await reader(path)).body).toMatchObject({ running: 1, held: null });
  expect((await reader(`${path}/stop`, { method: "POST" })).status).toBe(403);
  const person = clientOf(http, await sign({ role: "jobforge_operator", email: "ada@example.com" }));
  const requested_by = "ada@example.com (jobforge_operator)";
  const asked = await person(`${path}/stop`, { method: "POST" });
  expect(asked).toMatchObject({ status: 200, body: { id: "host/1", requested_by } });
  const listed = (await operator("/v1/workers")).body;
  expect(listed).toMatchObject({ items: [{ stop_requested_by: requested_by }] });
  for (const missing of [
    await operator("/v1/workers/nobody"),
    await operator("/v1/workers/nobody/stop", { method: "POST" }),
  ])
    expect(missing).toMatchObject({ status: 404, body: { name: "not_found" } });
});
