/** Authentication: which tokens are accepted, and whom they act for. */

import { createHmac } from "node:crypto";
import { request as httpRequest } from "node:http";
import { tenantId } from "@jobforge/sdk-ts";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { describe, expect } from "vitest";
import { serveJson } from "../../../test/serve-json.ts";
import {
  appToken,
  type Claims,
  type RequestOptions,
  secret,
  sign,
  startServer,
  T,
  test,
  U,
} from "./support/server.ts";

const whoami = "/rest/v1/rpc/jobforge_list_jobs";
const args = { p_tenant_id: T };

describe("a token", () => {
  test("is required", async ({ http }) => {
    for (const headers of [{}, { authorization: "Basic YTpi" }, { authorization: "Bearer" }]) {
      const response = await http.request(whoami, { body: args, headers });
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    }
  });

  test("is checked before any other part of a request is read", async ({ http }) => {
    const jobs = Array.from({ length: 40_000 }, () => ({ type: "a", payload: "x".repeat(90) }));
    const requests: [string, RequestOptions][] = [
      ["/v1/jobs", { body: { typ: 1 } }],
      ["/v1/jobs", { body: "{" }],
      ["/v1/jobs", { body: "a", headers: { "content-type": "text/plain" } }],
      ["/v1/jobs?bogus=1", {}],
      ["/v1/no-such-thing", {}],
      ["/v1/bulk/enqueue", { body: { jobs: [...jobs, { typ: 1 }] } }],
      ["/v1/bulk/enqueue", { body: { jobs, more: "x".repeat(8 * 2 ** 20) } }],
      ["/rest/v1/jobforge_jobs?bogus=1", {}],
      ["/rest/v1/rpc/jobforge_no_such", { body: {} }],
      ["/rest/v1/rpc/jobforge_enqueue_job", { body: "{" }],
    ];
    for (const [path, options] of requests)
      for (const token of [undefined, "jf_short", await sign({ role: "jobforge_app" }, "x".repeat(32))])
        expect([path, (await http.request(path, { ...options, token })).status]).toEqual([path, 401]);
    expect((await http.request("/v1/openapi.json")).status).toBe(200);
  });

  test("must be signed with the secret and the algorithm of the server", async ({ http }) => {
    const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
    const claims = { role: "jobforge_operator" };
    const unsigned = `${encoded({ alg: "none" })}.${encoded(claims)}.`;
    const body384 = `${encoded({ alg: "HS384" })}.${encoded(claims)}`;
    const other = `${body384}.${createHmac("sha384", secret).update(body384).digest("base64url")}`;
    const forged = await sign(claims, "another secret that is long enough too");
    for (const token of [unsigned, other, forged, "nonsense", "a.b.c"]) {
      expect((await http.request(whoami, { token, body: args })).status).toBe(401);
    }
  });

  test("that has expired is refused with its own error", async ({ http }) => {
    const token = await new SignJWT({ role: "jobforge_app" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime(1)
      .sign(new TextEncoder().encode(secret));
    const response = await http.request(whoami, { token, body: args });
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { code: "PGRST303", message: "JWT expired" },
    ]);
  });

  test("must expire, unless the server allows tokens that do not", async ({ db, http }) => {
    const signed = (claims: Record<string, unknown>): Promise<string> =>
      new SignJWT({ role: "jobforge_app", tenant_id: T, ...claims })
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode(secret));
    const token = await signed({});
    const response = await http.request(whoami, { token, body: args });
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { code: "PGRST303", message: expect.stringContaining("exp") },
    ]);
    await using lenient = await startServer(db, { allowJwtWithoutExp: true });
    expect((await lenient.request(whoami, { token, body: args })).status).toBe(200);
    for (const exp of ["soon", 1, null, Number.MAX_VALUE.toString()]) {
      const odd = await signed({ exp }).catch(() => undefined);
      if (odd !== undefined)
        expect([exp, (await lenient.request(whoami, { token: odd, body: args })).status]).toEqual([exp, 401]);
    }
  });

  test("may name a client role only", async ({ http }) => {
    for (const role of ["postgres", "jobforge_owner", "jobforge_view", "anon", "service_role", "none", ""]) {
      const token = await sign({ role, tenant_id: T });
      expect([role, (await http.request(whoami, { token, body: args })).status]).toEqual([role, 403]);
    }
  });

  test("of a Supabase user acts for the tenant in app_metadata, never for one in user_metadata", async ({
    http,
  }) => {
    const token = await sign({
      role: "authenticated",
      app_metadata: { tenant_id: T },
      user_metadata: { tenant_id: U },
    });
    expect((await http.request(whoami, { token, body: args })).status).toBe(200);
    const pretended = await sign({ role: "authenticated", user_metadata: { tenant_id: T } });
    expect((await http.request(whoami, { token: pretended, body: args })).status).toBe(403);
  });

  test("of a role that acts for all tenants must not name a tenant", async ({ http }) => {
    for (const role of ["jobforge_worker", "jobforge_operator", "jobforge_reader"]) {
      const token = await sign({ role, tenant_id: T });
      const response = await http.request("/rest/v1/rpc/jobforge_list_gates", { token, body: {} });
      expect([response.status, await response.json()]).toMatchObject([
        403,
        { hint: expect.stringContaining("jobforge_app") },
      ]);
    }
  });

  test("must name a tenant, if it names one, and only where its role may", async ({ http }) => {
    const status = async (claims: Claims): Promise<number> =>
      (await http.request("/rest/v1/jobforge_jobs", { token: await sign(claims) })).status;
    const texts = ["", " ", "undefined", "null", "None", "0", "x".repeat(256), T.slice(1), ` ${T}`, "a\nb"];
    for (const tenant of [0, -1, 1.5, 2 ** 53, false, {}, [T], ...texts])
      for (const role of ["jobforge_operator", "jobforge_app", "authenticated"])
        for (const claims of [{ tenant_id: tenant }, { app_metadata: { tenant_id: tenant } }])
          expect([role, claims, await status({ role, ...(claims as object) })]).toEqual([role, claims, 403]);
    for (const role of ["jobforge_operator", "jobforge_app"])
      expect(await status({ role, ...({ tenant_id: null } as object), app_metadata: null })).toBe(200);
  });

  test("acts for one tenant at every route, however the tenant's id is written", async ({ db, http }) => {
    const spellings: [tenant: string, claims: unknown[]][] = [
      [T, [T, T.toUpperCase(), `{${T}}`, T.replaceAll("-", "")]],
      [tenantId("org_123"), ["org_123", tenantId("org_123")]],
      [tenantId(42), [42, "42"]],
    ];
    for (const [tenant] of spellings) await db.query("select jobforge_enqueue_job($1, $2)", [tenant, tenant]);
    for (const [tenant, claims] of spellings)
      for (const claim of claims)
        for (const named of [{ tenant_id: claim }, { app_metadata: { tenant_id: claim } }]) {
          const token = await sign({ role: "authenticated", ...(named as object) });
          const body = { p_tenant_id: tenant };
          const rows = await http.request("/rest/v1/jobforge_jobs?select=type", { token });
          expect([claim, await rows.json()]).toEqual([claim, [{ type: tenant }]]);
          const call = await http.request("/rest/v1/rpc/jobforge_list_jobs", { token, body });
          expect([claim, call.status]).toEqual([claim, 200]);
          const page = await http.request("/v1/jobs", { token });
          expect([claim, await page.json()]).toMatchObject([claim, { items: [{ type: tenant }] }]);
        }
  });

  test("may be sent in the header apikey, as Supabase clients do", async ({ http }) => {
    const headers = { apikey: await appToken(T) };
    expect((await http.request(whoami, { body: args, headers })).status).toBe(200);
  });

  test("may be signed by a key of a JWKS, but never with a public key as the secret", async ({ db }) => {
    const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: "k1", alg: "ES256", use: "sig" };
    await using keys = await serveJson({ keys: [jwk] });
    await using http = await startServer(db, { jwtSecret: undefined, jwksUrl: keys.url });
    const token = await new SignJWT({ role: "authenticated", tenant_id: T })
      .setProtectedHeader({ alg: "ES256", kid: "k1" })
      .setExpirationTime("1h")
      .sign(privateKey);
    expect((await http.request(whoami, { token, body: args })).status).toBe(200);
    const confused = await sign({ role: "jobforge_operator" }, JSON.stringify(jwk));
    expect((await http.request(whoami, { token: confused, body: args })).status).toBe(401);
  });

  test("leaves no role or claim on the connection for the next request", async ({ db }) => {
    await using http = await startServer(db, { poolSize: 1 });
    const operator = await sign({ role: "jobforge_operator" });
    expect((await http.request("/rest/v1/jobforge_jobs", { token: operator })).status).toBe(200);
    const withoutTenant = await sign({ role: "jobforge_app" });
    expect((await http.request(whoami, { token: withoutTenant, body: args })).status).toBe(403);
    expect(await (await http.request("/rest/v1/jobforge_jobs", { token: withoutTenant })).json()).toEqual([]);
  });
});

