"""Finds what JSON would change or lose without a word, and turns values with an obvious JSON form into it.

`json.dumps` writes NaN, which JSON does not have, turns the key 1 into "1", and stops at a datetime. The JSON form has
dicts with str keys, lists, str, int, finite float, bool and None. Aware datetimes, dates, times and UUIDs become text;
enums their value; dataclasses and Pydantic models dicts. Everything else is refused with its place and a hint.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from collections.abc import Coroutine, Mapping, Set
from typing import Any, Final

from .errors import InvalidArgumentError

PLAIN_HINT: Final = "Pass plain JSON values: dict, list, str, int, float, bool, None."
MAX_DEPTH: Final = 200
"""As deep as values may be nested. The database accepts more, but few programs read it."""


def json_form(value: object, field: str) -> Any:
    """The value as plain JSON values. Raises an InvalidArgumentError that names the place, as in `payload.lines[0]`."""
    return _form(value, field, 0)


def _form(value: object, at: str, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is str or kind is bool or kind is int:
        return value
    if kind is float:
        return _finite(value, at)
    if depth > MAX_DEPTH:
        raise _lost(at, "it contains itself, or is nested too deeply", PLAIN_HINT)
    if kind is dict:
        return _mapping(value, at, depth)
    if kind is list or kind is tuple:
        return [_form(each, f"{at}[{index}]", depth + 1) for index, each in enumerate(_sequence(value))]
    return _converted(value, at, depth)


def _sequence(value: object) -> list[object] | tuple[object, ...]:
    assert isinstance(value, (list, tuple))  # noqa: S101 - narrows the type
    return value


def _finite(value: object, at: str) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        raise _lost(at, f"{value} has no JSON form", "Pass a finite number, or None for no number.")
    return value


def _mapping(value: object, at: str, depth: int) -> dict[str, Any]:
    assert isinstance(value, Mapping)  # noqa: S101 - narrows the type
    form: dict[str, Any] = {}
    for key, each in value.items():
        if not isinstance(key, str):
            hint = f"Pass {{str(key): value for …}}, or a list of pairs. This key is {_short(key)}."
            raise _lost(at, f"a key is {_kind(key)}, not a str", hint)
        form[str(key)] = _form(each, f"{at}.{key}", depth + 1)
    return form


def _converted(value: object, at: str, depth: int) -> Any:
    if isinstance(value, enum.Enum):
        return _form(value.value, at, depth + 1)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return _finite(float(value), at)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return _time(value, at)
    if isinstance(value, uuid.UUID):
        return str(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return _form(dump(mode="json", by_alias=True), at, depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        found = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        return _mapping(found, at, depth)
    if isinstance(value, Mapping):
        return _mapping(value, at, depth)
    if isinstance(value, (list, tuple)):
        return [_form(each, f"{at}[{index}]", depth + 1) for index, each in enumerate(value)]
    raise _refused(value, at)


def _time(value: datetime.datetime | datetime.date | datetime.time, at: str) -> str:
    if isinstance(value, datetime.datetime) and value.utcoffset() is None:
        raise _lost(
            at,
            "a datetime without a time zone means another time on another machine",
            "Pass an aware datetime, such as datetime.now(UTC) or value.replace(tzinfo=ZoneInfo(…)).",
        )
    return value.isoformat()


def _refused(value: object, at: str) -> InvalidArgumentError:
    if isinstance(value, (bytes, bytearray, memoryview)):
        hint = "Pass text, such as base64.b64encode(data).decode(), or store the data elsewhere."
        return _lost(at, "bytes have no JSON form", hint)
    if isinstance(value, Set):
        return _lost(at, "a set has no JSON form", "Pass sorted(value) or list(value).")
    if isinstance(value, Coroutine):
        value.close()
        return _lost(at, "a coroutine has no JSON form", "Await it first.")
    if isinstance(value, decimal.Decimal):
        return _lost(at, "a Decimal has no JSON form", "Pass str(value) to keep every digit, or float(value).")
    if isinstance(value, datetime.timedelta):
        return _lost(at, "a timedelta has no JSON form", "Pass value.total_seconds().")
    if isinstance(value, BaseException):
        hint = 'Pass {"name": type(error).__name__, "message": str(error)}.'
        return _lost(at, "an exception has no JSON form", hint)
    return _lost(at, f"{_kind(value)} has no JSON form", PLAIN_HINT)


def _lost(at: str, reason: str, hint: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{at} cannot be written as JSON: {reason}", field=at, hint=hint)


def _kind(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
