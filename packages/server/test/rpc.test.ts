/** Functions as PostgREST offers them. */
import { describe, expect } from "vitest";
import { appToken, sign, T, test, U } from "./support/server.ts";

const rpc = "/rest/v1/rpc";

describe("a function", () => {
  test("is called with named arguments and answers its JSON", async ({ http }) => {
    const token = await appToken(T);
    const body = {
      p_tenant_id: T,
      p_type: "mail.send",
      p_payload: { to: "ada@example.com" },
      p_tags: ["a", "b"],
    };
    const answer = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ type: "mail.send", outcome: "created", tags: ["a", "b"] });
  });

  test("that answers rows answers an array, one that answers nothing nothing", async ({ http }) => {
    const token = await appToken(T);
    await http.request(`${rpc}/jobforge_enqueue_job`, { token, body: { p_tenant_id: T, p_type: "a" } });
    const list = await http.request(`${rpc}/jobforge_list_jobs`, { token, body: { p_tenant_id: T } });
    expect(await list.json()).toMatchObject([{ type: "a", status: "queued" }]);
    const wake = await http.request(`${rpc}/jobforge_wake_workers`, { token, body: { p_wakes: {} } });
    expect([wake.status, await wake.text()]).toEqual([204, ""]);
  });

  test("that changes nothing may be called with GET, one that does may not", async ({ http }) => {
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

  test("takes JSON by GET, too", async ({ http }) => {
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
      const answer = await list(malformed);
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { code: "PGRST102", message: expect.stringContaining("p_filters") },
      ]);
    }
  });

  test("keeps every digit of a number", async ({ http }) => {
    const token = await appToken(T);
    const body = `{"p_tenant_id":"${T}","p_type":"a","p_payload":{"n":12345678901234567890.123}}`;
    const answer = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
    expect(await answer.text()).toContain("12345678901234567890.123");
  });
});

describe("what is refused", () => {
  test("another method", async ({ http }) => {
    const token = await sign({ role: "jobforge_operator" });
    const answer = await http.request(`${rpc}/jobforge_list_gates`, { method: "DELETE", token });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  });

  test("a function that is not JobForge's, although it is there", async ({ db, http }) => {
    await db.query("create function public.jobforge_own() returns int language sql as 'select 1'");
    await db.query("create function public.other() returns int language sql as 'select 1'");
    const token = await sign({ role: "jobforge_operator" });
    for (const name of ["jobforge_own", "other", "pg_sleep", "jobforge_no_such"]) {
      const answer = await http.request(`${rpc}/${name}`, { token, body: {} });
      expect([answer.status, await answer.json()]).toMatchObject([404, { code: "PGRST202" }]);
    }
  });

  test("arguments that it does not have, and a body that holds none", async ({ http }) => {
    const token = await appToken(T);
    const unknown = { p_tenant_id: T, 'p_type text) select 1; --"': 1 };
    const answer = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body: unknown });
    expect([answer.status, await answer.json()]).toMatchObject([404, { code: "PGRST202" }]);
    for (const body of ["[]", "null", "3", "{", '"x"']) {
      const refused = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
      expect([refused.status, await refused.json()]).toMatchObject([400, { code: "PGRST102" }]);
    }
  });

  test("what the kernel refuses, with its code, name and hint", async ({ http }) => {
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

  test("values of the wrong kind are the caller's mistake", async ({ http }) => {
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
      const answer = await http.request(`${rpc}/jobforge_enqueue_job`, { token, body });
      expect([JSON.stringify(wrong), answer.status]).toEqual([JSON.stringify(wrong), 400]);
    }
  });
});
