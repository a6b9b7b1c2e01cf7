"""How errors are reported to the database: by workers, and by programs that end their runs themselves."""

from __future__ import annotations

import errno
import json
import re
import traceback
from typing import TYPE_CHECKING, Any, Final

from .durable import StepFailedError
from .errors import JobAborted, JobForgeError
from .failure import cut_text
from .jsontext import to_storable_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .worker.claiming.protocol import RunError

MAX_NAME: Final = 200
MAX_STACK: Final = 4000
# The most that `details` of an error may take as JSON.
MAX_DETAILS: Final = 4000
MAX_MESSAGE: Final = 4000
MAX_MEMBERS: Final = 5
MAX_DEPTH: Final = 6
# The texts of all causes and members together. With the error itself, the database keeps them whole.
MAX_INNER_TEXT: Final = 5000
MAX_INNER_MESSAGE: Final = 1000
MAX_INNER_STACK: Final = 1500
# The number of causes and members in total.
MAX_INNER: Final = 10

_ABORT_NAMES: Final = {
    "timeout": "JobTimeoutError",
    "canceled": "JobCanceledError",
    "lost": "LeaseLostError",
    "shutdown": "WorkerShutdownError",
}
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


class RemoteError(Exception):
    """An error of a handler in another process, which has described it already."""

    def __init__(self, description: RunError) -> None:
        super().__init__(description.get("message", ""))
        self.description = description


def describe_error(thrown: BaseException) -> RunError:
    """An error as JSON: name, message, stack, and code, details, cause and members if there are any.

    Handles whatever was raised: an error that cannot be described must not keep its run from ending.
    """
    if isinstance(thrown, RemoteError):
        return thrown.description
    if isinstance(thrown, StepFailedError):
        return dict(thrown.description)
    return _Description().of(thrown, 0)


class _Description:
    """The description of one error with its causes, which may be many, long or circular."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._length = MAX_INNER_TEXT

    def of(self, error: BaseException, depth: int) -> RunError:
        self._seen.add(id(error))
        is_outer = depth == 0
        described: RunError = {
            "name": cut_text(clean(_name(error)), MAX_NAME),
            "message": self._cut(_message(error), MAX_MESSAGE if is_outer else MAX_INNER_MESSAGE, depth),
            "stack": self._cut(_stack(error), MAX_STACK if is_outer else MAX_INNER_STACK, depth),
            "class_path": _class_path(error),
        }
        code = _code(error)
        if code is not None:
            described["code"] = code
        if is_outer:
            described.update(_details(error))
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is not None and self._may_describe(cause, depth + 1):
            described["cause"] = self.of(cause, depth + 1)
        if isinstance(error, BaseExceptionGroup):
            described.update(self._members(error.exceptions, depth + 1))
        return described

    def _members(self, members: Iterable[BaseException], depth: int) -> dict[str, Any]:
        errors = list(members)
        described = [self.of(member, depth) for member in errors[:MAX_MEMBERS] if self._may_describe(member, depth)]
        if not described:
            return {}
        omitted = len(errors) - len(described)
        return {"errors": described, **({"omittedErrors": omitted} if omitted > 0 else {})}

    def _may_describe(self, error: BaseException, depth: int) -> bool:
        return depth <= MAX_DEPTH and len(self._seen) <= MAX_INNER and id(error) not in self._seen

    def _cut(self, text: str, length: int, depth: int) -> str:
        """The text, cut. What causes and members say is cut so that they all fit. The database masks it afterwards."""
        if depth == 0:
            return cut_text(clean(text), length)
        cut = cut_text(clean(text), min(length, self._length))
        self._length -= len(cut)
        return cut


def _name(error: BaseException) -> str:
    return _ABORT_NAMES[error.kind] if isinstance(error, JobAborted) else type(error).__name__


def _class_path(error: BaseException) -> str:
    kind = type(error)
    return cut_text(clean(f"{kind.__module__}.{kind.__qualname__}"), MAX_NAME)


def _message(error: BaseException) -> str:
    try:
        # The hint of an error of this package is for programmers, and not a part of the message.
        return error.message if isinstance(error, JobForgeError) else str(error)
    except Exception:  # noqa: BLE001 - the error's own code may raise anything
        return f"an error without a text ({type(error).__name__})"


def _stack(error: BaseException) -> str:
    """The traceback without those of the causes. The last frames matter most, so the first ones are left out."""
    try:
        frames = traceback.format_tb(error.__traceback__)
        only = "".join(traceback.format_exception_only(type(error), error)).rstrip("\n")
    except Exception:  # noqa: BLE001 - the error's own code may raise anything
        return _name(error)
    if not frames:
        return only
    room = MAX_STACK - min(len(only), 1000) - 100
    kept: list[str] = []
    for frame in reversed(frames):
        room -= len(frame)
        if room < 0 and kept:
            kept.append("  …\n")
            break
        kept.append(frame)
    return f"Traceback (most recent call last):\n{''.join(reversed(kept))}{only}"


def _code(error: BaseException) -> str | int | None:
    try:
        code = getattr(error, "code", None)
        if code is None:
            code = getattr(error, "sqlstate", None)
        if code is None and isinstance(error, OSError) and error.errno is not None:
            code = errno.errorcode.get(error.errno)
    except Exception:  # noqa: BLE001 - a property of the error may raise anything
        return None
    return code if isinstance(code, str | int) and not isinstance(code, bool) else None


def _details(error: BaseException) -> dict[str, Any]:
    """The `details` of an error, if they are a dict as `job.fail()` takes it, and if they can be stored."""
    try:
        details = getattr(error, "details", None)
        if not isinstance(details, dict):
            return {}
        text = to_storable_json(details, "details").text
        return {} if len(text) > MAX_DETAILS else {"details": json.loads(text)}
    except Exception:  # noqa: BLE001 - a property of the error may raise anything
        return {}


def clean(text: str) -> str:
    """A text that Postgres can store in jsonb: no NUL, no half of a surrogate pair."""
    return text if text.isascii() and "\0" not in text else _UNSTORABLE.sub("\ufffd", text)
