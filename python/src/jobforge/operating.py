"""What calls of operators return. Fields have the names of the kernel's columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from .rows import Record

if TYPE_CHECKING:
    from .words import GateScopeName, KeepLogs, KeptBecause, LimitScopeName, WorkerStatus


@dataclass(frozen=True, slots=True)
class AuditEntry(Record):
    """One entry of the audit log."""

    id: int
    at: datetime
    tenant: str
    actor: str
    action: str
    entity_type: str
    entity_id: str | None
    message: str | None
    meta: Any


@dataclass(frozen=True, slots=True)
class Gate(Record):
    """A pause."""

    scope: GateScopeName
    key: str
    """The type or the tenant; empty for everything."""
    reason: str | None
    until: datetime | None
    set_at: datetime
    set_by: str
    waiting: int
    """Due jobs that wait behind this gate. A job behind two gates counts at both."""
    exact: bool
    """False if `waiting` is an estimate, because there are many."""


@dataclass(frozen=True, slots=True)
class ChangedGate(Record):
    """What `gates.pause` and `gates.resume` did."""

    scope: GateScopeName
    key: str
    paused: bool
    reason: str | None
    until: datetime | None
    was_paused: bool
    """Whether it was paused before. False after a resume: nothing was paused."""
    known: bool
    """False if no job, schedule, policy, worker or setting has this type or tenant."""


@dataclass(frozen=True, slots=True)
class Limit(Record):
    """A limit on how many jobs run at once, or start in a time."""

    scope: LimitScopeName
    key: str
    """The type, the tenant, `TYPE:TENANT`, or the concurrency key; `*` in a default."""
    max_running: int | None
    rate: int | None
    per: str | None
    burst: int | None
    set_at: datetime
    set_by: str


@dataclass(frozen=True, slots=True)
class ChangedLimit(Limit):
    """A limit that was just set."""

    known: bool
    """False if no job, schedule, policy, worker or setting has this type or tenant."""


@dataclass(frozen=True, slots=True)
class Policy(Record):
    """How a type behaves. Durations are in seconds."""

    type: str
    """The type, or `*` if it has no policy of its own."""
    base: float
    cap: float | None
    """None: one year."""
    factor: float
    jitter: float
    max_attempts: int
    timeout: float | None
    lease: float | None
    audit_action: str | None
    keep_history: bool
    keep_logs: KeepLogs
    retention_days: int | None
    max_priority: int | None
    redact: list[str]
    by_hand: list[str]
    """The settings that an operator has made. Definitions do not replace them until they change themselves."""
    updated_at: datetime | None
    updated_by: str | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Turns the kernel's milliseconds into seconds."""
        seconds = {}
        for name in ("base", "cap", "timeout", "lease"):
            value = row.get(f"{name}_ms")
            seconds[name] = None if value is None else value / 1000
        by_hand = [key.removesuffix("_ms") for key in row.get("by_hand") or ()]
        # Without arguments, super() does not find the class that slots have replaced.
        return super(Policy, cls).from_row({**row, **seconds, "by_hand": by_hand})


@dataclass(frozen=True, slots=True)
class PolicyReset:
    """What `policies.reset` did."""

    type: str
    reset: bool
    """False if the type had no policy of its own."""
    policy: Policy
    """The policy that applies now."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that differs. Keys and values are the kernel's, such as `timeout_ms`."""

    key: str
    before: Any
    after: Any

    @classmethod
    def read(cls, rows: Any) -> list[Difference]:
        """The differences of a row."""
        return [cls(each["key"], each.get("from"), each.get("to")) for each in rows or ()]


