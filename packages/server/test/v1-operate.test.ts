/** The REST API for operators: policies, gates, limits, tenants, workers, failures, numbers and keys. */
import { expect } from "vitest";
import { asking, test } from "./support/ask.ts";
import { T, U } from "./support/server.ts";

test("operators set policies, gates, and see workers", async ({ operator, db }) => {
  const path = `/v1/types/${encodeURIComponent("video/encode")}/policy`;
  expect((await operator(path)).body).toMatchObject({ type: "*" });
  const set = await operator(path, { method: "PATCH", body: { preset: "atlas", lease_ms: 60_000 } });
  expect(set.body).toMatchObject({ type: "video/encode", base_ms: 10_000, lease_ms: 60_000 });
  const paused = await operator("/v1/gates", {
    method: "PUT",
    body: { scope: "type", key: "a", paused: true, reason: "r" },
  });
  expect(paused.body).toMatchObject({ scope: "type", key: "a", paused: true });
  expect((await operator("/v1/gates")).body).toMatchObject({
    items: [{ scope: "type", key: "a", reason: "r", waiting: 0, exact: true }],
    cursor: null,
  });
  await db.query(`select jobforge_heartbeat_worker('w1', '{"types": ["a"], "concurrency": 3}')`);
  expect((await operator("/v1/workers")).body).toMatchObject({
    items: [{ id: "w1", status: "alive", concurrency: 3 }],
  });
});

test("operators read the audit log and counts", async ({ operator, app }) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "a" }] } });
  await app("/v1/bulk/cancel", { body: { filters: { type: "a" }, limit: 1 } });
  const page = await operator(`/v1/audit?tenant_id=${T}&limit=1`);
  expect(page.body).toMatchObject({
    items: [{ action: expect.stringContaining("CANCELED"), tenant_id: T }],
  });
  expect((await app("/v1/audit?action=NO_SUCH")).body).toEqual({ items: [], cursor: null });
  expect((await operator("/v1/stats")).body).toMatchObject({ totals: { queued: 1, canceled: 1 } });
  expect((await app("/v1/stats")).body).toMatchObject({ types: [{ type: "a", queued: 1 }] });
});

test("operators make keys, which work until they are revoked", async ({ http, operator, db }) => {
  const made = await operator("/v1/tokens", { body: { name: "CI", role: "jobforge_app", tenant_id: T } });
  expect(made.status).toBe(201);
  const key = asking(http, String(made.body["token"]));
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

test("operators see types with what waits and has ended", async ({ app, operator, db }) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "b" }] } });
  await db.query(
    "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 1, array['b'])",
  );
  expect((await operator("/v1/types")).body).toMatchObject({
    items: [
      { type: "a", due: 1, workers: 0 },
      { type: "b", due: 0, succeeded: 1 },
    ],
    cursor: null,
  });
  expect(await operator("/v1/types?span=8+days")).toMatchObject({ status: 400, body: { field: "span" } });
  expect((await app("/v1/types")).status).toBe(403);
});

test("operators limit what runs and starts", async ({ app, operator, db }) => {
  const put = (body: object) => operator("/v1/limits", { method: "PUT", body });
  expect((await put({ scope: "type", key: "a", max_running: 1 })).body).toMatchObject({
    max_running: 1,
    rate: null,
  });
  expect((await put({ scope: "tenant", key: "*", rate: 10, per: "1 minute" })).body).toMatchObject({
    rate: 10,
    per: "00:01:00",
    burst: 10,
  });
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "a" }] } });
  expect(await db.query("select id from jobforge_claim_jobs('w', 10)")).toHaveLength(1);
  expect((await operator("/v1/limits")).body["items"]).toMatchObject([
    { scope: "tenant", key: "*" },
    { scope: "type", key: "a" },
  ]);
  const remove = () => operator("/v1/limits?scope=type&key=a", { method: "DELETE" });
  expect((await remove()).body).toEqual({ scope: "type", key: "a", removed: true });
  expect((await remove()).body).toMatchObject({ removed: false });
  expect(await put({ scope: "type", key: "a", rate: 10 })).toMatchObject({
    status: 400,
    body: { field: "per" },
  });
  expect((await app("/v1/limits")).status).toBe(403);
});

test("operators set a tenant's quota and weight; the tenant sees them", async ({ app, operator }) => {
  const path = `/v1/tenants/${T}`;
  expect((await app(path)).body).toEqual({ tenant_id: T, max_pending: null, pending: null, weight: 1 });
  const set = await operator(path, { method: "PATCH", body: { max_pending: 1, weight: 3 } });
  expect(set).toMatchObject({ status: 200, body: { max_pending: 1, weight: 3 } });
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

test("failures are grouped by kind; a group is counted, run again and forgotten", async ({
  app,
  operator,
  db,
}) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [1, 2, 3].map(() => ({ type: "mail", max_attempts: 1 })) } });
  await db.query(
    `select jobforge_complete_job(id, 'w', 'failed', jsonb_build_object('message',
       case when n < 3 then 'user ' || n || ' is gone' else 'timeout' end))
     from (select id, row_number() over () as n from jobforge_claim_jobs('w', 3)) c`,
  );
  const groups = await operator("/v1/dead");
  expect(groups.body).toMatchObject({
    items: [{ jobs: 2, type: "mail", tenant_ids: [T] }, { jobs: 1 }],
    cursor: null,
  });
  const [large, small] = groups.body["items"] as { error_group: string }[];
  const filters = { error_group: large?.error_group };
  expect((await app(`/v1/jobs?error_group=${large?.error_group}`)).body["items"]).toHaveLength(2);
  expect((await operator("/v1/bulk/count", { body: { filters, change: "reschedule" } })).body).toEqual({
    items: [{ tenant_id: T, type: "mail", status: "dead", jobs: 2 }],
    cursor: null,
  });
  expect((await app("/v1/bulk/reschedule", { body: { filters } })).body).toEqual({ matched: 2, changed: 2 });
  expect((await app("/v1/dead?limit=1")).body["items"]).toMatchObject([{ message: "timeout" }]);
  const purge = { body: { filters: { error_group: small?.error_group } } };
  expect((await app("/v1/bulk/purge", purge)).status).toBe(403);
  expect((await operator(`/v1/bulk/purge?tenant_id=${T}`, purge)).body).toEqual({ matched: 1, changed: 1 });
  expect((await operator("/v1/dead")).body["items"]).toEqual([]);
});

test("usage is added up per time, type and tenant, for who may see it", async ({ app, operator, db }) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "b" }] } });
  await operator(`/v1/jobs?tenant_id=${U}`, { body: { type: "a" } });
  await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 3)");
  await db.query("select jobforge_maintain()");
  expect((await app("/v1/usage?bucket=total")).body).toMatchObject({
    items: [
      { type: "a", tenant_id: null, runs: 1, succeeded: 1, run_p50_ms: expect.any(Number) },
      { type: "b", runs: 1 },
    ],
    cursor: null,
  });
  const all = await operator("/v1/usage?bucket=day&by=tenant&type=a&timezone=Europe%2FBerlin");
  expect(all.body["items"]).toMatchObject([
    { tenant_id: T, type: null, runs: 1 },
    { tenant_id: U, runs: 1 },
  ]);
  expect((await app(`/v1/usage?tenant_id=${U}`)).status).toBe(403);
  expect(await app("/v1/usage?timezone=Moon")).toMatchObject({ status: 400, body: { field: "timezone" } });
});

test("what is live is counted by type, tenant, both or neither", async ({ app, operator }) => {
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
  expect((await app(`/v1/live?tenant_id=${U}`)).status).toBe(403);
});
