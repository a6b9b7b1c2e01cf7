/** Gates, which pause everything, a type or a tenant. */
import { z } from "@hono/zod-openapi";
import { bounds, gateScopes } from "@jobforge/sdk-ts";
import { Count, TenantLabel, Time } from "./basic.ts";

const GateScope = z.enum(gateScopes);

/** A gate that is closed now. */
export const Gate = z
  .looseObject({
    scope: GateScope,
    key: z.string(),
    reason: z.string().nullable(),
    until: Time.nullable(),
    set_at: Time,
    set_by: z.string(),
    tenant_label: TenantLabel,
    waiting: Count.openapi({ description: "Due jobs that this gate holds back" }),
    exact: z.boolean().openapi({ description: "False if `waiting` is an estimate" }),
  })
  .openapi("Gate");

export const GateChange = z
  .strictObject({
    scope: GateScope,
    key: z
      .string()
      .max(bounds.typeLength.max)
      .nullish()
      .openapi({ description: "The type or the tenant's id. Leave it out for `all`" }),
    paused: z.boolean(),
    reason: z.string().max(bounds.reasonBytes.max).nullish(),
    until: Time.nullish().openapi({ description: "When the pause ends without a further request" }),
  })
  .openapi("GateChange");

export const ChangedGate = z.looseObject({
  scope: GateScope,
  key: z.string(),
  paused: z.boolean(),
  reason: z.string().nullable(),
  until: Time.nullable(),
  was_paused: z.boolean().openapi({ description: "Whether the gate was closed before" }),
  known: z
    .boolean()
    .openapi({ description: "False if no job, schedule, policy, worker or setting has this type or tenant" }),
  audit_id: z.int().nullable().openapi({ description: "The entry in the audit log. Null: nothing changed" }),
});
