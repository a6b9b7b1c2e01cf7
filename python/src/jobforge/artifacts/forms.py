"""A store for the event loop: the methods of a blocking one run in threads."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Protocol, TypeAlias, TypeVar, cast

from .store import ArtifactStore, ListedArtifact, StoredArtifact

T = TypeVar("T")

__all__ = ["AnyStore", "ArtifactStore", "AsyncAnyStore", "AsyncArtifactStore", "async_form", "form"]


class AsyncArtifactStore(Protocol):
    """What `ArtifactStore` is, for the event loop."""

    async def put(self, key: str, content: AsyncIterable[bytes], *, content_type: str) -> StoredArtifact: ...

    def get(self, ref: str) -> AsyncIterator[bytes]: ...

    async def url(self, ref: str, seconds: int) -> str | None: ...

    async def delete(self, ref: str) -> None: ...

    def list(self, prefix: str) -> AsyncIterator[ListedArtifact]: ...


AnyStore: TypeAlias = ArtifactStore
"""What a blocking client takes."""
AsyncAnyStore: TypeAlias = ArtifactStore | AsyncArtifactStore
"""What an asynchronous client takes."""


class ThreadedStore:
    """Calls a blocking store in threads."""

    def __init__(self, store: ArtifactStore) -> None:
        self._store = store

    async def put(self, key: str, content: AsyncIterable[bytes], *, content_type: str) -> StoredArtifact:
        loop = asyncio.get_running_loop()
        parts = aiter(content)

        async def following() -> bytes | None:
            return await anext(parts, None)

        def pulled() -> Iterator[bytes]:
            # The thread of the store waits for each part, which comes from the event loop.
            while (part := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not None:
                yield part

        return await asyncio.to_thread(self._store.put, key, pulled(), content_type=content_type)

    async def get(self, ref: str) -> AsyncIterator[bytes]:
        async for part in in_threads(await asyncio.to_thread(self._store.get, ref)):
            yield part

    async def url(self, ref: str, seconds: int) -> str | None:
        return await asyncio.to_thread(self._store.url, ref, seconds)

    async def delete(self, ref: str) -> None:
        await asyncio.to_thread(self._store.delete, ref)

    async def list(self, prefix: str) -> AsyncIterator[ListedArtifact]:
        async for each in in_threads(self._store.list(prefix)):
            yield each


async def in_threads(items: Iterator[T]) -> AsyncIterator[T]:
    """The items of an iterator that blocks."""
    while (item := await asyncio.to_thread(next, items, None)) is not None:
        yield item


def async_form(store: AsyncAnyStore) -> AsyncArtifactStore:
    """The store for the event loop."""
    if inspect.iscoroutinefunction(store.put):
        return cast("AsyncArtifactStore", store)
    return ThreadedStore(cast("ArtifactStore", store))


def form(store: AnyStore) -> ArtifactStore:
    """The store for a blocking client."""
    return store
