"""HTTP/1.1 on a connection: writes a request, and reads a response within limits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from ..errors import ConnectorError
from .connect import MAX_HEAD_BYTES, Connection, Waits
from .failures import Limit, invalid, lost, slow, within

Headers = dict[str, list[str]]
"""The headers of a response: names in lower case, with all their values."""

_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-9]\d\d)(?: [^\r\n\0]*)?\r?\n")
_HEADER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9a-zA-Z-]+):[ \t]*([^\r\n\0]*?)[ \t]*\r?\n")
_CHUNK: Final = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_BREAK: Final = re.compile(r"[\r\n\0]")
_BLOCK: Final = 65_536
_NO_CONTENT: Final = (204, 304)
_SWITCHED: Final = 101
_FIRST_FINAL: Final = 200


@dataclass(frozen=True, slots=True)
class Head:
    """The status and the headers of a response."""

    status: int
    headers: Headers


def only(headers: Mapping[str, list[str]], name: str) -> str | None:
    """The value of a header that occurs once."""
    values = headers.get(name, ())
    return values[0] if len(values) == 1 else None


async def write_request(
    connection: Connection, host: str, lines: list[str], body: bytes | AsyncIterator[bytes] | None
) -> None:
    """Sends a request. A body of unknown length is sent in chunks."""
    # The headers were checked before. A line break here would be a second request.
    if any(_BREAK.search(line) for line in lines):
        raise ConnectorError("invalid_header", "A header contains a line break.")
    writer = connection.writer
    try:
        writer.write(("\r\n".join([*lines, "", ""])).encode("latin-1"))
        if isinstance(body, bytes):
            writer.write(body)
        elif body is not None:
            async for part in body:
                if part:
                    writer.write(b"%x\r\n%s\r\n" % (len(part), part))
                    await writer.drain()
            writer.write(b"0\r\n\r\n")
        await writer.drain()
    except OSError as error:
        # A server may respond before it has read the whole body, and close the connection.
        if not isinstance(error, (ConnectionResetError, BrokenPipeError)):
            raise lost(host, error) from None


async def read_head(connection: Connection, host: str) -> Head:
    """Reads the status and the headers. Hints that come before them are skipped. Only the deadline ends the wait."""
    while True:
        head = await _read_head(connection.reader, host)
        if head.status >= _FIRST_FINAL:
            return head
        if head.status == _SWITCHED:
            raise invalid(host, "another protocol")


async def _read_head(reader: asyncio.StreamReader, host: str) -> Head:
    line = await _line(reader, host)
    found = _STATUS.fullmatch(line)
    if found is None:
        raise invalid(host, "the status line")
    headers: Headers = {}
    size = len(line)
    while (line := await _line(reader, host)) not in (b"\r\n", b"\n"):
        size += len(line)
        header = _HEADER.fullmatch(line)
        if header is None:
            raise invalid(host, "a header")
        if size > MAX_HEAD_BYTES:
            raise invalid(host, "too many headers")
        headers.setdefault(header[1].decode("ascii").lower(), []).append(header[2].decode("latin-1"))
    return Head(int(found[1]), headers)


async def _line(reader: asyncio.StreamReader, host: str) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        raise invalid(host, "a line is too long") from None
    except (asyncio.IncompleteReadError, OSError) as error:
        raise lost(host, error) from None


async def read_body(
    connection: Connection, head: Head, method: str, host: str, waits: Waits, limit: Limit
) -> AsyncGenerator[bytes, None]:
    """The body in parts, as the headers frame it."""
    loop = asyncio.get_running_loop()
    parts = _framed(connection.reader, head, method, host)

    def late() -> ConnectorError:
        if loop.time() >= limit.at:
            return limit()
        return slow(f"{host} stopped sending its response.", sent=True)

    async with aclosing(parts):
        while True:
            async with within(min(waits.between_bytes, limit.at - loop.time()), late):
                try:
                    part = await anext(parts, None)
                except (asyncio.IncompleteReadError, OSError) as error:
                    raise lost(host, error) from None
                except asyncio.LimitOverrunError:
                    raise invalid(host, "a line is too long") from None
            if part is None:
                return
            yield part


async def _framed(reader: asyncio.StreamReader, head: Head, method: str, host: str) -> AsyncGenerator[bytes, None]:
    if method == "HEAD" or head.status in _NO_CONTENT:
        return
    coding, lengths = head.headers.get("transfer-encoding"), set(head.headers.get("content-length", ()))
    if coding is not None:
        if [each.lower() for each in coding] != ["chunked"] or lengths:
            raise invalid(host, "the transfer encoding")
        async for part in _chunks(reader, host):
            yield part
    elif lengths:
        async for part in _exactly(reader, _length(lengths, host)):
            yield part
    else:
        while part := await reader.read(_BLOCK):
            yield part


def _length(values: set[str], host: str) -> int:
    value = values.pop()
    if values or re.fullmatch(r"[0-9]{1,15}", value) is None:
        raise invalid(host, "the content length")
    return int(value)


async def _exactly(reader: asyncio.StreamReader, size: int) -> AsyncGenerator[bytes, None]:
    while size > 0:
        part = await reader.read(min(size, _BLOCK))
        if not part:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(part)
        yield part


async def _chunks(reader: asyncio.StreamReader, host: str) -> AsyncGenerator[bytes, None]:
    while True:
        found = _CHUNK.fullmatch(await reader.readuntil(b"\n"))
        if found is None:
            raise invalid(host, "a chunk")
        size = int(found[1], 16)
        if size == 0:
            return
        async for part in _exactly(reader, size):
            yield part
        if await reader.readexactly(2) != b"\r\n":
            raise invalid(host, "a chunk")


def too_large(most: int, size: int) -> ConnectorError:
    """The failure of a response that may not be so long."""
    return ConnectorError("too_large", f"The response has more than {most} bytes.", {"bytes": size})
