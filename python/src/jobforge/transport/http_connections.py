"""Connections to a server that are kept and used again. Threads share them, one call at a time each."""

from __future__ import annotations

import http.client
import re
import ssl
import threading
from time import monotonic
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import ConnectionError
from ..forked import renew_after_fork
from .sockets import has_input, shut_down

if TYPE_CHECKING:
    from .http_messages import Deadline

_KEEP: Final = 4.0
"""How long an idle connection is used again, in seconds. Servers of Node end one after five."""
_MARGIN: Final = 1.0
"""How long before a server ends an idle connection it is no longer used, in seconds."""


class Connections:
    """The connections to one server, through a proxy if the environment names one."""

    def __init__(self, base: SplitResult, ssl_context: ssl.SSLContext | None) -> None:
        self._base = base
        self._ssl_context = ssl_context
        self._proxy = _proxy_for(base)
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        """With the time after which they are not used again. The last one is used first."""
        self._busy: set[http.client.HTTPConnection] = set()
        self._is_closed = False
        self.begin_anew()
        renew_after_fork(self)

    def begin_anew(self) -> None:
        self._lock = threading.Lock()
        inherited = [*(connection for connection, _ in self._idle), *self._busy]
        self._idle, self._busy = [], set()
        for connection in inherited:
            # The parent's connection stays open.
            connection.close()

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def target(self, path: str) -> str:
        """What a request asks for. A proxy for plain HTTP wants the whole address."""
        whole = self._proxy is not None and self._base.scheme == "http"
        return f"{self._base.scheme}://{self._base.netloc}{path}" if whole else path

    def take(self, deadline: Deadline, *, fresh: bool = False) -> tuple[http.client.HTTPConnection, bool]:
        """A connection, and whether it has been used before. With `fresh`, always a new one."""
        kept = None if fresh else self._kept()
        connection = self._new() if kept is None else kept
        connection.timeout = deadline.left()
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        with self._lock:
            if self._is_closed:
                connection.close()
                raise closed_error()
            self._busy.add(connection)
        return connection, kept is not None

    def release(self, connection: http.client.HTTPConnection, keep_for: float = 0.0) -> None:
        """The call has ended. Its connection may be used again for this many seconds."""
        now = monotonic()
        with self._lock:
            self._busy.discard(connection)
            past = [each for each, until in self._idle if until <= now]
            self._idle = [kept for kept in self._idle if kept[1] > now]
            if keep_for > 0 and not self._is_closed:
                self._idle.append((connection, now + keep_for))
            else:
                past.append(connection)
        for each in past:
            each.close()

    def close(self) -> None:
        """Closes what is idle. The connections of calls under way end with their calls."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def abandon(self) -> None:
        """Ends the calls under way, too. Any thread may call this."""
        with self._lock:
            for connection in self._busy:
                if connection.sock is not None:
                    shut_down(connection.sock.fileno())
        self.close()

    def _kept(self) -> http.client.HTTPConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection, until = self._idle.pop()
            if connection.sock is not None and monotonic() < until and not has_input(connection.sock.fileno()):
                return connection
            connection.close()

    def _new(self) -> http.client.HTTPConnection:
        proxy = self._proxy or self._base
        host, port = proxy.hostname or "", proxy.port
        if self._base.scheme == "http":
            return http.client.HTTPConnection(host, port)
        context = self._ssl_context or ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, context=context)
        if self._proxy is not None:
            connection.set_tunnel(self._base.hostname or "", self._base.port)
        return connection


def seconds_to_keep(response: http.client.HTTPResponse) -> float:
    """How long the connection of a response that was read may wait for its next call; 0 if it must not be used again.

    A server that says when it will end the connection, as in `Keep-Alive: timeout=5`, is believed.
    """
    if response.will_close:
        return 0.0
    hint = re.search(r"\btimeout=(\d{1,9})", response.getheader("keep-alive", ""))
    return _KEEP if hint is None else min(_KEEP, int(hint[1]) - _MARGIN)


def closed_error() -> ConnectionError:
    """The error of calls after `close()`."""
    return ConnectionError("This JobForge was closed", retryable=False)


def _proxy_for(base: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for this server, as for urllib."""
    proxy = getproxies().get(base.scheme)
    if not proxy or proxy_bypass(base.hostname or ""):
        return None
    return urlsplit(proxy if "://" in proxy else f"http://{proxy}")
