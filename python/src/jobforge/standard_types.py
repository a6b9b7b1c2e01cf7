"""Reads JSON values as types of the standard library: dataclasses, TypedDicts, lists, unions, times, uuids, enums.

They may contain models of Pydantic.

A reader is made once per definition. It appends what it finds wrong to a list, so that one error names everything.
"""

from __future__ import annotations

import dataclasses
import types
import typing
import uuid
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime, time
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints, is_typeddict

from .errors import InvalidArgumentError, InvalidValueError, InvalidValueIssue

Path: TypeAlias = tuple[str | int, ...]
Reader: TypeAlias = Callable[[object, Path, list[InvalidValueIssue]], Any]

_SEQUENCES: Final = (list, Sequence)
_MAPPINGS: Final = (dict, Mapping)


def reader_of(annotation: Any, field: str) -> Reader:
    """A reader for a type. Raises an InvalidArgumentError for a type that has no JSON form here."""
    if annotation is Any or annotation is object:
        return lambda value, _path, _issues: value
    if annotation is None or annotation is type(None):
        return _read_none
    # A value that was passed instead of its type may have no hash.
    if isinstance(annotation, Hashable) and annotation in _SIMPLE:
        return _SIMPLE[annotation]
    if isinstance(annotation, type) and hasattr(annotation, "__pydantic_validator__"):
        return _model(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return reader_of(arguments[0], field)
    if origin is Literal:
        return _literal(arguments)
    if origin is Union or isinstance(annotation, types.UnionType):
        return _union([reader_of(each, field) for each in arguments])
    if isinstance(annotation, typing.NewType):
        return reader_of(annotation.__supertype__, field)
    return _container(annotation, origin, arguments, field)


def _container(annotation: Any, origin: Any, arguments: tuple[Any, ...], field: str) -> Reader:
    kind = origin or annotation
    if kind in _SEQUENCES or (kind is tuple and arguments[1:] == (...,)):
        return _list(reader_of(arguments[0] if arguments else Any, field), tuple if kind is tuple else list)
    if kind is tuple and arguments:
        return _tuple([reader_of(each, field) for each in arguments])
    if kind in _MAPPINGS:
        return _mapping(reader_of(arguments[1] if arguments else Any, field))
    if is_typeddict(annotation):
        return _Fields.of_typed_dict(annotation, field)
    if dataclasses.is_dataclass(annotation) and isinstance(annotation, type):
        return _Fields.of_dataclass(annotation, field)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _enum(annotation)
    raise InvalidArgumentError(
        f"Invalid argument: {field} has a type that cannot be read from JSON: {annotation!r}",
        field=field,
        hint="Use a Pydantic model, or a dataclass or TypedDict of str, int, float, bool, None, list, dict, datetime, "
        "date, time, UUID, Enum and Literal.",
    )


def _wrong(issues: list[InvalidValueIssue], path: Path, expected: str, value: object) -> None:
    found = "null" if value is None else type(value).__name__
    issues.append(InvalidValueIssue(f"must be {expected}, not {found}", path))


def _read_none(value: object, path: Path, issues: list[InvalidValueIssue]) -> None:
    if value is not None:
        _wrong(issues, path, "null", value)


def _exactly(kind: type, expected: str) -> Reader:
    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            _wrong(issues, path, expected, value)
        return value

    return read


def _read_float(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _wrong(issues, path, "a number", value)
        return value
    return float(value)


def _from_text(parse: Callable[[str], object], expected: str) -> Reader:
    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if isinstance(value, str):
            try:
                return parse(value)
            except ValueError:
                issues.append(InvalidValueIssue(f"must be {expected}", path))
                return None
        _wrong(issues, path, expected, value)
        return None

    return read


def _aware(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.utcoffset() is None:
        raise ValueError(text)
    return found


_SIMPLE: Final[dict[Any, Reader]] = {
    str: _exactly(str, "a text"),
    bool: _exactly(bool, "true or false"),
    int: _exactly(int, "a whole number"),
    float: _read_float,
    datetime: _from_text(_aware, "a time with a time zone, in ISO 8601"),
    date: _from_text(date.fromisoformat, "a date in ISO 8601"),
    time: _from_text(time.fromisoformat, "a time of day in ISO 8601"),
    uuid.UUID: _from_text(uuid.UUID, "a uuid"),
}


def _literal(allowed: tuple[object, ...]) -> Reader:
    words = ", ".join(repr(each) for each in allowed)

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not any(value == each and type(value) is type(each) for each in allowed):
            issues.append(InvalidValueIssue(f"must be one of {words}", path))
        return value

    return read


def _union(readers: list[Reader]) -> Reader:
    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        best: list[InvalidValueIssue] | None = None
        for each in readers:
            found: list[InvalidValueIssue] = []
            result = each(value, path, found)
            if not found:
                return result
            # The member that got furthest has the message that helps.
            if best is None or len(found[0].path) > len(best[0].path):
                best = found
        issues.extend(best or [])
        return None

    return read


def _list(item: Reader, make: Callable[[list[object]], object]) -> Reader:
    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, (list, tuple)):
            _wrong(issues, path, "a list", value)
            return None
        return make([item(each, (*path, index), issues) for index, each in enumerate(value)])

    return read


def _tuple(items: list[Reader]) -> Reader:
    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, (list, tuple)) or len(value) != len(items):
            _wrong(issues, path, f"a list of {len(items)} values", value)
            return None
        return tuple(
            item(each, (*path, index), issues) for index, (item, each) in enumerate(zip(items, value, strict=True))
        )

    return read


def _mapping(item: Reader) -> Reader:
    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, dict):
            _wrong(issues, path, "an object", value)
            return None
        return {key: item(each, (*path, key), issues) for key, each in value.items()}

    return read


