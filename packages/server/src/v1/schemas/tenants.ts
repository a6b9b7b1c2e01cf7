/** The quotas and the weight of a tenant. */
import { z } from "@hono/zod-openapi";
import { bounds } from "@jobforge/sdk-ts";
import { Id, integerWithin } from "./basic.ts";

const MaxPending = integerWithin(bounds.maxPending);
const MaxSchedules = integerWithin(bounds.maxSchedules);
const Weight = integerWithin(bounds.weight);

export const TenantChanges = z
  .strictObject({
    max_pending: MaxPending.nullish().openapi({
      description: "How many queued and running jobs the tenant may have. Null: no limit",
    }),
    max_schedules: MaxSchedules.nullish().openapi({
      description: "How many schedules the tenant may have. Null: 10,000 for its own callers",
    }),
    weight: Weight.optional().openapi({
      description: "How many turns the tenant gets for each turn of a tenant with weight 1",
    }),
  })
  .openapi("TenantChanges");

export const TenantSettings = z
  .looseObject({
    tenant_id: Id,
    max_pending: MaxPending.nullable(),
    max_schedules: MaxSchedules.nullable(),
    weight: Weight,
  })
  .openapi("TenantSettings");

export const Tenant = TenantSettings.extend({
  pending: z
    .int()
    .nullable()
    .openapi({ description: "Queued and running jobs. Counted only for tenants with a quota" }),
}).openapi("Tenant");

export const TenantIdParameter = z.object({ tenant_id: Id });
