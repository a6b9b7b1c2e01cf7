"""Asks DNS servers for the addresses of a name.

`getaddrinfo` blocks a thread per slow name, adds search domains, and cannot be canceled. So this asks the servers
itself: by UDP, and by TCP if an answer was too long.
"""

from __future__ import annotations

import asyncio
import secrets
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

from .addresses import address_of

Server: TypeAlias = tuple[str, int]

_A: Final = 1
_AAAA: Final = 28
_SIZES: Final = {_A: 4, _AAAA: 16}
_TRY_SECONDS: Final = 2.0
_TRIES: Final = 2
_PORT: Final = 53
_HEADER: Final = 12
_MAX_NAME: Final = 253
_MAX_LABEL: Final = 63
_POINTER: Final = 0xC0
_TRUNCATED: Final = 0x0200
_IS_ANSWER: Final = 0x8000
_IN: Final = 1


def system_servers(path: str = "/etc/resolv.conf") -> list[Server]:
    """The DNS servers that this machine uses; an empty list where there is no such file."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = [line.split()[1] for line in lines if line.startswith("nameserver") and len(line.split()) > 1]
    return [(address, _PORT) for address in found]


def server_of(text: str) -> Server:
    """A server such as `1.1.1.1`, `1.1.1.1:53` or `[2606:4700:4700::1111]:53`."""
    if address_of(text.strip("[]")) is not None:
        return text.strip("[]"), _PORT
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


async def addresses_of(name: str, servers: Sequence[Server]) -> list[str]:
    """All IPv4 and IPv6 addresses of a name. A question without a response has none."""
    if len(name) > _MAX_NAME or any(not 0 < len(label) <= _MAX_LABEL for label in name.split(".")):
        return []
    four, six = await asyncio.gather(_ask(name, _A, servers), _ask(name, _AAAA, servers))
    return [*four, *six]


async def _ask(name: str, kind: int, servers: Sequence[Server]) -> list[str]:
    for _ in range(_TRIES):
        for server in servers:
            try:
                async with asyncio.timeout(_TRY_SECONDS):
                    return await _ask_server(name, kind, server)
            except (OSError, ValueError, asyncio.IncompleteReadError):
                # TimeoutError is an OSError. The next server, or the next try, may know.
                continue
    return []


async def _ask_server(name: str, kind: int, server: Server) -> list[str]:
    question = _question(name, kind)
    answer = await _over_udp(question, server)
    if struct.unpack_from("!H", answer, 2)[0] & _TRUNCATED:
        answer = await _over_tcp(question, server)
    return _addresses(answer, kind, len(question))


def _question(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode("ascii") for label in name.split("."))
    header = struct.pack("!HHHHHH", secrets.randbelow(65_536), 0x0100, 1, 0, 0, 0)
    return header + labels + b"\0" + struct.pack("!HH", kind, _IN)


class _Datagrams(asyncio.DatagramProtocol):
    """Waits for the answer to a question. Other datagrams are ignored."""

    def __init__(self, question: bytes) -> None:
        self._question = question
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        del addr
        if not self.answer.done() and _answers(data, self._question):
            self.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(exc)


def _answers(data: bytes, question: bytes) -> bool:
    end = len(question)
    is_same = data[:2] == question[:2] and data[_HEADER:end].lower() == question[_HEADER:].lower()
    return len(data) >= end and is_same and bool(struct.unpack_from("!H", data, 2)[0] & _IS_ANSWER)


async def _over_udp(question: bytes, server: Server) -> bytes:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(lambda: _Datagrams(question), remote_addr=server)
    try:
        transport.sendto(question)
        return await protocol.answer
    finally:
        transport.close()


async def _over_tcp(question: bytes, server: Server) -> bytes:
    reader, writer = await asyncio.open_connection(*server)
    try:
        writer.write(struct.pack("!H", len(question)) + question)
        (length,) = struct.unpack("!H", await reader.readexactly(2))
        answer = await reader.readexactly(length)
    finally:
        writer.close()
    if not _answers(answer, question):
        raise ValueError("another answer")
    return answer


def _addresses(answer: bytes, kind: int, start: int) -> list[str]:
    """The addresses in an answer. Aliases are skipped: their addresses are in the same answer."""
    (count,) = struct.unpack_from("!H", answer, 6)
    found: list[str] = []
    place = start
    for _ in range(count):
        place = _after_name(answer, place)
        if place + 10 > len(answer):
            raise ValueError("a broken answer")
        of_kind, of_class, _, size = struct.unpack_from("!HHIH", answer, place)
        data = answer[place + 10 : place + 10 + size]
        place += 10 + size
        if of_kind == kind and of_class == _IN and len(data) == _SIZES[kind]:
            found.append(_text(data))
    return found


def _text(data: bytes) -> str:
    import ipaddress

    return str(ipaddress.ip_address(data))


def _after_name(answer: bytes, place: int) -> int:
    while place < len(answer):
        size = answer[place]
        if size & _POINTER == _POINTER:
            return place + 2
        place += 1 + size
        if size == 0:
            return place
    raise ValueError("a broken answer")
