/** How much may run, start and wait. */
import { z } from "@hono/zod-openapi";
import { Count, Id, Interval, Time } from "./basic.ts";

const LimitScope = z.enum(["type", "tenant", "type_tenant", "key"]);

/** Which limit. */
export const limitName = {
  scope: LimitScope.openapi({ description: "What is limited, each by itself" }),
  key: z.string().min(1).max(1024).openapi({
    description:
      "The type, the tenant, `TYPE:TENANT` or the concurrency key; `*` for all that have no limit of their own",
    example: "mail.send",
  }),
};

export const Limit = z
  .looseObject({
    scope: LimitScope,
    key: z.string(),
    max_running: Count.nullable(),
    rate: z.int().min(1).nullable(),
    per: Interval.nullable(),
    burst: z.int().min(1).nullable(),
    set_at: Time,
    set_by: z.string(),
  })
  .openapi("Limit");

const UpTo = z.int().min(1).max(1_000_000);

export const NewLimit = z
  .strictObject({
    ...limitName,
    max_running: z
      .int()
      .min(0)
      .max(2_147_483_647)
      .nullish()
      .openapi({ description: "How many may run at once" }),
    rate: UpTo.nullish().openapi({ description: "How many may start in each `per`" }),
    per: Interval.nullish(),
    burst: UpTo.nullish().openapi({
      description: "How many may start at once after a rest. Default: `rate`",
    }),
  })
  .openapi("NewLimit");

const tenantSettings = {
  max_pending: z.int().min(0).max(1_000_000_000),
  weight: z.int().min(1).max(100),
};

export const TenantChanges = z
  .strictObject({
    max_pending: tenantSettings.max_pending.nullish().openapi({
      description: "How many jobs it may have queued and running; null: any number",
    }),
    weight: tenantSettings.weight.optional().openapi({
      description: "How many turns it gets where others get one",
    }),
  })
  .openapi("TenantChanges");

export const TenantSettings = z
  .looseObject({
    tenant_id: Id,
    max_pending: tenantSettings.max_pending.nullable(),
    weight: tenantSettings.weight,
  })
  .openapi("TenantSettings");

export const Tenant = TenantSettings.extend({
  pending: z
    .int()
    .nullable()
    .openapi({ description: "Queued and running; counted for tenants with a quota" }),
}).openapi("Tenant");
