/** Counts of jobs by type and status. */
import { z } from "@hono/zod-openapi";
import { Count, Time } from "./basic.ts";
import { tenantParameter } from "./parameters.ts";

const counts = {
  queued: Count,
  scheduled: Count,
  running: Count,
  oldest_run_at: Time.nullable(),
  succeeded: Count,
  failed: Count,
  dead: Count,
  canceled: Count,
};

export const Stats = z
  .looseObject({
    at: Time,
    since: Time,
    exact: z.boolean().openapi({ description: "False if the counts of live jobs are estimates" }),
    ended_exact: z.boolean().openapi({
      description: "False if too many jobs have finished to count them: dead then includes failed jobs",
    }),
    totals: z.looseObject(counts),
    types: z.array(z.looseObject({ type: z.string(), ...counts })),
  })
  .openapi("Stats");

export const StatsQuery = z.strictObject({
  ...tenantParameter,
  since: Time.optional().openapi({
    description: "Counts jobs that finished after this time. Default: one hour ago",
  }),
});
