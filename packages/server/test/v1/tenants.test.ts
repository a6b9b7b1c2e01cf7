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

test("operators list tenants page by page; tenants do not", async ({ app, operator }) => {
  await operator(`/v1/tenants/${U}`, { method: "PATCH", body: { label: "org_2" } });
  await app("/v1/jobs", { body: { type: "a" } });
  const first = await operator("/v1/tenants?limit=1");
  expect(first.body).toMatchObject({ items: [{ tenant_id: T, label: null, weight: 1 }], cursor: T });
  const second = await operator(`/v1/tenants?limit=1&cursor=${T}`);
  expect(second.body).toMatchObject({ items: [{ tenant_id: U, label: "org_2", seen_at: null }] });
  expect((await operator("/v1/tenants")).body).toMatchObject({ items: { length: 2 }, cursor: null });
  expect((await app("/v1/tenants")).status).toBe(403);
});

test("lists have the labels of tenants", async ({ app, operator }) => {
  await operator(`/v1/tenants/${T}`, { method: "PATCH", body: { label: "org_1" } });
  await app("/v1/jobs", { body: { type: "a" } });
  await app("/v1/schedules/a/k", { method: "PUT", body: { every: "1h" } });
  await operator("/v1/limits", { method: "PUT", body: { scope: "tenant", key: T, max_running: 5 } });
  await operator("/v1/gates", { method: "PUT", body: { scope: "tenant", key: T, paused: true } });
  const labelled = { items: [{ tenant_label: "org_1" }] };
  for (const path of ["/v1/jobs", "/v1/schedules", "/v1/limits", "/v1/gates", "/v1/audit?action=TENANT_SET"])
    expect((await operator(path)).body, path).toMatchObject(labelled);
  // A tenant sees its own label, too.
  for (const path of ["/v1/jobs", "/v1/schedules"])
    expect((await app(path)).body, path).toMatchObject(labelled);
});
