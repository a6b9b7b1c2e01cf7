/** Every route checks who is calling. A new route that forgets the check fails here. */
import { readFileSync } from "node:fs";
import { clientRoles } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import type { Hono } from "hono";
import { SignJWT } from "jose";
import { pino } from "pino";
import { expect } from "vitest";
import { buildApp } from "../src/app.ts";
import { createLogger } from "../src/log.ts";
import { readOptions } from "../src/options.ts";
import { type Environment, Services } from "../src/services.ts";
import { bodies, type OpenApi, operationsOf, pathFor, queries } from "./support/operations.ts";
import { appToken, secret, sign, startServer, T, test, U } from "./support/server.ts";

/** The routes that need no token, with their status. The tick has a secret of its own. */
const openRoutes: Readonly<Record<string, number>> = {
  "GET /healthz": 200,
  "GET /readyz": 200,
  "GET /v1/openapi.json": 200,
  "ALL /v1/openapi.json": 405,
  "GET /v1/ui": 200,
  "ALL /v1/ui": 405,
  // Brings its token in the body, which is missing here.
  "POST /v1/session": 415,
  "DELETE /v1/session": 204,
  "ALL /v1/session": 405,
  "ALL /api/jobs/tick": 401,
};

/** The routes outside of /rest/v1 and the document, by who may use them. */
const otherRoutes: readonly [string, readonly string[]][] = [["GET /metrics", ["reader", "operator"]]];

const signKey = new TextEncoder().encode(secret);

async function unacceptable(): Promise<Record<string, Record<string, string>>> {
  const claims = { role: "jobforge_operator" };
  const signed = (exp: number, nbf: number): Promise<string> =>
    new SignJWT({ ...claims, exp, nbf }).setProtectedHeader({ alg: "HS256" }).sign(signKey);
  const now = Math.floor(Date.now() / 1000);
  const tokens = {
    "a text that is no token": "nonsense",
    "a malformed JWT": "a.b.c",
    "a JWT with another signature": await sign(claims, "another secret that is long enough too"),
    "a JWT without a signature": `${Buffer.from('{"alg":"none"}').toString("base64url")}.e30.`,
    "an expired JWT": await signed(1, 0),
    "a JWT that is not valid yet": await signed(now + 7200, now + 3600),
    "a JWT that never expires": await new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(signKey),
    "a malformed key": "jf_short",
  };
  const bearers = Object.entries(tokens).flatMap(([name, token]) => [
    [name, { authorization: `Bearer ${token}` }] as const,
    [`${name} as apikey`, { apikey: token }] as const,
  ]);
  return {
    "no token": {},
    "another scheme": { authorization: "Basic YTpi" },
    "an empty token": { authorization: "Bearer" },
    ...Object.fromEntries(bearers),
  };
}

async function openApp(db: TestDatabase): Promise<{ app: Hono<Environment>; services: Services }> {
  const { url: database } = await db.createLogin(...clientRoles);
  const tick = async (): Promise<Response> => new Response("", { status: 401 });
  const addressLimit = { perSecond: 1e6, burst: 1e6 };
  const settings = readOptions({ database, jwtSecret: secret, tick, addressLimit, dashboard: false });
  const services = new Services(settings, new AbortController().signal);
  return { app: buildApp(services, pino({ level: "silent" })), services };
}

test("every route refuses requests without a valid token, unless it is open", async ({ db }) => {
  const { app, services } = await openApp(db);
  const handlers = app.routes.filter(({ path }) => !path.endsWith("*"));
  const routes = [...new Set(handlers.map(({ method, path }) => `${method} ${path}`))];
  expect(routes.length).toBeGreaterThan(80);
  expect(routes).toEqual(expect.arrayContaining(Object.keys(openRoutes)));
  const refused: [string, string, number][] = [];
  for (const [name, headers] of Object.entries(await unacceptable()))
    for (const route of [...routes, "GET /rest", "GET /v1", "GET /v1/nothing", "OPTIONS /v1/jobs"]) {
      const [method = "", path = ""] = route.split(" ");
      // A route for all methods serves those that no other route of its path serves.
      const sent = { method: method === "ALL" ? "LOCK" : method, headers };
      const { status } = await app.request(pathFor(path, { id: T, tenant_id: T }), sent);
      if (status !== (openRoutes[route] ?? 401)) refused.push([route, name, status]);
    }
  expect(refused).toEqual([]);
  await services.close();
});

