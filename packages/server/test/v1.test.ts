/** The REST API, resource by resource. */
import { describe, expect } from "vitest";
import { test } from "./support/ask.ts";
import { appToken, T, U } from "./support/server.ts";

describe("jobs", () => {
  test("are enqueued, shown, changed, canceled", async ({ app }) => {
    const created = await app("/v1/jobs", {
      body: {
        type: "mail.send",
        payload: { to: "ada" },
        tags: ["a"],
        subject: "order-1",
        run_at: "2099-01-01T00:00:00Z",
      },
    });
    expect(created).toMatchObject({
      status: 201,
      body: { type: "mail.send", tenant_id: T, outcome: "created" },
    });
    const path = `/v1/jobs/${created.body["id"]}`;
    expect(created.headers.get("location")).toBe(path);
    expect(await app(path)).toMatchObject({
      status: 200,
      body: { payload: { to: "ada" }, status: "queued" },
    });
    const changed = await app(path, { method: "PATCH", body: { priority: 7, payload: { to: "grace" } } });
    expect(changed).toMatchObject({ status: 200, body: { priority: 7, payload: { to: "grace" } } });
    const moved = await app(`${path}/reschedule`, { body: { run_at: "2098-01-01T00:00:00Z" } });
    expect(moved).toMatchObject({
      status: 200,
      body: { status: "queued", run_at: "2098-01-01T00:00:00+00:00" },
    });
    expect(await app(`${path}/cancel`, { method: "POST" })).toMatchObject({
      status: 200,
      body: { status: "canceled" },
    });
    expect(await app(`${path}/cancel`, { method: "POST" })).toMatchObject({
      status: 409,
      body: { name: "not_cancelable", code: "JF005", type: "urn:jobforge:problem:not_cancelable" },
    });
  });

  test("show their attempts and result", async ({ app, db }) => {
    const { body } = await app("/v1/jobs", { body: { type: "a" } });
    await db.query("select id from jobforge_claim_jobs('w')");
    await db.query(
      "select jobforge_complete_job($1, 'w', 'succeeded', p_result => '{\"n\": 12345678901234567890}')",
      [body["id"]],
    );
    const path = `/v1/jobs/${body["id"]}`;
    expect(await app(`${path}/attempts`)).toMatchObject({
      status: 200,
      body: { items: [{ attempt_no: 1, status: "succeeded", worker_id: "w" }], cursor: null },
    });
    expect(await app(`${path}/result`)).toMatchObject({
      status: 200,
      body: { status: "succeeded", reason: "done" },
    });
  });

  test("are found by filters, page after page", async ({ app }) => {
    const jobs = ["a", "a", "b", "a", "c"].map((type, priority) => ({ type, priority, tags: [type, "all"] }));
    await app("/v1/bulk/enqueue", { body: { jobs } });
    const seen: unknown[] = [];
    let cursor: unknown = "";
    let pages = 0;
    while (cursor !== null) {
      const next: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { body } = await app(`/v1/jobs?limit=2${next}`);
      seen.push(...(body["items"] as { priority: number }[]).map(({ priority }) => priority));
      cursor = body["cursor"];
      pages += 1;
    }
    expect([seen, pages]).toEqual([[4, 3, 2, 1, 0], 3]);
    const found = async (query: string): Promise<unknown[]> =>
      ((await app(`/v1/jobs?${query}`)).body["items"] as { priority: number }[]).map(
        ({ priority }) => priority,
      );
    expect(await found("type=a")).toEqual([3, 1, 0]);
    expect(await found("type=b&type=c")).toEqual([4, 2]);
    expect(await found("tags=all&tags=a&status=queued")).toEqual([3, 1, 0]);
    expect(await found("status=dead&status=failed")).toEqual([]);
    expect(await found("created_before=2020-01-01T00:00:00Z")).toEqual([]);
  });

  test("say why they do not run", async ({ app, operator }) => {
    const { body } = await app("/v1/jobs", { body: { type: "a", run_at: "2099-01-01T00:00:00Z" } });
    await operator("/v1/gates", { method: "PUT", body: { scope: "type", key: "a", paused: true } });
    const explained = await app(`/v1/jobs/${body["id"]}/explain`);
    expect(explained).toMatchObject({ status: 200, body: { cursor: null } });
    const codes = (explained.body["items"] as { code: string }[]).map(({ code }) => code);
    expect(codes).toEqual(expect.arrayContaining(["paused", "scheduled"]));
    expect(await app("/v1/jobs/00000000-0000-7000-8000-000000000000/explain")).toMatchObject({
      status: 404,
      body: { name: "not_found" },
    });
  });

  test("have an idempotency key by header or body, and say when they exist", async ({ app }) => {
    const headers = { "idempotency-key": "k-1" };
    const first = await app("/v1/jobs", { body: { type: "a" }, headers });
    const second = await app("/v1/jobs", { body: { type: "a", idempotency_key: "k-1" } });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.body).toMatchObject({ id: first.body["id"], outcome: "existing", idempotency_key: "k-1" });
    const both = await app("/v1/jobs", { body: { type: "a", idempotency_key: "other" }, headers });
    expect(both).toMatchObject({ status: 400, body: { field: "idempotency_key" } });
  });

  test("keep the trace of the request", async ({ app }) => {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const { body } = await app("/v1/jobs", { body: { type: "a" }, headers: { traceparent } });
    expect(body["traceparent"]).toBe(traceparent);
    const bulk = await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }] }, headers: { traceparent } });
    const [{ id } = { id: "" }] = bulk.body["items"] as { id: string }[];
    expect((await app(`/v1/jobs/${id}`)).body["traceparent"]).toBe(traceparent);
    const malformed = await app("/v1/jobs", { body: { type: "a" }, headers: { traceparent: "nonsense" } });
    expect(malformed.body["traceparent"]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
  });

  test("of all tenants are for operators, who may also name one", async ({ app, operator }) => {
    await app("/v1/jobs", { body: { type: "a" } });
    await operator(`/v1/jobs?tenant_id=${U}`, { body: { type: "b" } });
    const all = await operator("/v1/jobs");
    expect((all.body["items"] as object[]).length).toBe(2);
    expect((await operator(`/v1/jobs?tenant_id=${U}`)).body["items"]).toMatchObject([
      { type: "b", tenant_id: U },
    ]);
    expect(await operator("/v1/jobs", { body: { type: "c" } })).toMatchObject({
      status: 400,
      body: { code: "JF001", name: "tenant_required", field: "tenant_id" },
    });
  });

  test("belong to any tenant that Postgres can name", async ({ operator }) => {
    const tenant = "f0000000-0000-0000-0000-00000000000f";
    const created = await operator(`/v1/jobs?tenant_id=${tenant}`, { body: { type: "a" } });
    expect(created).toMatchObject({ status: 201, body: { tenant_id: tenant } });
  });

  test("that are not there are not found", async ({ app }) => {
    const path = "/v1/jobs/99999999-9999-4999-8999-999999999999";
    for (const each of [path, `${path}/result`])
      expect(await app(each)).toMatchObject({ status: 404, body: { name: "not_found" } });
  });
});

