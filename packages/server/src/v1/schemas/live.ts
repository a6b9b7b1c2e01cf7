/** Counts of the jobs that wait and run now. */
import { z } from "@hono/zod-openapi";
import { Count, Id, Milliseconds, Time } from "./basic.ts";
import { byParameter, tenantParameter } from "./parameters.ts";

export const LiveCount = z
  .looseObject({
    tenant_id: Id.nullable(),
    type: z.string().nullable(),
    queued: Count,
    scheduled: Count,
    running: Count,
    oldest_run_at: Time.nullable(),
    oldest_ms: Milliseconds.nullable(),
    exact: z.boolean().openapi({ description: "False if the counts are estimates" }),
  })
  .openapi("LiveCount");

export const LiveQuery = z.strictObject({ ...tenantParameter, ...byParameter });
