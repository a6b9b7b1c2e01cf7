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
from .refusals import REFUSED_CODES, refusal_hint, refused_connection, unreachable_hint
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
# Serialization failure, deadlock, lock timeout, full disk, out of memory, and plans that a migration made stale.
_RETRYABLE: Final = frozenset({"40001", "40P01", "55P03", "0A000", "26000", "53100", "53200"})
_STATEMENT_HINTS: Final = {
    "25P02": "An earlier statement of the transaction failed. Roll the transaction back, and find that first error.",
}
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
    hint = error.hint or _missing_role(error.message) or _STATEMENT_HINTS.get(error.code)
    known = NotUpdatableError if name == "not_updatable" else _CLASSES.get(error.code)
    if known is NotInstalledError:
        # The hint of Postgres is about casts, which a caller of this package does not write.
        return NotInstalledError(not_installed(error.message))
    if known is not None:
        return known(error.message, kind=name, field=field, hint=hint)
    if error.code.startswith("08") or error.code in _LOST_CONNECTION:
        return ConnectionError(error.message, code=error.code)
    if error.code in REFUSED_CODES:
        hint = refusal_hint(error.message)
        return ConnectionError(error.message, code=error.code, retryable=False, hint=hint)
    retryable = error.code in _RETRYABLE
    return DatabaseError(error.message, code=error.code, field=field, hint=hint, retryable=retryable)


def not_installed(reason: str) -> str:
    """The message of a call for which the database has no function, view or schema."""
    return f"JobForge is not installed in this database, or is older than this client: {reason}"


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
            return refused_connection(str(reason).strip()) or _unreachable(reason)
    return DatabaseError(_first_line(error))


def _unreachable(reason: BaseException) -> ConnectionError:
    return ConnectionError(_first_line(reason), hint=unreachable_hint(str(reason)))


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
