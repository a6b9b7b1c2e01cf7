/** Sessions of browsers: a token in a cookie, which works for pages of this server only. */
import { expect } from "vitest";
import { appToken, type Running, sign, startServer, T, test, U } from "../support/server.ts";

/** Signs in as a page of this server does. Returns the cookie as a browser sends it back, and the whole header. */
async function signIn(
  http: Running,
  token: string,
  headers: Readonly<Record<string, string>> = { "sec-fetch-site": "same-origin" },
): Promise<{ status: number; cookie: string; header: string; body: Record<string, unknown> }> {
  const response = await http.request("/v1/session", { body: { token }, headers });
  const header = response.headers.get("set-cookie") ?? "";
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, cookie: header.split(";")[0] ?? "", header, body };
}

const eventStream = "text/event-stream; charset=utf-8";
const ownPage = { "sec-fetch-site": "same-origin" };

test("a session acts with the rights of its token", async ({ http, db }) => {
  await db.query("select jobforge_enqueue_job($1, 'mine'), jobforge_enqueue_job($2, 'theirs')", [T, U]);
  const { status, cookie, body } = await signIn(http, await appToken(T));
  expect([status, body["role"], body["tenant_id"]]).toEqual([200, "jobforge_app", T]);
  const response = await http.request("/v1/jobs", { headers: { cookie, ...ownPage } });
  const { items } = (await response.json()) as { items: { type: string }[] };
  expect(items.map(({ type }) => type)).toEqual(["mine"]);
});

test("scripts and other sites cannot read the cookie, and it has no path", async ({ http, db }) => {
  const { header } = await signIn(http, await appToken(T));
  const [value = "", ...attributes] = header.split("; ");
  expect(value).toMatch(new RegExp(`^jobforge_session_${new URL(http.url).port}=eyJ`));
  // The token is valid for an hour, and so is the cookie.
  expect(attributes).toEqual(["HttpOnly", "SameSite=Strict", expect.stringMatching(/^Max-Age=3[56]\d\d$/)]);
  await using behind = await startServer(db, { trustProxy: 1 });
  const secure = await signIn(behind, await appToken(T), { "x-forwarded-proto": "https" });
  expect(secure.header).toContain("; Secure");
  const { token } = await db.value<{ token: string }>(
    "select jobforge_create_token('Ada', 'jobforge_operator')",
  );
  const page = await signIn(http, token, { origin: "https://jobs.example", ...ownPage });
  expect([page.body["name"], page.body["kind"], page.body["expires_at"]]).toEqual(["Ada", "key", null]);
  expect(page.header.split("; ").slice(1)).toEqual(["HttpOnly", "SameSite=Strict", "Secure"]);
});

test("signing out removes the cookie", async ({ http }) => {
  const { cookie } = await signIn(http, await appToken(T));
  const response = await http.request("/v1/session", { method: "DELETE", headers: { cookie, ...ownPage } });
  expect([response.status, response.headers.get("set-cookie")]).toEqual([
    204,
    `${cookie.split("=")[0]}=; HttpOnly; SameSite=Strict; Max-Age=0`,
  ]);
});

test("a token that no header can hold is an invalid argument", async ({ http }) => {
  for (const token of ["", "ключ", "a b", "a\nb"]) {
    const response = await http.request("/v1/session", { body: { token } });
    expect([token, response.status]).toEqual([token, 400]);
  }
});

