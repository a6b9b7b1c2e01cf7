/** How many jobs wait for what. */
import { z } from "@hono/zod-openapi";
import { Count, Time } from "./basic.ts";

export const Waiting = z
  .looseObject({
    reason: z.enum(["paused", "no_worker", "at_limit", "due", "scheduled"]),
    type: z.string(),
    jobs: Count,
    oldest_run_at: Time.nullable(),
    exact: z.boolean(),
  })
  .openapi("Waiting");
