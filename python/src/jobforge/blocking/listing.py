"""Lists, which can be read page by page or as one stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..operations.listing import Page, ReadPage
    from .runner import Runner

T = TypeVar("T")


class List(Generic[T]):
    """A list, newest first unless stated otherwise. It makes no call before a page, or the first item, is read."""

    def __init__(self, runner: Runner, read: ReadPage[T]) -> None:
        self._runner = runner
        self._read = read

    def page(self, cursor: str | None = None) -> Page[T]:
        """One page: the first, or the one after a cursor. A page has at most 8 MiB, so it may have fewer items."""
        return self._runner.do(self._read(cursor))

    def __iter__(self) -> Iterator[T]:
        """All items, read page by page. No item is repeated or left out while others are added or removed."""
        cursor: str | None = None
        while True:
            page = self.page(cursor)
            for item in page.items:
                yield item
            if page.cursor is None:
                return
            cursor = page.cursor
