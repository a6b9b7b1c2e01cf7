"""Schedules that code declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

from .arguments import check_tenant, check_text
from .definition import JobDefinition
from .words import GLOBAL_TENANT, UNSET, MissedMode, OverlapMode

if TYPE_CHECKING:
    from typing_extensions import TypeVar, Unpack

    from .arguments import Duration, Tenant

    In = TypeVar("In", default=Any)


class ScheduleSettings(TypedDict, total=False):
    """The options of a schedule. It has one of `cron`, `every` and `dynamic`; None counts as not given."""

    cron: str | None
    """The schedule is due at the times of this cron expression."""
    timezone: str | None
    """The time zone of the expression, such as `Europe/Berlin`. Default `UTC`."""
    every: str | Duration | None
    """The schedule is due at whole intervals after an anchor: seconds, a timedelta, or a text such as `1h30m`."""
    anchor: datetime | None
    """The time from which intervals are counted. Default: the first run."""
    jitter: str | Duration | None
    """Each due time is later by a random time of up to this."""
    dynamic: bool | None
    """The handler sets the next due time, with `job.next_run()`."""
    enabled: bool | None
    """Whether the schedule runs. Default: a new one does, an existing one stays as it is."""
    overlap: OverlapMode | None
    """What happens at a due time while a run is queued or running. Default `skip`."""
    missed: MissedMode | None
    """What happens with due times that passed while no worker was there. Default `once`."""
    missed_limit: int | None
    """How many missed runs `missed="all"` makes up for, the latest ones: 1 to 100. Default 100."""
    starts_at: datetime | None
    ends_at: datetime | None
    retry_runs: bool | None
    """Whether a failed run is retried by its type's policy. Otherwise the next due time is the next run."""
    priority: int | None
    """The priority of each run. This and the following settings apply to runs."""
    max_attempts: int | None
    tags: Sequence[str] | None
    subject: str | None
    concurrency_key: str | None


class ScheduleOptions(ScheduleSettings, total=False):
    """The options of `schedules.ensure`."""

    next_run_at: datetime | None
    """The next run, whatever the rhythm is. If it is not given, an existing schedule keeps its next run."""
    first_run_at: datetime | None
    """As `next_run_at`, for a new schedule only: an existing one keeps its next run."""
    reset: bool | None
    """Computes the next run as for a new schedule."""
    if_missing: bool | None
    """True: an existing schedule stays as it is, whatever the other options say."""
    reset_failures: bool | None
    """True: sets `consecutive_failures` to 0 and removes `last_error`."""


class ScheduleChanges(ScheduleSettings, total=False):
    """Changes to a schedule. What is not given stays; None sets the default."""

    payload: Any
    merge_payload: Mapping[str, Any]
    """Replaces some keys of the payload and keeps the others. The schema is checked when the run starts."""
    next_run_at: datetime | None
    reset: bool
    reset_failures: bool


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleDefinition:
    """A schedule that code declares. `forge.sync()` writes it to the database."""

    job: JobDefinition[Any, Any]
    key: str
    tenant: str
    payload: Any
    settings: ScheduleSettings = field(default_factory=ScheduleSettings)


def define_schedule(
    job: JobDefinition[In, Any],
    key: str,
    *,
    payload: In | Any = UNSET,
    tenant: Tenant = GLOBAL_TENANT,
    **settings: Unpack[ScheduleSettings],
) -> ScheduleDefinition:
    """Declares a schedule: a job, its due times and its input.

    Raises an InvalidScheduleError if it does not have exactly one of `cron`, `every` and `dynamic`. `forge.sync()`
    writes it to the database, and checks the expression and the payload.
    """
    from .operations.prepare import definition_of
    from .operations.schedules import check_rhythm, setting_keys

    definition = definition_of(job)
    setting_keys(settings)
    check_rhythm(settings)
    return ScheduleDefinition(
        definition, check_text(key, "key"), check_tenant(tenant), {} if payload is UNSET else payload, settings
    )
