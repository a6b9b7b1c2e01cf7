/** What ran: how often, how long, with what end and at what cost. */
import { z } from "@hono/zod-openapi";
import { usagePeriods } from "@jobforge/sdk-ts";
import { Count, Id, Milliseconds, TenantLabel, Time, Type } from "./basic.ts";
import { byParameter, several, tenantParameter } from "./parameters.ts";

export const Usage = z
  .looseObject({
    start_at: Time,
    tenant_id: Id.nullable(),
    tenant_label: TenantLabel,
    type: z.string().nullable(),
    runs: Count,
    succeeded: Count,
    failed: Count,
    lost: Count,
    deferred: Count,
    retries: Count,
    dead: Count,
    cost_cents: z.int(),
    wait_ms: Milliseconds,
    run_ms: Milliseconds,
    wait_p50_ms: Milliseconds.nullable(),
    wait_p95_ms: Milliseconds.nullable(),
    wait_p99_ms: Milliseconds.nullable(),
    run_p50_ms: Milliseconds.nullable(),
    run_p95_ms: Milliseconds.nullable(),
    run_p99_ms: Milliseconds.nullable(),
  })
  .openapi("Usage");

export const UsageQuery = z.strictObject({
  ...tenantParameter,
  from: Time.optional().openapi({ description: "Rounded down to the full hour. Default: one day ago" }),
  to: Time.optional().openapi({ description: "Default: now" }),
  bucket: z
    .enum(usagePeriods)
    .optional()
    .openapi({ description: "The time that one row covers. Default: hour" }),
  ...byParameter,
  type: several(Type),
  timezone: z.string().max(100).optional().openapi({
    description: "The time zone in which days, weeks and months begin. Default: UTC",
    example: "Europe/Berlin",
  }),
});