test("a token that is not valid begins no session", async ({ http, db }) => {
  const { token } = await db.value<{ token: string }>(
    "select jobforge_create_token('gone', 'jobforge_operator')",
  );
  await db.query("update jobforge.tokens set revoked_at = now()");
  const forged = await sign({ role: "jobforge_operator" }, "another secret that is long enough too");
  for (const refused of ["nonsense", token, forged, `jf_00000000_${"0".repeat(64)}`]) {
    const { status, header } = await signIn(http, refused);
    expect([refused, status, header]).toEqual([refused, 401, ""]);
  }
  const long = await signIn(http, await sign({ role: "jobforge_operator", filler: "x".repeat(4000) }));
  expect([long.status, long.body["field"], long.header]).toEqual([400, "token", ""]);
  const huge = await http.request("/v1/session", { body: { token: "x".repeat(20_000) } });
  expect(huge.status).toBe(413);
  const form = await http.request("/v1/session", {
    body: `token=${await appToken(T)}`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  expect(form.status).toBe(415);
});

test("a session that was revoked or is malformed is refused", async ({ http, db }) => {
  const { token } = await db.value<{ token: string }>(
    "select jobforge_create_token('Ada', 'jobforge_operator')",
  );
  const { cookie } = await signIn(http, token);
  const status = async (sent: string): Promise<number> =>
    (await http.request("/v1/jobs", { headers: { cookie: sent, ...ownPage } })).status;
  expect(await status(`other=1; ${cookie}`)).toBe(200);
  await db.query("update jobforge.tokens set revoked_at = now()");
  expect(await status(cookie)).toBe(401);
  expect(await status(`${cookie.split("=")[0]}=nonsense`)).toBe(401);
  expect(await status(`jobforge_session_1=${await appToken(T)}`)).toBe(401);
});

test("a session works on pages of this server only", async ({ http, db }) => {
  const { cookie } = await signIn(http, await appToken(T));
  const { host } = new URL(http.url);
  const own = { origin: `http://${host}` };
  const json = { "content-type": "application/json" };
  const reads: readonly [Record<string, string>, number][] = [
    [ownPage, 200],
    [own, 200],
    // On plain http, a browser says nothing about a request that only reads.
    [{}, 200],
    [{ "sec-fetch-site": "same-site" }, 403],
    [{ "sec-fetch-site": "cross-site" }, 403],
    [{ "sec-fetch-site": "none" }, 403],
    [{ origin: "http://evil.example" }, 403],
    [{ origin: "null" }, 403],
    [{ "sec-fetch-site": "cross-site", ...own }, 403],
  ];
  for (const [headers, expected] of reads) {
    const { status } = await http.request("/v1/jobs", { headers: { cookie, ...headers } });
    expect([headers, status]).toEqual([headers, expected]);
  }
  const changes: readonly [Record<string, string>, number][] = [
    [{ ...ownPage, ...json }, 201],
    [{ ...own, ...json }, 201],
    [json, 403],
    [{ "sec-fetch-site": "cross-site", ...json }, 403],
    [{ "sec-fetch-site": "none", ...json }, 403],
    [{ origin: `https://${host}.evil.example`, ...json }, 403],
    [{ ...ownPage, "content-type": "text/plain" }, 415],
  ];
  for (const [headers, expected] of changes) {
    const { status } = await http.request("/v1/jobs", {
      body: { type: "a" },
      headers: { cookie, ...headers },
    });
    expect([headers, status]).toEqual([headers, expected]);
  }
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(2);
  // A POST without a body could be sent by a page of another origin as well.
  const id = await db.value("select id from jobforge_jobs limit 1");
  const cancel = (headers: Record<string, string>): Promise<Response> =>
    http.request(`/v1/jobs/${id}/cancel`, { method: "POST", headers: { cookie, ...ownPage, ...headers } });
  expect((await cancel({})).status).toBe(415);
  expect((await cancel(json)).status).toBe(200);
});

test("behind a proxy, the origin may be the one that the client sees", async ({ db }) => {
  const sent = { origin: "https://jobs.example", "x-forwarded-host": "jobs.example" };
  for (const [trustProxy, expected] of [[1, 201] as const, [false, 403] as const]) {
    await using http = await startServer(db, { trustProxy });
    const { cookie } = await signIn(http, await appToken(T));
    const { status } = await http.request("/v1/jobs", { body: { type: "a" }, headers: { cookie, ...sent } });
    expect([trustProxy, status]).toEqual([trustProxy, expected]);
  }
});

test("pages of other origins can neither sign in nor out", async ({ http }) => {
  const { status, header } = await signIn(http, await appToken(T), { "sec-fetch-site": "cross-site" });
  expect([status, header]).toEqual([403, ""]);
  const out = await http.request("/v1/session", {
    method: "DELETE",
    headers: { origin: "https://evil.example" },
  });
  expect([out.status, out.headers.get("set-cookie")]).toEqual([403, null]);
});

test("a token in a header comes before the session", async ({ http }) => {
  const { cookie } = await signIn(http, await appToken(T));
  const headers = { cookie, "sec-fetch-site": "cross-site" };
  const response = await http.request("/v1/me", { token: await appToken(U), headers });
  expect(await response.json()).toMatchObject({ tenant_id: U });
});

test("the live stream works with a session", async ({ http }) => {
  const { cookie } = await signIn(http, await appToken(T));
  const response = await http.request("/v1/stream", { headers: { cookie, ...ownPage } });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, eventStream]);
  await response.body?.cancel();
});

test("a list of jobs says who is calling, if that is asked for", async ({ http, db }) => {
  await db.query("select jobforge_enqueue_job($1, 'mine')", [T]);
  const token = await appToken(T);
  const me = await (await http.request("/v1/me", { token })).json();
  for (const more of ["", "&fields=summary"]) {
    const page = await (await http.request(`/v1/jobs?caller=true${more}`, { token })).json();
    expect(page).toMatchObject({ items: [{ type: "mine" }], caller: me });
    const without = await (await http.request(`/v1/jobs?limit=5${more}`, { token })).json();
    expect(without).not.toHaveProperty("caller");
  }
  const none = await http.request("/v1/jobs?caller=true", { token: await appToken(U) });
  expect(await none.json()).toMatchObject({ items: [], cursor: null, caller: { tenant_id: U } });
  const reader = await http.request("/v1/jobs?caller=true", {
    token: await sign({ role: "jobforge_reader" }),
  });
  expect([reader.status, JSON.stringify(await reader.json())]).toEqual([
    403,
    expect.not.stringContaining('"caller"'),
  ]);
  expect((await http.request("/v1/jobs?caller=true")).status).toBe(401);
});

