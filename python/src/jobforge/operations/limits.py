"""Pauses, and limits on how many jobs run at once or start in a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..arguments import check_range, check_tenant, check_text, check_time, check_type, refuse
from ..operating import ChangedGate, ChangedLimit, Gate, Limit, ListedLimit
from ..rows import from_rows
from ..words import BOUNDS, Bounds
from .call import Call, given

INTERVAL_BYTES: Final = Bounds(1, 100)
"""Bytes of an interval, and of the name of a time zone."""


def set_gate(
    type: object, tenant: object, *, paused: bool, reason: str | None = None, until: datetime | None = None
) -> Call[ChangedGate]:
    """Pauses or resumes a type, a tenant, or without either everything."""
    if type is not None and tenant is not None:
        refuse("scope", "must be a type or a tenant, not both")
    scope, key = "all", None
    if type is not None:
        scope, key = "type", check_type(type)
    if tenant is not None:
        scope, key = "tenant", check_tenant(tenant)
    args = {
        "p_scope": scope,
        "p_key": key,
        "p_paused": paused,
        "p_reason": given(reason, "reason", check_text, BOUNDS["reason_bytes"]),
        "p_until": given(until, "until", check_time),
    }
    return Call("jobforge_set_gate", args, ChangedGate.from_row)


def list_gates() -> Call[list[Gate]]:
    """What is paused now."""
    return Call("jobforge_list_gates", {}, lambda rows: from_rows(Gate, rows))


def _limit_scope(type: object, tenant: object, key: object) -> dict[str, object]:
    if key is not None:
        if type is not None or tenant is not None:
            _refuse_limit_scope()
        return {"p_scope": "key", "p_key": check_text(key, "key")}
    type = type if type in (None, "*") else check_type(type)
    tenant = tenant if tenant in (None, "*") else check_tenant(tenant)
    if type is None:
        return _refuse_limit_scope() if tenant is None else {"p_scope": "tenant", "p_key": tenant}
    if tenant is None:
        return {"p_scope": "type", "p_key": type}
    if type != "*":
        return {"p_scope": "type_tenant", "p_key": f"{type}:{tenant}"}
    return {"p_scope": "type_tenant", "p_key": "*"} if tenant == "*" else _refuse_limit_scope()


def _refuse_limit_scope() -> Any:
    refuse(
        "scope",
        "must be type, tenant, type and tenant, or key",
        'Use "*" for the default. The types of one tenant have no default: name the type, or limit the tenant.',
    )


def set_limit(
    scope: Sequence[object], max_running: int | None, rate: int | None, per: str | None, burst: int | None
) -> Call[ChangedLimit]:
    """Sets a limit and replaces an earlier one."""
    args = {
        **_limit_scope(*scope),
        "p_max_running": given(max_running, "max_running", check_range, BOUNDS["max_running"]),
        "p_rate": given(rate, "rate", check_range, BOUNDS["rate"]),
        "p_per": given(per, "per", check_text, INTERVAL_BYTES),
        "p_burst": given(burst, "burst", check_range, BOUNDS["rate"]),
    }
    return Call("jobforge_set_limit", args, ChangedLimit.from_row)


def get_limit(scope: Sequence[object]) -> Call[Limit | None]:
    """The limit of exactly this scope."""

    def read(row: Mapping[str, Any] | None) -> Limit | None:
        return None if row is None else Limit.from_row(row)

    return Call("jobforge_get_limit", _limit_scope(*scope), read)


def list_limits() -> Call[list[ListedLimit]]:
    """All limits, with their use now."""
    return Call("jobforge_list_limits", {}, lambda rows: from_rows(ListedLimit, rows))


def remove_limit(scope: Sequence[object]) -> Call[bool]:
    """Removes a limit. Returns whether there was one."""
    return Call("jobforge_remove_limit", _limit_scope(*scope), lambda row: bool(row["removed"]))
