"""Reading and steering jobs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..arguments import check_one_of, check_range, check_tags, check_tenant, check_time, check_uuid, refuse
from ..errors import InvalidArgumentError
from ..records import (
    BulkResult,
    CancelResult,
    DeadGroup,
    Job,
    JobAttempt,
    JobCount,
    JobLog,
    JobReason,
    RescheduleResult,
)
from ..rows import from_rows
from ..words import BOUNDS, UNSET, BulkChange
from .call import Call, Steps, ask, whole
from .filters import checked_page_size, filter_keys
from .listing import ReadPage, pages_by_id
from .prepare import check_payload, definition_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..definition import JobDefinition


def reference(id: object, tenant: object) -> dict[str, object]:
    """The arguments that name a job."""
    return {"p_job_id": check_uuid(id, "id"), "p_tenant_id": check_tenant(tenant)}


def get(id: object, tenant: object, job: object) -> Call[Job | None]:
    """The job as it is now."""
    definition = None if job is None else definition_of(job)

    def read(rows: Sequence[Mapping[str, Any]]) -> Job | None:
        return _checked(Job.from_row(rows[0]), definition) if rows else None

    return Call("jobforge_get_job", reference(id, tenant), read)


def _checked(job: Job, definition: JobDefinition[Any, Any] | None) -> Job:
    if definition is not None and job.type != definition.type:
        raise InvalidArgumentError(f"Job {job.id} is of type {job.type}, not {definition.type}", field="job")
    return job


def list_jobs(tenant: object, job: object, page_size: int | None, filters: Mapping[str, Any]) -> ReadPage[Job]:
    """The jobs of a tenant."""
    tenant_id, keys = check_tenant(tenant), filter_keys(filters, job)

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_jobs", {"p_tenant_id": tenant_id, "p_filters": {**keys, **page}}, whole)

    return pages_by_id(Job, checked_page_size(page_size), read)


def search(tenant: object, job: object, page_size: int | None, filters: Mapping[str, Any]) -> ReadPage[Job]:
    """The jobs of all tenants, or of one, for operators."""
    keys = filter_keys(filters, job)
    if tenant is not None:
        keys["tenant_id"] = check_tenant(tenant)

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_search_jobs", {"p_filters": {**keys, **page}}, whole)

    return pages_by_id(Job, checked_page_size(page_size), read)


def attempts(id: object, tenant: object) -> Steps[list[JobAttempt]]:
    """The attempts of a job, the first one first."""
    args = reference(id, tenant)
    found: list[JobAttempt] = []
    while True:
        after = found[-1].attempt_no if found else UNSET
        rows = yield from ask(Call("jobforge_list_attempts", {**args, "p_after": after}, _attempts))
        found.extend(rows)
        if len(rows) < BOUNDS["attempts"].max:
            return found


def logs(id: object, tenant: object) -> Steps[list[JobLog]]:
    """What the handler logged in each attempt, the first one first."""
    args = reference(id, tenant)
    found: list[JobLog] = []
    while True:
        after = found[-1].attempt_no if found else UNSET
        rows = yield from ask(Call("jobforge_list_logs", {**args, "p_after": after}, _logs))
        found.extend(rows)
        if len(rows) < BOUNDS["logs"].max:
            return found


def _logs(rows: Sequence[Mapping[str, Any]]) -> list[JobLog]:
    return from_rows(JobLog, rows)


def _attempts(rows: Sequence[Mapping[str, Any]]) -> list[JobAttempt]:
    return from_rows(JobAttempt, rows)


def explain(id: object, tenant: object) -> Call[list[JobReason] | None]:
    """Why a job is not running now, or how it finished."""

    def read(rows: Sequence[Mapping[str, Any]] | None) -> list[JobReason] | None:
        return None if rows is None else from_rows(JobReason, rows)

    return Call("jobforge_explain_job", reference(id, tenant), read)


def cancel(id: object, tenant: object) -> Call[CancelResult]:
    """Cancels a job."""
    return Call("jobforge_cancel_job", reference(id, tenant), CancelResult.from_row)


def reschedule(
    id: object, tenant: object, run_at: datetime | None, max_attempts: int | None, payload: object
) -> Call[RescheduleResult]:
    """Runs a job now or at another time."""
    args = {
        **reference(id, tenant),
        "p_run_at": UNSET if run_at is None else check_time(run_at, "run_at"),
        "p_max_attempts": _attempts_or_unset(max_attempts),
        "p_payload": UNSET if payload is UNSET else _new_payload(None, payload),
    }
    return Call("jobforge_reschedule_job", args, RescheduleResult.from_row)


def _attempts_or_unset(value: int | None) -> object:
    return UNSET if value is None else check_range(value, "max_attempts", BOUNDS["max_attempts"])


def update(id: object, tenant: object, job: object, changes: Mapping[str, Any]) -> Call[Job]:
    """Changes a queued job. If a definition is given, its schema checks the new payload."""
    args = {**reference(id, tenant), "p_changes": _changes(job, changes)}
    return Call("jobforge_update_job", args, Job.from_row)


def copy(id: object, tenant: object, job: object, changes: Mapping[str, Any]) -> Call[Job | None]:
    """Enqueues a new job like another one. If a definition is given, its schema checks a new payload."""
    keys = _changes(job, changes)
    if changes.get("max_attempts") is not None:
        keys["max_attempts"] = _attempts_or_unset(changes["max_attempts"])

    def read(row: Mapping[str, Any] | None) -> Job | None:
        return None if row is None else Job.from_row(row)

    return Call("jobforge_copy_job", {**reference(id, tenant), "p_changes": keys}, read)


def _changes(job: object, changes: Mapping[str, Any]) -> dict[str, object]:
    keys: dict[str, object] = {}
    if changes.get("payload", UNSET) is not UNSET:
        keys["payload"] = _new_payload(job, changes["payload"])
    if changes.get("priority") is not None:
        keys["priority"] = check_range(changes["priority"], "priority", BOUNDS["priority"])
    if changes.get("tags") is not None:
        keys["tags"] = check_tags(changes["tags"], "tags")
    if changes.get("run_at") is not None:
        keys["run_at"] = check_time(changes["run_at"], "run_at").isoformat()
    return keys


def _new_payload(job: object, payload: object) -> object:
    if job is None:
        if payload is None:
            refuse("payload", "must not be None", "Pass {} for a job that needs no input.")
        return payload
    definition = definition_of(job)
    check_payload(definition, payload, "payload")
    return definition.input.dump(payload, "payload")


def change_many(change: BulkChange, tenant: object, limit: int | None, filters: Mapping[str, Any]) -> Call[BulkResult]:
    """Changes the jobs that match the filters, up to `limit` of them."""
    args = {
        "p_tenant_id": check_tenant(tenant),
        "p_filters": filter_keys(filters),
        "p_limit": UNSET if limit is None else check_range(limit, "limit", BOUNDS["bulk_limit"]),
    }
    return Call(f"jobforge_{change}_jobs", args, BulkResult.from_row)


def count(tenant: object, change: BulkChange | None, filters: Mapping[str, Any]) -> Call[list[JobCount]]:
    """How many jobs match the filters, by tenant, type and status."""
    args = {
        "p_tenant_id": UNSET if tenant is None else check_tenant(tenant),
        "p_filters": filter_keys(filters),
        "p_change": UNSET if change is None else check_one_of(change, "change", BulkChange),
    }
    return Call("jobforge_count_jobs", args, lambda rows: from_rows(JobCount, rows))


def dead_groups(tenant: object, limit: int | None, filters: Mapping[str, Any]) -> Call[list[DeadGroup]]:
    """Failed and dead jobs by type and kind of error, the largest group first."""
    keys = filter_keys(filters)
    if limit is not None:
        keys["limit"] = check_range(limit, "limit", BOUNDS["dead_groups"])
    args = {"p_tenant_id": UNSET if tenant is None else check_tenant(tenant), "p_filters": keys}
    return Call("jobforge_list_dead_groups", args, lambda rows: from_rows(DeadGroup, rows))
