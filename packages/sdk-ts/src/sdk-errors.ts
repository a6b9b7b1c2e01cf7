/** Errors that only the SDK has: about jobs, workflows and artifacts that it was asked for, and how they ended. */
import { JobForgeError } from "./errors.ts";
import type { Job, JobFailure } from "./jobs/job.ts";
import type { WorkflowDetails } from "./workflows/workflow.ts";

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

/** The content of an artifact is not what was stored: its size or its hash differs. */
export class ArtifactDamagedError extends JobForgeError {
  override readonly name: string = "ArtifactDamagedError";
  constructor(ref: string) {
    super(`The artifact ${ref} is not what was stored`, {
      code: "ARTIFACT_DAMAGED",
      kind: "artifact_damaged",
      field: "ref",
      hint: "Check whether another program writes to the artifact store.",
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
      hint: "It goes on. explain() of its handle says why it has not ended.",
    });
    this.jobId = jobId;
  }
}
