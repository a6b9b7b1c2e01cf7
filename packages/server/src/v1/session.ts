/** /v1/session: sign in and out of a browser. /v1/me: who is calling. */
import { createRoute } from "@hono/zod-openapi";
import type { ApiSession } from "../calls.ts";
import { RequestError } from "../errors.ts";
import type { Services } from "../services.ts";
import { beginSession, endSession, maxSessionToken, refuseOtherPages } from "../session.ts";
import { type Api, body, problem, respond, responses, serve } from "./api.ts";
import { Me, NewSession } from "./schemas/session.ts";

const tags = ["Session"];

/** The path of the session. It needs no token in a header: a request brings it in its body, or ends the session. */
export const sessionPath = "/v1/session";

export function sessionRoutes(api: Api): void {
  me(api);
  signIn(api);
  signOut(api);
}

function me(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/me",
    operationId: "getMe",
    summary: "Show who is calling and what the caller may do",
    tags,
    responses: responses(Me, "The caller"),
  });
  serve(api, route, async (c) =>
    respond(JSON.stringify(await api.services.as(c, describeCaller(api.services)))),
  );
}

function signIn(api: Api): void {
  const route = createRoute({
    method: "post",
    path: sessionPath,
    operationId: "signIn",
    summary: "Begin the session of a browser with a key or a JWT",
    description: `Sets a cookie with the token that scripts cannot read. It works for requests of pages of this server
only. The session ends with the browser, or when the token expires.`,
    tags,
    security: [],
    request: { body: body(NewSession) },
    responses: responses(Me, "The caller. The header Set-Cookie has the session"),
  });
  serve(api, route, async (c) => {
    const { raw } = c.req;
    const { trustProxy } = api.services.settings;
    refuseOtherPages(raw.headers, trustProxy);
    const { token } = c.req.valid("json");
    if (token.length > maxSessionToken)
      throw new RequestError(400, "JF002", `Invalid argument: token: is longer than a cookie may be`, {
        name: "invalid_argument",
        field: "token",
        hint: "Use a key, or a JWT with fewer claims.",
      });
    await api.services.signIn(c, token);
    const caller = await api.services.as(c, describeCaller(api.services));
    const cookie = beginSession(raw, token, caller.expires_at, trustProxy);
    return respond(JSON.stringify(caller), 200, { "set-cookie": cookie });
  });
}

function signOut(api: Api): void {
  const route = createRoute({
    method: "delete",
    path: sessionPath,
    operationId: "signOut",
    summary: "End the session of a browser",
    tags,
    security: [],
    responses: {
      204: { description: "The session has ended, if there was one" },
      403: problem("A page of another origin sent the request"),
      429: problem("Too many requests of this address"),
    },
  });
  serve(api, route, async (c) => {
    const { headers } = c.req.raw;
    refuseOtherPages(headers, api.services.settings.trustProxy);
    return new Response(null, { status: 204, headers: { "set-cookie": endSession(headers) } });
  });
}

/** The caller as `Me` has it. Its rights are those that Postgres grants to its role. */
export function describeCaller({ settings }: Services): (session: ApiSession) => Promise<MeRow> {
  return async (session) => {
    const { role, tenantId, holder } = session.caller;
    const granted = await session.query<{ name: string }>(
      `select substr(p.proname, 10) as name
       from pg_proc p
       where p.pronamespace = to_regnamespace(quote_ident($1)) and p.proname like 'jobforge\\_%'
         and p.proowner = to_regrole('jobforge_owner') and has_function_privilege(p.oid, 'execute')
       order by 1`,
      [settings.apiSchema],
    );
    const may = granted.map(({ name }) => name);
    const tenant =
      tenantId !== undefined && may.includes("get_tenant")
        ? await session.value("jobforge_get_tenant", { p_tenant_id: tenantId })
        : null;
    const { label = null } = JSON.parse(tenant ?? "{}") as { label?: string | null };
    return {
      role,
      tenant_id: tenantId ?? null,
      tenant_label: label,
      kind: holder.kind,
      name: holder.name,
      expires_at: holder.expiresAt,
      may,
    };
  };
}

interface MeRow {
  readonly role: string;
  readonly tenant_id: string | null;
  readonly tenant_label: string | null;
  readonly kind: string;
  readonly name: string | null;
  readonly expires_at: string | null;
  readonly may: readonly string[];
}
