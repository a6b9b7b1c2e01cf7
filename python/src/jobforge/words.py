"""The fixed words and numbers of the API, each written once. A test compares them with those of the TypeScript SDK."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final, Literal


class Unset(Enum):
    """The type of an argument that was not given, where None has a meaning of its own."""

    UNSET = "unset"

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET

RetryPreset = Literal[
    "standard", "quick", "gentle", "patient", "webhook", "jobforge", "harmonyk", "atlas", "processing"
]
JobStatus = Literal["queued", "running", "succeeded", "failed", "dead", "canceled"]
JobEndReason = Literal["done", "refused", "failed", "exhausted", "crashed", "canceled", "expired"]
AttemptStatus = Literal["running", "succeeded", "failed", "lost", "deferred", "released", "canceled"]
DedupeMode = Literal["skip", "replace", "debounce"]
KeepLogs = Literal["off", "failed", "all"]
EnqueueOutcome = Literal["created", "existing", "replaced"]
BulkChange = Literal["cancel", "reschedule", "purge"]
GateScopeName = Literal["all", "type", "tenant"]
LimitScopeName = Literal["type", "tenant", "type_tenant", "key"]
AuditEntityType = Literal[
    "job",
    "jobs",
    "schedule",
    "type",
    "gate",
    "limit",
    "role",
    "token",
    "connector",
    "webhook_endpoint",
    "egress_policy",
    "tenant",
]
WebhookFormat = Literal["standard", "cloudevents", "legacy", "raw"]
WebhookSignature = Literal["standard", "both", "ed25519"]
WebhookPart = Literal["payload", "result"]
WebhookState = Literal["enabled", "disabled"]
NotifyStatus = Literal["succeeded", "failed", "dead", "canceled"]
WorkerStatus = Literal["alive", "stopped", "gone"]
ScheduleKind = Literal["cron", "every", "dynamic"]
OverlapMode = Literal["skip", "queue", "allow"]
MissedMode = Literal["skip", "once", "all"]
ScheduleOutcome = Literal["created", "existing", "updated"]
ScheduleOrder = Literal["name", "next_run_at"]
UsagePeriod = Literal["hour", "day", "week", "month", "total"]
Dimension = Literal["tenant", "type"]
KeptBecause = Literal["set_by_hand", "newer_version"]
NeedPolicy = Literal["cancel", "run", "wait", "compensate"]
WorkflowStatus = Literal["running", "succeeded", "failed", "canceled"]
StepStatus = Literal[
    "blocked", "queued", "running", "waiting", "open", "succeeded", "failed", "dead", "canceled", "skipped"
]
StepKind = Literal["root", "job", "map", "group", "signal"]
FailureAction = Literal["finish", "cancel"]
TimeoutAction = Literal["fail", "continue"]
Resolution = Literal["succeeded", "skipped"]
StartOutcome = Literal["created", "existing"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the greatest accepted value, and the default where there is one."""

    min: float
    max: float
    default: int = 0


BOUNDS: Final = MappingProxyType(
    {
        "page_size": Bounds(1, 1000, 100),
        "attempts": Bounds(1, 200),
        "bulk_ids": Bounds(1, 1000),
        "start_many": Bounds(1, 1000),
        "step_name_bytes": Bounds(1, 200),
        "step_path_bytes": Bounds(1, 2000),
        "workflow_name_bytes": Bounds(1, 190),
        "logs": Bounds(1, 20),
        "log_lines": Bounds(0, 200),
        "log_bytes": Bounds(0, 65_536),
        "bulk_limit": Bounds(1, 10_000, 1000),
        "dead_groups": Bounds(1, 1000, 50),
        "claim_limit": Bounds(1, 1000, 1),
        "schedule_bulk_limit": Bounds(1, 1000, 1000),
        "live_cap": Bounds(0, 100_000, 10_000),
        "maintain_limit": Bounds(1, 100_000, 1000),
        "type_span_ms": Bounds(1, 7 * 86_400_000, 3_600_000),
        "batch_size": Bounds(1, 1000),
        "priority": Bounds(-1_000_000, 1_000_000),
        "max_attempts": Bounds(1, 100_000),
        "delay_ms": Bounds(0, 315_360_000_000),
        "retry_ms": Bounds(0, 31_536_000_000),
        "retry_factor": Bounds(1, 100),
        "retry_jitter": Bounds(0, 1),
        "timeout_ms": Bounds(1, 31_536_000_000),
        "lease_ms": Bounds(1000, 31_536_000_000),
        "retention_days": Bounds(1, 3650),
        "missed_limit": Bounds(1, 100, 100),
        "max_running": Bounds(0, 2_147_483_647),
        "rate": Bounds(1, 1_000_000),
        "max_pending": Bounds(0, 1_000_000_000),
        "max_types": Bounds(1, 1_000_000, 1000),
        "max_schedules": Bounds(0, 1_000_000, 10_000),
        "weight": Bounds(1, 100),
        "type_length": Bounds(1, 200),
        "key_bytes": Bounds(1, 1024),
        "tags": Bounds(0, 50),
        "tag_bytes": Bounds(1, 4000),
        "audit_action_bytes": Bounds(1, 200),
        "reason_bytes": Bounds(1, 10_000),
        "connector_bytes": Bounds(1, 800),
        "app_bytes": Bounds(1, 200),
    }
)

DEFAULT_TIMEOUT: Final = 30.0
"""How long a call may take, in seconds, unless the client or the call says otherwise."""

MAX_PAYLOAD_BYTES: Final = 1024 * 1024
"""The kernel's limit for payloads and results."""

GLOBAL_TENANT: Final = "00000000-0000-0000-0000-000000000000"
"""The tenant of work that belongs to no tenant."""
