/** Jobs, and which of them are meant. */
import { z } from "@hono/zod-openapi";
import { Count, Id, Json, Status, Time, Type } from "./basic.ts";

/** Answers have the columns of the view; newer kernels append some. */
export const Job = z
  .looseObject({
    id: Id,
    tenant_id: Id,
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

const Outcome = z.enum(["created", "existing", "replaced"]);

export const EnqueuedJob = Job.extend({ outcome: Outcome }).openapi("EnqueuedJob");

/** One of many: a bulk call answers no more, because that is read back for nothing by most. */
export const Enqueued = z.looseObject({ id: Id, outcome: Outcome }).openapi("Enqueued");

export const Attempt = z
  .looseObject({
    job_id: Id,
    tenant_id: Id,
    attempt_no: z.int().min(1),
    status: z.enum(["running", "succeeded", "failed", "lost", "deferred", "released", "canceled"]),
    worker_id: z.string(),
    trace_id: z.string(),
    started_at: Time,
    finished_at: Time.nullable(),
    duration_ms: z.int().nullable(),
    error: Json,
  })
  .openapi("Attempt");

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

const jobFields = {
  type: Type,
  payload: Json.optional(),
  run_at: Time.nullish(),
  max_attempts: z.int().min(1).max(100_000).nullish(),
  priority: z.int().min(-1_000_000).max(1_000_000).optional(),
  idempotency_key: z.string().min(1).max(1024).nullish(),
  dedupe_key: z.string().min(1).max(1024).nullish(),
  dedupe_mode: z.enum(["skip", "replace", "debounce"]).optional(),
  tags: z.array(z.string().min(1)).max(50).optional(),
  subject: z.string().max(1024).nullish(),
  concurrency_key: z.string().min(1).max(1024).nullish(),
  expires_at: Time.nullish(),
};

export const NewJob = z.strictObject(jobFields).openapi("NewJob");

export const JobChanges = z
  .strictObject({
    payload: Json.optional(),
    priority: z.int().min(-1_000_000).max(1_000_000).optional(),
    tags: z.array(z.string().min(1)).max(50).optional(),
    run_at: Time.optional(),
  })
  .openapi("JobChanges");

/** What finds jobs beside their status, type and tags. */
export const searchFields = {
  subject: z.string().optional(),
  error_contains: z.string().optional(),
  error_group: z.string().optional().openapi({ description: "A kind of error, as `GET /v1/dead` names it" }),
  created_after: Time.optional(),
  created_before: Time.optional(),
  finished_after: Time.optional(),
  finished_before: Time.optional(),
};

/** Which jobs a bulk change means. */
export const JobFilters = z
  .strictObject({
    status: z.union([Status, z.array(Status).min(1)]).optional(),
    type: z.union([Type, z.array(Type).min(1)]).optional(),
    tags: z.union([z.string(), z.array(z.string())]).optional(),
    ...searchFields,
  })
  .openapi("JobFilters");

export const BulkAnswer = z.looseObject({ matched: Count, changed: Count }).openapi("BulkAnswer");

export const JobCount = z
  .looseObject({ tenant_id: Id, type: z.string(), status: Status, jobs: Count })
  .openapi("JobCount");

/** Failed and dead jobs of one type with one kind of error. */
export const DeadGroup = z
  .looseObject({
    error_group: z.string().openapi({ description: "A filter of lists and bulk changes" }),
    type: z.string(),
    message: z.string().nullable(),
    jobs: Count,
    tenant_ids: z.array(Id),
    first_at: Time,
    last_at: Time,
    newest_job_id: Id,
  })
  .openapi("DeadGroup");

/** Why a job is not running now, or what became of it. */
export const Reason = z
  .looseObject({
    code: z.string().openapi({ example: "paused" }),
    message: z.string(),
    details: z.looseObject({}),
  })
  .openapi("Reason");
