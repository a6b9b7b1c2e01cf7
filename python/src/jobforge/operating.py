"""What calls of operators return. Fields have the names of the kernel's columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .rows import Record

if TYPE_CHECKING:
    from .words import GateScopeName, LimitScopeName, WorkerStatus


@dataclass(frozen=True, slots=True)
class AuditEntry(Record):
    """One entry of the audit log."""

    id: int
    at: datetime
    tenant: str
    tenant_label: str | None
    """What people call the tenant; None if it has no label."""
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
    tenant_label: str | None
    """What people call the tenant; None if it has no label."""
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
    audit_id: int | None
    """The entry in the audit log; None if nothing changed."""


@dataclass(frozen=True, slots=True)
class Limit(Record):
    """A limit on how many jobs run at once, or start in a time."""

    scope: LimitScopeName
    key: str
    """The type, the tenant, `TYPE:TENANT`, or the concurrency key; `*` in a default."""
    tenant_label: str | None
    """What people call the tenant of the limit; None if it has no label."""
    max_running: int | None
    rate: int | None
    per: str | None
    burst: int | None
    set_at: datetime
    set_by: str


@dataclass(frozen=True, slots=True)
class ListedLimit(Limit):
    """A limit in a list, with its use now. The use of a default is not known: each key counts by itself."""

    running: int | None
    waiting: int | None
    """Due jobs that the limit keeps back."""
    tokens: int | None
    """How many jobs the rate lets start now."""
    next_at: datetime | None
    """When the next token comes, if there are none."""
    exact: bool | None
    """False if more jobs wait than `waiting` says."""


@dataclass(frozen=True, slots=True)
class ChangedLimit(Limit):
    """A limit that was just set."""

    known: bool
    """False if no job, schedule, policy, worker or setting has this type or tenant."""


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
    """The tenant whose jobs it runs; None: all."""
    tenant_label: str | None
    """What people call the tenant; None if it has no label."""
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
    tenant_label: str | None
    """What people call the tenant; None if it has no label."""
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
