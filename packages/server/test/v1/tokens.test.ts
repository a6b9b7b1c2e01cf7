/** /v1/tokens. */
import { expect } from "vitest";
import { clientOf, test } from "../support/client.ts";
import { T, U } from "../support/server.ts";

test("an operator creates keys, which work until they are revoked", async ({ http, operator, db }) => {
  const made = await operator("/v1/tokens", { body: { name: "CI", role: "jobforge_app", tenant_id: T } });
  expect(made.status).toBe(201);
  const key = clientOf(http, String(made.body["token"]));
  expect(await key("/v1/jobs", { body: { type: "a" } })).toMatchObject({
    status: 201,
    body: { tenant_id: T },
  });
  expect((await key("/v1/jobs")).body["items"]).toHaveLength(1);
  expect((await key(`/v1/jobs?tenant_id=${U}`)).status).toBe(403);
  expect((await key("/v1/gates")).status).toBe(403);
  expect((await operator("/v1/tokens")).body).toMatchObject({
    items: [{ name: "CI", last_used_at: expect.any(String) }],
  });
  const worker = await operator("/v1/tokens", { body: { name: "w", role: "jobforge_worker" } });
  const claim = await http.request("/rest/v1/rpc/jobforge_claim_jobs", {
    token: String(worker.body["token"]),
    body: { p_worker_id: "w" },
  });
  expect(await claim.json()).toHaveLength(1);
  expect((await operator(`/v1/tokens/${made.body["id"]}`, { method: "DELETE" })).status).toBe(200);
  expect(await key("/v1/jobs")).toMatchObject({ status: 401, body: { name: "unauthorized" } });
  expect((await operator(`/v1/tokens/${made.body["id"]}`, { method: "DELETE" })).status).toBe(200);
  expect(await operator(`/v1/tokens/${T}`, { method: "DELETE" })).toMatchObject({
    status: 404,
    body: { name: "not_found" },
  });
  expect((await operator("/v1/tokens/x", { method: "DELETE" })).status).toBe(400);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(1);
});