test("schedules are ensured, changed, run, disabled and deleted", async ({ app, db }) => {
  const path = `/v1/schedules/fetch/${encodeURIComponent("feed/1")}`;
  const ensured = await app(path, { method: "PUT", body: { every: "1h", payload: { feed: 1 } } });
  expect(ensured).toMatchObject({
    status: 200,
    body: { outcome: "created", key: "feed/1", kind: "every", enabled: true },
  });
  expect((await app(path)).body).toMatchObject({ payload: { feed: 1 } });
  expect((await app(path, { method: "PATCH", body: { priority: 3 } })).body).toMatchObject({ priority: 3 });
  expect((await app(`${path}/run`, { method: "POST" })).body).toMatchObject({ run_requested: true });
  await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w')");
  expect((await app(`${path}/runs`)).body).toMatchObject({ items: [{ type: "fetch", status: "succeeded" }] });
  expect((await app(`${path}/disable`, { method: "POST" })).body).toMatchObject({ enabled: false });
  expect((await app("/v1/schedules?enabled=true")).body).toEqual({ items: [], cursor: null });
  expect((await app("/v1/schedules?enabled=false&type=fetch")).body["items"]).toHaveLength(1);
  expect((await app(`${path}/enable`, { method: "POST" })).body).toMatchObject({ enabled: true });
  expect((await app(path, { method: "DELETE" })).body).toMatchObject({ deleted: true });
  expect(await app(path)).toMatchObject({ status: 404 });
  expect(await app(`${path}/run`, { method: "POST" })).toMatchObject({
    status: 404,
    body: { code: "JF010" },
  });
  expect(await app(path, { method: "PUT", body: { cron: "never" } })).toMatchObject({
    status: 400,
    body: { code: "JF009" },
  });
});

test("bulk changes say how many they meant and changed", async ({ app, db }) => {
  await app("/v1/bulk/enqueue", {
    body: { jobs: [{ type: "a" }, { type: "a" }, { type: "b", max_attempts: 1 }] },
  });
  await db.query(
    "select jobforge_complete_job(id, 'w', 'failed') from jobforge_claim_jobs('w', 1, array['b'])",
  );
  expect((await app("/v1/bulk/cancel", { body: { filters: { type: ["a"] } } })).body).toEqual({
    matched: 2,
    changed: 2,
  });
  expect((await app("/v1/bulk/reschedule", { body: { filters: { status: "dead" } } })).body).toEqual({
    matched: 1,
    changed: 1,
  });
  expect(await app("/v1/bulk/cancel", { body: { filters: {} } })).toMatchObject({
    status: 400,
    body: { code: "JF002" },
  });
});

describe("a request that does not fit the document", () => {
  test.for([
    ["a missing type", "POST", "/v1/jobs", {}],
    ["an unknown key", "POST", "/v1/jobs", { type: "a", statsu: 1 }],
    ["a wrong kind", "POST", "/v1/jobs", { type: "a", priority: "high" }],
    ["no JSON", "POST", "/v1/jobs", "{"],
    ["an unknown filter", "GET", "/v1/jobs?statsu=dead", undefined],
    ["a malformed id", "GET", "/v1/jobs/17", undefined],
    ["a limit out of range", "GET", "/v1/jobs?limit=0", undefined],
    ["a malformed time", "GET", "/v1/stats?since=yesterday", undefined],
    ["a character that Postgres cannot hold", "POST", "/v1/jobs", { type: "a", payload: "\u0000" }],
  ] as const)("%s is refused, with what is to blame", async ([, method, path, body], { app }) => {
    const answer = await app(path, { method, body });
    expect(answer.status).toBe(400);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.body).toMatchObject({ status: 400, detail: expect.any(String), name: "invalid_argument" });
  });

  test("that is not JSON, or has no body, is told so", async ({ http }) => {
    const token = await appToken(T);
    for (const headers of [{}, { "content-type": "text/plain" }]) {
      const answer = await http.request("/v1/jobs", { method: "POST", token, headers });
      expect([answer.status, await answer.json()]).toMatchObject([415, { name: "unsupported_media_type" }]);
    }
  });

  test("of another method or path is told so", async ({ app }) => {
    const method = await app("/v1/stats", { method: "DELETE" });
    expect([method.status, method.headers.get("allow")]).toEqual([405, "GET"]);
    expect((await app("/v1/no/such")).status).toBe(404);
  });
});
