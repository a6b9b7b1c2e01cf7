/** The quotas and the weight of a tenant. */
import { z } from "@hono/zod-openapi";
import { bounds } from "@jobforge/sdk-ts";
import { Count, Id, integerWithin, Milliseconds, Time } from "./basic.ts";
import { limitParameter } from "./parameters.ts";

const MaxPending = integerWithin(bounds.maxPending);
const MaxTypes = integerWithin(bounds.maxTypes);
const MaxSchedules = integerWithin(bounds.maxSchedules);
const Weight = integerWithin(bounds.weight);
const Label = z.string().min(1).max(bounds.keyBytes.max);

export const TenantChanges = z
  .strictObject({
    label: Label.nullish().openapi({ description: "What people call the tenant. Null: no label" }),
    max_pending: MaxPending.nullish().openapi({
      description: "How many queued and running jobs the tenant may have. Null: no limit",
    }),
    max_types: MaxTypes.nullish().openapi({
      description: "How many different types the tenant may use. Null: 1,000",
    }),
    max_schedules: MaxSchedules.nullish().openapi({
      description: "How many schedules the tenant may have. Null: 10,000",
    }),
    weight: Weight.optional().openapi({
      description: "How many turns the tenant gets for each turn of a tenant with weight 1",
    }),
  })
  .openapi("TenantChanges");

export const TenantSettings = z
  .looseObject({
    tenant_id: Id,
    label: Label.nullable(),
    max_pending: MaxPending.nullable(),
    max_types: MaxTypes,
    max_schedules: MaxSchedules,
    weight: Weight,
  })
  .openapi("TenantSettings");

export const Tenant = TenantSettings.extend({
  pending: z
    .int()
    .nullable()
    .openapi({ description: "Queued and running jobs. Counted only for tenants with a quota" }),
  types: z.int().openapi({ description: "Types in use, counted up to one more than max_types" }),
}).openapi("Tenant");

/** Null: the request did not ask for figures. */
const Figure = Count.nullable();

export const ListedTenant = TenantSettings.extend({
  seen_at: Time.nullable().openapi({ description: "About when the tenant last enqueued a job" }),
  due: Figure,
  scheduled: Figure,
  running: Figure,
  oldest_run_at: Time.nullable().openapi({ description: "Of the due jobs" }),
  exact: z.boolean().nullable().openapi({ description: "False: due and scheduled jobs are estimates" }),
  runs: Figure.openapi({
    description: "Runs that ended in this hour and the one before, as the next figures",
  }),
  dead: Figure,
  wait_p95_ms: Milliseconds.nullable(),
  run_ms: Figure,
  cost_cents: Figure,
}).openapi("ListedTenant");

export const TenantListQuery = z.strictObject({
  ...limitParameter,
  cursor: Id.optional().openapi({ description: "The `cursor` of the previous page" }),
  search: z
    .string()
    .max(bounds.keyBytes.max)
    .optional()
    .openapi({ description: "Part of a label, or an id" }),
  figures: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Whether to count jobs and runs, for pages of at most 100" }),
});

export const TenantIdParameter = z.object({ tenant_id: Id });
