"""JobForge: background jobs in Postgres."""

from .aio.client import AsyncClient, AsyncTransactionClient
from .aio.forge import AsyncJobForge
from .aio.handle import AsyncEnqueuedJob, AsyncJobHandle
from .aio.listing import AsyncList
from .aio.runs import AsyncClaimedRun
from .arguments import Duration, Tenant
from .blocking.client import Client, TransactionClient
from .blocking.forge import JobForge
from .blocking.handle import EnqueuedJob, JobHandle
from .blocking.listing import List
from .blocking.runs import ClaimedRun
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
from .errors import (
    ConnectionError,
    DatabaseError,
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
    TenantRequiredError,
    TimeoutError,
    WaitTimeoutError,
)
from .failure import failure_line, failure_trace
from .function_job import FunctionJob, job
from .jsontext import JsonText
from .operating import (
    AuditEntry,
    ChangedGate,
    Difference,
    Gate,
    Limit,
    LiveCount,
    Policy,
    PolicyReset,
    PolicySync,
    ScheduleSync,
    TenantInfo,
    TypeInfo,
    Usage,
    WorkerInfo,
)
from .operations.filters import JobFilters
from .operations.listing import Page
from .operations.schedules import ScheduleId
from .records import (
    BulkResult,
    CancelResult,
    DeadGroup,
    Job,
    JobAttempt,
    JobCount,
    JobLog,
    JobReason,
    PreviousRun,
    RescheduleResult,
    RunOutcome,
    RunSchedule,
    Schedule,
    ScheduleCount,
)
from .retry import RetryPolicy
from .schedule import ScheduleDefinition, define_schedule
from .schema import Schema
from .settings import Settings
from .tenant_id import tenant_id
from .version import VERSION, __version__
from .words import GLOBAL_TENANT, UNSET

__all__ = [
    "GLOBAL_TENANT",
    "UNSET",
    "VERSION",
    "AsyncClaimedRun",
    "AsyncClient",
    "AsyncEnqueuedJob",
    "AsyncJobForge",
    "AsyncJobHandle",
    "AsyncList",
    "AsyncTransactionClient",
    "AuditEntry",
    "BatchItem",
    "BulkResult",
    "CancelResult",
    "ChangedGate",
    "ClaimedRun",
    "Client",
    "ConnectionError",
    "DatabaseError",
    "DeadGroup",
    "Difference",
    "Duration",
    "EnqueueOptions",
    "EnqueuedJob",
    "ForbiddenError",
    "FunctionJob",
    "Gate",
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
    "JsonText",
    "Limit",
    "List",
    "LiveCount",
    "NewJob",
    "NotCancelableError",
    "NotInstalledError",
    "NotReschedulableError",
    "NotUpdatableError",
    "Page",
    "PayloadTooLargeError",
    "Policy",
    "PolicyReset",
    "PolicySync",
    "PreviousRun",
    "RescheduleResult",
    "RetryPolicy",
    "RunIn",
    "RunOutcome",
    "RunSchedule",
    "Schedule",
    "ScheduleCount",
    "ScheduleDefinition",
    "ScheduleId",
    "ScheduleNotFoundError",
    "ScheduleSync",
    "Schema",
    "Settings",
    "Tenant",
    "TenantInfo",
    "TenantRequiredError",
    "TimeoutError",
    "TransactionClient",
    "TypeInfo",
    "Usage",
    "WaitTimeoutError",
    "WorkerInfo",
    "__version__",
    "define_job",
    "define_schedule",
    "failure_line",
    "failure_trace",
    "job",
    "tenant_id",
]
