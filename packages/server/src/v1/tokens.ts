/** /v1/tokens: the keys of this API. For operators. */

import { createRoute, z } from "@hono/zod-openapi";
import {
  type Api,
  answers,
  body,
  idParameter,
  json,
  pageOf,
  problems,
  required,
  respond,
  respondPage,
  serve,
} from "./api.ts";
import { CreatedToken, Id, NewToken, Time, Token } from "./schemas.ts";

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
  serve(api, list, async (c) =>
    respondPage(await api.services.as(c, (session) => session.rows("jobforge_list_tokens", {}))),
  );
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
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_create_token", {
        p_name: name,
        p_role: role,
        p_tenant_id: tenant_id,
        p_expires_at: expires_at,
      }),
    );
    return respond(required(text, "key"), 201);
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
    ),
  });
  serve(api, revoke, async (c) => {
    const { id } = c.req.valid("param");
    const text = await api.services.as(c, (session) =>
      session.value("jobforge_revoke_token", { p_token_id: id }),
    );
    return respond(required(text, "key"));
  });
}
