"""A queue whose first items are taken in constant time, one by one or many at a time."""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Fifo(Generic[Item]):
    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: deque[Item] = deque()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def first(self) -> Item | None:
        return self._items[0] if self._items else None

    def push(self, item: Item) -> None:
        self._items.append(item)

    def shift(self) -> Item | None:
        return self._items.popleft() if self._items else None

    def take(self, count: int) -> list[Item]:
        """Takes up to `count` items from the front."""
        items = self._items
        if count >= len(items):
            taken = list(items)
            items.clear()
            return taken
        return [items.popleft() for _ in range(count)]
