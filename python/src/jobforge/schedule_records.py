"""What calls about schedules return. Fields have the names of the kernel's columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from .rows import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .words import JobStatus, MissedMode, OverlapMode, ScheduleKind, ScheduleOutcome


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
    tenant_label: str | None
    """What people call the tenant; None if it has no label."""
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
    default_attempts: int | None
    """What the definition of the job says about attempts. It counts without `max_attempts`."""
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
