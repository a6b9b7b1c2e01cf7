"""Checks documents that people write: payloads, configurations and policies. Unknown keys are errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from ..errors import InvalidValueIssue
from ..schema import Schema, invalid_value
from ..standard_types import Path, Reader

T = TypeVar("T")
_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Field:
    """One key of a document."""

    read: Reader
    default: object = _MISSING
    is_required: bool = False


def required(read: Reader) -> Field:
    """A key that must be given."""
    return Field(read, is_required=True)


def optional(read: Reader) -> Field:
    """A key that may be missing, also from the result."""
    return Field(read)


def default(read: Reader, value: object) -> Field:
    """A key that has a value when it is missing."""
    return Field(read, value)


def _wrong(issues: list[InvalidValueIssue], path: Path, message: str) -> None:
    issues.append(InvalidValueIssue(message, path))


def text(pattern: str = "", expected: str = "a text", *, longest: int | None = None, shortest: int = 0) -> Reader:
    """A text, which matches the pattern as a whole if there is one."""
    form = re.compile(pattern) if pattern else None

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, str) or (form is not None and form.fullmatch(value) is None):
            _wrong(issues, path, f"must be {expected}")
        elif len(value) < shortest or (longest is not None and len(value) > longest):
            _wrong(issues, path, f"must have {shortest} to {longest} characters")
        return value

    return read


def whole(least: int, most: int | None = None) -> Reader:
    """A whole number."""
    span = f"{least} or more" if most is None else f"{least} to {most}"

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_number or not isinstance(value, int) or value < least or (most is not None and value > most):
            _wrong(issues, path, f"must be a whole number, {span}")
        return value

    return read


def one_of(*words: object) -> Reader:
    """One of some words."""
    listed = ", ".join(str(word) for word in words)

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not any(value is word or (isinstance(word, str) and value == word) for word in words):
            _wrong(issues, path, f"must be one of {listed}")
        return value

    return read


flag: Final = one_of(True, False)  # noqa: FBT003 - the two values
"""True or False."""


def anything(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
    """Any JSON value."""
    del path, issues
    return value


def number_or_flag(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
    """A number, true or false."""
    if not isinstance(value, (int, float)):
        _wrong(issues, path, "must be a text, a number, true or false")
    return value


def where(holds: Callable[[str], bool], expected: str) -> Reader:
    """A text that passes a check."""

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, str) or not holds(value):
            _wrong(issues, path, f"must be {expected}")
        return value

    return read


def many(item: Reader, *, least: int = 0, most: int | None = None) -> Reader:
    """A list."""

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, (list, tuple)):
            _wrong(issues, path, "must be a list")
            return []
        if len(value) < least or (most is not None and len(value) > most):
            _wrong(issues, path, f"must have {least} to {most} elements" if most else "must not be empty")
        return [item(each, (*path, index), issues) for index, each in enumerate(value)]

    return read


def table(item: Reader, key: Reader | None = None) -> Reader:
    """An object with any keys."""

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, Mapping):
            _wrong(issues, path, "must be an object")
            return {}
        if key is not None:
            for name in value:
                key(name, (*path, str(name)), issues)
        return {name: item(each, (*path, name), issues) for name, each in value.items()}

    return read


def either(*readers: Reader) -> Reader:
    """What the first reader accepts. The reader that got furthest has the message that helps."""

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        best: list[InvalidValueIssue] = []
        for each in readers:
            found: list[InvalidValueIssue] = []
            result = each(value, path, found)
            if not found:
                return result
            if not best or len(found[0].path) > len(best[0].path):
                best = found
        issues.extend(best)
        return None

    return read


def form(fields: Mapping[str, Field]) -> Reader:
    """An object with exactly these keys. Defaults are filled in."""

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, Mapping):
            _wrong(issues, path, "must be an object")
            return {}
        for name in value:
            if name not in fields:
                _wrong(issues, (*path, str(name)), f"is not known. There are: {', '.join(fields)}")
        found: dict[str, object] = {}
        for name, each in fields.items():
            if name in value:
                found[name] = each.read(value[name], (*path, name), issues)
            elif each.is_required:
                _wrong(issues, (*path, name), "is required")
            elif each.default is not _MISSING:
                found[name] = each.read(each.default, (*path, name), issues)
        return found

    return read


Finish = Callable[[dict[str, Any]], "tuple[Sequence[str], str] | None"]
"""Looks at a whole document, and may change it. Returns the place and the message of what is wrong."""


class Document(Schema[T], Generic[T]):
    """A schema for definitions, policies and configurations."""

    def __init__(self, read: Reader, finish: Finish | None = None) -> None:
        self._read = read
        self._finish = finish

    def load(self, form: object, field: str) -> T:
        issues: list[InvalidValueIssue] = []
        value: Any = self._read(form, (), issues)
        if not issues and self._finish is not None:
            problem = self._finish(value)
            if problem is not None:
                issues.append(InvalidValueIssue(problem[1], tuple(problem[0])))
        if issues:
            raise invalid_value(issues, field)
        loaded: T = value
        return loaded
