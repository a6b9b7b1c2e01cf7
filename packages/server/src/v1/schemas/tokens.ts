/** The keys of this API. */
import { z } from "@hono/zod-openapi";
import { tokenRoles } from "@jobforge/sdk-ts";
import { Id, Time } from "./basic.ts";

const TokenRole = z.enum(tokenRoles);

export const NewToken = z
  .strictObject({
    name: z.string().min(1).max(200),
    role: TokenRole,
    tenant_id: Id.nullish().openapi({
      description: "Required for jobforge_app, not allowed for other roles",
    }),
    expires_at: Time.nullish(),
  })
  .openapi("NewToken");

const tokenFields = {
  id: Id,
  name: z.string(),
  prefix: z.string(),
  role: TokenRole,
  tenant_id: Id.nullable(),
  created_at: Time,
  expires_at: Time.nullable(),
};

export const CreatedToken = z
  .looseObject({
    ...tokenFields,
    token: z.string().openapi({ description: "The key. No later response shows it again" }),
  })
  .openapi("CreatedToken");

export const Token = z
  .looseObject({
    ...tokenFields,
    created_by: z.string(),
    last_used_at: Time.nullable(),
    revoked_at: Time.nullable(),
  })
  .openapi("Token");

export const RevokedToken = z.looseObject({
  id: Id,
  name: z.string(),
  prefix: z.string(),
  revoked_at: Time,
});
