"""The fields of a type, as its JSON has them: so that a misspelled one is found when a workflow is defined."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin, get_type_hints, is_typeddict

from ..function_job import ArgumentsSchema
from ..schema import PydanticSchema, StandardSchema

if TYPE_CHECKING:
    from ..schema import Schema


@dataclass(frozen=True, slots=True)
class ShapeField:
    """One field of an object."""

    key: str
    """Its name in JSON."""
    annotation: Any
    is_required: bool


UNKNOWN: Final = Any
"""The annotation of a value about which nothing is known."""

_LISTS: Final = (list, tuple, Sequence)


def annotation_of(schema: Schema[Any]) -> Any:
    """The type that a schema reads; UNKNOWN if it reads any JSON."""
    if isinstance(schema, StandardSchema | PydanticSchema):
        return schema.annotation
    return schema if isinstance(schema, ArgumentsSchema) else UNKNOWN


def fields_of(annotation: Any) -> Mapping[str, ShapeField] | None:
    """The fields by their names in Python; None if the type has none, or if nothing is known about it."""
    if isinstance(annotation, ArgumentsSchema):
        return {each.name: ShapeField(each.name, each.annotation, each.is_required) for each in annotation.parameters()}
    known = _without_none(annotation)
    if not isinstance(known, type):
        return None
    model: Mapping[str, Any] | None = getattr(known, "model_fields", None)
    if isinstance(model, Mapping):
        return {name: _of_model(name, each) for name, each in model.items()}
    if is_typeddict(known):
        required: frozenset[str] = getattr(known, "__required_keys__", frozenset())
        return {name: ShapeField(name, hint, name in required) for name, hint in get_type_hints(known).items()}
    if dataclasses.is_dataclass(known):
        hints = get_type_hints(known)
        return {each.name: ShapeField(each.name, hints[each.name], _is_required(each)) for each in _fields(known)}
    return None


def item_of(annotation: Any) -> Any:
    """The type of the items of a list."""
    known = _without_none(annotation)
    arguments = get_args(known)
    return arguments[0] if get_origin(known) in _LISTS and arguments else UNKNOWN


def is_scalar(annotation: Any) -> bool:
    """Whether a value of the type has no parts."""
    return _without_none(annotation) in (str, int, float, bool)


def _of_model(name: str, info: Any) -> ShapeField:
    alias: str | None = info.serialization_alias or info.alias
    return ShapeField(alias or name, info.annotation, bool(info.is_required()))


def _fields(kind: type) -> Sequence[dataclasses.Field[Any]]:
    # Only dataclasses get here.
    return [each for each in dataclasses.fields(kind) if each.init]


def _is_required(each: dataclasses.Field[Any]) -> bool:
    return each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING


def _without_none(annotation: Any) -> Any:
    """The type of `T | None`: a reference to a part of None is null."""
    if get_origin(annotation) is Union or isinstance(annotation, types.UnionType):
        others = [each for each in get_args(annotation) if each is not type(None)]
        return others[0] if len(others) == 1 else UNKNOWN
    return annotation
