"""Collects the text of one format: in memory while it is small, and in the artifact store from then on."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from ...artifacts.forms import AsyncArtifactStore
from ...artifacts.store import StoredArtifact

_MAX_WAITING: Final = 16
_PART: Final = 65_536


@dataclass(frozen=True, slots=True)
class Collected:
    """What a sink has."""

    bytes: int
    sha256: str
    text: str | None = None
    """The text, if it was small."""
    ref: str | None = None


class Sink:
    """One format of a report."""

    def __init__(self, store: AsyncArtifactStore, key: str, content_type: str, max_bytes: int) -> None:
        self._store = store
        self._key = key
        self._content_type = content_type
        self._max_bytes = max_bytes
        self._digest = hashlib.sha256()
        self._size = 0
        self._kept = bytearray()
        self._parts: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_WAITING)
        self._stored: asyncio.Task[StoredArtifact] | None = None

    async def write(self, text: str) -> None:
        """Returns when the store can take more."""
        content = text.encode("utf-8", "replace")
        self._size += len(content)
        self._digest.update(content)
        self._kept += content
        if self._size > self._max_bytes and len(self._kept) >= _PART:
            await self._send()

    async def end(self) -> Collected:
        """What was written."""
        digest = self._digest.hexdigest()
        if self._size <= self._max_bytes:
            return Collected(self._size, digest, text=self._kept.decode("utf-8"))
        await self._send()
        await self._hand_over(None)
        assert self._stored is not None  # noqa: S101 - narrows the type
        return Collected(self._size, digest, ref=(await self._stored).ref)

    async def abandon(self) -> None:
        """Drops what was written. The store removes what it has."""
        if self._stored is not None:
            self._stored.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._stored

    async def _send(self) -> None:
        part, self._kept = bytes(self._kept), bytearray()
        if self._stored is None:
            put = self._store.put(self._key, self._content(), content_type=self._content_type)
            self._stored = asyncio.ensure_future(put)
        if part:
            await self._hand_over(part)

    async def _hand_over(self, part: bytes | None) -> None:
        """Gives the store a part. A store that has failed takes none, and its error is the report's."""
        assert self._stored is not None  # noqa: S101 - narrows the type
        waiting = asyncio.ensure_future(self._parts.put(part))
        try:
            await asyncio.wait({waiting, self._stored}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not waiting.done():
                waiting.cancel()
        if self._stored.done():
            await self._stored

    async def _content(self) -> AsyncIterator[bytes]:
        while (part := await self._parts.get()) is not None:
            yield part
