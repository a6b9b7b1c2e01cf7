/** How jobs of a type are retried, leased and kept. */
import { z } from "@hono/zod-openapi";
import { MaxAttempts, Priority, Time, Type } from "./basic.ts";

/** One year. */
const maxDurationMs = 31_536_000_000;
const Duration = z.int().min(0).max(maxDurationMs);

export const Policy = z
  .looseObject({
    type: z.string(),
    base_ms: Duration,
    cap_ms: Duration.nullable(),
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
    base_ms: Duration.optional(),
    cap_ms: Duration.nullish(),
    factor: z.number().min(1).max(100).optional(),
    jitter: z.number().min(0).max(1).optional(),
    max_attempts: MaxAttempts.optional(),
    timeout_ms: Duration.min(1).nullish(),
    lease_ms: Duration.min(1000).nullish(),
    audit_action: z.string().min(1).max(200).nullish(),
    keep_history: z.boolean().optional(),
    retention_days: z.int().min(1).max(3650).nullish(),
    max_priority: Priority.nullish(),
    redact: z.array(z.string()).optional(),
  })
  .openapi("PolicyChanges");

export const PolicyParameters = z.object({
  type: Type.openapi({ description: "The type, or `*` for all types without a policy of their own" }),
});
