"""Recurring work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from ..arguments import (
    check_bool,
    check_one_of,
    check_range,
    check_tags,
    check_tenant,
    check_text,
    check_time,
    check_uuid,
    refuse,
)
from ..definition import NewJob
from ..errors import InvalidArgumentError, InvalidScheduleError
from ..jsontext import JsonText, dumps, to_json
from ..records import BulkResult, Job
from ..rows import from_rows
from ..schedule import ScheduleChanges, ScheduleOptions
from ..schedule_records import Schedule, ScheduleCount
from ..suggest import check_known
from ..words import BOUNDS, UNSET, MissedMode, OverlapMode, ScheduleOrder
from .call import Call, nothing, whole
from .filters import checked_page_size, filter_keys, schedule_filter_keys
from .listing import ReadPage, pages_by_id
from .prepare import check_payload, definition_of, prepare_job

if TYPE_CHECKING:
    from ..definition import JobDefinition


@dataclass(frozen=True, slots=True)
class ScheduleId:
    """Names a schedule by its id, which its runs have as `schedule_id`, instead of its key."""

    id: str


Check = Callable[[object, str], object]


def _time(value: object, field: str) -> str:
    return check_time(value, field).isoformat()


def _interval(value: object, field: str) -> object:
    """Seconds, a timedelta or a text; the kernel reads the text."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, str):
        return check_text(value, field)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
        refuse(field, "must be a positive number of seconds, a timedelta, or a text such as 1h30m")
    return f"{value:.6f}".rstrip("0").rstrip(".") + "s"


def _whole_number(bounds: str) -> Check:
    return lambda value, field: check_range(value, field, BOUNDS[bounds])


_OF_RUNS: Final = ("priority", "max_attempts", "tags", "subject", "concurrency_key")
_CHECKS: Final[Mapping[str, Check]] = {
    "cron": check_text,
    "timezone": check_text,
    "every": _interval,
    "anchor": _time,
    "jitter": _interval,
    "dynamic": check_bool,
    "enabled": check_bool,
    "overlap": lambda value, field: check_one_of(value, field, OverlapMode),
    "missed": lambda value, field: check_one_of(value, field, MissedMode),
    "missed_limit": _whole_number("missed_limit"),
    "starts_at": _time,
    "ends_at": _time,
    "retry_runs": check_bool,
    "priority": _whole_number("priority"),
    "max_attempts": _whole_number("max_attempts"),
    "tags": check_tags,
    "subject": check_text,
    "concurrency_key": check_text,
    "next_run_at": _time,
    "first_run_at": _time,
    "reset": check_bool,
    "if_missing": check_bool,
    "reset_failures": check_bool,
}
_ALIASES: Final = {
    "interval": "every",
    "seconds": "every",
    "crontab": "cron",
    "tz": "timezone",
    "tenantid": "tenant",
    "input": "payload",
}


def setting_keys(options: Mapping[str, Any], *, keep_none: bool = False, at: str = "") -> dict[str, object]:
    """Options of a schedule under the kernel's keys, checked one by one. The kernel checks how they fit."""
    keys: dict[str, object] = {}
    check_known(options, [*_CHECKS, "payload", "merge_payload"], _ALIASES, at=at)
    for name, value in options.items():
        if value is None:
            if keep_none:
                keys[name] = None
        elif name in _CHECKS:
            keys[name] = _CHECKS[name](value, f"{at}{name}")
    return keys


_BELONGINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "cron": ("timezone",),
    "every": ("anchor", "jitter"),
    "dynamic": (),
}
"""The options that belong to each kind of rhythm. The kernel has the same table."""


def check_rhythm(settings: Mapping[str, Any]) -> None:
    """The kernel checks this too, but only when the schedule is written, which may be long after the definition."""
    given = [name for name, value in settings.items() if value is not None and value is not False]
    kinds = [kind for kind in _BELONGINGS if kind in given]
    if not kinds:
        message, field = "it has no rhythm", "cron"
        hint = 'Give one of the options cron="0 7 * * *", every="5m", and dynamic=True (the handler sets the next run).'
    elif len(kinds) > 1:
        message, field = f"{kinds[0]} and {kinds[1]} exclude each other", kinds[1]
        hint = "Give one of the options cron, every and dynamic."
    else:
        kind = kinds[0]
        strays = [(name, owner) for owner, names in _BELONGINGS.items() if owner != kind for name in names]
        stray = next(((name, owner) for name, owner in strays if name in given), None)
        if stray is None:
            return
        message, field = f"{stray[0]} has no meaning for a schedule of the kind {kind}", stray[0]
        hint = f"It belongs to {stray[1]}."
    raise InvalidScheduleError(f"Invalid schedule: {message}", field=field, hint=hint)


