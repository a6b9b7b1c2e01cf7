"""JobForge: background jobs in Postgres."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .aio.client import AsyncClient, AsyncTransactionClient
from .aio.forge import AsyncJobForge
from .aio.handle import AsyncEnqueuedJob, AsyncJobHandle
from .aio.listing import AsyncList
from .aio.runs import AsyncClaimedRun
from .aio.workflows import AsyncStartedWorkflow, AsyncWorkflowHandle
from .arguments import Duration, Tenant
from .blocking.client import Client, TransactionClient
from .blocking.forge import JobForge
from .blocking.handle import EnqueuedJob, JobHandle
from .blocking.listing import List
from .blocking.runs import ClaimedRun
from .blocking.workflows import StartedWorkflow, WorkflowHandle
from .context import JobContext, JobLogger
from .definition import (
    BatchItem,
    EnqueueOptions,
    JobDefinition,
    JobHandler,
    JobOptions,
    NewJob,
    RunIn,
    define_job,
)
from .durable import ChildFailedError, Saga, SettledChild, SignalReply, StepFacts, StepFailedError, StepResult, SyncSaga
from .errors import (
    ArtifactDamagedError,
    ArtifactNotFoundError,
    ArtifactStoreRequiredError,
    ConnectionError,
    DatabaseError,
    EndpointNotFoundError,
    ForbiddenError,
    InvalidArgumentError,
    InvalidScheduleError,
    InvalidStatusError,
    InvalidValueError,
    InvalidValueIssue,
    JobAborted,
    JobCanceledError,
    JobFailedError,
    JobForgeError,
    JobLimitExceededError,
    JobNotFoundError,
    JobNotHeldError,
    NotCancelableError,
    NotInstalledError,
    NotReschedulableError,
    NotUpdatableError,
    PayloadTooLargeError,
    ScheduleNotFoundError,
    StepConflictError,
    StepNotResolvableError,
    TenantRequiredError,
    TimeoutError,
    WaitTimeoutError,
    WorkflowCanceledError,
    WorkflowFailedError,
    WorkflowLimitExceededError,
    WorkflowNotFoundError,
    WorkflowNotRetryableError,
    WorkflowNotRunningError,
)
from .failure import failure_line, failure_trace
from .function_job import FunctionJob, job
from .jsontext import JsonText
from .operating import (
    AuditEntry,
    ChangedGate,
    ChangedLimit,
    Gate,
    Limit,
    ListedLimit,
    LiveCount,
    TenantInfo,
    TypeInfo,
    Usage,
    WorkerInfo,
)
from .operations.filters import JobFilters
from .operations.listing import Page
from .operations.schedules import ScheduleId
from .operations.workflows import WorkflowFilters
from .policies import Difference, Policy, PolicyChanges, PolicyReset, PolicySync, ScheduleSync
from .records import (
    BulkCounts,
    BulkResult,
    CancelResult,
    DeadGroup,
    Job,
    JobAttempt,
    JobCount,
    JobLog,
    JobReason,
    RescheduleResult,
    RunOutcome,
)
from .retry import RetryPolicy
from .schedule import ScheduleDefinition, define_schedule
from .schedule_records import PreviousRun, RunSchedule, Schedule, ScheduleCount
from .schema import Schema
from .settings import Settings
from .tenant_id import tenant_id
from .version import VERSION, __version__
from .webhook import (
    DeletedEndpoint,
    EgressPolicies,
    EndpointKeyVersion,
    EndpointOptions,
    EndpointTest,
    NewEndpointOptions,
    NotifyOptions,
    ReplayResult,
    SecretName,
    SentEvent,
    WebhookEndpoint,
)
from .words import GLOBAL_TENANT, UNSET
from .workflows.builder import AddedSteps, Steps
from .workflows.definition import WorkflowDefinition, build_workflow, define_workflow
from .workflows.options import JobStepOptions, SignalOptions, StartOptions, StepOptions
from .workflows.records import (
    AddedStepCount,
    FailedStep,
    SentSignal,
    Workflow,
    WorkflowBulkResult,
    WorkflowCancelResult,
    WorkflowDetails,
    WorkflowRetryResult,
    WorkflowStep,
    WorkflowWait,
)
from .workflows.reference import Ref
from .workflows.start import NewWorkflow
from .workflows.step import MapStep, Need, Step, compensate, run, wait

if _TYPE_CHECKING:
    from .worker import Hooks, Worker

__all__ = [
    "GLOBAL_TENANT",
    "UNSET",
    "VERSION",
    "AddedStepCount",
    "AddedSteps",
    "ArtifactDamagedError",
    "ArtifactNotFoundError",
    "ArtifactStoreRequiredError",
    "AsyncClaimedRun",
    "AsyncClient",
    "AsyncEnqueuedJob",
    "AsyncJobForge",
    "AsyncJobHandle",
    "AsyncList",
    "AsyncStartedWorkflow",
    "AsyncTransactionClient",
    "AsyncWorkflowHandle",
    "AuditEntry",
    "BatchItem",
    "BulkCounts",
    "BulkResult",
    "CancelResult",
    "ChangedGate",
    "ChangedLimit",
    "ChildFailedError",
    "ClaimedRun",
    "Client",
    "ConnectionError",
    "DatabaseError",
    "DeadGroup",
    "DeletedEndpoint",
    "Difference",
    "Duration",
    "EgressPolicies",
    "EndpointKeyVersion",
    "EndpointNotFoundError",
    "EndpointOptions",
    "EndpointTest",
    "EnqueueOptions",
    "EnqueuedJob",
    "FailedStep",
    "ForbiddenError",
    "FunctionJob",
    "Gate",
    "Hooks",
    "InvalidArgumentError",
    "InvalidScheduleError",
    "InvalidStatusError",
    "InvalidValueError",
    "InvalidValueIssue",
    "Job",
    "JobAborted",
    "JobAttempt",
    "JobCanceledError",
    "JobContext",
    "JobCount",
    "JobDefinition",
    "JobFailedError",
    "JobFilters",
    "JobForge",
    "JobForgeError",
    "JobHandle",
    "JobHandler",
    "JobLimitExceededError",
    "JobLog",
    "JobLogger",
    "JobNotFoundError",
    "JobNotHeldError",
    "JobOptions",
    "JobReason",
    "JobStepOptions",
    "JsonText",
    "Limit",
    "List",
    "ListedLimit",
    "LiveCount",
    "MapStep",
    "Need",
    "NewEndpointOptions",
    "NewJob",
    "NewWorkflow",
    "NotCancelableError",
    "NotInstalledError",
    "NotReschedulableError",
    "NotUpdatableError",
    "NotifyOptions",
    "Page",
    "PayloadTooLargeError",
    "Policy",
    "PolicyChanges",
    "PolicyReset",
    "PolicySync",
    "PreviousRun",
    "Ref",
    "ReplayResult",
    "RescheduleResult",
    "RetryPolicy",
    "RunIn",
    "RunOutcome",
    "RunSchedule",
    "Saga",
    "Schedule",
    "ScheduleCount",
    "ScheduleDefinition",
    "ScheduleId",
    "ScheduleNotFoundError",
    "ScheduleSync",
    "Schema",
    "SecretName",
    "SentEvent",
    "SentSignal",
    "Settings",
    "SettledChild",
    "SignalOptions",
    "SignalReply",
    "StartOptions",
    "StartedWorkflow",
    "Step",
    "StepConflictError",
    "StepFacts",
    "StepFailedError",
    "StepNotResolvableError",
    "StepOptions",
    "StepResult",
    "Steps",
    "SyncSaga",
    "Tenant",
    "TenantInfo",
    "TenantRequiredError",
    "TimeoutError",
    "TransactionClient",
    "TypeInfo",
    "Usage",
    "WaitTimeoutError",
    "WebhookEndpoint",
    "Worker",
    "WorkerInfo",
    "Workflow",
    "WorkflowBulkResult",
    "WorkflowCancelResult",
    "WorkflowCanceledError",
    "WorkflowDefinition",
    "WorkflowDetails",
    "WorkflowFailedError",
    "WorkflowFilters",
    "WorkflowHandle",
    "WorkflowLimitExceededError",
    "WorkflowNotFoundError",
    "WorkflowNotRetryableError",
    "WorkflowNotRunningError",
    "WorkflowRetryResult",
    "WorkflowStep",
    "WorkflowWait",
    "__version__",
    "build_workflow",
    "compensate",
    "define_job",
    "define_schedule",
    "define_workflow",
    "failure_line",
    "failure_trace",
    "job",
    "run",
    "tenant_id",
    "wait",
]


def __getattr__(name: str) -> object:
    """Loads the worker for programs that run jobs; those that only enqueue start faster without it."""
    if name in ("Hooks", "Worker"):
        from . import worker

        return getattr(worker, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
