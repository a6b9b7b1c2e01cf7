"""Reads the body of a response within limits. They count what arrives after decoding, so a small bomb stays small."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass
from typing import Final

from ..errors import ConnectorError
from .wire import too_large

_RATIO_FROM: Final = 1_048_576
_MAX_RATIO: Final = 100
"""Above a size, a decoded body may be at most this many times as large as what was received."""
_BLOCK: Final = 65_536
_GZIP: Final = 31
_MAGIC: Final = b"\x1f"


@dataclass(frozen=True, slots=True)
class ReadBody:
    """What was read of a body."""

    content: bytes
    total: int
    """Bytes that were read, kept or not."""
    truncated: bool


async def read_up_to(body: AsyncIterable[bytes], most: int) -> ReadBody:
    """Up to `most` bytes of the body. The caller drops the connection if there is more."""
    parts: list[bytes] = []
    total = 0
    async for part in body:
        parts.append(part)
        total += len(part)
        if total > most:
            break
    return ReadBody(b"".join(parts)[:most], total, total > most)


async def limited(body: AsyncIterable[bytes], most: int) -> AsyncIterator[bytes]:
    """Passes a body on, and fails when it is longer than `most`."""
    total = 0
    async for part in body:
        total += len(part)
        if total > most:
            raise too_large(most, total)
        yield part


def decoded(body: AsyncIterable[bytes], encoding: str | None) -> AsyncIterable[bytes]:
    """The decoded body, if it has an encoding that is supported. A chain of encodings is refused."""
    name = (encoding or "identity").strip().lower()
    if name in ("identity", ""):
        return body
    if name != "gzip":
        message = "The response has an encoding that is not supported."
        raise ConnectorError("invalid_response", message, {"sent": True})
    return _inflated(body)


async def _inflated(body: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    decoder = zlib.decompressobj(_GZIP)
    received = total = 0
    try:
        async for part in body:
            received += len(part)
            rest = part
            while rest:
                if decoder.eof:
                    # A body may have several members. Anything else behind the first one is padding.
                    if not rest.startswith(_MAGIC):
                        return
                    decoder = zlib.decompressobj(_GZIP)
                found = decoder.decompress(rest, _BLOCK)
                rest = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
                total += len(found)
                if total > _RATIO_FROM and total > received * _MAX_RATIO:
                    raise ConnectorError("too_large", "The response is compressed too far.", {"bytes": total})
                yield found
    except zlib.error:
        raise ConnectorError("invalid_response", "The response is not gzip.", {"sent": True}) from None
    if not decoder.eof and received > 0:
        raise ConnectorError("connection_lost", "The compressed response broke off.", {"sent": True})
