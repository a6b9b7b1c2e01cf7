/** The types of jobs, and how their jobs are doing. */
import { z } from "@hono/zod-openapi";
import { Count, Interval, Time } from "./basic.ts";

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
    workers: Count,
    paused: z.boolean(),
    has_policy: z.boolean(),
    exact: z.boolean().openapi({ description: "False if due, scheduled and running are estimates" }),
  })
  .openapi("TypeInfo");

export const TypeQuery = z.strictObject({
  span: Interval.optional().openapi({
    description: "Counts jobs that finished within this time, at most seven days. Default: one hour",
    example: "1 day",
  }),
});
