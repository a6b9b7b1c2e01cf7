"""Ids of tenants that are not uuids.

The kernel's `jobforge_tenant_id` and the other SDKs do the same. conformance/vectors/tenant-id.json has the examples
that all of them are tested with.
"""

from __future__ import annotations

import re
import uuid
from typing import Final

from .errors import InvalidArgumentError

TENANT_NAMESPACE: Final = uuid.UUID("6f1d6a3e-6d0b-4c1e-9d52-3a5b8f0c7e41")
"""The namespace of the uuids of tenants. It never changes, because the ids of tenants depend on it."""

_MOST_CHARACTERS: Final = 255
_SPELLED_UUID: Final = re.compile(
    r"(?:\{[0-9a-f]{4}(?:-?[0-9a-f]{4}){7}\}|[0-9a-f]{4}(?:-?[0-9a-f]{4}){7})", re.IGNORECASE
)
# White space at an end, in the definition of JavaScript. The kernel lists the same characters.
_BLANK: Final = "\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
# Texts that a mistake makes. Each would silently be a tenant of its own.
_MISTAKES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"[\x00-\x1f\x7f-\x9f]",
        rf"\A[{_BLANK}]|[{_BLANK}]\Z",
        # A uuid with a digit too few or too many.
        r"\A[0-9a-f{}-]{30,40}\Z",
        r"\A(?:-[0-9]+|0+|-?[0-9]+\.[0-9]+)\Z",
        # What a program writes when it has no id.
        r"\A(?:undefined|null|nil|none|nan|true|false|\[object object\])\Z",
        "[\ud800-\udfff]",
    )
)


def tenant_id(id: str | int | uuid.UUID) -> str:
    """The tenant for an id that your application uses, such as `org_123` or 42: always the same uuid.

    A uuid stays what it is, in one spelling. Raises an InvalidArgumentError for a value that names no tenant.
    """
    found = _tenant_of(id)
    if found is None:
        raise InvalidArgumentError(
            "Invalid argument: id is not the id of a tenant",
            field="id",
            hint=f"Pass a UUID, another text of 1 to {_MOST_CHARACTERS} characters, or a positive whole number.",
        )
    return found


def _tenant_of(value: object) -> str | None:
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return _tenant_of(str(value))
    if not isinstance(value, str):
        return None
    if _SPELLED_UUID.fullmatch(value):
        return str(uuid.UUID(re.sub("[-{}]", "", value)))
    if value == "" or len(value) > _MOST_CHARACTERS or any(each.search(value) for each in _MISTAKES):
        return None
    return str(uuid.uuid5(TENANT_NAMESPACE, value))
