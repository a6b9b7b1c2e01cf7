/** What operators set and look at. */
import { z } from "@hono/zod-openapi";
import { Count, Id, Json, Time } from "./basic.ts";

export const gateScopes = ["all", "type", "tenant"] as const;

export const Gate = z
  .looseObject({
    scope: z.enum(gateScopes),
    key: z.string(),
    reason: z.string().nullable(),
    until: Time.nullable(),
    set_at: Time,
    set_by: z.string(),
    waiting: Count.openapi({ description: "Due jobs that wait behind it" }),
    exact: z.boolean().openapi({ description: "False: `waiting` is an estimate" }),
  })
  .openapi("Gate");

export const Worker = z
  .looseObject({
    id: z.string(),
    status: z.enum(["alive", "gone"]),
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
  })
  .openapi("Worker");

export const AuditEntry = z
  .looseObject({
    id: z.int(),
    at: Time,
    tenant_id: Id,
    actor: z.string(),
    action: z.string(),
    entity_type: z.string(),
    entity_id: z.string(),
    message: z.string().nullable(),
    meta: Json,
  })
  .openapi("AuditEntry");
