"""How the jobs of types behave: what is set, and what a sync did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypedDict

from .rows import Record

if TYPE_CHECKING:
    from .arguments import Duration
    from .words import KeepLogs, KeptBecause, RetryPreset


class PolicyChanges(TypedDict, total=False):
    """The settings of a policy to change. Durations are seconds. None removes a setting that is optional."""

    preset: RetryPreset
    """Sets `base`, `cap`, `factor` and `max_attempts`, except those that are given as well."""
    base: Duration
    cap: Duration | None
    factor: float
    jitter: float
    max_attempts: int
    timeout: Duration | None
    lease: Duration | None
    audit_action: str | None
    keep_history: bool
    keep_logs: KeepLogs
    retention_days: int | None
    max_priority: int | None
    redact: Sequence[str]


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
