/** Recurring work. */
import { z } from "@hono/zod-openapi";
import {
  bounds,
  missedModes,
  overlapModes,
  scheduleKinds,
  scheduleOrders,
  scheduleOutcomes,
} from "@jobforge/sdk-ts";
import {
  Count,
  Id,
  Interval,
  integerWithin,
  Json,
  Key,
  MaxAttempts,
  Priority,
  Status,
  Subject,
  Tags,
  TenantLabel,
  Time,
  Type,
} from "./basic.ts";
import { limitParameter, several, tenantParameter } from "./parameters.ts";

export const ScheduleOptions = z
  .strictObject({
    cron: z.string().optional(),
    timezone: z.string().optional(),
    every: Interval.optional(),
    anchor: Time.nullish(),
    jitter: Interval.nullish(),
    dynamic: z.boolean().optional(),
    next_run_at: Time.nullish(),
    first_run_at: Time.nullish(),
    if_missing: z.boolean().optional(),
    merge_payload: z.record(z.string(), Json).optional(),
    reset_failures: z.boolean().optional(),
    reset: z.boolean().optional(),
    enabled: z.boolean().optional(),
    payload: Json.optional(),
    priority: Priority.optional(),
    max_attempts: MaxAttempts.nullish(),
    default_attempts: MaxAttempts.nullish().openapi({
      description: "What the job's definition says. It counts if `max_attempts` is not given",
    }),
    tags: Tags.optional(),
    subject: Subject.nullish(),
    concurrency_key: Key.nullish(),
    overlap: z.enum(overlapModes).optional(),
    missed: z.enum(missedModes).optional(),
    missed_limit: integerWithin(bounds.missedLimit).optional(),
    starts_at: Time.nullish(),
    ends_at: Time.nullish(),
    retry_runs: z.boolean().optional(),
  })
  .openapi("ScheduleOptions");

export const Schedule = z
  .looseObject({
    id: Id,
    tenant_id: Id,
    tenant_label: TenantLabel,
    type: z.string(),
    key: z.string(),
    kind: z.enum(scheduleKinds),
    cron: z.string().nullable(),
    timezone: z.string().nullable(),
    every: Interval.nullable(),
    enabled: z.boolean(),
    next_run_at: Time.nullable(),
    running_since: Time.nullable(),
    waiting_since: Time.nullable(),
    last_run_at: Time.nullable(),
    last_status: z.string().nullable(),
    last_error: z.string().nullable(),
    consecutive_failures: Count,
    run_requested: z.boolean(),
    live_runs: Count,
    overlap: z.enum(overlapModes),
    missed: z.enum(missedModes),
    payload: Json,
    created_at: Time,
    updated_at: Time,
  })
  .openapi("Schedule");

export const EnsuredSchedule = Schedule.extend({
  outcome: z.enum(scheduleOutcomes),
}).openapi("EnsuredSchedule");

export const DeletedSchedule = z.looseObject({ id: Id, deleted: z.boolean() });

export const ScheduleParameters = z.object({
  type: Type,
  key: Key.openapi({ description: "Identifies the schedule within its type", example: "feed-1" }),
});

/** A boolean in a query. */
const Flag = z.enum(["true", "false"]);

export const ScheduleQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  type: several(Type),
  enabled: Flag.optional(),
  failing: Flag.optional(),
  due: Flag.optional(),
  overdue: Flag.optional(),
  running: Flag.optional(),
  key_prefix: Key.optional(),
  order: z.enum(scheduleOrders).optional(),
  cursor: Id.optional(),
});

export const ScheduleRunsQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  status: several(Status),
  cursor: Id.optional(),
});

const maxNextRuns = 100;
const defaultNextRuns = 10;

export const NextRuns = z.looseObject({ items: z.array(Time) });

export const NextRunsQuery = z.strictObject({
  ...tenantParameter,
  count: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxNextRuns)
    .default(defaultNextRuns)
    .openapi({ type: "integer", minimum: 1, maximum: maxNextRuns, default: defaultNextRuns }),
});

export const CronPreview = z
  .strictObject({
    expression: z.string().min(1).max(bounds.keyBytes.max).openapi({ example: "30 2 * * 1-5" }),
    timezone: z
      .string()
      .max(200)
      .optional()
      .openapi({ description: "Default: UTC", example: "Europe/Berlin" }),
    after: Time.optional().openapi({ description: "Default: now" }),
    count: z.int().min(1).max(maxNextRuns).default(defaultNextRuns),
  })
  .openapi("CronPreview");
