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
        MissedMode,
        OverlapMode,
        ScheduleKind,
        ScheduleOutcome,
    )


@dataclass(frozen=True, slots=True)
class Job(Record):
    """A job as it is now."""

    id: str
    tenant: str
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
    """Why a job is not running now, or how it finished."""

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


@dataclass(frozen=True, slots=True)
class PreviousRun(Record):
    """How the previous run of a schedule ended."""

    scheduled_for: datetime
    finished_at: datetime
    status: JobStatus
    error: str | None
    consecutive_failures: int
    """Failed runs since the last success, including that run."""


@dataclass(frozen=True, slots=True)
class RunSchedule:
    """What a handler knows about the schedule of its run."""

    key: str
    previous_run: PreviousRun | None
    """None until the first run has ended."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self | None:
        """The schedule of a claimed job, whose row has `schedule_key` and `previous_run`; None for other jobs."""
        if row.get("schedule_key") is None:
            return None
        previous = row.get("previous_run")
        return cls(row["schedule_key"], None if previous is None else PreviousRun.from_row(previous))


@dataclass(frozen=True, slots=True)
class Schedule(Record):
    """A schedule as it is now."""

    id: str
    tenant: str
    type: str
    key: str
    kind: ScheduleKind
    cron: str | None
    timezone: str | None
    every: str | None
    """An interval as Postgres writes it, such as `00:05:00`."""
    anchor: datetime | None
    jitter: str | None
    enabled: bool
    next_run_at: datetime | None
    """The next due time; None after the last run, and for a dynamic schedule while a run is queued or running."""
    waiting_since: datetime | None
    """The due time of the oldest run that is queued. For a dynamic schedule that is the next run."""
    running_since: datetime | None
    last_run_at: datetime | None
    """When the last run succeeded or failed."""
    last_scheduled_for: datetime | None
    """When that run was due."""
    last_status: JobStatus | None
    last_error: str | None
    """The error of the last run, if it failed."""
    consecutive_failures: int
    run_requested: bool
    """Whether a run was requested and does not exist yet."""
    live_runs: int
    """Runs that are queued or running."""
    overlap: OverlapMode
    missed: MissedMode
    missed_limit: int
    starts_at: datetime | None
    ends_at: datetime | None
    retry_runs: bool
    priority: int
    max_attempts: int | None
    payload: Any
    tags: list[str]
    subject: str | None
    concurrency_key: str | None
    created_at: datetime
    updated_at: datetime
    declared_by: str | None
    """The application whose code declares it."""
    outcome: ScheduleOutcome | None = None
    """What `ensure` did; `existing` means that the schedule already had these options. None after other calls."""


@dataclass(frozen=True, slots=True)
class ScheduleCount(Record):
    """How many schedules of a type there are, and what they do."""

    type: str
    schedules: int
    enabled: int
    due: int
    """Those whose time has come, and of which no worker has made a run."""
    overdue: int
    """Those that are due for more than a minute."""
    running: int
    failing: int
    oldest_due_at: datetime | None
    exact: bool
    """False if there are more than 100,000 schedules: then the first of them are counted."""
