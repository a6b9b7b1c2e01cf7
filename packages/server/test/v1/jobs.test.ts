/** /v1/jobs. */
import { describe, expect } from "vitest";
import { test } from "../support/client.ts";
import { appToken, T, U } from "../support/server.ts";

describe("jobs", () => {
  test("are enqueued, shown, changed, rescheduled and canceled", async ({ app }) => {
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

  test("have logs, which their tenant sees", async ({ app, db }) => {
    await db.query("select jobforge_set_policy('a', '{\"keep_logs\": \"all\"}')");
    const { body } = await app("/v1/jobs", { body: { type: "a" } });
    await db.query("select id from jobforge_claim_jobs('w')");
    const logs = [{ at: "2026-01-02T03:04:05.678Z", level: "warn", message: "slow", fields: { ms: 7 } }];
    await db.query("select jobforge_settle_jobs('w', $1)", [
      JSON.stringify([{ id: body["id"], attempt: 1, status: "succeeded", logs }]),
    ]);
    const path = `/v1/jobs/${body["id"]}/logs`;
    expect(await app(path)).toMatchObject({
      status: 200,
      body: { items: [{ job_id: body["id"], attempt_no: 1, lines: logs, dropped: 0 }], cursor: null },
    });
    expect(await app(`${path}?cursor=1`)).toMatchObject({ status: 200, body: { items: [] } });
    expect(await app(`${path}?tenant_id=${U}`)).toMatchObject({ status: 403 });
  });

  test("have attempts and a result", async ({ app, db }) => {
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

  test("are listed by filters, in pages", async ({ app }) => {
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

  test("have an explanation why they are not running", async ({ app, operator }) => {
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

  test("take an idempotency key from header or body, and an existing job is returned", async ({ app }) => {
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

  test("of all tenants are shown to operators, who may also name one tenant", async ({ app, operator }) => {
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

  test("may belong to any UUID that Postgres accepts as a tenant", async ({ operator }) => {
    const tenant = "f0000000-0000-0000-0000-00000000000f";
    const created = await operator(`/v1/jobs?tenant_id=${tenant}`, { body: { type: "a" } });
    expect(created).toMatchObject({ status: 201, body: { tenant_id: tenant } });
  });

  test("that do not exist are not found", async ({ app }) => {
    const path = "/v1/jobs/99999999-9999-4999-8999-999999999999";
    for (const each of [path, `${path}/result`])
      expect(await app(each)).toMatchObject({ status: 404, body: { name: "not_found" } });
  });
});

test("a list of summaries has no payloads, more filters, orders and its own cursor", async ({ app }) => {
  const large = { to: "ada", text: "x".repeat(100_000) };
  const jobs = [
    { type: "a", payload: large, priority: 3 },
    { type: "a" },
    { type: "b", delay_ms: 3_600_000 },
  ];
  const enqueued = await app("/v1/bulk/enqueue", { body: { jobs } });
  const ids = (enqueued.body as { items: { id: string }[] }).items.map((item) => item.id);
  const list = async (query: string): Promise<{ items: { id: string }[]; cursor: string | null }> => {
    const { status, body } = await app(`/v1/jobs?${query}`);
    expect([query, status]).toEqual([query, 200]);
    expect(JSON.stringify(body).length).toBeLessThan(10_000);
    return body as { items: { id: string }[]; cursor: string | null };
  };
  const idsOf = async (query: string): Promise<string[]> => (await list(query)).items.map(({ id }) => id);
  const { items, cursor } = await list("fields=summary&limit=2");
  expect(items).toMatchObject([
    { id: ids[2], phase: "scheduled" },
    { id: ids[1], payload_bytes: 2 },
  ]);
  expect(await idsOf(`fields=summary&cursor=${cursor}`)).toEqual([ids[0]]);
  expect(await idsOf("order=oldest&phase=due")).toEqual([ids[0], ids[1]]);
  expect(await idsOf("order=run_at")).toEqual([ids[2]]);
  expect(await idsOf("fields=summary&priority=3")).toEqual([ids[0]]);
  expect(await idsOf(`fields=summary&payload=${encodeURIComponent('{"to":"ada"}')}`)).toEqual([ids[0]]);
  expect(await idsOf(`fields=summary&after=${ids[1]}`)).toEqual([ids[2]]);
  expect(await idsOf(`fields=summary&ids=${ids[0]}&ids=${ids[2]}`)).toEqual([ids[2], ids[0]]);
  for (const query of ["payload={", "order=random", "fields=summary&cursor=x", "phase=due"])
    expect((await app(`/v1/jobs?${query}`)).status).toBe(400);
});

test("a job is copied, and runs again with another payload", async ({ app, db }) => {
  const made = await app("/v1/jobs", {
    body: { type: "a", payload: { to: "ada" }, subject: "s", idempotency_key: "k", max_attempts: 1 },
  });
  const path = `/v1/jobs/${made.body["id"]}`;
  await db.query("select jobforge_complete_job(id, 'w', 'failed') from jobforge_claim_jobs('w', 1)");
  const again = await app(`${path}/reschedule`, { body: { payload: { to: "grace" } } });
  expect(again).toMatchObject({ status: 200, body: { status: "queued" } });
  expect((await app(path)).body).toMatchObject({ payload: { to: "grace" } });
  const copy = await app(`${path}/copy`, { body: { priority: 3 } });
  expect(copy).toMatchObject({
    status: 201,
    body: { type: "a", payload: { to: "grace" }, subject: "s", priority: 3, idempotency_key: null },
  });
  expect(copy.headers.get("location")).toBe(`/v1/jobs/${copy.body["id"]}`);
  expect(await app(`${path}/copy`, { body: { type: "b" } })).toMatchObject({ status: 400 });
  expect(await app(`/v1/jobs/${T}/copy`, { body: {} })).toMatchObject({ status: 404 });
  expect(await app(`${path}/copy?tenant_id=${U}`, { body: {} })).toMatchObject({ status: 403 });
});

test("numbers keep all their digits when a job or a schedule is written", async ({ http }) => {
  const token = await appToken(T);
  const exact = `{"id": 9007199254740993, "rate": 0.12345678901234567890}`;
  const send = async (method: string, path: string, body: string): Promise<Response> => {
    const response = await http.request(path, { method, token, body });
    expect(response.ok).toBe(true);
    return response;
  };
  const created = await send(
    "POST",
    "/v1/jobs",
    `{"run_at": "2999-01-01T00:00:00Z", "payload": ${exact}, "type": "a"}`,
  );
  const text = await created.text();
  expect(text).toContain("9007199254740993");
  const { id } = JSON.parse(text) as { id: string };
  const read = async (path: string): Promise<string> => (await http.request(path, { token })).text();
  expect(await read(`/v1/jobs/${id}`)).toContain("0.12345678901234567890");
  const changed = await send(
    "PATCH",
    `/v1/jobs/${id}`,
    `{"payload": {"id": 9007199254740995}, "priority": 3}`,
  );
  expect(await changed.text()).toContain("9007199254740995");
  const copied = await send("POST", `/v1/jobs/${id}/copy`, `{"payload": {"id": 9007199254740991000000003}}`);
  expect(await copied.text()).toContain("9007199254740991000000003");
  await send("POST", `/v1/jobs/${id}/reschedule`, `{"payload": ${exact}, "run_at": "2999-01-01T00:00:00Z"}`);
  expect(await read(`/v1/jobs/${id}`)).toContain("9007199254740993");
  const many = await send(
    "POST",
    "/v1/bulk/enqueue",
    `{"jobs": [{"type": "b"}, {"type": "b", "payload": ${exact}}]}`,
  );
  const [, second] = (JSON.parse(await many.text()) as { items: { id: string }[] }).items;
  expect(await read(`/v1/jobs/${second?.id}`)).toContain("0.12345678901234567890");
  const step = `{"name": "s", "type": "c", "payload": {"id": 9007199254740997}}`;
  const started = await send("POST", "/v1/workflows", `{"name": "w", "steps": [${step}], "input": ${exact}}`);
  const workflow = JSON.parse(await started.text()) as { id: string; steps: Record<string, string> };
  expect(await read(`/v1/workflows/${workflow.id}`)).toContain("9007199254740993");
  expect(await read("/v1/jobs?type=c")).toContain("9007199254740997");
  await send("PUT", "/v1/schedules/a/k", `{"every": "1h", "payload": ${exact}}`);
  expect(await read("/v1/schedules/a/k")).toContain("9007199254740993");
  await send("PATCH", "/v1/schedules/a/k", `{"payload": {"id": 9007199254740997}}`);
  expect(await read("/v1/schedules/a/k")).toContain("9007199254740997");
});

test("a payload with many digits selects the jobs that have it, and no others", async ({ http }) => {
  const token = await appToken(T);
  const [odd, even] = ["9007199254740993", "9007199254740992"];
  const ids: string[] = [];
  for (const account of [odd, even]) {
    const body = `{"type": "a", "payload": {"account": ${account}}}`;
    const made = await http.request("/v1/jobs", { token, body });
    ids.push(((await made.json()) as { id: string }).id);
  }
  const filter = `{"account": ${odd}}`;
  const query = `fields=summary&payload=${encodeURIComponent(filter)}`;
  const listed = await (await http.request(`/v1/jobs?${query}`, { token })).json();
  expect(listed).toMatchObject({ items: [{ id: ids[0] }] });
  const counted = await http.request("/v1/bulk/count", {
    token,
    body: `{"filters": {"payload": ${filter}}}`,
  });
  expect(await counted.json()).toMatchObject({ items: [{ jobs: 1 }] });
  const canceled = await http.request("/v1/bulk/cancel", {
    token,
    body: `{"filters": {"payload": ${filter}}}`,
  });
  expect(await canceled.json()).toMatchObject({ matched: 1, changed: 1 });
  const left = await (await http.request("/v1/jobs?status=queued", { token })).json();
  expect(left).toMatchObject({ items: [{ id: ids[1] }] });
});
