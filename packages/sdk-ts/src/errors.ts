/**
 * A class for every way in which a call can fail. `code` is the SQLSTATE that the kernel raises for the same reason.
 * The SDK uses it also when it finds the mistake before it calls. `hint` says what to do.
 */

import type { Job, JobFailure } from "./jobs/job.ts";
import type { WorkflowDetails } from "./workflows/workflow.ts";

export interface ErrorDetails {
  readonly code?: string | undefined;
  /** The kernel's name for the reason, such as `not_held`. */
  readonly kind?: string | undefined;
  /** The argument that is wrong, such as `maxAttempts` or `jobs[3].payload`. */
  readonly field?: string | undefined;
  readonly hint?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly cause?: unknown;
}

export class JobForgeError extends Error {
  override readonly name: string = "JobForgeError";
  readonly code: string;
  readonly kind: string | undefined;
  readonly field: string | undefined;
  readonly hint: string | undefined;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;

  /** `usual` has the defaults of the class, for details that are not given. */
  constructor(message: string, details: ErrorDetails = {}, usual: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code ?? usual.code ?? "XX000";
    this.kind = details.kind ?? usual.kind;
    this.field = details.field ?? usual.field;
    this.hint = details.hint ?? usual.hint;
    this.retryable = details.retryable ?? usual.retryable ?? false;
  }
}

/** JF001: the call needs a tenant. */
export class TenantRequiredError extends JobForgeError {
  override readonly name: string = "TenantRequiredError";
  constructor(message = "tenant_id is required", details: ErrorDetails = {}) {
    super(message, details, { code: "JF001", kind: "tenant_required", field: "tenantId" });
  }
}

/** JF002: an invalid argument. The same call will never succeed. */
export class InvalidArgumentError extends JobForgeError {
  override readonly name: string = "InvalidArgumentError";
  constructor(message: string, details: ErrorDetails = {}, usual: ErrorDetails = {}) {
    super(message, details, { code: "JF002", kind: "invalid_argument", ...usual });
  }
}

export interface InvalidValueIssue {
  readonly message: string;
  /** The path in the value, such as `["lines", 0, "price"]`; empty for the value itself. */
  readonly path: readonly PropertyKey[];
}

/** JF002: the schema rejects a payload or an output. */
export class InvalidValueError extends InvalidArgumentError {
  override readonly name: string = "InvalidValueError";
  readonly issues: readonly InvalidValueIssue[];
  constructor(message: string, issues: readonly InvalidValueIssue[], details: ErrorDetails = {}) {
    super(message, details, { kind: "invalid_value" });
    this.issues = issues;
  }
}

/** JF008: a payload, result or progress value is larger than allowed. */
export class PayloadTooLargeError extends InvalidArgumentError {
  override readonly name: string = "PayloadTooLargeError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, {
      code: "JF008",
      kind: "payload_too_large",
      hint: "Store it elsewhere and pass a reference.",
    });
  }
}

/** JF003: the fence refused the write. The lease was lost, the run has ended, or another worker holds the job. */
export class JobNotHeldError extends JobForgeError {
  override readonly name: string = "JobNotHeldError";
  constructor(message = "Job not found or not locked by worker", details: ErrorDetails = {}) {
    super(message, details, { code: "JF003", kind: "not_held" });
  }
}

/** JF004: a run can only be completed as succeeded or failed. */
export class InvalidStatusError extends JobForgeError {
  override readonly name: string = "InvalidStatusError";
  constructor(message = "Status must be succeeded or failed", details: ErrorDetails = {}) {
    super(message, details, { code: "JF004", kind: "invalid_status" });
  }
}

/** JF005: the tenant has no such job, or the job is finished. */
export class NotCancelableError extends JobForgeError {
  override readonly name: string = "NotCancelableError";
  constructor(message = "Job not found or cannot be canceled", details: ErrorDetails = {}) {
    super(message, details, { code: "JF005", kind: "not_cancelable" });
  }
}

/** JF006: the tenant has no such job, or the job is running, succeeded or canceled. */
export class NotReschedulableError extends JobForgeError {
  override readonly name: string = "NotReschedulableError";
  constructor(message = "Job not found or cannot be rescheduled", details: ErrorDetails = {}) {
    super(message, details, { code: "JF006", kind: "not_reschedulable" });
  }
}

/** JF006: the tenant has no such job, or the job is not queued. */
export class NotUpdatableError extends JobForgeError {
  override readonly name: string = "NotUpdatableError";
  constructor(message = "Job not found or cannot be updated", details: ErrorDetails = {}) {
    super(message, details, { code: "JF006", kind: "not_updatable" });
  }
}

