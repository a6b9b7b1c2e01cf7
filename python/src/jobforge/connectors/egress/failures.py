"""Turns the errors of sockets and TLS into failures with a code. No text contains an address."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from ..errors import ConnectorError


@asynccontextmanager
async def within(seconds: float, late: Callable[[], ConnectorError]) -> AsyncIterator[None]:
    """A block that may take this long. Its own timeouts and those around it stay what they are."""
    timer = asyncio.timeout(max(0.0, seconds))
    try:
        async with timer:
            yield
    except TimeoutError:
        if timer.expired():
            raise late() from None
        raise


def name_of(error: BaseException) -> str:
    """The name of an error for a text, such as ECONNREFUSED."""
    if isinstance(error, OSError) and error.errno is not None and error.errno in errno.errorcode:
        return errno.errorcode[error.errno]
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, str) and reason else type(error).__name__


def lost(host: str, error: BaseException) -> ConnectorError:
    """The server, or something on the way, closed the connection."""
    return ConnectorError("connection_lost", f"{host} closed the connection ({name_of(error)}).", {"sent": True})


def invalid(host: str, what: str) -> ConnectorError:
    """The server does not speak HTTP as it should."""
    return ConnectorError("invalid_response", f"{host} sent an invalid response ({what}).", {"sent": True})


def slow(message: str, *, sent: bool) -> ConnectorError:
    """A part of the request took too long."""
    return ConnectorError("timeout", message, {"sent": sent})
