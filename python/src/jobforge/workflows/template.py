"""Turns the input of a step, which may hold references, into the JSON of the graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ..errors import InvalidArgumentError
from ..losses import json_form
from .reference import Target, target_of
from .shape import fields_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_DEPTH: Final = 3
"""The kernel looks for references this many objects and lists deep."""


@dataclass(frozen=True, slots=True)
class Template:
    json: Any
    targets: Sequence[Target]
    """What its references point to."""


def read_template(value: object, owner: object, field: str) -> Template:
    """`owner` is the list of steps: a reference of another list means something else there."""
    found = _Reading(owner)
    return Template(found.walk(value, field, 0), found.targets)


def check_fields(value: object, annotation: Any, field: str) -> None:
    """Refuses an input that lacks a field which its type requires. What references stand for is not known yet."""
    fields = fields_of(annotation)
    if fields is None or not isinstance(value, Mapping):
        return
    for name, each in fields.items():
        if each.is_required and name not in value and each.key not in value:
            place = f"{field}.{name}"
            raise InvalidArgumentError(f"Invalid argument: {place} is required", field=place)


class _Reading:
    """One walk through an input."""

    def __init__(self, owner: object) -> None:
        self._owner = owner
        self.targets: list[Target] = []

    def walk(self, value: object, place: str, depth: int) -> Any:
        target = target_of(value)
        if target is not None:
            if depth > _MAX_DEPTH:
                raise _too_deep(place)
            self._check_owner(target, place)
            self.targets.append(target)
            return target.json()
        if depth > _MAX_DEPTH:
            return _plain(value, place)
        if isinstance(value, list | tuple):
            return [self.walk(each, f"{place}[{index}]", depth + 1) for index, each in enumerate(value)]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        if not isinstance(value, Mapping):
            return _plain(value, place)
        if any(isinstance(key, str) and key.startswith("$") for key in value):
            return {"$literal": _plain(value, place)}
        keys = json_form(dict.fromkeys(value), place)
        return {key: self.walk(value[key], f"{place}.{key}", depth + 1) for key in keys}

    def _check_owner(self, target: Target, place: str) -> None:
        if target.owner is not self._owner:
            raise InvalidArgumentError(
                f"Invalid argument: {place} refers to a step of another list of steps",
                field=place,
                hint="Pass the value to the sub-workflow as a part of its input.",
            )


def _plain(value: object, place: str) -> Any:
    """A value without references as it is in JSON."""
    _refuse_inside(value, place)
    return json_form(value, place)


def _refuse_inside(value: object, place: str) -> None:
    if target_of(value) is not None:
        raise _too_deep(place)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for each in inner:
        _refuse_inside(each, place)


def _too_deep(place: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"Invalid argument: {place} has a reference where none is replaced",
        field=place,
        hint=f"References are replaced in objects and lists, {_MAX_DEPTH} levels deep. "
        "Refer to a larger part of the value.",
    )
