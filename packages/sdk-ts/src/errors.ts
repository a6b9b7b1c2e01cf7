/**
 * A class for every way in which a call can fail. `code` is the SQLSTATE that the kernel raises for the same reason.
 * The SDK uses it also when it finds the mistake before it calls. `hint` says what to do. Errors that only the SDK has
 * are in sdk-errors.ts.
 */

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