describe("with the token of a developer's machine", () => {
  const token = "0123456789abcdefghijABCDEFGHIJ_-";
  const localToken = { role: "jobforge_operator", token } as const;
  const gates = "/rest/v1/rpc/jobforge_list_gates";

  test("a request needs it as bearer token or as cookie", async ({ db }) => {
    await using http = await startServer(db, { localToken });
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await http.request(gates, { headers })).status;
    expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
    const { host } = new URL(http.url);
    const port = host.split(":")[1] ?? "80";
    const cookie = `other=1; jobforge_${port}=${token}`;
    expect(await status({ cookie })).toBe(200);
    for (const headers of [
      {},
      { authorization: `Bearer ${token}x` },
      { cookie: `jobforge_${port}=${token}x` },
      { cookie: `jobforge_1=${token}` },
      { cookie, origin: "https://evil.example" },
      { cookie, origin: "http://127.0.0.1:1" },
    ] as Record<string, string>[])
      expect(await status(headers), JSON.stringify(headers)).toBe(401);
    const outdated = await http.request(gates, { token: `${token}x` });
    expect(await outdated.json()).toMatchObject({
      message: expect.stringContaining("jobforge dev: it makes a new token at each start"),
    });
    const rebound = new Request(`http://evil.example${gates}`, { headers: { host: "evil.example", cookie } });
    expect((await http.server.fetch(rebound)).status).toBe(401);
    await expect(http.server.listen({ host: "0.0.0.0", port: 0 })).rejects.toThrow("this machine only");
  });

  test("the token in the address counts for the page only, and must be long", async ({ db }) => {
    await using http = await startServer(db, { localToken });
    expect((await http.request(`/v1/stats?token=${token}`)).status).toBe(401);
    expect((await http.request(`${gates}?token=${token}`)).status).toBe(401);
    await expect(startServer(db, { localToken: { ...localToken, token: "short" } })).rejects.toThrow("32");
  });
});

