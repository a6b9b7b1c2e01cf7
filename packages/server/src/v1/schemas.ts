/** What the REST API takes and answers. The document at /v1/openapi.json is made of these. */
import { z } from "@hono/zod-openapi";

export const Time = z.iso
  .datetime({ offset: true })
  .openapi({ format: "date-time", example: "2026-01-31T12:00:00Z" });
/** Any uuid that Postgres takes, not only those of a version. */
export const Id = z.guid().openapi({ format: "uuid", example: "0198c5f0-0000-7000-8000-000000000001" });
/** Any JSON value. */
export const Json = z.unknown().openapi({ description: "Any JSON value" });
const Count = z.int().min(0);
export const Type = z.string().min(1).max(200).openapi({ example: "mail.send" });

export const statuses = ["queued", "running", "succeeded", "failed", "dead", "canceled"] as const;
export const Status = z.enum(statuses);

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

/** Which jobs a bulk change means. */
export const JobFilters = z
  .strictObject({
    status: z.union([Status, z.array(Status).min(1)]).optional(),
    type: z.union([Type, z.array(Type).min(1)]).optional(),
    tags: z.union([z.string(), z.array(z.string())]).optional(),
    subject: z.string().optional(),
    error_contains: z.string().optional(),
    created_after: Time.optional(),
    created_before: Time.optional(),
    finished_after: Time.optional(),
    finished_before: Time.optional(),
  })
  .openapi("JobFilters");

export const BulkAnswer = z.looseObject({ matched: Count, changed: Count }).openapi("BulkAnswer");

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

export const gateScopes = ["all", "type", "tenant"] as const;

export const Gate = z
  .looseObject({
    scope: z.enum(gateScopes),
    key: z.string(),
    reason: z.string().nullable(),
    until: Time.nullable(),
    set_at: Time,
    set_by: z.string(),
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

const counts = {
  queued: Count,
  scheduled: Count,
  running: Count,
  oldest_run_at: Time.nullable(),
  succeeded: Count,
  failed: Count,
  dead: Count,
  canceled: Count,
};

export const Stats = z
  .looseObject({
    at: Time,
    since: Time,
    totals: z.looseObject(counts),
    types: z.array(z.looseObject({ type: z.string(), ...counts })),
  })
  .openapi("Stats");

/** An interval as Postgres reads and writes it. */
const Interval = z.string().openapi({ example: "5m" });
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

const tokenRoles = ["jobforge_app", "jobforge_worker", "jobforge_operator", "jobforge_reader"] as const;

export const NewToken = z
  .strictObject({
    name: z.string().min(1).max(200),
    role: z.enum(tokenRoles),
    tenant_id: Id.nullish().openapi({ description: "Required for jobforge_app, and for no other role" }),
    expires_at: Time.nullish(),
  })
  .openapi("NewToken");

const tokenFields = {
  id: Id,
  name: z.string(),
  prefix: z.string(),
  role: z.enum(tokenRoles),
  tenant_id: Id.nullable(),
  created_at: Time,
  expires_at: Time.nullable(),
};

export const CreatedToken = z
  .looseObject({
    ...tokenFields,
    token: z.string().openapi({ description: "The key. It is shown this once" }),
  })
  .openapi("CreatedToken");

export const Token = z
  .looseObject({
    ...tokenFields,
    created_by: z.string(),
    last_used_at: Time.nullable(),
    revoked_at: Time.nullable(),
  })
  .openapi("Token");

export const Problem = z
  .looseObject({
    type: z.string().openapi({ example: "urn:jobforge:problem:not_cancelable" }),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().openapi({ description: "An SQLSTATE, such as JF005" }),
    name: z.string().openapi({ description: "The kernel's word for the reason, such as not_cancelable" }),
    field: z.string().optional().openapi({ description: "What of the request is to blame" }),
    hint: z.string().optional().openapi({ description: "What to do" }),
  })
  .openapi("Problem");