test("me says who is calling, and what Postgres lets the caller do", async ({ http, db }) => {
  await db.query(`select jobforge_set_tenant($1, '{"label": "Acme"}')`, [T]);
  const me = async (token: string): Promise<{ may: string[]; [key: string]: unknown }> =>
    (await (await http.request("/v1/me", { token })).json()) as { may: string[] };
  const tenant = await me(
    await sign({ role: "jobforge_app", tenant_id: T, sub: "7", email: "ada@acme.example" }),
  );
  expect(tenant).toMatchObject({
    role: "jobforge_app",
    tenant_id: T,
    tenant_label: "Acme",
    kind: "jwt",
    name: "ada@acme.example",
    expires_at: expect.stringMatching(/^\d{4}-/),
  });
  expect(tenant.may).toEqual(expect.arrayContaining(["list_jobs", "cancel_jobs", "list_audit"]));
  expect(tenant.may).not.toContain("set_gate");
  const reader = await me(await sign({ role: "jobforge_reader", sub: "grafana" }));
  expect(reader).toMatchObject({ tenant_id: null, tenant_label: null, name: "grafana" });
  expect(reader.may).toContain("list_gates");
  expect(reader.may).not.toContain("list_jobs");
  const operator = await me(await sign({ role: "jobforge_operator" }));
  expect(operator["name"]).toBeNull();
  expect(operator.may).toEqual(expect.arrayContaining(["set_gate", "purge_jobs", "create_token"]));
});

test("a session sees listed keys masked, stores no mask, and operators reveal them on the record", async ({
  http,
  db,
}) => {
  await db.query("select jobforge_set_policy('pay', '{\"redact\": [\"IBAN\"]}')");
  const program = await appToken(T);
  const payload = { iban: "DE02-secret", deep: [{ Iban: { country: "DE02-secret" } }], cents: 5 };
  const made = await http.request("/v1/jobs", { token: program, body: { type: "pay", payload } });
  const { id } = (await made.json()) as { id: string };
  const path = `/v1/jobs/${id}`;
  const { cookie } = await signIn(http, program);
  const headers = { cookie, ...ownPage };
  const asPerson = async (at: string, more: object = {}): Promise<{ status: number; text: string }> => {
    const response = await http.request(at, { headers, ...more });
    return { status: response.status, text: await response.text() };
  };
  const masked = { iban: "[redacted]", deep: [{ Iban: "[redacted]" }], cents: 5 };
  expect(JSON.parse((await asPerson(path)).text)).toMatchObject({ payload: masked });
  const patched = await asPerson(path, { method: "PATCH", body: { priority: 3 } });
  expect(JSON.parse(patched.text)).toMatchObject({ priority: 3, payload: masked });
  const copied = await asPerson(`${path}/copy`, { body: {} });
  expect(JSON.parse(copied.text)).toMatchObject({ status: "queued", payload: masked });
  for (const more of [
    { method: "PATCH", body: { payload: masked } },
    { method: "POST", body: { payload: masked } },
  ]) {
    const refused = await asPerson(more.method === "PATCH" ? path : `${path}/reschedule`, more);
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([400, { field: "payload" }]);
  }
  // Nor is a mask stored as a new job.
  const enqueued = await asPerson("/v1/jobs", { method: "POST", body: { type: "pay", payload: masked } });
  expect([enqueued.status, JSON.parse(enqueued.text)]).toMatchObject([400, { field: "payload" }]);
  await db.query(
    `select jobforge_complete_job(id, 'w', 'succeeded', p_result => '{"iban": "DE02-secret"}')
     from jobforge_claim_jobs('w', 1)`,
  );
  for (const each of [`${path}/result`, "/v1/jobs", "/v1/jobs?fields=all"]) {
    const { status, text } = await asPerson(each);
    expect([each, status, text]).toEqual([each, 200, expect.not.stringContaining("DE02-secret")]);
  }
  expect((await asPerson(`${path}/reveal`, { method: "POST", body: {} })).status).toBe(403);
  // A program with a token gets the job as it is, also the copy.
  const all = await (await http.request("/v1/jobs", { token: program })).json();
  expect(all).toMatchObject({ items: [{ payload }, { payload }] });
  const operator = await signIn(http, await sign({ role: "jobforge_operator", email: "ada@example.com" }));
  const reveal = { method: "POST", body: {}, headers: { cookie: operator.cookie, ...ownPage } };
  const revealed = await (await http.request(`${path}/reveal?tenant_id=${T}`, reveal)).json();
  expect(revealed).toMatchObject({ payload });
  const audited = await db.query(
    "select actor, entity_id from jobforge_audit_log where action = 'JOB_REVEALED'",
  );
  expect(audited).toEqual([{ actor: "ada@example.com (jobforge_operator)", entity_id: id }]);
});
