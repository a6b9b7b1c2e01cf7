"""What selects jobs and schedules. A misspelled filter would select more than the caller means, so it is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypedDict

from ..arguments import check_bool, check_one_of, check_range, check_tags, check_text, check_time
from ..suggest import check_known
from ..words import BOUNDS, JobStatus
from .prepare import definition_of


class JobFilters(TypedDict, total=False):
    """Selects jobs. A job must match all given filters; None counts as not given."""

    status: JobStatus | Sequence[JobStatus] | None
    type: str | Sequence[str] | None
    tags: str | Sequence[str] | None
    """Jobs that have all of these tags."""
    subject: str | None
    error_contains: str | None
    """A part of the error message. Case is ignored."""
    error_group: str | None
    """Jobs with this kind of error: a group of `jobs.dead_groups()`."""
    created_after: datetime | None
    created_before: datetime | None
    finished_after: datetime | None
    finished_before: datetime | None


class ScheduleFilters(TypedDict, total=False):
    """Selects schedules. A schedule must match all given filters; None counts as not given."""

    job: Any
    """Only schedules of this definition, or of these."""
    enabled: bool | None
    failing: bool | None
    """Whether the last run failed."""
    due: bool | None
    """Whether its time has come, and no worker has made a run of it."""
    overdue: bool | None
    """Whether it is due for more than a minute."""
    running: bool | None
    tags: Sequence[str] | None
    subject: str | None
    key_prefix: str | None
    updated_before: datetime | None


_ALIASES: Final = {
    "state": "status",
    "statuses": "status",
    "types": "type",
    "queue": "type",
    "job": "Did you mean type? Pass the type of the definition: job.type.",
    "error": "error_contains",
    "since": "created_after",
    "after": "created_after",
    "before": "created_before",
    "limit": "Did you mean page_size? To read one page only, call page() of the list.",
    "cursor": "Pass the cursor to page(cursor) of the list.",
    "tenantid": "tenant",
}
_TIMES: Final = ("created_after", "created_before", "finished_after", "finished_before")


def filter_keys(filters: Mapping[str, Any], job: object = None) -> dict[str, object]:
    """The filters of jobs under the kernel's keys."""
    given = {name: value for name, value in filters.items() if value is not None}
    check_known(given, JobFilters.__annotations__, _ALIASES)
    if job is not None:
        given.setdefault("type", types_of(job))
    statuses = given.get("status", ())
    for each in (statuses,) if isinstance(statuses, str) else statuses:
        check_one_of(each, "status", JobStatus)
    # Tuples and other sequences become lists, which is what JSON has.
    for name in ("status", "type", "tags"):
        if name in given and not isinstance(given[name], str):
            given[name] = list(given[name])
    for name in ("subject", "error_contains", "error_group"):
        if name in given:
            check_text(given[name], name)
    for name in _TIMES:
        if name in given:
            given[name] = check_time(given[name], name).isoformat()
    return given


def schedule_filter_keys(filters: Mapping[str, Any]) -> dict[str, object]:
    """The filters of schedules under the kernel's keys."""
    given = {name: value for name, value in filters.items() if value is not None}
    check_known(given, ScheduleFilters.__annotations__, {"type": "job", "tenantid": "tenant"})
    if "job" in given:
        given["type"] = types_of(given.pop("job"))
    for name in ("enabled", "failing", "due", "overdue", "running"):
        if name in given:
            check_bool(given[name], name)
    if "tags" in given:
        given["tags"] = check_tags(given["tags"], "tags")
    if "updated_before" in given:
        given["updated_before"] = check_time(given["updated_before"], "updated_before").isoformat()
    return given


def types_of(jobs: object) -> list[str]:
    """The types of a definition, or of several."""
    found = jobs if isinstance(jobs, (list, tuple)) else (jobs,)
    return [definition_of(each).type for each in found]


def checked_page_size(page_size: int | None) -> int:
    """The number of items per page."""
    if page_size is None:
        return BOUNDS["page_size"].default
    return check_range(page_size, "page_size", BOUNDS["page_size"])
