"""How a handler is left, and what errors of the database mean."""

from __future__ import annotations

import re
from typing import Final

_SQL_STATE: Final = re.compile(r"[0-9A-DF-Z][0-9A-Z]{4}")


class RunOver(BaseException):
    """Raised by `defer()`, `fail()` and `retry_after()` to leave the handler.

    Their request holds even if this is caught. It is no Exception, so that `except Exception` lets it pass.
    """


class HandlerProcessDied(Exception):  # noqa: N818 - the name says what has happened
    """The process of a handler with `run_in="process"` ended before the handler returned."""


def sql_state(error: BaseException) -> str | None:
    """The SQLSTATE of an error of the transport, if there is one."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and _SQL_STATE.fullmatch(code) else None


def is_data_error(error: BaseException) -> bool:
    """Whether the database refused the content of a call, so that it would refuse the same call again."""
    state = sql_state(error)
    return state is not None and (state[:2] in ("22", "23", "54") or state in ("JF002", "JF008"))


def is_not_held(error: BaseException) -> bool:
    """Whether the database says that this worker does not hold the job, or no longer does."""
    return sql_state(error) == "JF003"
