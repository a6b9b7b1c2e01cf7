/** Workers, as their heartbeats describe them. */
import { z } from "@hono/zod-openapi";
import { workerStatuses } from "@jobforge/sdk-ts";
import { Count, Id, Time } from "./basic.ts";

export const Worker = z
  .looseObject({
    id: z.string(),
    status: z.enum(workerStatuses),
    instance: z.string().nullable(),
    tenant_id: Id.nullable(),
    started_at: Time,
    seen_at: Time,
    types: z.array(z.string()).nullable(),
    concurrency: z.int().nullable(),
    running: Count,
    host: z.string().nullable(),
    pid: z.int().nullable(),
    version: z.string().nullable(),
    tenant_label: z.string().nullable(),
  })
  .openapi("Worker");
