"""A class for every way in which a call can fail.

`code` is the SQLSTATE that the kernel raises for the same reason. The SDK uses it also when it finds the mistake before
it calls. `hint` says what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .records import Job
    from .workflows.records import WorkflowDetails

AbortKind = Literal["timeout", "canceled", "lost", "shutdown"]


class JobForgeError(Exception):
    """The base of all errors of this package."""

    usual_code: ClassVar[str] = "XX000"
    usual_kind: ClassVar[str | None] = None
    usual_field: ClassVar[str | None] = None
    usual_hint: ClassVar[str | None] = None
    usual_retryable: ClassVar[bool] = False

    code: str
    kind: str | None
    """The kernel's name for the reason, such as `not_held`."""
    field: str | None
    """The argument that is wrong, such as `max_attempts` or `jobs[3].payload`."""
    hint: str | None
    retryable: bool
    """Whether the same call may succeed later."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        kind: str | None = None,
        field: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.usual_code
        self.kind = kind or self.usual_kind
        self.field = field or self.usual_field
        self.hint = hint or self.usual_hint
        self.retryable = self.usual_retryable if retryable is None else retryable

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n{self.hint}"


class TenantRequiredError(JobForgeError):
    """JF001: the call needs a tenant."""

    usual_code = "JF001"
    usual_kind = "tenant_required"
    usual_field = "tenant"


class InvalidArgumentError(JobForgeError, ValueError):
    """JF002: an invalid argument. The same call will never succeed."""

    usual_code = "JF002"
    usual_kind = "invalid_argument"


@dataclass(frozen=True, slots=True)
class InvalidValueIssue:
    """One thing that a schema finds wrong with a value."""

    message: str
    path: tuple[str | int, ...] = ()
    """The path in the value, such as `("lines", 0, "price")`; empty for the value itself."""


class InvalidValueError(InvalidArgumentError):
    """JF002: the schema rejects a payload or an output."""

    usual_kind = "invalid_value"

    def __init__(
        self,
        message: str,
        issues: Sequence[InvalidValueIssue] = (),
        *,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, field=field, hint=hint)
        self.issues = tuple(issues)


class PayloadTooLargeError(InvalidArgumentError):
    """JF008: a payload, result or progress value is larger than allowed."""

    usual_code = "JF008"
    usual_kind = "payload_too_large"
    usual_hint = "Store it elsewhere and pass a reference."


class JobNotHeldError(JobForgeError):
    """JF003: the fence refused the write. The lease was lost, the run has ended, or another worker holds the job."""

    usual_code = "JF003"
    usual_kind = "not_held"


class InvalidStatusError(JobForgeError):
    """JF004: a run can only be completed as succeeded or failed."""

    usual_code = "JF004"
    usual_kind = "invalid_status"


class NotCancelableError(JobForgeError):
    """JF005: the tenant has no such job, or the job is finished."""

    usual_code = "JF005"
    usual_kind = "not_cancelable"


class NotReschedulableError(JobForgeError):
    """JF006: the tenant has no such job, or the job is running, succeeded or canceled."""

    usual_code = "JF006"
    usual_kind = "not_reschedulable"


class NotUpdatableError(JobForgeError):
    """JF006: the tenant has no such job, or the job is not queued."""

    usual_code = "JF006"
    usual_kind = "not_updatable"


class JobLimitExceededError(JobForgeError):
    """JF007: the tenant has as many pending jobs or schedules, or uses as many types, as it may.

    A retry helps only with pending jobs, which finish. If `field` names a type, the tenant uses too many types.
    """

    usual_code = "JF007"
    usual_kind = "job_limit_exceeded"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        kind: str | None = None,
        field: str | None = None,
        hint: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        if retryable is None:
            retryable = not (field or "").endswith("type")
        super().__init__(message, code=code, kind=kind, field=field, hint=hint, retryable=retryable)


class InvalidScheduleError(JobForgeError):
    """JF009: the options of a schedule are invalid."""

    usual_code = "JF009"
    usual_kind = "invalid_schedule"


class ScheduleNotFoundError(JobForgeError):
    """JF010: the tenant has no such schedule."""

    usual_code = "JF010"
    usual_kind = "schedule_not_found"


class WorkflowNotRunningError(JobForgeError):
    """JF011: the tenant has no such workflow, or the workflow has ended."""

    usual_code = "JF011"
    usual_kind = "workflow_ended"


class WorkflowNotRetryableError(JobForgeError):
    """JF012: the tenant has no such workflow, nothing in it ended badly, or it was canceled."""

    usual_code = "JF012"
    usual_kind = "workflow_not_retryable"


class StepConflictError(JobForgeError):
    """JF013: the workflow has a step of this name with another definition."""

    usual_code = "JF013"
    usual_kind = "step_conflict"


class StepNotResolvableError(JobForgeError):
    """JF015: the workflow has no such step, or the step did not end badly."""

    usual_code = "JF015"
    usual_kind = "step_not_resolvable"


class WorkflowLimitExceededError(JobForgeError):
    """JF014: too many steps, needs or signals."""

    usual_code = "JF014"
    usual_kind = "workflow_limit_exceeded"


class EndpointNotFoundError(JobForgeError):
    """JF016: the tenant has no such webhook endpoint."""

    usual_code = "JF016"
    usual_kind = "endpoint_not_found"


class ForbiddenError(JobForgeError):
    """42501: the caller is not allowed to do this, or not for this tenant."""

    usual_code = "42501"
    usual_kind = "forbidden"


class NotInstalledError(JobForgeError):
    """JobForge is not installed in the database, or its version is older than this SDK."""

    usual_code = "42883"
    usual_kind = "not_installed"
    usual_hint = "Run `python -m jobforge migrate` on this database, and check the option `schema`."


class ConnectionError(JobForgeError):
    """The database or the server cannot be reached, or did not respond. Whether the call took effect is unknown."""

    usual_code = "08000"
    usual_kind = "connection"
    usual_retryable = True


class TimeoutError(ConnectionError):
    """There was no response within the allowed time. Whether the call took effect is unknown."""

    usual_code = "57014"
    usual_kind = "timeout"


class DatabaseError(JobForgeError):
    """Any other error of the database, with its SQLSTATE."""


class JobNotFoundError(JobForgeError):
    """The tenant has no such job, or it has been forgotten: types without history forget a job when it succeeds."""

    usual_code = "JOB_NOT_FOUND"
    usual_kind = "job_not_found"
    usual_field = "job_id"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id}")
        self.job_id = job_id


class ArtifactNotFoundError(JobForgeError):
    """The tenant has no such artifact: it was deleted with its job, or belongs to another tenant."""

    usual_code = "ARTIFACT_NOT_FOUND"
    usual_kind = "artifact_not_found"
    usual_field = "ref"
    usual_hint = "Check the reference and the tenant."

    def __init__(self, ref: str) -> None:
        super().__init__(f"There is no artifact {ref}")
        self.ref = ref


class ArtifactStoreRequiredError(JobForgeError):
    """The call needs an artifact store, and this client has none."""

    usual_code = "ARTIFACT_STORE_REQUIRED"
    usual_kind = "artifact_store_required"
    usual_field = "artifacts"
    usual_hint = (
        'Pass artifacts=open_store(os.environ["JOBFORGE_ARTIFACTS"]) of jobforge.artifacts to JobForge or '
        "AsyncJobForge."
    )

    def __init__(self, message: str = "This client has no artifact store") -> None:
        super().__init__(message)


class ArtifactDamagedError(JobForgeError):
    """The content of an artifact is not what was stored: its size or its hash differs."""

    usual_code = "ARTIFACT_DAMAGED"
    usual_kind = "artifact_damaged"
    usual_field = "ref"
    usual_hint = "Check whether another program writes to the artifact store."

    def __init__(self, ref: str) -> None:
        super().__init__(f"The artifact {ref} is not what was stored")
        self.ref = ref


class JobFailedError(JobForgeError):
    """The awaited job finished as failed or dead."""

    usual_code = "JOB_FAILED"
    usual_kind = "job_failed"

    def __init__(self, job: Job) -> None:
        super().__init__(f"Job {job.id} ({job.type}) is {job.status}: {job.last_error or 'no error was reported'}")
        self.job = job
        self.failure: Mapping[str, object] | None = job.error
        """The error of its last run."""


class JobCanceledError(JobForgeError):
    """The awaited job was canceled, or expired before it started."""

    usual_code = "JOB_CANCELED"
    usual_kind = "job_canceled"

    def __init__(self, job: Job) -> None:
        what = "not started in time" if job.reason == "expired" else "canceled"
        super().__init__(f"Job {job.id} ({job.type}) was {what}")
        self.job = job


class WorkflowNotFoundError(JobForgeError):
    """The tenant has no such workflow, or it has been forgotten."""

    usual_code = "WORKFLOW_NOT_FOUND"
    usual_kind = "workflow_not_found"
    usual_field = "workflow_id"
    usual_hint = "Check the id and the tenant. A workflow that was started in a transaction exists after its commit."

    def __init__(self, workflow_id: str) -> None:
        super().__init__(f"There is no workflow {workflow_id}")
        self.workflow_id = workflow_id


class WorkflowFailedError(JobForgeError):
    """The awaited workflow ended as failed."""

    usual_code = "WORKFLOW_FAILED"
    usual_kind = "workflow_failed"

    def __init__(self, workflow: WorkflowDetails) -> None:
        found = ((each.step, (each.error or {}).get("message")) for each in workflow.failed)
        steps = (f"{step}: {message or 'no error was reported'}" for step, message in found)
        why = "it did not end before its deadline" if workflow.reason == "deadline" else "; ".join(steps)
        super().__init__(f"Workflow {workflow.id} ({workflow.name}) failed{f': {why}' if why else ''}")
        self.workflow = workflow


class WorkflowCanceledError(JobForgeError):
    """The awaited workflow was canceled."""

    usual_code = "WORKFLOW_CANCELED"
    usual_kind = "workflow_canceled"

    def __init__(self, workflow: WorkflowDetails) -> None:
        super().__init__(f"Workflow {workflow.id} ({workflow.name}) was canceled")
        self.workflow = workflow


class WaitTimeoutError(JobForgeError):
    """The job or workflow did not end within the waiting time. It goes on."""

    usual_code = "WAIT_TIMEOUT"
    usual_kind = "wait_timeout"
    usual_retryable = True

    def __init__(self, job_id: str, timeout: float, what: str = "Job") -> None:
        super().__init__(f"{what} {job_id} did not finish within {timeout:g} s")
        self.job_id = job_id


class JobAborted(Exception):  # noqa: N818 - it is a reason, not a mistake
    """Why a handler was aborted: its `kind`."""

    def __init__(self, kind: AbortKind, message: str) -> None:
        super().__init__(message)
        self.kind: AbortKind = kind
