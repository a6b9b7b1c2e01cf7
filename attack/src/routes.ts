/** All routes of the HTTP server, and requests that name a tenant in every way. */
import type { Random } from "../../sql/test/support/random.ts";
import type { Sent, Target } from "./http.ts";
import type { Holdings } from "./tenants.ts";

export interface Route {
  readonly method: string;
  readonly path: string;
  /** Needs no token, so it refuses none. */
  readonly isPublic: boolean;
}

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly security?: readonly unknown[] }>>>
  >;
}

/** Reads the routes from the server's own document, so that a new route is attacked, too. */
export async function routesOf(target: Target, token: string): Promise<Route[]> {
  const { text } = await target.send({
    path: "/v1/openapi.json",
    headers: { authorization: `Bearer ${token}` },
  });
  const { paths } = JSON.parse(text.slice(0, text.lastIndexOf("}{") + 1)) as OpenApi;
  return (
    Object.entries(paths)
      // A stream has no end, so it is not a request with a response.
      .filter(([path]) => path !== "/v1/stream")
      .flatMap(([path, item]) =>
        Object.entries(item).map(([method, { security }]) => ({
          path,
          method: method.toUpperCase(),
          isPublic: security?.length === 0,
        })),
      )
  );
}

const bodies = (victim: Holdings): readonly unknown[] => [
  { type: "intruder", payload: {} },
  { type: "intruder", tenant_id: victim.tenant },
  { priority: 9 },
  { jobs: [{ type: "intruder", tenant_id: victim.tenant }] },
  { filters: { status: ["queued", "running", "succeeded", "failed"] } },
  { filters: { tenant_id: victim.tenant } },
  { tenant_id: victim.tenant, filters: {} },
  { scope: "tenant", key: victim.tenant, max_running: 0 },
  { scope: "tenant", key: victim.tenant, paused: true },
  { max_pending: 0 },
  { cron: "@daily", payload: { intruder: true } },
  { max_attempts: 1 },
  { name: "intruder", role: "jobforge_operator" },
  { name: "intruder", role: "jobforge_app", tenant_id: victim.tenant },
  {},
];

/** A request to a route that names the victim in its path, query, headers and body. */
export function intrusion(random: Random, { method, path }: Route, victim: Holdings, token: string): Sent {
  const filled = path
    .replace("{id}", random.pick(victim.knownJobs))
    .replace("{tenant_id}", victim.tenant)
    .replace("{type}", encodeURIComponent(victim.knownType))
    .replace("{key}", encodeURIComponent(victim.knownKey));
  const query = random.pick([
    ...["", "", "", ""],
    `?tenant_id=${victim.tenant}`,
    `?tenant_id=${victim.tenant}&tenant_id=11111111-1111-4111-8111-111111111111`,
    `?p_tenant_id=${victim.tenant}`,
    `?tenant=${victim.tenant}`,
    `?subject=${victim.knownKey.replace("key", "subject")}`,
    `?scope=tenant&key=${victim.tenant}`,
  ]);
  const body =
    method === "GET" || method === "DELETE" ? undefined : JSON.stringify(random.pick(bodies(victim)));
  return {
    method,
    path: `${filled}${query}`,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(random.chance(0.3) ? forgedHeaders(random, victim) : {}),
    },
    ...(body === undefined ? {} : { body }),
  };
}

/** Headers with which other systems name a tenant, a role or another method. */
export function forgedHeaders(random: Random, victim: Holdings): Record<string, string> {
  const headers: readonly (readonly [string, string])[] = [
    ["x-tenant-id", victim.tenant],
    ["x-jobforge-tenant", victim.tenant],
    ["x-forwarded-for", "127.0.0.1"],
    ["x-forwarded-user", "operator"],
    ["x-http-method-override", "DELETE"],
    ["x-method-override", "PUT"],
    ["x-original-url", "/v1/tokens"],
    ["x-rewrite-url", "/v1/tokens"],
    ["role", "jobforge_operator"],
    ["accept-profile", "jobforge"],
    ["content-profile", "jobforge"],
    ["prefer", "tx=rollback, count=exact, params=single-object"],
    ["accept", "application/vnd.pgrst.plan+json"],
    ["accept", "text/csv"],
    ["range", "0-0"],
    ["cookie", `tenant_id=${victim.tenant}`],
    ["origin", "https://evil.example"],
  ];
  return Object.fromEntries(random.some(headers, 1 + random.below(3)));
}
