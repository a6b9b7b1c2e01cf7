/** Recurring work. */
import { z } from "@hono/zod-openapi";
import { Count, Id, Interval, Json, Time } from "./basic.ts";

const overlaps = ["skip", "queue", "allow"] as const;
const misses = ["once", "skip", "all"] as const;

export const ScheduleOptions = z
  .strictObject({
    cron: z.string().optional(),
    timezone: z.string().optional(),
    every: Interval.optional(),
    anchor: Time.nullish(),
    jitter: Interval.nullish(),
    dynamic: z.boolean().optional(),
    next_run_at: Time.nullish(),
    reset: z.boolean().optional(),
    enabled: z.boolean().optional(),
    payload: Json.optional(),
    priority: z.int().min(-1_000_000).max(1_000_000).optional(),
    max_attempts: z.int().min(1).max(100_000).nullish(),
    tags: z.array(z.string().min(1)).max(50).optional(),
    subject: z.string().max(1024).nullish(),
    concurrency_key: z.string().min(1).max(1024).nullish(),
    overlap: z.enum(overlaps).optional(),
    missed: z.enum(misses).optional(),
    missed_limit: z.int().min(1).max(100).optional(),
    starts_at: Time.nullish(),
    ends_at: Time.nullish(),
    retry_runs: z.boolean().optional(),
  })
  .openapi("ScheduleOptions");

export const Schedule = z
  .looseObject({
    id: Id,
    tenant_id: Id,
    type: z.string(),
    key: z.string(),
    kind: z.enum(["cron", "every", "dynamic"]),
    cron: z.string().nullable(),
    timezone: z.string().nullable(),
    every: Interval.nullable(),
    enabled: z.boolean(),
    next_run_at: Time.nullable(),
    running_since: Time.nullable(),
    last_run_at: Time.nullable(),
    last_status: z.string().nullable(),
    last_error: z.string().nullable(),
    consecutive_failures: Count,
    run_requested: z.boolean(),
    live_runs: Count,
    overlap: z.enum(overlaps),
    missed: z.enum(misses),
    payload: Json,
    created_at: Time,
    updated_at: Time,
  })
  .openapi("Schedule");

export const EnsuredSchedule = Schedule.extend({
  outcome: z.enum(["created", "existing", "updated"]),
}).openapi("EnsuredSchedule");
