/** Keys of this API. */
import { z } from "@hono/zod-openapi";
import { Id, Time } from "./basic.ts";

const tokenRoles = ["jobforge_app", "jobforge_worker", "jobforge_operator", "jobforge_reader"] as const;

export const NewToken = z
  .strictObject({
    name: z.string().min(1).max(200),
    role: z.enum(tokenRoles),
    tenant_id: Id.nullish().openapi({ description: "Required for jobforge_app, and for no other role" }),
    expires_at: Time.nullish(),
  })
  .openapi("NewToken");

const tokenFields = {
  id: Id,
  name: z.string(),
  prefix: z.string(),
  role: z.enum(tokenRoles),
  tenant_id: Id.nullable(),
  created_at: Time,
  expires_at: Time.nullable(),
};

export const CreatedToken = z
  .looseObject({
    ...tokenFields,
    token: z.string().openapi({ description: "The key. It is shown this once" }),
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
