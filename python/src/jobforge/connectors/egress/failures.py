"""Turns the errors of sockets and TLS into failures with a code. No text contains an address."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

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
    # The numbers of TLS errors are not those of the system.
    if isinstance(error, OSError) and not isinstance(error, ssl.SSLError) and error.errno is not None:
        return errno.errorcode.get(error.errno, type(error).__name__)
    reason = getattr(error, "reason", None)
    return reason if isinstance(reason, str) and reason else type(error).__name__


def lost(host: str, error: BaseException, *, sent: bool = True) -> ConnectorError:
    """The server, or something on the way, closed the connection."""
    return ConnectorError("connection_lost", f"{host} closed the connection ({name_of(error)}).", {"sent": sent})


def invalid(host: str, what: str) -> ConnectorError:
    """The server does not speak HTTP as it should."""
    return ConnectorError("invalid_response", f"{host} sent an invalid response ({what}).", {"sent": True})


def slow(message: str, *, sent: bool) -> ConnectorError:
    """A part of the request took too long."""
    return ConnectorError("timeout", message, {"sent": sent})


@dataclass(slots=True)
class Limit:
    """When the time for a request ends, and whether the server may have received something of it until then."""

    at: float
    """As the clock of the loop says."""
    message: str
    is_sent: bool = False

    def __call__(self) -> ConnectorError:
        return slow(self.message, sent=self.is_sent)
