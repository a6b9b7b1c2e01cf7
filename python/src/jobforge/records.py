"""What calls about jobs and schedules return. Fields have the names of the kernel's columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from .rows import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .words import (
        AttemptStatus,
        JobEndReason,
        JobStatus,
    )


@dataclass(frozen=True, slots=True)
class Job(Record):
    """A job as it is now."""

    id: str
    tenant: str
    tenant_label: str | None
    """What people call the tenant; None if it has no label."""
    type: str
    payload: Any
    """The input as JSON, as it was enqueued."""
    status: JobStatus
    priority: int
    attempts: int
    """How often the job was claimed. It never decreases."""
    max_attempts: int
    """The total number of executions that are allowed."""
    uncounted: int
    """Claims that do not count against `max_attempts`."""
    run_at: datetime
    locked_by: str | None
    locked_at: datetime | None
    heartbeat_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    idempotency_key: str | None
    dedupe_key: str | None
    concurrency_key: str | None
    subject: str | None
    tags: list[str]
    progress: Any
    """What the handler reported last."""
    cancel_requested: bool
    error: Mapping[str, Any] | None
    """The error of the last failed or lost run: `message`, `attemptedAt`, and what its worker added."""
    last_error: str | None
    """The message of that error, followed by the messages of its causes."""
    result_id: str | None
    cost_cents: int | None
    traceparent: str | None
    trace_id: str | None
    reason: JobEndReason | None
    """Why the job finished; None if it has not."""
    schedule_id: str | None
    """The schedule that created the job."""
    scheduled_for: datetime | None
    """When the run of the schedule was due."""
    schedule_key: str | None
    """The key of the schedule; None for other jobs, and if the schedule was deleted."""


@dataclass(frozen=True, slots=True)
class JobAttempt(Record):
    """One run of a job."""

    job_id: str
    tenant: str
    attempt_no: int
    status: AttemptStatus
    worker_id: str | None
    trace_id: str
    started_at: datetime
    finished_at: datetime | None
    duration_ms: float | None
    error: Mapping[str, Any] | None
    handed: bool
    """Whether the enqueue handed the job to the worker, without a claim."""


@dataclass(frozen=True, slots=True)
class LogLine(Record):
    """A line that a handler logged."""

    at: datetime
    level: str
    message: str
    fields: Mapping[str, Any] | None = None
    truncated: bool = False
    """Whether the message was cut, or large fields were left out."""


@dataclass(frozen=True, slots=True)
class JobLog(Record):
    """What the handler of a job logged in one attempt."""

    job_id: str
    tenant: str
    attempt_no: int
    lines: list[LogLine]
    """The last lines, at most 200 and 64 kB."""
    dropped: int
    """The number of earlier lines, which are not kept."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        lines = [LogLine.from_row(line) for line in row["lines"]]
        # Without arguments, super() does not find the class that slots have replaced.
        return super(JobLog, cls).from_row({**row, "lines": lines})


@dataclass(frozen=True, slots=True)
class JobReason(Record):
    """Why a job is not running now, what a workflow waits for, or how it finished."""

    code: str
    message: str
    """For humans."""
    details: Mapping[str, Any]
    """For programs: the values behind the reason."""


@dataclass(frozen=True, slots=True)
class CancelResult(Record):
    """What `cancel` did."""

    id: str
    status: JobStatus
    """`canceled` if the job was queued; `running` if it is canceled when its run ends."""
    cancel_requested: bool


@dataclass(frozen=True, slots=True)
class RescheduleResult(Record):
    """What `reschedule` did."""

    id: str
    status: JobStatus
    run_at: datetime
    max_attempts: int


@dataclass(frozen=True, slots=True)
class BulkCounts:
    """How many jobs of a stream had each outcome."""

    enqueued: int = 0
    created: int = 0
    existing: int = 0
    replaced: int = 0

    def and_of(self, outcomes: Sequence[str]) -> BulkCounts:
        """These numbers and those of more jobs."""
        return BulkCounts(
            self.enqueued + len(outcomes),
            self.created + outcomes.count("created"),
            self.existing + outcomes.count("existing"),
            self.replaced + outcomes.count("replaced"),
        )


@dataclass(frozen=True, slots=True)
class BulkResult(Record):
    """What a change of many jobs or schedules did."""

    matched: int
    changed: int
    """Fewer than `matched` when other transactions hold some of them. Call again while `matched` reaches the limit."""


@dataclass(frozen=True, slots=True)
class JobCount(Record):
    """How many jobs of a tenant and type have a status."""

    tenant: str
    type: str
    status: JobStatus
    jobs: int
    exact: bool
    """False if the count stopped at 100,000 jobs."""
    oldest_at: datetime
    """When the first of them was created."""
    newest_at: datetime
    counted_at: datetime
    """When they were counted. With it as `created_before`, a bulk change affects no job that came later."""


@dataclass(frozen=True, slots=True)
class DeadGroup(Record):
    """Failed and dead jobs of one type with one kind of error."""

    error_group: str
    """The value of the filter `error_group` of lists and bulk changes."""
    type: str
    message: str
    """The message of the newest job."""
    jobs: int
    tenants: list[str]
    tenant_labels: list[str | None]
    """What people call them, in the same order; None for a tenant without a label."""
    first_at: datetime
    last_at: datetime
    newest_job_id: str


@dataclass(frozen=True, slots=True)
class RunOutcome(Record):
    """The state of the job after the end of a run."""

    id: str
    status: JobStatus
    run_at: datetime


@dataclass(frozen=True, slots=True)
class RunHeartbeat(Record):
    """What the renewal of a lease returned."""

    heartbeat_at: datetime
    cancel_requested: bool
