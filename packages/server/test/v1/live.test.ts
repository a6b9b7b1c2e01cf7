/** /v1/live. */
import { expect } from "vitest";
import { test } from "../support/client.ts";
import { T, U } from "../support/server.ts";

test("live jobs are counted by type, by tenant or by both", async ({ app, operator }) => {
  await app("/v1/bulk/enqueue", {
    body: { jobs: [{ type: "a" }, { type: "a", run_at: "2099-01-01T00:00:00Z" }] },
  });
  await operator(`/v1/jobs?tenant_id=${U}`, { body: { type: "b" } });
  expect((await app("/v1/live")).body["items"]).toMatchObject([
    { type: "a", queued: 1, scheduled: 1, exact: true },
  ]);
  expect((await operator("/v1/live?by=tenant&by=type")).body["items"]).toMatchObject([
    { tenant_id: T, type: "a" },
    { tenant_id: U, type: "b", queued: 1 },
  ]);
  expect((await operator("/v1/live?by=none")).body["items"]).toMatchObject([
    { tenant_id: null, type: null, queued: 2, scheduled: 1 },
  ]);
  expect((await operator("/v1/live?by=nothing")).status).toBe(400);
  expect((await app(`/v1/live?tenant_id=${U}`)).status).toBe(403);
});
