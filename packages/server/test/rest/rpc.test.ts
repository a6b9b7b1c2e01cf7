/** Functions, called as PostgREST offers them. */
import { describe, expect } from "vitest";
import { appToken, sign, T, test, U } from "../support/server.ts";

const rpc = "/rest/v1/rpc";

describe("a function", () => {
  test("is called with named arguments and returns its JSON", async ({ http }) => {
    const token = await appToken(T);
    const body = {
      p_tenant_id: T,
      p_type: "mail.send",
      p_payload: { to: "ada@example.com" },
      p_tags: ["a", "b"],
    };
    const response = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ type: "mail.send", outcome: "created", tags: ["a", "b"] });
  });

  test("that returns rows gives an array, and one that returns void gives an empty response", async ({
    http,
  }) => {
    const token = await appToken(T);
    await http.request(`${rpc}/jobforge_enqueue_job`, { token, body: { p_tenant_id: T, p_type: "a" } });
    const list = await http.request(`${rpc}/jobforge_list_jobs`, { token, body: { p_tenant_id: T } });
    expect(await list.json()).toMatchObject([{ type: "a", status: "queued" }]);
    const wake = await http.request(`${rpc}/jobforge_wake_workers`, { token, body: { p_wakes: {} } });
    expect([wake.status, await wake.text()]).toEqual([204, ""]);
  });

  test("that only reads may be called with GET, and one that writes may not", async ({ http }) => {
    const token = await appToken(T);
    const next = await http.request(
      `${rpc}/jobforge_cron_runs?p_expression=@daily&p_after=2026-01-01T00:00:00Z&p_count=2`,
      { token },
    );
    expect(next.status).toBe(200);
    expect(await next.json()).toHaveLength(2);
    const enqueued = await http.request(`${rpc}/jobforge_enqueue_job?p_tenant_id=${T}&p_type=a`, { token });
    expect([enqueued.status, enqueued.headers.get("allow")]).toEqual([405, "POST"]);
  });

  test("accepts JSON arguments with GET, too", async ({ http }) => {
    const token = await appToken(T);
    for (const type of ["a", "a", "b"])
      await http.request(`${rpc}/jobforge_enqueue_job`, { token, body: { p_tenant_id: T, p_type: type } });
    const list = async (filters: string): Promise<Response> =>
      await http.request(
        `${rpc}/jobforge_list_jobs?p_tenant_id=${T}&p_filters=${encodeURIComponent(filters)}`,
        { token },
      );
    expect(await (await list('{"type": "a"}')).json()).toHaveLength(2);
    expect(await (await list('{"limit": 1}')).json()).toHaveLength(1);
    for (const malformed of ["{", "", '{},"p_tenant_id":null']) {
      const response = await list(malformed);
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { code: "PGRST102", message: expect.stringContaining("p_filters") },
      ]);
    }
  });

  test("keeps every digit of a number", async ({ http }) => {
    const token = await appToken(T);
    const body = `{"p_tenant_id":"${T}","p_type":"a","p_payload":{"n":12345678901234567890.123}}`;
    const response = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
    expect(await response.text()).toContain("12345678901234567890.123");
  });
});

describe("the server refuses", () => {
  test("other methods", async ({ http }) => {
    const token = await sign({ role: "jobforge_operator" });
    const response = await http.request(`${rpc}/jobforge_list_gates`, { method: "DELETE", token });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  });

  test("functions in the schema that do not belong to JobForge", async ({ db, http }) => {
    await db.query("create function public.jobforge_own() returns int language sql as 'select 1'");
    await db.query("create function public.other() returns int language sql as 'select 1'");
    const token = await sign({ role: "jobforge_operator" });
    for (const name of ["jobforge_own", "other", "pg_sleep", "jobforge_no_such"]) {
      const response = await http.request(`${rpc}/${name}`, { token, body: {} });
      expect([response.status, await response.json()]).toMatchObject([404, { code: "PGRST202" }]);
    }
  });

  test("unknown arguments, and a body that is not an object of arguments", async ({ http }) => {
    const token = await appToken(T);
    const unknown = { p_tenant_id: T, 'p_type text) select 1; --"': 1 };
    const response = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body: unknown });
    expect([response.status, await response.json()]).toMatchObject([404, { code: "PGRST202" }]);
    for (const body of ["[]", "null", "3", "{", '"x"']) {
      const refused = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
      expect([refused.status, await refused.json()]).toMatchObject([400, { code: "PGRST102" }]);
    }
  });

  test("calls that the kernel refuses, with the code, name and hint of the kernel", async ({ http }) => {
    const token = await appToken(T);
    const none = await http.request(`${rpc}/jobforge_enqueue_job`, {
      token,
      body: { p_type: "a", p_tenant_id: null },
    });
    expect([none.status, await none.json()]).toEqual([
      400,
      {
        code: "JF001",
        message: "tenant_id is required",
        details: '{"name": "tenant_required", "field": "tenant_id"}',
        hint: expect.stringContaining("Pass the tenant's uuid"),
      },
    ]);
    const foreign = await http.request(`${rpc}/jobforge_enqueue_job`, {
      token,
      body: { p_tenant_id: U, p_type: "a" },
    });
    expect([foreign.status, await foreign.json()]).toMatchObject([403, { code: "42501" }]);
    const claim = await http.request(`${rpc}/jobforge_claim_jobs`, { token, body: { p_worker_id: "w" } });
    expect(claim.status).toBe(403);
  });

  test("values of the wrong type, with status 400", async ({ http }) => {
    const token = await appToken(T);
    for (const wrong of [
      { p_tenant_id: "no uuid" },
      { p_priority: 1e30 },
      { p_priority: "high" },
      { p_run_at: "yesterday-ish" },
      { p_payload: "\u0000" },
      { p_type: "a\u0000b" },
      { p_tags: "not an array" },
      { p_tags: [[["deep"]]] },
    ]) {
      const body = { p_tenant_id: T, p_type: "a", ...wrong };
      const response = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
      expect([JSON.stringify(wrong), response.status]).toEqual([JSON.stringify(wrong), 400]);
    }
  });
});
