"""Turns rows of the kernel into records: times as datetimes, and unknown columns left out."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from dataclasses import Field


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


R = TypeVar("R", bound="Record")

RENAMED = {"tenant": "tenant_id", "tenants": "tenant_ids"}
"""Names of this SDK that differ from the kernel's."""


@cache
def _columns(kind: type[_Dataclass]) -> tuple[tuple[str, str, bool], ...]:
    """The name of each field, its column, and whether it is a time."""
    return tuple(
        (each.name, RENAMED.get(each.name, each.name), str(each.type).startswith("datetime")) for each in fields(kind)
    )


class Record:
    """A row that a call returns. Records are dataclasses whose fields are columns."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """The record for a row as JSON. None for a column that the database does not have."""
        values: dict[str, Any] = {}
        for name, column, is_time in _columns(cls):  # type: ignore[arg-type]
            value = row.get(column)
            values[name] = datetime.fromisoformat(value) if is_time and isinstance(value, str) else value
        return cls(**values)


def from_rows(kind: type[R], rows: Iterable[Mapping[str, Any]]) -> list[R]:
    """A record for each row."""
    return [kind.from_row(row) for row in rows]
