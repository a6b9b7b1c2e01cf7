"""Turns the errors of drivers, of libraries around them and of HTTP servers into errors of this package."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from .errors import (
    ConnectionError,
    DatabaseError,
    EndpointNotFoundError,
    ForbiddenError,
    InvalidArgumentError,
    InvalidScheduleError,
    InvalidStatusError,
    JobForgeError,
    JobLimitExceededError,
    JobNotHeldError,
    NotCancelableError,
    NotInstalledError,
    NotReschedulableError,
    NotUpdatableError,
    PayloadTooLargeError,
    ScheduleNotFoundError,
    StepConflictError,
    StepNotResolvableError,
    TenantRequiredError,
    TimeoutError,
    WorkflowLimitExceededError,
    WorkflowNotRetryableError,
    WorkflowNotRunningError,
)
from .transport.functions import api_functions


@dataclass(frozen=True, slots=True)
class SqlError:
    """An error of Postgres, as drivers and PostgREST pass it on."""

    code: str
    message: str
    detail: str | None = None
    hint: str | None = None


_CLASSES: Final[dict[str, type[JobForgeError]]] = {
    "JF001": TenantRequiredError,
    "JF002": InvalidArgumentError,
    "JF003": JobNotHeldError,
    "JF004": InvalidStatusError,
    "JF005": NotCancelableError,
    "JF006": NotReschedulableError,
    "JF007": JobLimitExceededError,
    "JF008": PayloadTooLargeError,
    "JF009": InvalidScheduleError,
    "JF010": ScheduleNotFoundError,
    "JF011": WorkflowNotRunningError,
    "JF012": WorkflowNotRetryableError,
    "JF013": StepConflictError,
    "JF014": WorkflowLimitExceededError,
    "JF015": StepNotResolvableError,
    "JF016": EndpointNotFoundError,
    "42501": ForbiddenError,
    "42883": NotInstalledError,
    "3F000": NotInstalledError,
    "42P01": NotInstalledError,
    "57014": TimeoutError,
}
# In addition to class 08: errors that may not occur on another connection or a little later.
_LOST_CONNECTION: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "53300", "25006"})
# The server refuses this login or database. A retry does not help.
_REFUSED_CONNECTION: Final = frozenset({"28000", "28P01", "3D000"})
# Serialization failure, deadlock, lock timeout, full disk, out of memory, and plans that a migration made stale.
_RETRYABLE: Final = frozenset({"40001", "40P01", "55P03", "0A000", "26000", "53100", "53200"})
_REFUSAL_HINTS: Final = {
    "28P01": "Check the user name and password in the database URL. Percent-encode special characters in them.",
    "3D000": "Check the name of the database at the end of the database URL, or create the database.",
}
# libpq has no SQLSTATE for a connection that was refused, only its message.
_REFUSALS: Final = (
    (re.compile(r"password authentication failed|no password supplied"), "28P01"),
    (re.compile(r'role ".*" does not exist|no pg_hba\.conf entry'), "28000"),
    (re.compile(r'database ".*" does not exist'), "3D000"),
)
_SQLSTATE: Final = re.compile(r"[0-9A-Z]{5}")
_MAX_REASONS: Final = 10

FIELD_NAMES: Final = {
    "tenant_id": "tenant",
    "delay_ms": "delay",
    "timeout_ms": "timeout",
    "lease_ms": "lease",
    "base_ms": "base",
    "cap_ms": "cap",
}
"""The kernel's names of arguments that have another name here."""


def from_sql_error(error: SqlError) -> JobForgeError:
    """The error of this package for an SQLSTATE."""
    name, field = _read_detail(error.detail)
    hint = error.hint or _missing_role(error.message)
    known = NotUpdatableError if name == "not_updatable" else _CLASSES.get(error.code)
    if known is not None:
        return known(error.message, kind=name, field=field, hint=hint)
    if error.code.startswith("08") or error.code in _LOST_CONNECTION:
        return ConnectionError(error.message, code=error.code)
    if error.code in _REFUSED_CONNECTION:
        hint = _REFUSAL_HINTS.get(error.code)
        return ConnectionError(error.message, code=error.code, retryable=False, hint=hint)
    retryable = error.code in _RETRYABLE
    return DatabaseError(error.message, code=error.code, field=field, hint=hint, retryable=retryable)


