/** The caller, and the session of a browser. */
import { z } from "@hono/zod-openapi";
import { clientRoles } from "@jobforge/sdk-ts";
import { Id, TenantLabel, Time } from "./basic.ts";

export const NewSession = z
  .strictObject({
    token: z
      .string()
      .regex(/^[!-~]+$/, "must consist of visible ASCII characters")
      .openapi({ description: "A key or a JWT" }),
  })
  .openapi("NewSession");

export const Me = z
  .looseObject({
    role: z.enum(clientRoles),
    tenant_id: Id.nullable().openapi({
      description: "The one tenant of the caller. Null: it acts for all tenants",
    }),
    tenant_label: TenantLabel,
    kind: z.enum(["jwt", "key", "local"]).openapi({
      description: "What the caller presented. `local`: it is the developer of this machine",
    }),
    name: z
      .string()
      .nullable()
      .openapi({ description: "The name of the key; the claim `email`, else `sub`, of the JWT" }),
    expires_at: Time.nullable(),
    may: z.array(z.string()).openapi({
      description: "The kernel's functions that the caller may call, without the prefix `jobforge_`",
      example: ["cancel_jobs", "list_jobs"],
    }),
  })
  .openapi("Me");
