"""Connections that check each address before a byte is sent.

Each request has a connection of its own: a second request on an open connection would ask no DNS, and so bypass a
policy that has become stricter.
"""

from __future__ import annotations

import asyncio
import base64
import socket
import ssl
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from ..errors import ConnectorError
from .addresses import address_of
from .check_url import blocked_address
from .failures import lost, name_of, slow, within
from .policy import EgressPolicy
from .resolve import resolve
from .url import Url

MAX_HEAD_BYTES: Final = 16_384
_MAX_CONTEXTS: Final = 100


@dataclass(frozen=True, slots=True)
class Waits:
    """Seconds that the parts of a request may take."""

    connect: float
    between_bytes: float = 10.0


@dataclass(frozen=True, slots=True)
class Connection:
    """An open connection to the target of a request."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Drops the connection."""
        with suppress(OSError, RuntimeError):
            self.writer.transport.abort()


Timings = dict[str, float]
"""Milliseconds of the parts of a request: dns, connect, tls, first_byte."""


async def open_connection(url: Url, policy: EgressPolicy, waits: Waits, timings: Timings) -> Connection:
    """Connects to the host of a URL, checks the address, and begins TLS."""

    def late() -> ConnectorError:
        if policy.proxy is not None:
            return ConnectorError("proxy_unavailable", "The egress proxy does not respond.", {"sent": False})
        return slow(f"{url.authority} accepted no connection in time.", sent=False)

    async with within(waits.connect, late):
        if policy.proxy is not None:
            connection = await _through_proxy(policy.proxy, url)
        else:
            connection = await _direct(url, policy, waits, timings)
        return await _secured(connection, url, policy, timings)


async def _direct(url: Url, policy: EgressPolicy, waits: Waits, timings: Timings) -> Connection:
    start = time.monotonic()
    if address_of(url.host) is None:
        addresses = await resolve(url.host, policy)
        timings["dns"] = (time.monotonic() - start) * 1000
    elif policy.addresses.allow(url.host):
        addresses = [url.host]
    else:
        raise blocked_address()
    connected = time.monotonic()
    dialled = await _dial(url, addresses, waits.connect)
    peer = _peer(dialled)
    # Not even the name of the host reaches an address that is refused.
    if not policy.addresses.allow(peer):
        dialled.close()
        # A server that closes the connection at once leaves no address to check. That is no refusal.
        raise blocked_address() if peer is not None else lost(url.authority, ConnectionResetError(), sent=False)
    timings["connect"] = (time.monotonic() - connected) * 1000
    return Connection(*await asyncio.open_connection(sock=dialled, limit=MAX_HEAD_BYTES))


def _peer(connected: socket.socket) -> str | None:
    try:
        return str(connected.getpeername()[0])
    except OSError:
        return None


async def _dial(url: Url, addresses: Sequence[str], seconds: float) -> socket.socket:
    """Dials one address after the other. A silent one leaves time for the rest."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    trouble: OSError = OSError("there is no address")
    for index, address in enumerate(addresses):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        dialled = socket.socket(family, socket.SOCK_STREAM)
        dialled.setblocking(False)  # noqa: FBT003 - it takes no name
        try:
            async with asyncio.timeout(max(0.0, end - loop.time()) / (len(addresses) - index)):
                await loop.sock_connect(dialled, (address, url.port))
        except OSError as error:
            trouble = error
            dialled.close()
        except BaseException:
            dialled.close()
            raise
        else:
            return dialled
    if trouble.errno is None:
        raise slow(f"{url.authority} accepted no connection in time.", sent=False)
    message = f"{url.authority} refused the connection ({name_of(trouble)})."
    raise ConnectorError("connect_failed", message, {"sent": False})


_contexts: dict[str, ssl.SSLContext] = {}


def _context(policy: EgressPolicy) -> ssl.SSLContext:
    """Trusts the certificates of the system, and those of the policy in addition."""
    known = _contexts.get(policy.version)
    if known is not None:
        return known
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    more = policy.settings.get("ca")
    for each in [more] if isinstance(more, str) else (more or ()):
        context.load_verify_locations(cadata=each)
    if len(_contexts) >= _MAX_CONTEXTS:
        _contexts.clear()
    _contexts[policy.version] = context
    return context


async def _secured(connection: Connection, url: Url, policy: EgressPolicy, timings: Timings) -> Connection:
    if url.scheme != "https":
        return connection
    start = time.monotonic()
    try:
        await connection.writer.start_tls(_context(policy), server_hostname=url.host.removesuffix("."))
    except (ssl.SSLError, OSError, ValueError) as error:
        connection.close()
        message = f"The TLS connection to {url.authority} failed ({name_of(error)})."
        raise ConnectorError("tls_failed", message, {"sent": False}) from None
    except BaseException:
        connection.close()
        raise
    timings["tls"] = (time.monotonic() - start) * 1000
    return connection


async def _through_proxy(proxy: str, url: Url) -> Connection:
    """A tunnel through the operator's proxy, which resolves the name and must refuse private addresses itself."""
    parts = urlsplit(proxy)
    is_secure = parts.scheme == "https"
    port = parts.port or (443 if is_secure else 80)
    try:
        opened = await asyncio.open_connection(
            parts.hostname, port, ssl=ssl.create_default_context() if is_secure else None, limit=MAX_HEAD_BYTES
        )
    except OSError as error:
        message = f"The egress proxy does not respond ({name_of(error)})."
        raise ConnectorError("proxy_unavailable", message, {"sent": False}) from None
    connection = Connection(*opened)
    try:
        status = await _tunnel(connection, url, _proxy_authorization(parts.username, parts.password))
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        connection.close()
        raise ConnectorError("proxy_unavailable", "The egress proxy does not respond.", {"sent": False}) from None
    except BaseException:
        connection.close()
        raise
    if status != 200:
        connection.close()
        message = f"The egress proxy refused {url.authority} with status {status}."
        raise ConnectorError("connect_failed", message, {"sent": False})
    return connection


async def _tunnel(connection: Connection, url: Url, authorization: str) -> int:
    host = f"[{url.host}]" if ":" in url.host else url.host
    target = f"{host}:{url.port}"
    connection.writer.write(f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n{authorization}\r\n".encode("ascii"))
    head = await connection.reader.readuntil(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1])


def _proxy_authorization(user: str | None, password: str | None) -> str:
    if user is None:
        return ""
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return f"proxy-authorization: Basic {base64.b64encode(pair).decode()}\r\n"
