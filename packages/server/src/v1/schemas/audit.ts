/** The audit log. */
import { z } from "@hono/zod-openapi";
import { Id, Json, TenantLabel, Time } from "./basic.ts";
import { limitParameter, tenantParameter } from "./parameters.ts";

export const AuditEntry = z
  .looseObject({
    id: z.int(),
    at: Time,
    tenant_id: Id,
    tenant_label: TenantLabel,
    actor: z.string(),
    action: z.string(),
    entity_type: z.string(),
    entity_id: z.string(),
    message: z.string().nullable(),
    meta: Json,
  })
  .openapi("AuditEntry");

export const AuditQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  action: z.string().optional(),
  entity_type: z.string().optional(),
  entity_id: z.string().optional(),
  actor: z.string().optional(),
  after: Time.optional(),
  before: Time.optional(),
  cursor: z
    .string()
    .regex(/^[0-9]{1,18}$/)
    .optional()
    .openapi({ description: "The `cursor` of the previous page" }),
});