def _missing_role(message: str) -> str | None:
    """What to grant, if Postgres itself has refused the call of a function."""
    found = re.match(r"permission denied for (?:function|view) (jobforge_\w+)", message)
    function = api_functions().get(found[1]) if found else None
    if function is None or not function.callers:
        return None
    which = "one of them" if len(function.callers) > 1 else "it"
    return f"{function.name} needs the role {' or '.join(function.callers)}: grant {which} to this login."


def from_driver_error(error: BaseException) -> JobForgeError:
    """The error for an error of a Postgres driver or of a library around it. Raise it `from` that error."""
    if isinstance(error, JobForgeError):
        return error
    reasons = _reasons(error)
    # The innermost error is the driver's.
    for reason in reversed(reasons):
        found = _sql_error_in(reason)
        if found is not None:
            return from_sql_error(found)
    for reason in reasons:
        if _is_connection_error(reason):
            return _refused(str(reason).strip()) or ConnectionError(_first_line(reason))
    return DatabaseError(_first_line(error))


def _reasons(error: BaseException) -> list[BaseException]:
    """The error and its causes. SQLAlchemy has the driver's error as `orig`, Django as `__cause__`."""
    found: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting and len(found) < _MAX_REASONS:
        each = waiting.pop(0)
        if isinstance(each, BaseException) and each not in found:
            found.append(each)
            waiting.extend((getattr(each, "orig", None), each.__cause__))
    return found


def _sql_error_in(reason: BaseException) -> SqlError | None:
    code = getattr(reason, "sqlstate", None) or getattr(reason, "pgcode", None)
    if not isinstance(code, str) or not _SQLSTATE.fullmatch(code):
        return None
    diag = getattr(reason, "diag", None)
    message = getattr(diag, "message_primary", None) or getattr(reason, "message", None) or _first_line(reason)
    detail = getattr(diag, "message_detail", None) or getattr(reason, "detail", None)
    hint = getattr(diag, "message_hint", None) or getattr(reason, "hint", None)
    return SqlError(code, str(message), detail, hint)


def _is_connection_error(reason: BaseException) -> bool:
    # InterfaceError: asyncpg and psycopg raise it for a connection that is closed.
    return isinstance(reason, OSError) or type(reason).__name__ in ("OperationalError", "InterfaceError")


def _refused(message: str) -> ConnectionError | None:
    for pattern, code in _REFUSALS:
        if pattern.search(message):
            hint = _REFUSAL_HINTS.get(code)
            if "no password supplied" in message:
                hint = (
                    "Write it into the database URL, as in postgres://user:password@host/database, or set PGPASSWORD."
                )
            return ConnectionError(message, code=code, retryable=False, hint=hint)
    return None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().split("\n", 1)[0]) or type(error).__name__


def _read_detail(detail: str | None) -> tuple[str | None, str | None]:
    """The kernel's DETAIL is JSON {name, field?}; errors of Postgres itself have other texts there."""
    if detail is None or not detail.startswith("{"):
        return None, None
    try:
        found = json.loads(detail)
    except ValueError:
        return None, None
    name, field = found.get("name"), found.get("field")
    return (name if isinstance(name, str) else None), (field_name(field) if isinstance(field, str) else None)


def field_name(field: str) -> str:
    """The name of a field as callers write it: `jobs[3].tenant_id` is `jobs[3].tenant`."""
    head, dot, last = field.rpartition(".")
    return f"{head}{dot}{FIELD_NAMES.get(last, last)}"