/**
 * JF007: the tenant already has as many pending jobs or schedules, or uses as many types, as it may. A retry helps only
 * with pending jobs, which finish. If `field` names a type, the tenant uses too many types.
 */
export class JobLimitExceededError extends JobForgeError {
  override readonly name: string = "JobLimitExceededError";
  constructor(message = "Job limit exceeded for tenant", details: ErrorDetails = {}) {
    const retryable = !(details.field?.endsWith("type") ?? false);
    super(message, details, { code: "JF007", kind: "job_limit_exceeded", retryable });
  }
}

/** JF009: the options of a schedule are invalid. */
export class InvalidScheduleError extends JobForgeError {
  override readonly name: string = "InvalidScheduleError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, { code: "JF009", kind: "invalid_schedule" });
  }
}

/** JF016: the tenant has no such webhook endpoint. */
export class EndpointNotFoundError extends JobForgeError {
  override readonly name: string = "EndpointNotFoundError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, { code: "JF016", kind: "endpoint_not_found" });
  }
}

/** JF010: the tenant has no such schedule. */
export class ScheduleNotFoundError extends JobForgeError {
  override readonly name: string = "ScheduleNotFoundError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, { code: "JF010", kind: "schedule_not_found" });
  }
}

/** JF011: the tenant has no such workflow, or the workflow has ended. */
export class WorkflowNotRunningError extends JobForgeError {
  override readonly name: string = "WorkflowNotRunningError";
  constructor(message = "Workflow not found or has ended", details: ErrorDetails = {}) {
    super(message, details, { code: "JF011", kind: "workflow_ended" });
  }
}

/** JF012: the tenant has no such workflow, nothing in it ended badly, or it was canceled. */
export class WorkflowNotRetryableError extends JobForgeError {
  override readonly name: string = "WorkflowNotRetryableError";
  constructor(message = "Workflow not found or cannot be retried", details: ErrorDetails = {}) {
    super(message, details, { code: "JF012", kind: "workflow_not_retryable" });
  }
}

/** JF013: the workflow has a step of this name with another definition. */
export class StepConflictError extends JobForgeError {
  override readonly name: string = "StepConflictError";
  constructor(message = "Step exists with another definition", details: ErrorDetails = {}) {
    super(message, details, { code: "JF013", kind: "step_conflict" });
  }
}

/** JF015: the workflow has no such step, or the step did not end badly. */
export class StepNotResolvableError extends JobForgeError {
  override readonly name: string = "StepNotResolvableError";
  constructor(message = "Step not found or cannot be resolved", details: ErrorDetails = {}) {
    super(message, details, { code: "JF015", kind: "step_not_resolvable" });
  }
}

/** JF014: too many steps, needs or signals. */
export class WorkflowLimitExceededError extends JobForgeError {
  override readonly name: string = "WorkflowLimitExceededError";
  constructor(message = "Limit of the workflow exceeded", details: ErrorDetails = {}) {
    super(message, details, { code: "JF014", kind: "workflow_limit_exceeded" });
  }
}

/** 42501: the caller is not allowed to do this, or not for this tenant. */
export class ForbiddenError extends JobForgeError {
  override readonly name: string = "ForbiddenError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, { code: "42501", kind: "forbidden" });
  }
}

/** JobForge is not installed in the database, or its version is older than this SDK. */
export class NotInstalledError extends JobForgeError {
  override readonly name: string = "NotInstalledError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, {
      code: "42883",
      kind: "not_installed",
      hint: "Run `jobforge migrate` on this database, and check the option `schema`.",
    });
  }
}

/** 0A000: the store of this client cannot do this, and would otherwise do something else without a word. */
export class NotSupportedError extends JobForgeError {
  override readonly name: string = "NotSupportedError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, { code: "0A000", kind: "not_supported" });
  }
}

/** The database or the server cannot be reached, or did not respond. Whether the call took effect is unknown. */
export class ConnectionError extends JobForgeError {
  override readonly name: string = "ConnectionError";
  constructor(message: string, details: ErrorDetails = {}, usual: ErrorDetails = {}) {
    super(message, details, { code: "08000", kind: "connection", retryable: true, ...usual });
  }
}

/** There was no response within the allowed time. Whether the call took effect is unknown. */
export class TimeoutError extends ConnectionError {
  override readonly name: string = "TimeoutError";
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details, { code: "57014", kind: "timeout" });
  }
}

/** Any other error of the database, with its SQLSTATE. */
export class DatabaseError extends JobForgeError {
  override readonly name: string = "DatabaseError";
}

