/** /v1/tokens: the keys of this API. For operators. */
import { createRoute, z } from "@hono/zod-openapi";
import pg from "pg";
import {
  type Api,
  answers,
  body,
  idParameter,
  json,
  notFound,
  pageOf,
  problem,
  problems,
  required,
  respond,
  serve,
  servePage,
} from "./api.ts";
import { Id, Time } from "./schemas/basic.ts";
import { CreatedToken, NewToken, Token } from "./schemas/tokens.ts";

const tags = ["Tokens"];

export function tokenRoutes(api: Api): void {
  const list = createRoute({
    method: "get",
    path: "/v1/tokens",
    operationId: "listTokens",
    summary: "List the keys there are and were",
    tags,
    responses: answers(pageOf(Token), "All of them, without their secrets"),
  });
  servePage(api, list, "jobforge_list_tokens");
  const create = createRoute({
    method: "post",
    path: "/v1/tokens",
    operationId: "createToken",
    summary: "Make a key",
    tags,
    request: { body: body(NewToken) },
    responses: { 201: json(CreatedToken, "The key, shown this once"), ...problems },
  });
  serve(api, create, async (c) => {
    const { name, role, tenant_id, expires_at } = c.req.valid("json");
    const args = { p_name: name, p_role: role, p_tenant_id: tenant_id, p_expires_at: expires_at };
    const text = await api.services.as(c, (session) => session.value("jobforge_create_token", args));
    return respond(text ?? "{}", 201);
  });
  const revoke = createRoute({
    method: "delete",
    path: "/v1/tokens/{id}",
    operationId: "revokeToken",
    summary: "End a key, at once and for good",
    tags,
    request: { params: idParameter },
    responses: answers(
      z.looseObject({ id: Id, name: z.string(), prefix: z.string(), revoked_at: Time }),
      "The key is no longer valid",
      { 404: problem("There is no such key") },
    ),
  });
  serve(api, revoke, async (c) => {
    const args = { p_token_id: c.req.valid("param").id };
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_revoke_token", args).catch((error) => {
        throw isUnknown(error) ? notFound("key") : error;
      }),
    );
    return respond(required(text, "key"));
  });
}

/** To the kernel an unknown key is a wrong argument; here it is the path that is wrong. */
function isUnknown(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === "JF002";
}
