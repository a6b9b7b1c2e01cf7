/** The types of jobs, and how their jobs are doing. */
import { z } from "@hono/zod-openapi";
import { Count, Interval, Time } from "./basic.ts";
import { tenantParameter } from "./parameters.ts";

export const TypeInfo = z
  .looseObject({
    type: z.string(),
    due: Count,
    scheduled: Count,
    running: Count,
    oldest_due_at: Time.nullable(),
    succeeded: Count,
    failed: Count,
    dead: Count,
    canceled: Count,
    wait_ms: z.int().nullable(),
    run_ms: z.int().nullable(),
    workers: Count.nullable().openapi({ description: "Null for tenants, as `has_policy`" }),
    paused: z.boolean(),
    has_policy: z.boolean().nullable(),
    exact: z.boolean().openapi({ description: "False if due and scheduled are estimates" }),
    ended_exact: z.boolean().openapi({
      description: "False if too many jobs finished to count them: dead then includes failed jobs",
    }),
  })
  .openapi("TypeInfo");

export const TypeQuery = z.strictObject({
  ...tenantParameter,
  span: Interval.optional().openapi({
    description: "Counts jobs that finished within this time, at most seven days. Default: one hour",
    example: "1 day",
  }),
});
