"""Brings the database in line with what code declares. The kernel decides which settings are applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..arguments import check_tenant, check_text, describe, refuse
from ..definition import JobDefinition
from ..errors import InvalidArgumentError
from ..jsontext import JsonText
from ..policies import PolicySync, ScheduleSync
from ..schedule import ScheduleDefinition
from ..words import BOUNDS, UNSET
from .call import Call, Steps, ask
from .prepare import definition_of
from .schedules import schedule_json


def sync(
    definitions: object,
    *,
    app: str | None,
    app_version: str | None,
    tenant: object,
    dry_run: bool,
    force: bool,
) -> Steps[list[PolicySync | ScheduleSync]]:
    """Syncs policies first, then, for an `app`, its schedules."""
    if isinstance(definitions, (str, Mapping)) or not isinstance(definitions, Sequence):
        hint = "Pass [job], with what define_job and define_schedule return."
        refuse("definitions", f"must be a list, not {describe(definitions)}", hint)
    schedules = [each for each in definitions if isinstance(each, ScheduleDefinition)]
    jobs = [
        definition_of(each, f"definitions[{index}].")
        for index, each in enumerate(definitions)
        if not isinstance(each, ScheduleDefinition)
    ]
    if app is None and schedules:
        hint = "Name the application that declares them, so that sync can disable those it no longer declares."
        refuse("app", "is required to sync schedules", hint)
    found: list[PolicySync | ScheduleSync] = []
    found += yield from sync_policies(jobs, app_version=app_version, dry_run=dry_run, force=force)
    if app is not None:
        found += yield from ask(_sync_schedules(schedules, app, tenant, dry_run=dry_run))
    return found


def sync_policies(
    jobs: Sequence[JobDefinition[Any, Any]],
    *,
    app_version: str | None = None,
    dry_run: bool = False,
    force: bool = False,
) -> Steps[list[PolicySync]]:
    """Writes the policies of definitions: only differences. One result for each type, in order.

    If there is nothing to write, the right to read policies is enough.
    """
    if app_version is not None:
        check_text(app_version, "app_version", BOUNDS["app_bytes"])
    wanted = policies_of(jobs)
    if not wanted:
        return []
    if not dry_run and not force:
        planned = yield from ask(_sync_policies(wanted, app_version, dry_run=True, force=False))
        if all(each.known and each.action == "unchanged" for each in planned):
            return planned
    result = yield from ask(_sync_policies(wanted, app_version, dry_run=dry_run, force=force))
    return result


def _sync_policies(
    wanted: Mapping[str, Mapping[str, object]], version: str | None, *, dry_run: bool, force: bool
) -> Call[list[PolicySync]]:
    def read(rows: Sequence[Mapping[str, Any]]) -> list[PolicySync]:
        found = {row["type"]: PolicySync.from_row(row) for row in rows}
        return [found[type] for type in wanted if type in found]

    args = {
        "p_policies": wanted,
        "p_version": UNSET if version is None else version,
        "p_force": force,
        "p_dry_run": dry_run,
    }
    return Call("jobforge_sync_policies", args, read)


def policies_of(jobs: Sequence[JobDefinition[Any, Any]]) -> dict[str, dict[str, object]]:
    """The policies of definitions under the kernel's keys, by type."""
    wanted: dict[str, dict[str, object]] = {}
    for job in jobs:
        policy = policy_of(job)
        if wanted.setdefault(job.type, policy) != policy:
            raise InvalidArgumentError(f"Two definitions of {job.type} have different policies", field="jobs")
    return wanted


def policy_of(job: JobDefinition[Any, Any]) -> dict[str, object]:
    """The policy settings of a definition, and nothing else."""
    keys: dict[str, object] = {} if job.retry is None else job.retry.keys()
    if job.timeout_ms is not UNSET:
        keys["timeout_ms"] = job.timeout_ms
    for name in ("lease_ms", "audit_action", "keep_history", "keep_logs", "retention_days", "max_priority"):
        value = getattr(job, name)
        if value is not None:
            keys[name] = value
    if job.redact is not None:
        keys["redact"] = list(job.redact)
    return keys


def _sync_schedules(
    schedules: Sequence[ScheduleDefinition], app: str, tenant: object, *, dry_run: bool
) -> Call[list[ScheduleSync]]:
    declared = (
        schedule_json(
            each.job,
            each.tenant,
            each.payload,
            each.settings,
            {"tenant_id": each.tenant, "type": each.job.type, "key": each.key},
            f"schedules[{index}].",
        )
        for index, each in enumerate(schedules)
    )
    args = {
        "p_app": check_text(app, "app", BOUNDS["app_bytes"]),
        "p_schedules": JsonText(f"[{','.join(declared)}]"),
        "p_tenant_id": UNSET if tenant is None else check_tenant(tenant),
        "p_dry_run": dry_run,
    }
    return Call("jobforge_sync_schedules", args, lambda rows: [ScheduleSync.from_row(row) for row in rows])
