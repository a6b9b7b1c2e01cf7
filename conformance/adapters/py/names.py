"""Values of scenarios as the package takes them, and what it returns as scenarios name it."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from typing import Any

from jobforge import EgressPolicies

_TIME = re.compile(r"(_at|_after|_before|^until|^at)$")


def to_options(fields: dict[str, Any]) -> dict[str, Any]:
    """The options of a call. Times are ISO texts in scenarios; everything else has the same name and form."""
    return {
        name: datetime.fromisoformat(value) if isinstance(value, str) and _TIME.search(name) else value
        for name, value in fields.items()
    }


def to_fields(value: Any) -> Any:
    """What a call returned, under the names of scenarios. Payloads and other values of applications stay."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, (list, tuple)):
        return [to_fields(each) for each in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # In policies, `tenant` is a document.
        renamed = str if isinstance(value, EgressPolicies) else _renamed
        return {renamed(each.name): to_fields(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return value


def _renamed(name: str) -> str:
    return "tenant_id" if name == "tenant" else name
