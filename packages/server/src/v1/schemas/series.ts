/** What happened over time, from samples of each minute. */
import { z } from "@hono/zod-openapi";
import { Count, Interval, Milliseconds, Time, Type } from "./basic.ts";
import { several } from "./parameters.ts";

export const SeriesStep = z
  .looseObject({
    start_at: Time,
    type: z.string().nullable().openapi({ description: "Null: all types" }),
    due: Count.nullable().openapi({ description: "The largest sample of the step. Null: none was taken" }),
    scheduled: Count.nullable(),
    running: Count.nullable(),
    exact: z.boolean().nullable(),
    runs: Count.openapi({ description: "Runs that ended" }),
    succeeded: Count,
    failed: Count,
    dead: Count,
    wait_p50_ms: Milliseconds.nullable(),
    wait_p95_ms: Milliseconds.nullable(),
    run_p50_ms: Milliseconds.nullable(),
    run_p95_ms: Milliseconds.nullable(),
  })
  .openapi("SeriesStep");

export const SeriesQuery = z.strictObject({
  from: Time.optional().openapi({ description: "Default: an hour before `to`. At most seven days ago" }),
  to: Time.optional().openapi({ description: "Default: now" }),
  step: Interval.optional().openapi({ description: "From 1 minute, the default, to 1 day", example: "5m" }),
  type: several(Type).openapi({
    description: "A series for each of these types. Default: one for all types",
  }),
});
