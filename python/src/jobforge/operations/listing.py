"""Lists, which are read page by page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from ..arguments import check_uuid
from ..rows import Record, from_rows
from .call import Call, Steps, ask

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list."""

    items: list[T]
    cursor: str | None
    """The cursor of the next page; None if this is the last page."""


ReadPage: TypeAlias = Callable[[str | None], Steps[Page[T]]]
"""Reads the first page, or the one after a cursor."""


R = TypeVar("R", bound=Record)

_FEWEST_ROWS_OF_CUT_PAGE: Final = 6
"""A page ends before 8 MiB, and a row has at most 1.2 MiB. So a page with fewer rows was not cut by bytes."""


def pages_by_id(kind: type[R], limit: int, read: Callable[[Mapping[str, object]], Call[Any]]) -> ReadPage[R]:
    """Pages whose cursor is the id of their last row. `read` makes the call for a limit and a cursor.

    A page with fewer rows than asked for is the last one, or was cut by bytes. Then only the database knows whether
    more rows follow, so it is asked for one.
    """

    def page(cursor: str | None) -> Steps[Page[R]]:
        if cursor is not None:
            check_uuid(cursor, "cursor")
        rows: list[dict[str, Any]] = yield from ask(read(_at(limit, cursor)))
        items = from_rows(kind, rows)
        last: str | None = rows[-1]["id"] if rows else None
        if len(rows) == limit:
            return Page(items, last)
        if len(rows) < _FEWEST_ROWS_OF_CUT_PAGE:
            return Page(items, None)
        more: list[Any] = yield from ask(read(_at(1, last)))
        return Page(items, last if more else None)

    return page


def pages_by(
    kind: type[R], limit: int, read: Callable[[Mapping[str, object]], Call[Any]], cursor_of: Callable[[R], str]
) -> ReadPage[R]:
    """Pages of rows that are small, with a cursor from the last one."""

    def page(cursor: str | None) -> Steps[Page[R]]:
        rows: list[dict[str, Any]] = yield from ask(read(_at(limit, cursor)))
        items = from_rows(kind, rows)
        return Page(items, cursor_of(items[-1]) if len(items) == limit else None)

    return page


def _at(limit: int, cursor: str | None) -> dict[str, object]:
    return {"limit": limit} if cursor is None else {"limit": limit, "cursor": cursor}
