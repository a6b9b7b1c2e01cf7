/** Jobs, and the filters that select them. */
import { z } from "@hono/zod-openapi";
import {
  attemptStatuses,
  bounds,
  dedupeModes,
  enqueueOutcomes,
  jobOrders,
  jobPhases,
  logLevels,
} from "@jobforge/sdk-ts";
import {
  Count,
  Id,
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
import { Notify } from "./notify.ts";
import { limitParameter, several, tenantParameter } from "./parameters.ts";
import { Me } from "./session.ts";

/** Has the columns of the view. Newer kernels append columns. */
export const Job = z
  .looseObject({
    id: Id,
    tenant_id: Id,
    tenant_label: TenantLabel,
    type: z.string(),
    payload: Json,
    status: Status,
    priority: z.int(),
    attempts: Count,
    max_attempts: Count,
    run_at: Time,
    locked_by: z.string().nullable(),
    locked_at: Time.nullable(),
    heartbeat_at: Time.nullable(),
    started_at: Time.nullable(),
    finished_at: Time.nullable(),
    idempotency_key: z.string().nullable(),
    dedupe_key: z.string().nullable(),
    subject: z.string().nullable(),
    tags: z.array(z.string()),
    progress: Json,
    cancel_requested: z.boolean(),
    error: Json,
    last_error: z.string().nullable(),
    result_id: Id.nullable(),
    cost_cents: z.int().nullable(),
    created_at: Time,
    updated_at: Time,
    uncounted: Count,
    expires_at: Time.nullable(),
    concurrency_key: z.string().nullable(),
    traceparent: z.string().nullable(),
    trace_id: z.string().nullable(),
    reason: z.string().nullable(),
  })
  .openapi("Job");

/** A job of a list without payload, progress and stack, so that a page is small whatever the jobs hold. */
export const JobSummary = z
  .looseObject({
    id: Id,
    tenant_id: Id,
    tenant_label: TenantLabel,
    type: z.string(),
    status: Status,
    phase: z.enum(jobPhases).nullable().openapi({ description: "Of a queued job" }),
    parked: z.boolean().openapi({ description: "A limit has no room for the job" }),
    priority: z.int(),
    attempts: Count,
    uncounted: Count,
    max_attempts: Count,
    run_at: Time,
    created_at: Time,
    started_at: Time.nullable(),
    finished_at: Time.nullable(),
    duration_ms: z.int().nullable(),
    worker: z.string().nullable(),
    subject: z.string().nullable(),
    tags: z.array(z.string()),
    idempotency_key: z.string().nullable(),
    dedupe_key: z.string().nullable(),
    concurrency_key: z.string().nullable(),
    schedule_id: Id.nullable(),
    schedule_key: z.string().nullable(),
    trace_id: z.string().nullable(),
    cancel_requested: z.boolean(),
    last_error: z.string().nullable(),
    reason: z.string().nullable(),
    cost_cents: z.int().nullable(),
    expires_at: Time.nullable(),
    payload_bytes: Count,
  })
  .openapi("JobSummary");

/** A page of jobs. */
export const JobPage = z
  .looseObject({
    items: z.array(z.union([Job, JobSummary])),
    cursor: z.string().nullable().openapi({ description: "Pass it as `cursor` to get the next page" }),
    searched_after: Time.nullish().openapi({
      description:
        "Set if a search stopped: it has looked at jobs back to this time. `cursor` goes on from there",
    }),
    caller: Me.optional(),
  })
  .openapi("JobPage");

export const Outcome = z.enum(enqueueOutcomes);

export const EnqueuedJob = Job.extend({ outcome: Outcome }).openapi("EnqueuedJob");

export const Attempt = z
  .looseObject({
    job_id: Id,
    tenant_id: Id,
    attempt_no: z.int().min(1),
    status: z.enum(attemptStatuses),
    worker_id: z.string(),
    trace_id: z.string(),
    started_at: Time,
    finished_at: Time.nullable(),
    duration_ms: z.int().nullable(),
    error: Json,
    handed: z.boolean().openapi({ description: "The enqueue handed the job to the worker, without a claim" }),
  })
  .openapi("Attempt");

const LogLine = z.looseObject({
  at: Time,
  level: z.enum(logLevels),
  message: z.string(),
  fields: z.looseObject({}).optional(),
  truncated: z.boolean().optional(),
});

/** What the handler of a job logged in one attempt. */
export const JobLog = z
  .looseObject({
    job_id: Id,
    tenant_id: Id,
    attempt_no: z.int().min(1),
    lines: z.array(LogLine).max(bounds.logLines.max),
    dropped: Count,
  })
  .openapi("JobLog");

export const JobResult = z
  .looseObject({
    id: Id,
    type: z.string(),
    status: Status,
    reason: z.string().nullable(),
    attempts: Count,
    error: Json,
    result: Json,
    artifact_ref: z.string().nullable(),
    finished_at: Time.nullable(),
  })
  .openapi("JobResult");

/** Why a job is not running now, what a workflow waits for, or how it finished. */
export const Reason = z
  .looseObject({
    code: z.string().openapi({ example: "paused" }),
    message: z.string(),
    details: z.looseObject({}),
  })
  .openapi("Reason");

export const NewJob = z
  .strictObject({
    type: Type,
    payload: Json.optional(),
    run_at: Time.nullish(),
    delay_ms: integerWithin(bounds.delayMs).nullish().openapi({
      description: "The job may start after this many milliseconds. Not together with run_at",
    }),
    max_attempts: MaxAttempts.nullish(),
    priority: Priority.optional(),
    idempotency_key: Key.nullish(),
    dedupe_key: Key.nullish(),
    dedupe_mode: z.enum(dedupeModes).optional(),
    tags: Tags.optional(),
    subject: Subject.nullish(),
    concurrency_key: Key.nullish(),
    expires_at: Time.nullish(),
    notify: Notify.optional().openapi({ description: "Whom a webhook tells about the end of the job" }),
  })
  .openapi("NewJob");

export const EnqueueHeaders = z.object({
  "idempotency-key": Key.optional().openapi({
    description: "The job's idempotency key. A second request with the same key returns the existing job",
  }),
});

export const JobChanges = z
  .strictObject({
    payload: Json.optional(),
    priority: Priority.optional(),
    tags: Tags.optional(),
    run_at: Time.optional(),
  })
  .openapi("JobChanges");

export const Reschedule = z
  .strictObject({
    run_at: Time.nullish(),
    max_attempts: MaxAttempts.nullish(),
    payload: Json.optional().openapi({ description: "Run it with this payload instead of its own" }),
  })
  .openapi("Reschedule");

/** What a copy has instead of the job's own values. */
export const JobCopy = z
  .strictObject({
    payload: Json.optional(),
    priority: Priority.optional(),
    tags: Tags.optional(),
    run_at: Time.nullish(),
    max_attempts: MaxAttempts.nullish(),
  })
  .openapi("JobCopy");

export const RevealedJob = z.looseObject({ payload: Json, progress: Json, result: Json });

export const RescheduledJob = z.looseObject({ id: Id, status: Status, run_at: Time, max_attempts: z.int() });

export const CanceledJob = z.looseObject({ id: Id, status: Status, cancel_requested: z.boolean() });

/** Filters besides status, type and tags. */
export const searchFields = {
  subject: z.string().optional(),
  error_contains: z.string().optional(),
  error_group: z
    .string()
    .optional()
    .openapi({ description: "A group of similar errors, as returned by `GET /v1/dead`" }),
  created_after: Time.optional(),
  created_before: Time.optional(),
  finished_after: Time.optional(),
  finished_before: Time.optional(),
};

/** Filters that find jobs by an id, a schedule or a key. Lists of summaries and bulk requests have them. */
export const findFields = {
  phase: z.enum(jobPhases).optional().openapi({ description: "Of queued jobs" }),
  id_prefix: z
    .string()
    .regex(/^[0-9a-fA-F-]{4,36}$/)
    .optional()
    .openapi({ description: "The first digits of the id" }),
  schedule_id: Id.optional(),
  worker: z.string().optional().openapi({ description: "The worker that runs the job, or that finished it" }),
  concurrency_key: Key.optional(),
  idempotency_key: Key.optional(),
  trace_id: z.string().max(32).optional(),
};

export const AttemptQuery = z.strictObject({
  ...tenantParameter,
  cursor: z
    .string()
    .regex(/^\d{1,9}$/)
    .optional()
    .openapi({ description: "The `cursor` of the previous page" }),
});

const whole = z.coerce.number().int().optional().openapi({ type: "integer" });

export const JobQuery = z.strictObject({
  ...tenantParameter,
  ...limitParameter,
  status: several(Status),
  type: several(Type),
  tags: several(z.string()),
  ...searchFields,
  ...findFields,
  ids: several(Id),
  reason: several(z.string()),
  tags_any: several(z.string()).openapi({ description: "Jobs that have one of these tags" }),
  priority: whole,
  attempts_min: whole,
  payload: z.string().max(8192).optional().openapi({
    description: "JSON. Jobs whose payload contains it",
    example: '{"to":"ada@example.com"}',
  }),
  fields: z.enum(["all", "summary"]).optional().openapi({
    description: "`summary`: without payload, progress and stack. The default with `order`",
  }),
  caller: z
    .enum(["true", "false"])
    .optional()
    .openapi({ description: "Whether the page also says who is calling, as `GET /v1/me` does" }),
  order: z.enum(jobOrders).optional(),
  after: z
    .string()
    .max(100)
    .optional()
    .openapi({ description: "Only newer jobs: an id, or `TIME~ID` in the order `finished_at`" }),
  cursor: z.string().max(100).optional().openapi({ description: "The `cursor` of the previous page" }),
});
