/** How types behave, and what there is of them. */
import { z } from "@hono/zod-openapi";
import { Count, Time } from "./basic.ts";

const Milliseconds = z.int().min(0).max(31_536_000_000);

export const Policy = z
  .looseObject({
    type: z.string(),
    base_ms: Milliseconds,
    cap_ms: Milliseconds.nullable(),
    factor: z.number(),
    jitter: z.number(),
    max_attempts: z.int(),
    timeout_ms: z.int().nullable(),
    lease_ms: z.int().nullable(),
    audit_action: z.string().nullable(),
    keep_history: z.boolean(),
    retention_days: z.int().nullable(),
    max_priority: z.int().nullable(),
    redact: z.array(z.string()),
    updated_at: Time,
    updated_by: z.string(),
  })
  .openapi("Policy");

export const PolicyChanges = z
  .strictObject({
    preset: z.enum(["jobforge", "harmonyk", "atlas", "processing"]).optional(),
    base_ms: Milliseconds.optional(),
    cap_ms: Milliseconds.nullish(),
    factor: z.number().min(1).max(100).optional(),
    jitter: z.number().min(0).max(1).optional(),
    max_attempts: z.int().min(1).max(100_000).optional(),
    timeout_ms: Milliseconds.min(1).nullish(),
    lease_ms: Milliseconds.min(1000).nullish(),
    audit_action: z.string().min(1).max(200).nullish(),
    keep_history: z.boolean().optional(),
    retention_days: z.int().min(1).max(3650).nullish(),
    max_priority: z.int().min(-1_000_000).max(1_000_000).nullish(),
    redact: z.array(z.string()).optional(),
  })
  .openapi("PolicyChanges");

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
    exact: z.boolean().openapi({ description: "False: due, scheduled and running are estimates" }),
  })
  .openapi("TypeInfo");
