"""One request with its redirects: each hop is checked like the first, under one deadline for all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from ..errors import ConnectorError
from .check_url import UrlRules, check_url
from .connect import Timings, Waits, open_connection
from .failures import Limit, within
from .url import Url, parse_url
from .wire import Head, Headers, only, read_body, read_head, write_request

Body = Callable[[], Awaitable[bytes | AsyncIterator[bytes]]]

_REDIRECTS: Final = (301, 302, 303, 307, 308)
_SEE_OTHER: Final = 303
_FOUND: Final = 302
_PRIVATE: Final = frozenset({"authorization", "cookie", "proxy-authorization", "idempotency-key"})
_WITH_LENGTH: Final = ("POST", "PUT", "PATCH")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundRequest:
    """A request to send."""

    url: str
    rules: UrlRules
    waits: Waits
    timeout_ms: int
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    secret_headers: frozenset[str] = frozenset()
    """Headers that hold a secret, in lower case. They never leave the origin of the URL."""
    body: Body | None = None
    """Called for each hop that has a body."""
    redirects: int = 0
    deadline: float | None = None
    """When `timeout_ms` ends, as the clock of the loop says. Several requests of one run share a deadline."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A response whose body is not yet read."""

    status: int
    headers: Headers
    body: AsyncIterator[bytes]
    url: Url
    redirects: tuple[str, ...]
    """The URLs that redirected, in order."""
    timings: Timings

    def header(self, name: str) -> str | None:
        """The value of a header that occurs once."""
        return only(self.headers, name)


@dataclass(frozen=True, slots=True)
class _Hop:
    url: Url
    method: str
    headers: Mapping[str, str]
    has_body: bool


@asynccontextmanager
async def send(outbound: OutboundRequest) -> AsyncIterator[Exchange]:
    """Sends a request: `async with send(outbound) as exchange`. Raises a ConnectorError.

    The deadline also holds for each part of the body. The connection is dropped when the block ends.
    """
    url = check_url(outbound.url, outbound.rules)
    now = asyncio.get_running_loop().time()
    limit = Limit(
        now + outbound.timeout_ms / 1000 if outbound.deadline is None else outbound.deadline,
        f"The request to {url.authority} took longer than timeout_ms, {outbound.timeout_ms} ms in total.",
    )
    async with AsyncExitStack() as stack:
        async with within(limit.at - now, limit):
            exchange = await _follow(outbound, url, stack, limit)
        yield exchange


async def _follow(outbound: OutboundRequest, url: Url, stack: AsyncExitStack, limit: Limit) -> Exchange:
    hop = _Hop(url, outbound.method, outbound.headers, outbound.body is not None)
    visited: list[str] = []
    while True:
        exchange = await stack.enter_async_context(_hop(outbound, hop, tuple(visited), limit))
        location = exchange.header("location") if exchange.status in _REDIRECTS else None
        if location is None or outbound.redirects == 0:
            return exchange
        await stack.aclose()
        visited.append(hop.url.href)
        if len(visited) > outbound.redirects:
            raise _refused(f"There are more than {outbound.redirects} redirects.", exchange.status)
        hop = _next_hop(hop, exchange.status, location, outbound)


@asynccontextmanager
async def _hop(outbound: OutboundRequest, hop: _Hop, visited: tuple[str, ...], limit: Limit) -> AsyncIterator[Exchange]:
    host = hop.url.authority
    timings: Timings = {}
    start = time.monotonic()
    limit.is_sent = False
    body = await outbound.body() if hop.has_body and outbound.body is not None else None
    connection = await open_connection(hop.url, outbound.rules.policy, outbound.waits, timings)
    limit.is_sent = True
    try:
        await write_request(connection, host, _lines(hop, body), body)
        head: Head = await read_head(connection, host)
        timings["first_byte"] = (time.monotonic() - start) * 1000
        parts = read_body(connection, head, hop.method, host, outbound.waits, limit)
        async with aclosing(parts):
            yield Exchange(head.status, head.headers, parts, hop.url, visited, timings)
    finally:
        connection.close()


def _lines(hop: _Hop, body: bytes | AsyncIterator[bytes] | None) -> list[str]:
    lines = [f"{hop.method} {hop.url.target} HTTP/1.1", f"host: {hop.url.authority}", "connection: close"]
    lines.extend(f"{name}: {value}" for name, value in hop.headers.items())
    if isinstance(body, bytes):
        lines.append(f"content-length: {len(body)}")
    elif body is not None:
        lines.append("transfer-encoding: chunked")
    elif hop.method in _WITH_LENGTH:
        lines.append("content-length: 0")
    return lines


def _next_hop(hop: _Hop, status: int, location: str, outbound: OutboundRequest) -> _Hop:
    target = parse_url(location, hop.url)
    if target is None:
        raise _refused("The redirect has an invalid target.", status)
    if target.has_user or target.host == "":
        # The check names what is wrong with it.
        check_url(location, outbound.rules)
    url = check_url(target.href, outbound.rules)
    if hop.url.scheme == "https" and url.scheme == "http":
        raise _refused("The redirect leads from https to http.", status)
    is_get = hop.method != "HEAD" if status == _SEE_OTHER else status <= _FOUND and hop.method == "POST"
    has_body = hop.has_body and not is_get
    is_same = url.origin == hop.url.origin
    if has_body and not is_same:
        raise _refused("The redirect would send the body to another origin.", status)

    def is_kept(name: str) -> bool:
        is_private = name in _PRIVATE or name in outbound.secret_headers
        return not (is_private and not is_same) and not (is_get and name.startswith("content-"))

    headers = {name: value for name, value in hop.headers.items() if is_kept(name.lower())}
    return _Hop(url, "GET" if is_get else hop.method, headers, has_body)


def _refused(message: str, status: int) -> ConnectorError:
    return ConnectorError("redirect_refused", message, {"status": status, "sent": True})
