"""Checks a definition, so that a mistake in it is found when the program starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from .arguments import (
    check_bool,
    check_callable,
    check_one_of,
    check_range,
    check_tags,
    check_text,
    check_type,
    milliseconds,
)
from .retry import retry_of
from .words import BOUNDS, UNSET, DedupeMode, KeepLogs

if TYPE_CHECKING:
    from collections.abc import Callable


class DefinitionOptions(TypedDict):
    """The options of `define_job`, except type and schemas."""

    retry: Any
    timeout: Any
    lease: Any
    priority: Any
    max_priority: Any
    audit_action: Any
    keep_history: Any
    keep_logs: Any
    retention_days: Any
    redact: Any
    tags: Any
    dedupe: Any
    dedupe_mode: Any
    subject: Any


def checked_definition(type: object, options: DefinitionOptions) -> dict[str, Any]:
    """The fields of a definition, except its schemas."""
    timeout = options["timeout"]
    if timeout is not UNSET and timeout is not None:
        timeout = milliseconds(timeout, "timeout", BOUNDS["timeout_ms"])

    def given(name: str, check: Callable[[object, str], Any]) -> Any:
        value: object = options[name]  # type: ignore[literal-required]
        return None if value is None else check(value, name)

    def within(bounds: str) -> Callable[[object, str], int]:
        return lambda value, field: check_range(value, field, BOUNDS[bounds])

    def function(value: object, field: str) -> object:
        check_callable(value, field)
        return value

    return {
        "type": check_type(type),
        "retry": retry_of(options["retry"]),
        "timeout_ms": timeout,
        "lease_ms": given("lease", lambda value, name: milliseconds(value, name, BOUNDS["lease_ms"])),
        "priority": given("priority", within("priority")),
        "max_priority": given("max_priority", within("priority")),
        "audit_action": given(
            "audit_action", lambda value, name: check_text(value, name, BOUNDS["audit_action_bytes"])
        ),
        "keep_history": given("keep_history", check_bool),
        "keep_logs": given("keep_logs", lambda value, name: check_one_of(value, name, KeepLogs)),
        "retention_days": given("retention_days", within("retention_days")),
        "redact": given("redact", lambda value, name: tuple(check_tags(value, name))),
        "tags": given("tags", lambda value, name: tuple(check_tags(value, name))),
        "dedupe": given("dedupe", function),
        "dedupe_mode": given("dedupe_mode", lambda value, name: check_one_of(value, name, DedupeMode)),
        "subject": given("subject", function),
    }
