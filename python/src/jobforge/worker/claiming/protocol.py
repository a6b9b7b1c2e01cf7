"""The JSON that a worker and the database exchange. The field names are the database's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict


class PreviousRunRow(TypedDict):
    scheduled_for: str
    finished_at: str
    status: Literal["succeeded", "failed"]
    error: str | None
    consecutive_failures: int


class ClaimedJob(TypedDict):
    """A claimed job."""

    id: str
    tenant_id: str
    type: str
    payload: Any
    priority: int
    attempts: int
    max_attempts: int
    run_at: str
    created_at: str
    trace_id: str
    subject: NotRequired[str]
    tags: NotRequired[list[str]]
    traceparent: NotRequired[str]
    # The progress that an earlier attempt reported last.
    progress: NotRequired[Any]
    # For a run of a schedule: the time that it was due.
    scheduled_for: NotRequired[str]
    # Absent for other jobs, and when the schedule was deleted meanwhile.
    schedule_key: NotRequired[str]
    # Whether the schedule wants its runs to be retried.
    retry_runs: NotRequired[bool]
    previous_run: NotRequired[PreviousRunRow | None]


# The error of a run. `cause` and the members of an ExceptionGroup (`errors`) have the same form.
RunError = dict[str, Any]

RunEndStatus = Literal["succeeded", "failed", "deferred", "released", "suspended"]

# How a run ends, or what `defer()`, `fail()` or `retry_after()` asked for: the keys of an end except id and attempt.
Verdict = dict[str, Any]

# The status of a job after the end of one of its runs.
EndStatus = Literal["queued", "succeeded", "failed", "dead", "canceled"]


class SettledRun(TypedDict):
    """The database's reply to one end."""

    outcome: Literal["ok", "already", "stale"]
    status: EndStatus | None


class ClaimError(TypedDict):
    code: str
    message: str


class SettleResponse(TypedDict):
    # One reply for each end, in the same order.
    settled: list[SettledRun]
    jobs: list[ClaimedJob]
    # Opaque to the worker, which passes it to the next claim of the same types.
    hint: Any
    next_due_at: str | None
    # The database's time.
    now: str
    # Whether jobs were left out because the response would have been too large. Then the next claim gets them.
    more: NotRequired[bool]
    # Why nothing was claimed, if the claim failed. The ends are settled all the same.
    claim_error: NotRequired[ClaimError]


class RunKey(TypedDict):
    """Identifies a run. Together with the worker's id it is the fence of every write."""

    id: str
    attempt: int


class HeartbeatResponse(TypedDict):
    # Runs whose jobs were canceled.
    cancel: list[RunKey]
    # Runs that this worker no longer holds.
    lost: list[RunKey]
    # Jobs that were handed to this worker, and that it has not listed. Absent or None if it takes none.
    handed: NotRequired[list[str] | None]
    next_due_at: str | None
    # Whether a job may be claimed now. Absent or None if the heartbeat has not looked.
    ready: NotRequired[bool | None]
    # Whether an operator has asked this worker to stop.
    stop: NotRequired[bool]
    # The database's time.
    now: str


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a call claims."""

    limit: int
    types: tuple[str, ...]
    # Whether it includes every type that has room. If so, a response with fewer jobs means that no other job is due.
    covers_all: bool
    # Whether it fills up the batches of one type, the only one in `types`.
    fills_batches: bool
