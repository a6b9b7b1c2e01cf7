"""Checks arguments before any round trip, with the bounds of the kernel.

Each error names the field and says what is allowed. Checks that convert return the value as the kernel wants it.
"""

from __future__ import annotations

import math
import re
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias, get_args

from .errors import InvalidArgumentError, TenantRequiredError
from .words import BOUNDS, GLOBAL_TENANT, Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable

Tenant: TypeAlias = str | uuid.UUID
Duration: TypeAlias = float | timedelta
"""Seconds, or a timedelta."""

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_TYPE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@-]*")


def refuse(field: str, message: str, hint: str | None = None) -> NoReturn:
    """Raises the error of an invalid argument."""
    raise InvalidArgumentError(f"Invalid argument: {field} {message}", field=field, hint=hint)


def describe(value: object) -> str:
    """What a value is, for a message."""
    return "None" if value is None else f"a value of type {type(value).__name__}"


def check_uuid(value: object, field: str, hint: str | None = None) -> str:
    """Returns a uuid as text."""
    if isinstance(value, uuid.UUID):
        return str(value)
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        refuse(field, "must be a uuid", hint)
    return value


def check_tenant(tenant: object, field: str = "tenant") -> str:
    """Returns the uuid of a tenant as text."""
    if tenant is None:
        raise TenantRequiredError(
            f"{field} is required",
            field=field,
            hint=(
                f'Pass the tenant\'s uuid, or tenant_id("org_123") for an id of another form, or GLOBAL_TENANT '
                f"({GLOBAL_TENANT}) for work that belongs to no tenant."
            ),
        )
    sample = repr(tenant) if isinstance(tenant, (str, int)) and tenant and len(str(tenant)) <= 40 else '"org_123"'
    hint = f"If your tenants have ids of another form, pass tenant_id({sample}), which is always the same uuid."
    return check_uuid(tenant, field, hint)


def check_type(value: object, field: str = "type") -> str:
    """A job's type."""
    if value is None:
        refuse(field, "is required", 'Pass a text such as "mail.send".')
    if not isinstance(value, str):
        refuse(field, f"must be a text, not {describe(value)}")
    if value.strip() == "":
        refuse(field, "must not be empty")
    if len(value) > BOUNDS["type_length"].max:
        refuse(field, f"must not be longer than {BOUNDS['type_length'].max} characters")
    if value == "*":
        refuse(field, 'must not be "*", which is the name of the default policy')
    if not _TYPE.fullmatch(value):
        refuse(
            field,
            f"must consist of letters, digits and _ . : / @ -, and begin with a letter, a digit or _, not {value!r}",
            "Use a name such as mail.send, EMAIL_SEND or app/tasks:send.",
        )
    return value


def check_range(value: object, field: str, bounds: Bounds) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not bounds.min <= value <= bounds.max:
        refuse(field, f"must be a whole number between {_plain(bounds.min)} and {_plain(bounds.max)}")
    return value


def check_number(value: object, field: str, bounds: Bounds) -> float:
    """A number within bounds, not necessarily a whole one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not bounds.min <= value <= bounds.max:
        refuse(field, f"must be a number between {bounds.min:g} and {_plain(bounds.max)}")
    return value


def milliseconds(value: object, field: str, bounds: Bounds) -> int:
    """A duration in seconds, or a timedelta, as whole milliseconds within bounds."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        refuse(field, f"must be a number of seconds or a timedelta, not {describe(value)}")
    if not bounds.min <= value * 1000 <= bounds.max:
        refuse(field, f"must be between {bounds.min / 1000:g} and {_plain(bounds.max / 1000)} seconds")
    return round(value * 1000)


def check_timeout(value: object, field: str = "timeout") -> float | None:
    """A number of seconds from 0 on; None and infinity mean no limit."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if value is None or value == math.inf:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        refuse(field, "must be a number of seconds, 0 or more, or None")
    return float(value)


def check_time(value: object, field: str) -> datetime:
    """A time with a time zone, in UTC, which JSON and Postgres can both store."""
    if not isinstance(value, datetime):
        refuse(field, f"must be a datetime, not {describe(value)}")
    if value.utcoffset() is None:
        refuse(field, "must have a time zone", "Pass an aware one, such as datetime.now(UTC) + timedelta(hours=1).")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        refuse(field, "must be a time from year 1 to year 9999")


def check_text(value: object, field: str, bounds: Bounds = BOUNDS["key_bytes"]) -> str:
    """A text that is stored as it is: not empty, without NUL characters, and no longer in bytes than allowed."""
    if not isinstance(value, str) or value == "":
        refuse(field, f"must be a text of 1 to {bounds.max} bytes")
    if "\0" in value:
        refuse(field, "must not contain a NUL character")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        refuse(field, "must not contain unpaired surrogates")
    if size > bounds.max:
        refuse(field, f"must be a text of 1 to {bounds.max} bytes")
    return value


def check_tags(value: object, field: str) -> list[str]:
    """Tags, and other lists of short texts."""
    if isinstance(value, str) or not isinstance(value, (list, tuple)):
        refuse(field, f"must be a list of texts, not {describe(value)}")
    if len(value) > BOUNDS["tags"].max:
        refuse(field, f"must not have more than {BOUNDS['tags'].max} elements")
    tags = [check_text(each, f"{field}[{index}]", BOUNDS["tag_bytes"]) for index, each in enumerate(value)]
    if len("".join(tags).encode()) > BOUNDS["tag_bytes"].max:
        refuse(field, f"must not have more than {BOUNDS['tag_bytes'].max} bytes in total")
    return tags


def check_one_of(value: object, field: str, words: Any) -> str:
    """One of the words of a Literal, or of a list."""
    allowed: Iterable[str] = get_args(words) or words
    if not isinstance(value, str) or value not in allowed:
        refuse(field, f"must be one of {', '.join(allowed)}")
    return value


def check_bool(value: object, field: str) -> bool:
    """True or False, and nothing that only counts as one of them."""
    if not isinstance(value, bool):
        refuse(field, "must be True or False")
    return value


def check_traceparent(value: object, field: str) -> str:
    """A W3C trace context header."""
    if not isinstance(value, str) or not _TRACEPARENT.fullmatch(value):
        refuse(field, "must be a W3C trace context header")
    return value


def check_callable(value: object, field: str, hint: str | None = None) -> None:
    """A function that the caller must pass. The hint is a sample."""
    if not callable(value):
        refuse(field, f"must be a function, not {describe(value)}", hint)


def _plain(number: float) -> str:
    return f"{number:.0f}" if number == int(number) else f"{number}"
