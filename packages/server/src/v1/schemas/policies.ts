/** How jobs of a type are retried, leased and kept. */
import { z } from "@hono/zod-openapi";
import { bounds, keepLogsModes, type RetryPreset, retryPresets } from "@jobforge/sdk-ts";
import { integerWithin, MaxAttempts, Priority, Time, Type, textWithin } from "./basic.ts";
import { limitParameter } from "./parameters.ts";

const RetryMs = integerWithin(bounds.retryMs);
const presets = Object.keys(retryPresets) as RetryPreset[];

export const Policy = z
  .looseObject({
    type: z.string(),
    base_ms: RetryMs,
    cap_ms: RetryMs.nullable(),
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
    keep_logs: z.enum(keepLogsModes),
    by_hand: z.array(z.string()),
    updated_at: Time,
    updated_by: z.string(),
  })
  .openapi("Policy");

export const PolicyChanges = z
  .strictObject({
    preset: z.enum(presets).optional(),
    base_ms: RetryMs.optional(),
    cap_ms: RetryMs.nullish(),
    factor: z.number().min(bounds.retryFactor.min).max(bounds.retryFactor.max).optional(),
    jitter: z.number().min(bounds.retryJitter.min).max(bounds.retryJitter.max).optional(),
    max_attempts: MaxAttempts.optional(),
    timeout_ms: integerWithin(bounds.timeoutMs).nullish(),
    lease_ms: integerWithin(bounds.leaseMs).nullish(),
    audit_action: textWithin(bounds.auditActionBytes).nullish(),
    keep_history: z.boolean().optional(),
    retention_days: integerWithin(bounds.retentionDays).nullish(),
    max_priority: Priority.nullish(),
    redact: z.array(z.string()).optional(),
    keep_logs: z.enum(keepLogsModes).optional(),
  })
  .openapi("PolicyChanges");

export const ResetPolicy = z
  .looseObject({ type: z.string(), reset: z.boolean(), policy: Policy })
  .openapi("ResetPolicy");

export const PolicyListQuery = z.strictObject({
  ...limitParameter,
  cursor: Type.optional().openapi({ description: "The `cursor` of the previous page" }),
});

export const PolicyParameters = z.object({
  type: Type.openapi({ description: "The type, or `*` for all types without a policy of their own" }),
});