@dataclass(frozen=True, slots=True)
class PolicySync:
    """What a sync did, or would do, for one type."""

    type: str
    action: str
    """`created`, `changed` or `unchanged`. Created: the type had the default policy before."""
    changes: list[Difference]
    kept: list[Difference]
    """The differences that stay: `before` is what the policy has, `after` what the definition says."""
    kept_because: KeptBecause | None
    known: bool
    """Whether the database knew before that this version says this."""
    version: str | None
    updated_by: str | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        return cls(
            row["type"],
            row["action"],
            Difference.read(row.get("changes")),
            Difference.read(row.get("kept")),
            row.get("kept_because"),
            bool(row.get("known")),
            row.get("version"),
            row.get("updated_by"),
        )


@dataclass(frozen=True, slots=True)
class ScheduleSync:
    """What a sync did, or would do, for one schedule."""

    tenant: str
    type: str
    key: str
    action: str
    """`created`, `changed`, `unchanged`, or `disabled`: the application no longer declares the schedule."""
    changes: list[Difference]
    next_run_at: datetime | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        next_run_at = row.get("next_run_at")
        return cls(
            row["tenant_id"],
            row["type"],
            row["key"],
            row["action"],
            Difference.read(row.get("changes")),
            None if next_run_at is None else datetime.fromisoformat(next_run_at),
        )


@dataclass(frozen=True, slots=True)
class TenantInfo(Record):
    """The settings of a tenant, and what it uses."""

    tenant: str
    label: str | None
    max_pending: int | None
    pending: int | None
    """How many jobs the tenant has queued and running; known for tenants with a quota."""
    max_types: int
    types: int | None
    """How many types the tenant uses, counted up to one more than `max_types`. None after `set` and in lists."""
    max_schedules: int
    weight: int
    seen_at: datetime | None
    """In lists: about when the tenant last enqueued a job."""


@dataclass(frozen=True, slots=True)
class WorkerInfo(Record):
    """A worker that sends heartbeats, or did."""

    id: str
    status: WorkerStatus
    instance: str | None
    tenant: str | None
    started_at: datetime
    seen_at: datetime
    types: list[str] | None
    """The types it runs; None: all."""
    concurrency: int | None
    running: int
    host: str | None
    pid: int | None
    version: str | None


@dataclass(frozen=True, slots=True)
class TypeInfo(Record):
    """A type, and how many jobs of it wait, run and have just finished."""

    type: str
    due: int
    scheduled: int
    running: int
    oldest_due_at: datetime | None
    succeeded: int
    """Finished within the span; so are the next three."""
    failed: int
    dead: int
    canceled: int
    wait_ms: float | None
    """Median time from due to start, of the last runs of finished jobs."""
    run_ms: float | None
    workers: int
    """Workers that are alive and can run the type."""
    paused: bool
    has_policy: bool
    exact: bool
    """False if `due` and `scheduled` are estimates, because there are many."""
    due_schedules: int
    oldest_schedule_at: datetime | None


@dataclass(frozen=True, slots=True)
class Usage(Record):
    """What was used in one period."""

    start_at: datetime
    tenant: str | None
    """None if tenants are added up. The same holds for the type."""
    type: str | None
    runs: int
    succeeded: int
    failed: int
    lost: int
    deferred: int
    retries: int
    """Failed and lost runs after which the job was queued again."""
    dead: int
    """Jobs that finished as failed or dead."""
    cost_cents: int
    wait_ms: float
    """The time from due to start, summed over all runs."""
    run_ms: float
    """The time from start to end, summed over all runs except the lost ones."""
    wait_p50_ms: float | None
    wait_p95_ms: float | None
    wait_p99_ms: float | None
    run_p50_ms: float | None
    run_p95_ms: float | None
    run_p99_ms: float | None


@dataclass(frozen=True, slots=True)
class LiveCount(Record):
    """How many jobs are live now."""

    tenant: str | None
    type: str | None
    queued: int
    """Queued jobs that are due."""
    scheduled: int
    """Queued jobs that are due later."""
    running: int
    oldest_run_at: datetime | None
    oldest_ms: float | None
    exact: bool
    """False if `queued` and `scheduled` are estimates. `running` is always exact."""
    due_schedules: int
    oldest_schedule_at: datetime | None
