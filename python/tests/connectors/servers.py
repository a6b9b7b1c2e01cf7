"""Servers on loopback that end with their test: HTTP, raw bytes, and DNS with records that a test can change."""

from __future__ import annotations

import asyncio
import ipaddress
import struct
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import ssl

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Received:
    """A request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HttpServer:
    """A server that keeps what it receives."""

    port: int
    received: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Servers:
    """Starts servers, and ends them."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack

    async def raw(self, talk: Talk, tls: ssl.SSLContext | None = None) -> int:
        """A server of bytes. Returns its port."""

        talks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await talk(reader, writer)
            except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                writer.close()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            talks.add(asyncio.get_running_loop().create_task(serve(reader, writer)))

        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)

        async def end() -> None:
            server.close()
            for each in talks:
                each.cancel()
            await asyncio.gather(*talks, return_exceptions=True)
            # Transports close in the next turns.
            await asyncio.sleep(0.01)

        self._stack.push_async_callback(end)
        port: int = server.sockets[0].getsockname()[1]
        return port

    async def sending(self, content: bytes) -> int:
        """A server that sends these bytes after it has read a request, and then keeps the connection open."""

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(content)
            await writer.drain()
            await reader.read()

        return await self.raw(talk)

    async def http(
        self,
        respond: Callable[[Received], tuple[int, dict[str, str], bytes]],
        tls: ssl.SSLContext | None = None,
    ) -> HttpServer:
        """A server that responds as the function says."""
        made = HttpServer(0)

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in head[1:] if line}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            request = Received(method, path, headers, body)
            made.received.append(request)
            status, more, content = respond(request)
            lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in more.items())]
            writer.write(("\r\n".join([*lines, f"content-length: {len(content)}", "", ""])).encode() + content)
            await writer.drain()

        made.port = await self.raw(talk, tls)
        return made

    async def dns(self) -> Dns:
        """A DNS server, over UDP and TCP. It knows no name until a test sets one, and says so for the others."""
        dns = Dns()

        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            size = int.from_bytes(await reader.readexactly(2), "big")
            answer = dns.answer(await reader.readexactly(size))
            writer.write(len(answer).to_bytes(2, "big") + answer)
            await writer.drain()

        for _ in range(20):
            place = ("127.0.0.1", await self.raw(talk))
            try:
                transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: dns, local_addr=place)
            except OSError:
                # The port is taken for UDP.
                continue
            self._stack.callback(transport.close)
            dns.address = f"{place[0]}:{place[1]}"
            return dns
        raise AssertionError("there is no port that is free for both")

    async def closed_port(self) -> int:
        """A port on which nothing listens."""
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        port: int = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        return port


class Dns(asyncio.DatagramProtocol):
    """A DNS server."""

    def __init__(self) -> None:
        self.address = ""
        self.asked: list[str] = []
        self.is_truncating = False
        self._records: dict[str, Callable[[], Sequence[str]]] = {}

    def set(self, name: str, addresses: Sequence[str] | Callable[[], Sequence[str]]) -> None:
        """The addresses of a name; a function is called for each question."""
        self._records[name] = addresses if callable(addresses) else lambda: addresses

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        # The client must ignore a response to another question.
        self._transport.sendto(b"\0\0" + data[2:], addr)
        answer = self.answer(data)
        if self.is_truncating:
            answer = answer[:2] + struct.pack("!H", 0x8380) + answer[4:6] + b"\0\0" + data[8:]
        self._transport.sendto(answer, addr)

    def answer(self, question: bytes) -> bytes:
        """The answer to a question."""
        labels, place = [], 12
        while size := question[place]:
            labels.append(question[place + 1 : place + 1 + size].decode())
            place += size + 1
        kind = struct.unpack_from("!H", question, place + 1)[0]
        name = ".".join(labels).lower()
        self.asked.append(f"{'AAAA' if kind == 28 else 'A'} {name}")
        known = self._records.get(name)
        found = [ipaddress.ip_address(each) for each in (known() if known is not None else ())]
        fitting = [each.packed for each in found if (each.version == 6) == (kind == 28)]
        header = question[:2] + struct.pack("!HHHHH", 0x8183 if known is None else 0x8180, 1, len(fitting), 0, 0)
        answers = [struct.pack("!HHHIH", 0xC00C, kind, 1, 0, len(data)) + data for data in fitting]
        return header + question[12 : place + 5] + b"".join(answers)
