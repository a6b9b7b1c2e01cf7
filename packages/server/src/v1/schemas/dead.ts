/** Failed and dead jobs, grouped by error. */
import { z } from "@hono/zod-openapi";
import { Count, Id, Status, Time, Type } from "./basic.ts";
import { searchFields } from "./jobs.ts";
import { limitParameter, several, tenantParameter } from "./parameters.ts";

/** Failed and dead jobs of one type whose errors are similar. */
export const DeadGroup = z
  .looseObject({
    error_group: z.string().openapi({ description: "Pass it as a filter to lists and bulk changes" }),
    type: z.string(),
    message: z.string().nullable(),
    jobs: Count,
    tenant_ids: z.array(Id),
    tenant_labels: z.array(z.string().nullable()),
    first_at: Time,
    last_at: Time,
    newest_job_id: Id,
  })
  .openapi("DeadGroup");

export const DeadQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  status: several(Status.extract(["failed", "dead"])),
  type: several(Type),
  tags: several(z.string()),
  ...searchFields,
});
