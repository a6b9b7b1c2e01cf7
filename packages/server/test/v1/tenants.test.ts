/** /v1/tenants. */
import { expect } from "vitest";
import { test } from "../support/client.ts";
import { T, U } from "../support/server.ts";

test("an operator sets a tenant's quota and weight, and the tenant sees them", async ({ app, operator }) => {
  const path = `/v1/tenants/${T}`;
  expect((await app(path)).body).toEqual({
    tenant_id: T,
    label: null,
    max_pending: null,
    pending: null,
    max_types: 1000,
    types: 0,
    max_schedules: 10_000,
    weight: 1,
  });
  const changes = { max_pending: 1, max_schedules: 5, weight: 3 };
  const set = await operator(path, { method: "PATCH", body: changes });
  expect(set).toMatchObject({ status: 200, body: changes });
  await app("/v1/jobs", { body: { type: "a" } });
  expect((await app(path)).body).toMatchObject({ max_pending: 1, pending: 1 });
  expect(await app("/v1/jobs", { body: { type: "a" } })).toMatchObject({
    status: 429,
    body: { code: "JF007", name: "job_limit_exceeded" },
  });
  expect((await operator(path, { method: "PATCH", body: { max_pending: null } })).body).toMatchObject({
    max_pending: null,
    weight: 3,
  });
  expect((await app(`/v1/tenants/${U}`)).status).toBe(403);
  expect((await app(path, { method: "PATCH", body: { weight: 9 } })).status).toBe(403);
});