def _model(annotation: Any) -> Reader:
    """A Pydantic model within a list, a dataclass or another type of the standard library."""
    # Imported here, because models of Pydantic are also read without a type of the standard library around them.
    from .schema import PydanticSchema

    schema: PydanticSchema[Any] = PydanticSchema(annotation)

    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        try:
            return schema.load(value, "")
        except InvalidValueError as error:
            issues.extend(InvalidValueIssue(each.message, (*path, *each.path)) for each in error.issues)
            return None

    return read


def _enum(kind: type[Enum]) -> Reader:
    return _from_value(kind, f"one of {', '.join(repr(each.value) for each in kind)}")


def _from_value(kind: type[Enum], expected: str) -> Reader:
    def read(value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        try:
            return kind(value)
        except ValueError:
            issues.append(InvalidValueIssue(f"must be {expected}", path))
            return None

    return read


class _Fields:
    """Reads an object with named fields. Keys that it does not know are ignored: newer callers may send more."""

    def __init__(self, make: Callable[..., object], required: frozenset[str]) -> None:
        self._make = make
        self._required = required
        self._readers: dict[str, Reader] = {}

    @classmethod
    def of_dataclass(cls, kind: type, field: str) -> _Fields:
        def is_required(each: dataclasses.Field[Any]) -> bool:
            return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING

        fields = [each for each in dataclasses.fields(kind) if each.init]
        made = cls(kind, frozenset(each.name for each in fields if is_required(each)))
        hints = get_type_hints(kind, include_extras=True)
        made._readers = {each.name: reader_of(hints[each.name], f"{field}.{each.name}") for each in fields}
        return made

    @classmethod
    def of_typed_dict(cls, kind: Any, field: str) -> _Fields:
        hints = get_type_hints(kind, include_extras=True)
        # Python does not see these marks in a module with `from __future__ import annotations`.
        origins = {name: get_origin(hint) for name, hint in hints.items()}
        optional = {name for name, origin in origins.items() if origin is typing.NotRequired}
        marked = {name for name, origin in origins.items() if origin is typing.Required}
        made = cls(dict, frozenset(kind.__required_keys__ - optional | marked))
        made._readers = {name: reader_of(hint, f"{field}.{name}") for name, hint in hints.items()}
        return made

    def __call__(self, value: object, path: Path, issues: list[InvalidValueIssue]) -> object:
        if not isinstance(value, dict):
            _wrong(issues, path, "an object", value)
            return None
        before = len(issues)
        found: dict[str, object] = {}
        for name, read in self._readers.items():
            if name in value:
                found[name] = read(value[name], (*path, name), issues)
            elif name in self._required:
                issues.append(InvalidValueIssue("is required", (*path, name)))
        if len(issues) > before:
            return None
        try:
            return self._make(**found)
        except (ValueError, TypeError) as error:
            issues.append(InvalidValueIssue(str(error), path))
            return None
