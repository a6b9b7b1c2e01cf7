"""Calls of operators: policies, tenants, workers, types, usage, audit, connectors, maintenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..arguments import (
    check_bool,
    check_number,
    check_one_of,
    check_range,
    check_tags,
    check_tenant,
    check_text,
    check_time,
    check_type,
    milliseconds,
    refuse,
)
from ..operating import (
    AuditEntry,
    LiveCount,
    TenantInfo,
    TypeInfo,
    Usage,
    WorkerInfo,
)
from ..policies import Policy, PolicyReset
from ..retry import check_preset
from ..rows import from_rows
from ..suggest import check_known
from ..words import BOUNDS, UNSET, AuditEntityType, Bounds, Dimension, KeepLogs, UsagePeriod
from .call import Call, Steps, ask, given, nothing, whole
from .filters import checked_page_size
from .limits import INTERVAL_BYTES
from .listing import ReadPage, pages_by

_ROLE_BYTES: Final = Bounds(1, 63)


def _policy_type(type: object) -> str:
    return "*" if type == "*" else check_type(type)


_POLICY_KEYS: Final[Mapping[str, tuple[str, Any]]] = {
    "preset": ("preset", check_preset),
    "base": ("base_ms", lambda value, field: milliseconds(value, field, BOUNDS["retry_ms"])),
    "cap": ("cap_ms", lambda value, field: milliseconds(value, field, BOUNDS["retry_ms"])),
    "factor": ("factor", lambda value, field: check_number(value, field, BOUNDS["retry_factor"])),
    "jitter": ("jitter", lambda value, field: check_number(value, field, BOUNDS["retry_jitter"])),
    "max_attempts": ("max_attempts", lambda value, field: check_range(value, field, BOUNDS["max_attempts"])),
    "timeout": ("timeout_ms", lambda value, field: milliseconds(value, field, BOUNDS["timeout_ms"])),
    "lease": ("lease_ms", lambda value, field: milliseconds(value, field, BOUNDS["lease_ms"])),
    "audit_action": ("audit_action", lambda value, field: check_text(value, field, BOUNDS["audit_action_bytes"])),
    "keep_history": ("keep_history", check_bool),
    "keep_logs": ("keep_logs", lambda value, field: check_one_of(value, field, KeepLogs)),
    "retention_days": ("retention_days", lambda value, field: check_range(value, field, BOUNDS["retention_days"])),
    "max_priority": ("max_priority", lambda value, field: check_range(value, field, BOUNDS["priority"])),
    "redact": ("redact", check_tags),
}
_REMOVABLE: Final = frozenset({"cap", "timeout", "lease", "audit_action", "retention_days", "max_priority"})
_POLICY_ALIASES: Final = {
    "retries": "Did you mean max_attempts? It counts all executions: the first one and the retries.",
    "maxretries": "Did you mean max_attempts? It counts all executions: the first one and the retries.",
    "attempts": "max_attempts",
    "delay": "base",
    "basems": "Did you mean base? It counts seconds.",
    "timeoutms": "Did you mean timeout? It counts seconds.",
}


def get_policy(type: object) -> Call[Policy]:
    """How a type behaves."""
    return Call("jobforge_get_policy", {"p_type": _policy_type(type)}, Policy.from_row)


def set_policy(type: object, changes: Mapping[str, Any]) -> Call[Policy]:
    """Sets how a type behaves. None removes an optional setting."""
    check_known(changes, _POLICY_KEYS, _POLICY_ALIASES)
    keys: dict[str, object] = {}
    for name, value in changes.items():
        key, check = _POLICY_KEYS[name]
        keys[key] = None if value is None and name in _REMOVABLE else check(value, name)
    return Call("jobforge_set_policy", {"p_type": _policy_type(type), "p_policy": keys}, Policy.from_row)


def list_policies(page_size: int | None) -> ReadPage[Policy]:
    """The default policy, whose type is `*`, and the policies that types have of their own."""

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_policies", {"p_filters": page}, whole)

    return pages_by(Policy, checked_page_size(page_size), read, lambda policy: policy.type)


def reset_policy(type: object) -> Call[PolicyReset]:
    """Removes the policy of a type, so that the default applies."""

    def read(row: Mapping[str, Any]) -> PolicyReset:
        return PolicyReset(row["type"], row["reset"], Policy.from_row(row["policy"]))

    return Call("jobforge_reset_policy", {"p_type": _policy_type(type)}, read)


def get_tenant(tenant: object) -> Call[TenantInfo]:
    """The settings of a tenant, and what it uses."""
    return Call("jobforge_get_tenant", {"p_tenant_id": check_tenant(tenant)}, TenantInfo.from_row)


def set_tenant(tenant: object, settings: Mapping[str, Any]) -> Call[TenantInfo]:
    """Changes settings of a tenant. What is UNSET stays; None sets the default."""
    keys: dict[str, object] = {}
    for name, value in settings.items():
        if value is UNSET:
            continue
        if value is None:
            keys[name] = None
        else:
            keys[name] = check_text(value, name) if name == "label" else check_range(value, name, BOUNDS[name])
    args = {"p_tenant_id": check_tenant(tenant), "p_settings": keys}
    return Call("jobforge_set_tenant", args, TenantInfo.from_row)


def list_tenants() -> Steps[list[TenantInfo]]:
    """The tenants that have settings or have enqueued jobs, ordered by their ids."""
    most = int(BOUNDS["page_size"].max)
    found: list[TenantInfo] = []
    while True:
        args = {"p_after": found[-1].tenant if found else UNSET, "p_limit": most}
        rows = yield from ask(Call("jobforge_list_tenants", args, _tenants))
        found.extend(rows)
        if len(rows) < most:
            return found


def _tenants(rows: Sequence[Mapping[str, Any]]) -> list[TenantInfo]:
    return from_rows(TenantInfo, rows)


def bind_role(role: str, tenant: object) -> Call[None]:
    """Binds a login to one tenant; None unbinds it."""
    args = {
        "p_role": check_text(role, "role", _ROLE_BYTES),
        "p_tenant_id": None if tenant is None else check_tenant(tenant),
    }
    return Call("jobforge_bind_role", args, nothing)


def list_workers() -> Call[list[WorkerInfo]]:
    """The workers that send heartbeats, the last seen first."""
    return Call("jobforge_list_workers", {}, lambda rows: from_rows(WorkerInfo, rows))


def list_types(span: object) -> Call[list[TypeInfo]]:
    """The types, with how many jobs of each wait, run and have just finished."""
    args: dict[str, object] = {"p_span": UNSET}
    if span is not None:
        args["p_span"] = f"{milliseconds(span, 'span', BOUNDS['type_span_ms'])} milliseconds"
    return Call("jobforge_list_types", args, lambda rows: from_rows(TypeInfo, rows))


def _dimensions(by: Sequence[Dimension] | None) -> object:
    if by is None:
        return UNSET
    if isinstance(by, str):
        refuse("by", 'must be a list of "tenant" and "type"')
    return [check_one_of(each, "by", Dimension) for each in by]


def report_usage(
    tenant: object,
    since: datetime | None,
    until: datetime | None,
    bucket: UsagePeriod | None,
    by: Sequence[Dimension] | None,
    types: Sequence[str] | None,
    timezone: str | None,
) -> Call[list[Usage]]:
    """What was used."""
    args = {
        "p_tenant_id": given(tenant, "tenant", check_tenant),
        "p_from": given(since, "since", check_time),
        "p_to": given(until, "until", check_time),
        "p_bucket": given(bucket, "bucket", check_one_of, UsagePeriod),
        "p_by": _dimensions(by),
        "p_types": UNSET if types is None else [check_type(each, f"types[{i}]") for i, each in enumerate(types)],
        "p_timezone": given(timezone, "timezone", check_text, INTERVAL_BYTES),
    }
    return Call("jobforge_report_usage", args, lambda rows: from_rows(Usage, rows))


def count_live(tenant: object, by: Sequence[Dimension] | None, cap: int | None) -> Call[list[LiveCount]]:
    """How many jobs are live now, and since when the oldest waits."""
    args = {
        "p_tenant_id": given(tenant, "tenant", check_tenant),
        "p_by": _dimensions(by),
        "p_cap": given(cap, "cap", check_range, BOUNDS["live_cap"]),
    }
    return Call("jobforge_count_live", args, lambda rows: from_rows(LiveCount, rows))


def list_audit(tenant: object, page_size: int | None, filters: Mapping[str, Any]) -> ReadPage[AuditEntry]:
    """The entries of the audit log, newest first: of one tenant, or of all."""
    keys: dict[str, object] = {}
    for name, value in filters.items():
        if value is None:
            continue
        if name in ("after", "before"):
            keys[name] = check_time(value, name).isoformat()
        elif name == "entity_type":
            keys[name] = check_one_of(value, name, AuditEntityType)
        else:
            keys[name] = check_text(value, name)
    tenant_id = given(tenant, "tenant", check_tenant)

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_audit", {"p_tenant_id": tenant_id, "p_filters": {**keys, **page}}, whole)

    return pages_by(AuditEntry, checked_page_size(page_size), read, lambda entry: str(entry.id))


def _connector(tenant: object, type: object) -> dict[str, object]:
    name = check_text(type, "type", BOUNDS["connector_bytes"])
    return {"p_tenant_id": check_tenant(tenant), "p_connector_type": name}


def get_connector(tenant: object, type: str) -> Call[dict[str, Any] | None]:
    """The configuration of a tenant's connector."""
    return Call("jobforge_get_connector_config", _connector(tenant, type), whole)


def set_connector(tenant: object, type: str, config: Mapping[str, Any] | None) -> Call[None]:
    """Sets the configuration of a tenant's connector; None removes it."""
    return Call("jobforge_set_connector_config", {**_connector(tenant, type), "p_config": config}, nothing)


def health() -> Call[dict[str, Any]]:
    """Facts about the installation, as the kernel returns them."""
    return Call("jobforge_health", {}, whole)


def maintain(limit: int) -> Call[None]:
    """Does a slice of maintenance."""
    return Call("jobforge_maintain", {"p_limit": check_range(limit, "limit", BOUNDS["maintain_limit"])}, nothing)
