/** Workers, as their heartbeats describe them. */
import { z } from "@hono/zod-openapi";
import { workerStatuses } from "@jobforge/sdk-ts";
import { Count, Id, Json, TenantLabel, Time } from "./basic.ts";

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
    tenant_label: TenantLabel,
    stop_requested_at: Time.nullable().openapi({ description: "When an operator asked it to stop" }),
    stop_requested_by: z.string().nullable(),
  })
  .openapi("Worker");

const HeldJob = z.looseObject({
  id: Id,
  tenant_id: Id,
  tenant_label: TenantLabel,
  type: z.string(),
  subject: z.string().nullable(),
  attempt: z.int().min(1),
  started_at: Time,
  cancel_requested: z.boolean(),
});

export const WorkerDetails = Worker.extend({
  metrics: Json.openapi({ description: "What the worker reported about itself with its last heartbeat" }),
  held: z.array(HeldJob).nullable().openapi({
    description: "The jobs that it holds, at most 200, the one that has run longest first. Null for readers",
  }),
}).openapi("WorkerDetails");

export const StopRequest = z.looseObject({
  id: z.string(),
  requested_at: Time,
  requested_by: z.string(),
  audit_id: z.int().openapi({ description: "The entry in the audit log" }),
});

export const WorkerParameter = z.object({ worker_id: z.string().min(1).max(1024) });
