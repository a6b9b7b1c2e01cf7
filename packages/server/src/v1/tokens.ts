/** /v1/tokens: the keys of this API. For operators. */
import { createRoute } from "@hono/zod-openapi";
import pg from "pg";
import {
  type Api,
  body,
  json,
  notFound,
  problem,
  problems,
  required,
  respond,
  responses,
  serve,
  servePage,
} from "./api.ts";
import { pageOf } from "./schemas/basic.ts";
import { IdParameter } from "./schemas/parameters.ts";
import { CreatedToken, NewToken, RevokedToken, Token } from "./schemas/tokens.ts";

const tags = ["Tokens"];

export function tokenRoutes(api: Api): void {
  list(api);
  create(api);
  revoke(api);
}

function list(api: Api): void {
  const route = createRoute({
    method: "get",
    path: "/v1/tokens",
    operationId: "listTokens",
    summary: "List all keys, also expired and revoked ones",
    tags,
    responses: responses(pageOf(Token), "All keys, without their secrets"),
  });
  servePage(api, route, "jobforge_list_tokens");
}

function create(api: Api): void {
  const route = createRoute({
    method: "post",
    path: "/v1/tokens",
    operationId: "createToken",
    summary: "Create a key",
    tags,
    request: { body: body(NewToken) },
    responses: { 201: json(CreatedToken, "The key. No later response shows it again"), ...problems },
  });
  serve(api, route, async (c) => {
    const { name, role, tenant_id, expires_at } = c.req.valid("json");
    const args = { p_name: name, p_role: role, p_tenant_id: tenant_id, p_expires_at: expires_at };
    const text = await api.services.as(c, (session) => session.value("jobforge_create_token", args));
    return respond(text ?? "{}", 201);
  });
}

function revoke(api: Api): void {
  const route = createRoute({
    method: "delete",
    path: "/v1/tokens/{id}",
    operationId: "revokeToken",
    summary: "Revoke a key, immediately and permanently",
    tags,
    request: { params: IdParameter },
    responses: responses(RevokedToken, "The key is no longer valid", {
      404: problem("There is no such key"),
    }),
  });
  serve(api, route, async (c) => {
    const args = { p_token_id: c.req.valid("param").id };
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_revoke_token", args).catch((error) => {
        throw isUnknownKey(error) ? notFound("key") : error;
      }),
    );
    return respond(required(text, "key"));
  });
}

/**
 * The kernel reports an unknown key as an invalid argument. Over HTTP the id is part of the path, so the status is
 * 404.
 */
function isUnknownKey(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "JF002";
}