describe("without a token", () => {
  test("a development server accepts only requests that come from its own machine", async ({ db }) => {
    await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
    const gates = "/rest/v1/rpc/jobforge_list_gates";
    expect((await http.request(gates, { body: {} })).status).toBe(200);
    expect(
      (await http.request(gates, { body: {}, headers: { origin: "https://evil.example" } })).status,
    ).toBe(401);
    const rebound = new Request("http://evil.example/rest/v1/rpc/jobforge_list_gates", {
      headers: { host: "evil.example" },
    });
    expect((await http.server.fetch(rebound)).status).toBe(401);
    await expect(http.server.listen({ host: "0.0.0.0", port: 0 })).rejects.toThrow("this machine only");
  });

  test("a development server refuses whatever a browser sends for a page of another site", async ({ db }) => {
    await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
    const statuses = async (path: string, site: string): Promise<(number | undefined)[]> => {
      const headers = { "sec-fetch-site": site };
      const found: (number | undefined)[] = [];
      for (const method of ["GET", "POST", "HEAD"])
        found.push(await sendRaw(http.url, method, path, headers));
      return found;
    };
    for (const path of [
      "/v1/me",
      "/v1/jobs",
      "/v1/tokens",
      "/v1/stream",
      "/metrics",
      "/rest/v1/jobforge_jobs",
    ]) {
      for (const site of ["cross-site", "same-site", "Cross-Site", "", "same-origin, cross-site"])
        for (const status of await statuses(path, site))
          expect([path, site, status]).not.toEqual([path, site, 200]);
    }
    for (const site of ["same-origin", "none"])
      expect([site, await sendRaw(http.url, "GET", "/v1/jobs", { "sec-fetch-site": site })]).toEqual([
        site,
        200,
      ]);
    expect(await db.value("select count(*)::int from jobforge.tokens")).toBe(0);
  });

  test("a development server refuses a body that a form could send", async ({ db }) => {
    await using http = await startServer(db, { anonymousRole: "jobforge_operator" });
    const path = "/rest/v1/rpc/jobforge_create_token";
    const body = JSON.stringify({ p_name: "x", p_role: "jobforge_operator" });
    const forms = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""];
    for (const type of [...forms, undefined]) {
      const headers = type === undefined ? {} : { "content-type": type };
      expect([type, await sendRaw(http.url, "POST", path, headers, body)]).toEqual([type, 415]);
    }
    expect(await db.value("select count(*)::int from jobforge.tokens")).toBe(0);
    const json = { "content-type": "application/json; charset=utf-8" };
    expect(await sendRaw(http.url, "POST", path, json, body)).toBe(200);
    const own = { "content-type": "text/plain", origin: http.url, "sec-fetch-site": "same-origin" };
    expect(await sendRaw(http.url, "POST", path, own, body)).toBe(200);
    const { id } = await db.value<{ id: string }>("select jobforge_enqueue_job($1, 'a')", [T]);
    expect(await sendRaw(http.url, "POST", `/v1/jobs/${id}/cancel?tenant_id=${T}`, {})).toBe(200);
  });
});

/** Sends a request with exactly these headers. `fetch` does not allow some of them. */
function sendRaw(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body = "",
): Promise<number | undefined> {
  const length = body === "" ? {} : { "content-length": String(Buffer.byteLength(body)) };
  return new Promise((resolve, reject) => {
    const options = { method, headers: { ...headers, ...length } };
    httpRequest(new URL(path, url), options, (response) => {
      resolve(response.statusCode);
      response.destroy();
    })
      .on("error", reject)
      .end(body);
  });
}