def schedule_json(
    job: JobDefinition[Any, Any],
    tenant: str,
    payload: object,
    options: Mapping[str, Any],
    more: Mapping[str, object] | None = None,
    at: str = "",
) -> str:
    """The options of a schedule as JSON, with the settings that the job's definition has for its runs."""
    keys = setting_keys(options, at=at)
    # A schedule keeps its runs apart by its overlap mode, not by a dedupe key: this one is left out again. Its runs get
    # the attempts of the policy.
    of_runs = {name: options.get(name) for name in _OF_RUNS}
    prepared = prepare_job(NewJob(job, payload), {**of_runs, "tenant": tenant, "dedupe_key": "schedule"}, at)
    left_out = ("dedupe_key", "dedupe_mode", "default_attempts", "traceparent")
    keys.update({name: value for name, value in prepared.keys.items() if name not in left_out})
    return f'{{"payload":{prepared.payload.text},{dumps({**(more or {}), **keys})[1:]}'.replace(",}", "}", 1)


def _which(job: object, key: object, tenant: object) -> dict[str, object]:
    if isinstance(key, ScheduleId):
        named = {"p_schedule_id": check_uuid(key.id, "id")}
    else:
        named = {"p_key": check_text(key, "key")}
    return {"p_tenant_id": check_tenant(tenant), "p_type": definition_of(job).type, **named}


def ensure(job: object, key: str, tenant: object, payload: object, options: ScheduleOptions) -> Call[Schedule]:
    """Creates the schedule, or changes it so that it has these options."""
    args = _which(job, key, tenant)
    given = {} if payload is UNSET else payload
    text = schedule_json(definition_of(job), check_tenant(tenant), given, options)
    return Call("jobforge_ensure_schedule", {**args, "p_options": JsonText(text)}, Schedule.from_row)


def update(job: object, key: object, tenant: object, changes: ScheduleChanges) -> Call[Schedule]:
    """Changes the given options and leaves the others."""
    args = _which(job, key, tenant)
    definition = definition_of(job)
    keys = setting_keys(changes, keep_none=True)
    if "payload" in changes:
        check_payload(definition, changes["payload"], "payload")
        keys["payload"] = definition.input.dump(changes["payload"], "payload")
    if "merge_payload" in changes:
        keys["merge_payload"] = changes["merge_payload"]
    text = to_json(keys, "changes", 2 * 1024 * 1024)
    return Call("jobforge_update_schedule", {**args, "p_changes": text}, Schedule.from_row)


def get(job: object, key: object, tenant: object) -> Call[Schedule | None]:
    """The schedule as it is now."""

    def read(rows: Sequence[Mapping[str, Any]]) -> Schedule | None:
        return Schedule.from_row(rows[0]) if rows else None

    return Call("jobforge_get_schedule", _which(job, key, tenant), read)


def list_schedules(
    tenant: object, order: ScheduleOrder | None, page_size: int | None, filters: Mapping[str, Any]
) -> ReadPage[Schedule]:
    """The schedules of a tenant, or for operators of all tenants."""
    keys = schedule_filter_keys(filters)
    if order is not None:
        keys["order"] = check_one_of(order, "order", ScheduleOrder)
    tenant_id = UNSET if tenant is None else check_tenant(tenant)

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_schedules", {"p_tenant_id": tenant_id, "p_filters": {**keys, **page}}, whole)

    return pages_by_id(Schedule, checked_page_size(page_size), read)


def count(tenant: object) -> Call[list[ScheduleCount]]:
    """How many schedules there are of each type, and what they do."""
    args = {"p_tenant_id": UNSET if tenant is None else check_tenant(tenant)}
    return Call("jobforge_count_schedules", args, lambda rows: from_rows(ScheduleCount, rows))


def runs(job: object, key: object, tenant: object, status: object, page_size: int | None) -> ReadPage[Job]:
    """The runs of a schedule, newest first."""
    args, keys = _which(job, key, tenant), filter_keys({"status": status})

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_schedule_runs", {**args, "p_filters": {**keys, **page}}, whole)

    return pages_by_id(Job, checked_page_size(page_size), read)


def steer(verb: str, job: object, key: object, tenant: object) -> Call[Schedule]:
    """Enables, disables, runs or locks a schedule."""
    return Call(f"jobforge_{verb}_schedule", _which(job, key, tenant), Schedule.from_row)


def set_enabled(job: object, key: object, tenant: object, enabled: object) -> Call[Schedule]:
    """Enables or disables a schedule."""
    args = {**_which(job, key, tenant), "p_enabled": check_bool(enabled, "enabled")}
    return Call("jobforge_set_schedule_enabled", args, Schedule.from_row)


def delete(job: object, key: object, tenant: object) -> Call[None]:
    """Deletes a schedule."""
    return Call("jobforge_delete_schedule", _which(job, key, tenant), nothing)


def delete_many(tenant: object, limit: int | None, filters: Mapping[str, Any]) -> Call[BulkResult]:
    """Deletes schedules that match the filters."""
    keys = schedule_filter_keys(filters)
    if not keys:
        raise InvalidArgumentError("filters must select schedules: give at least one", field="filters")
    args = {
        "p_tenant_id": check_tenant(tenant),
        "p_filters": keys,
        "p_limit": UNSET if limit is None else check_range(limit, "limit", BOUNDS["schedule_bulk_limit"]),
    }
    return Call("jobforge_delete_schedules", args, BulkResult.from_row)