test("every operation refuses keys that are unknown, revoked or expired", async ({ db, http }) => {
  const document = (await (await http.request("/v1/openapi.json")).json()) as OpenApi;
  const create = async (name: string): Promise<string> =>
    (await db.value<{ token: string }>("select jobforge_create_token($1, 'jobforge_operator')", [name]))
      .token;
  const keys = [`jf_00000000_${"0".repeat(64)}`, await create("revoked"), await create("expired")];
  await db.query("update jobforge.tokens set revoked_at = now() where name = 'revoked'");
  await db.query(
    "update jobforge.tokens set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where name = 'expired'",
  );
  const accepted: unknown[] = [];
  for (const { path, method, takesTenant } of operationsOf(document))
    for (const token of keys) {
      const query = queries[`${method} ${path}`] ?? (takesTenant ? `tenant_id=${T}` : "");
      const url = `${pathFor(path, { id: T, tenant_id: T, type: "a", key: "k" })}?${query}`;
      const body = bodies[`${method} ${path}`];
      const { status } = await http.request(url, { method: method.toUpperCase(), token, body });
      if (status !== 401) accepted.push([method, path, status]);
    }
  expect(accepted).toEqual([]);
});

const reference = readFileSync(new URL("../../../docs/reference/http.md", import.meta.url), "utf8");

test("every operation is open to the roles that the reference names, and to no others", async ({ db }) => {
  const lines: string[] = [];
  const logger = createLogger({ level: "trace", write: (line) => void lines.push(line) });
  await using http = await startServer(db, { addressLimit: { perSecond: 1e6, burst: 1e6 }, logger });
  const document = (await (await http.request("/v1/openapi.json")).json()) as OpenApi;
  const rows = [...reference.matchAll(/^\| `([A-Z]+) (\/v1\/\S+)` +\| ([a-z, ]+?) +\|/gm)];
  const who = new Map(
    rows.map(([, method = "", path = "", names = ""]) => [`${method} ${path}`, names.split(", ")]),
  );
  const tokens = {
    tenant: await appToken(T),
    worker: await sign({ role: "jobforge_worker" }),
    operator: await sign({ role: "jobforge_operator" }),
    reader: await sign({ role: "jobforge_reader" }),
  };
  const { id } = await db.value<{ id: string }>("select jobforge_enqueue_job($1, 'a')", [T]);
  await db.query(`select jobforge_ensure_schedule($1, 'a', 'k', '{"cron": "@yearly"}')`, [T]);
  const operations = [
    ...operationsOf(document).map((each) => ({
      ...each,
      roles: who.get(`${each.method.toUpperCase()} ${each.path}`) ?? [],
    })),
    ...otherRoutes.map(([route, roles]) => ({
      method: "get",
      path: route.slice(4),
      takesTenant: false,
      roles,
    })),
  ];
  const wrong: unknown[] = [];
  for (const { path, method, takesTenant, roles } of operations) {
    const query = queries[`${method} ${path}`] ?? (takesTenant ? `tenant_id=${T}` : "");
    const url = `${pathFor(path, { id, tenant_id: T, type: "a", key: "k" })}?${query}`;
    const body = bodies[`${method} ${path}`];
    for (const [role, token] of Object.entries(tokens)) {
      const response = await http.request(url, { method: method.toUpperCase(), token, body });
      await response.body?.cancel();
      const mayCall = roles.includes(role);
      if (response.status === 401 || response.status >= 500 || (response.status === 403) === mayCall)
        wrong.push([method, path, role, mayCall, response.status]);
    }
    const foreign = await http.request(url, { method: method.toUpperCase(), token: await appToken(U), body });
    await foreign.body?.cancel();
    const namesTenant = takesTenant || path.includes("{tenant_id}");
    if (foreign.status >= 500 || (namesTenant && method !== "get" && foreign.status < 300))
      wrong.push([method, path, "another tenant", foreign.status]);
  }
  expect(wrong).toEqual([]);
  // No line of the log contains a JWT, a key that was created, or a query.
  expect(lines.length).toBeGreaterThan(operations.length);
  expect(lines.filter((line) => /eyJ|jf_|tenant_id=|\?/.test(line))).toEqual([]);
});