/** The tenant has no such job, or it has been forgotten: types that keep no history forget a job when it succeeds. */
export class JobNotFoundError extends JobForgeError {
  override readonly name: string = "JobNotFoundError";
  readonly jobId: string;
  constructor(jobId: string) {
    super(`There is no job ${jobId}`, {
      code: "JOB_NOT_FOUND",
      kind: "job_not_found",
      field: "jobId",
      hint: "Check the id and the tenant. A job that was enqueued in a transaction exists after its commit.",
    });
    this.jobId = jobId;
  }
}

/** The tenant has no such artifact: it was deleted with its job, or belongs to another tenant. */
export class ArtifactNotFoundError extends JobForgeError {
  override readonly name: string = "ArtifactNotFoundError";
  constructor(ref: string) {
    super(`There is no artifact ${ref}`, {
      code: "ARTIFACT_NOT_FOUND",
      kind: "artifact_not_found",
      field: "ref",
      hint: "Check the reference and the tenant.",
    });
  }
}

/** The call needs an artifact store, and this client has none. */
export class ArtifactStoreRequiredError extends JobForgeError {
  override readonly name: string = "ArtifactStoreRequiredError";
  constructor(message = "This client has no artifact store") {
    super(message, {
      code: "ARTIFACT_STORE_REQUIRED",
      kind: "artifact_store_required",
      field: "artifacts",
      hint: "Pass artifacts to JobForge, such as openStore(process.env.JOBFORGE_ARTIFACTS) of @jobforge/connectors.",
    });
  }
}

/** The awaited job finished as failed or dead. */
export class JobFailedError extends JobForgeError {
  override readonly name: string = "JobFailedError";
  readonly job: Job;
  /** The error of its last run. */
  readonly failure: JobFailure | undefined;
  constructor(job: Job) {
    super(`Job ${job.id} (${job.type}) is ${job.status}: ${job.lastError ?? "no error was reported"}`, {
      code: "JOB_FAILED",
      kind: "job_failed",
    });
    this.job = job;
    this.failure = job.error;
  }
}

/** The awaited job was canceled, or expired before it started. */
export class JobCanceledError extends JobForgeError {
  override readonly name: string = "JobCanceledError";
  readonly job: Job;
  constructor(job: Job) {
    super(
      `Job ${job.id} (${job.type}) was ${job.reason === "expired" ? "not started in time" : "canceled"}`,
      {
        code: "JOB_CANCELED",
        kind: "job_canceled",
      },
    );
    this.job = job;
  }
}

/** The tenant has no such workflow, or it has been forgotten. */
export class WorkflowNotFoundError extends JobForgeError {
  override readonly name: string = "WorkflowNotFoundError";
  readonly workflowId: string;
  constructor(workflowId: string) {
    super(`There is no workflow ${workflowId}`, {
      code: "WORKFLOW_NOT_FOUND",
      kind: "workflow_not_found",
      field: "workflowId",
      hint: "Check the id and the tenant. A workflow that was started in a transaction exists after its commit.",
    });
    this.workflowId = workflowId;
  }
}

/** The awaited workflow ended as failed. */
export class WorkflowFailedError extends JobForgeError {
  override readonly name: string = "WorkflowFailedError";
  readonly workflow: WorkflowDetails;
  constructor(workflow: WorkflowDetails) {
    const { id, name, reason, failed } = workflow;
    const steps = failed.map(({ step, error }) => `${step}: ${error?.message ?? "no error was reported"}`);
    const why = reason === "deadline" ? "it did not end before its deadline" : steps.join("; ");
    super(`Workflow ${id} (${name}) failed${why === "" ? "" : `: ${why}`}`, {
      code: "WORKFLOW_FAILED",
      kind: "workflow_failed",
    });
    this.workflow = workflow;
  }
}

/** The awaited workflow was canceled. */
export class WorkflowCanceledError extends JobForgeError {
  override readonly name: string = "WorkflowCanceledError";
  readonly workflow: WorkflowDetails;
  constructor(workflow: WorkflowDetails) {
    super(`Workflow ${workflow.id} (${workflow.name}) was canceled`, {
      code: "WORKFLOW_CANCELED",
      kind: "workflow_canceled",
    });
    this.workflow = workflow;
  }
}

/** The job or workflow did not end within the waiting time. It goes on. */
export class WaitTimeoutError extends JobForgeError {
  override readonly name: string = "WaitTimeoutError";
  readonly jobId: string;
  constructor(jobId: string, timeoutMs: number, what = "Job") {
    super(`${what} ${jobId} did not finish within ${timeoutMs} ms`, {
      code: "WAIT_TIMEOUT",
      kind: "wait_timeout",
      retryable: true,
    });
    this.jobId = jobId;
  }
}
