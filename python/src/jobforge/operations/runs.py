"""Runs that a program claims and ends itself, without a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..arguments import check_range, check_tenant, check_text, check_time
from ..describe_error import MAX_MESSAGE, clean, describe_error
from ..failure import cut_text
from ..jsontext import to_storable_json
from ..records import RunHeartbeat, RunOutcome
from ..schedule_records import RunSchedule
from ..words import BOUNDS, UNSET
from .call import Call
from .filters import types_of


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a program knows about a run that it holds."""

    id: str
    attempt: int
    tenant: str
    type: str
    payload: Any
    run_at: datetime
    schedule_id: str | None
    scheduled_for: datetime | None
    schedule: RunSchedule | None
    worker_id: str

    def fence(self) -> dict[str, object]:
        """The arguments that every write of the run has."""
        return {"p_job_id": self.id, "p_worker_id": self.worker_id, "p_attempt": self.attempt}


def claim(worker_id: str, job: object, limit: int, tenant: object) -> Call[list[Claimed]]:
    """Claims jobs that are due."""
    worker = check_text(worker_id, "worker_id")
    args = {
        "p_worker_id": worker,
        "p_results": [],
        "p_claim_limit": check_range(limit, "limit", BOUNDS["claim_limit"]),
        "p_types": UNSET if job is None else types_of(job),
        "p_tenant_id": UNSET if tenant is None else check_tenant(tenant),
    }
    return Call("jobforge_settle_jobs", args, lambda found: [_claimed(row, worker) for row in found["jobs"]])


def _claimed(row: Mapping[str, Any], worker_id: str) -> Claimed:
    scheduled_for = row.get("scheduled_for")
    return Claimed(
        row["id"],
        row["attempts"],
        row["tenant_id"],
        row["type"],
        row.get("payload"),
        datetime.fromisoformat(row["run_at"]),
        row.get("schedule_id"),
        None if scheduled_for is None else datetime.fromisoformat(scheduled_for),
        RunSchedule.from_row(row),
        worker_id,
    )


def complete(run: Claimed, result: object, ending: Mapping[str, Any]) -> Call[RunOutcome]:
    """Ends the run as succeeded."""
    value = UNSET if result is None else to_storable_json(result, "result")
    return _end(run, {"p_status": "succeeded", "p_result": value}, ending)


def fail(run: Claimed, error: BaseException | str, retry: bool | None, ending: Mapping[str, Any]) -> Call[RunOutcome]:
    """Ends the run as failed. The error is kept as a worker keeps it: with stack, code, details, causes and members."""
    described = (
        describe_error(error)
        if isinstance(error, BaseException)
        else {"name": "Error", "message": clean(cut_text(str(error), MAX_MESSAGE))}
    )
    args = {
        "p_status": "failed",
        "p_error": to_storable_json(described, "error"),
        "p_retry": UNSET if retry is None else retry,
    }
    return _end(run, args, ending)


def _end(run: Claimed, args: Mapping[str, object], ending: Mapping[str, Any]) -> Call[RunOutcome]:
    more: dict[str, object] = {}
    for name, value in ending.items():
        if value is not None:
            more[f"p_{name}"] = check_time(value, name) if name.endswith("_at") else value
    return Call("jobforge_complete_job", {**run.fence(), **args, **more}, RunOutcome.from_row)


def defer(run: Claimed, until: datetime, *, counts: bool) -> Call[RunOutcome]:
    """Puts the job off."""
    args = {**run.fence(), "p_run_at": check_time(until, "until"), "p_counts": UNSET if counts else False}
    return Call("jobforge_defer_job", args, RunOutcome.from_row)


def heartbeat(run: Claimed) -> Call[RunHeartbeat]:
    """Renews the lease."""
    return Call("jobforge_heartbeat_job", run.fence(), RunHeartbeat.from_row)
