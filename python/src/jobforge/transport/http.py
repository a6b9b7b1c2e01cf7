"""Calls over HTTP in the form of PostgREST and Supabase: POST /rest/v1/rpc/{function}, with named arguments as JSON.

Only the standard library is used. Connections are kept and used again. Threads may share the transport.
"""

from __future__ import annotations

import builtins
import http.client
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..arguments import refuse
from ..error_mapping import SqlError, from_sql_error
from ..errors import (
    ConnectionError,
    ForbiddenError,
    InvalidArgumentError,
    JobForgeError,
    NotInstalledError,
    PayloadTooLargeError,
    TimeoutError,
)
from ..jsontext import JsonText, dumps
from ..losses import json_form
from ..version import VERSION
from ..words import DEFAULT_TIMEOUT, UNSET
from .functions import api_function
from .sockets import has_input, shut_down
from .statement import text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from .base import Listener, ListenEvents, Transacting

Token: TypeAlias = str | Callable[[], str]
"""A JWT or a key of the server, or a function that returns one. It is called before every call, and after a 401."""

_KEEP: Final = 4.0
"""How long an idle connection is used again, in seconds. Servers of Node end one after five."""
_RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
_CHUNK: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How to reach a server."""

    url: str
    token: Token
    api_key: str | None = None
    """Sent as the header `apikey`, which Supabase requires."""
    schema: str = "public"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = DEFAULT_TIMEOUT
    ssl_context: ssl.SSLContext | None = None


class HttpTransport:
    """The blocking transport over HTTP."""

    can_listen = False
    can_transact = False
    is_transaction = False
    max_connections = None

    def __init__(self, options: HttpOptions) -> None:
        self._options = options
        self._base = base_url(options.url)
        self._proxy = _proxy_for(self._base)
        self._path = f"{self._base.path}/rest/v1/rpc/"
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._busy: set[http.client.HTTPConnection] = set()
        self._is_closed = False

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        deadline = Deadline(name, self._options.timeout if timeout is None else timeout)
        body = body_of(args)
        response = self._send(name, body, deadline)
        if response.asks_again(self._options):
            response = self._send(name, body, deadline)
        return response.result(name)

    def listen(self, channels: Sequence[str], events: ListenEvents) -> Listener:
        del channels, events
        raise InvalidArgumentError("There is no LISTEN over HTTP")

    def transaction(self) -> AbstractContextManager[Transacting]:
        raise InvalidArgumentError("There are no transactions over HTTP", hint="Connect to Postgres itself.")

    def another(self) -> HttpTransport:
        """A transport with the same settings and connections of its own."""
        return HttpTransport(self._options)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def abandon(self) -> None:
        with self._lock:
            for connection in self._busy:
                if connection.sock is not None:
                    shut_down(connection.sock.fileno())
        self.close()

    def _send(self, name: str, body: bytes, deadline: Deadline) -> Response:
        headers = headers_of(self._options)
        connection = self._connection(deadline)
        keep = False
        try:
            connection.request("POST", self._target(name), body, headers)
            response = connection.getresponse()
            content = bytearray()
            while chunk := response.read(_CHUNK):
                content += chunk
                if connection.sock is not None:
                    connection.sock.settimeout(deadline.left())
            keep = not response.will_close
            return Response(response.status, response.reason, content.decode())
        except builtins.TimeoutError as error:
            raise deadline.error() from error
        except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
            raise ConnectionError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
        finally:
            self._release(connection, keep=keep)

    def _target(self, name: str) -> str:
        # A proxy for plain HTTP wants the whole address.
        whole = self._proxy is not None and self._base.scheme == "http"
        return f"{self._base.scheme}://{self._base.netloc}{self._path}{name}" if whole else f"{self._path}{name}"

    def _connection(self, deadline: Deadline) -> http.client.HTTPConnection:
        connection = self._kept()
        if connection is None:
            connection = self._new()
        connection.timeout = deadline.left()
        if connection.sock is not None:
            connection.sock.settimeout(connection.timeout)
        with self._lock:
            if self._is_closed:
                connection.close()
                raise ConnectionError("This JobForge was closed", retryable=False)
            self._busy.add(connection)
        return connection

    def _kept(self) -> http.client.HTTPConnection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection, since = self._idle.pop()
            if connection.sock is not None and monotonic() - since < _KEEP and not has_input(connection.sock.fileno()):
                return connection
            connection.close()

    def _new(self) -> http.client.HTTPConnection:
        proxy = self._proxy or self._base
        host, port = proxy.hostname or "", proxy.port
        if self._base.scheme == "http":
            return http.client.HTTPConnection(host, port)
        context = self._options.ssl_context or ssl.create_default_context()
        connection = http.client.HTTPSConnection(host, port, context=context)
        if self._proxy is not None:
            connection.set_tunnel(self._base.hostname or "", self._base.port)
        return connection

    def _release(self, connection: http.client.HTTPConnection, *, keep: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            if keep and not self._is_closed:
                self._idle.append((connection, monotonic()))
                return
        connection.close()


@dataclass(frozen=True, slots=True)
class Response:
    """What a server has responded."""

    status: int
    reason: str
    text: str

    def asks_again(self, options: HttpOptions) -> bool:
        """Whether a function that returns tokens may have a newer one."""
        return self.status == http.client.UNAUTHORIZED and callable(options.token)

    def result(self, name: str) -> str | None:
        """The result of the call as JSON. Raises the error that the response describes."""
        if not 200 <= self.status < 300:
            raise _error_of(self.status, self.reason, self.text)
        return _result_of(name, self.text)


def headers_of(options: HttpOptions) -> dict[str, str]:
    """The headers of a call."""
    token = options.token() if callable(options.token) else options.token
    headers = {
        **options.headers,
        "accept": "application/json",
        "content-type": "application/json",
        "authorization": f"Bearer {token}",
        "user-agent": f"jobforge-python/{VERSION}",
    }
    if options.api_key is not None:
        headers["apikey"] = options.api_key
    if options.schema != "public":
        headers["content-profile"] = options.schema
    return headers


class Deadline:
    """The time that a call has left."""

    def __init__(self, what: str, timeout: float | None) -> None:
        self._what = what
        self._timeout = timeout
        self._end = None if timeout is None else monotonic() + timeout

    def left(self) -> float | None:
        """Seconds; None for no limit. Raises when the time is over."""
        if self._end is None:
            return None
        left = self._end - monotonic()
        if left <= 0:
            raise self.error()
        return left

    def error(self) -> TimeoutError:
        return TimeoutError(f"{self._what} did not respond within {self._timeout:g} s")


def base_url(url: str) -> SplitResult:
    """The address of a server without the path of the API, which may be given."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        refuse("url", "must be an http or https URL")
    return parts._replace(path=parts.path.rstrip("/").removesuffix("/rest/v1"))


def _proxy_for(base: SplitResult) -> SplitResult | None:
    """The proxy that the environment names for this server, as for urllib."""
    proxy = getproxies().get(base.scheme)
    if not proxy or proxy_bypass(base.hostname or ""):
        return None
    return urlsplit(proxy if "://" in proxy else f"http://{proxy}")


def body_of(args: Mapping[str, object]) -> bytes:
    """The arguments of a call as JSON."""
    members = (f"{dumps(name)}:{_written(value, name)}" for name, value in args.items() if value is not UNSET)
    return f"{{{','.join(members)}}}".encode()


def _written(value: object, name: str) -> str:
    if isinstance(value, JsonText):
        return value.text
    return dumps(value.isoformat() if isinstance(value, datetime) else json_form(value, name))


def _result_of(name: str, text: str) -> str | None:
    if api_function(name).returns != "text":
        return text_of(text.strip())
    try:
        # The document is a text, and so a JSON string over HTTP.
        document = json.loads(text)
    except ValueError:
        _not_json(name)
    return text_of(document)


def _not_json(name: str) -> NoReturn:
    raise ConnectionError(f"The response of {name} is not JSON", retryable=False)


def _error_of(status: int, reason: str, text: str) -> JobForgeError:
    """Reads an error in PostgREST's form {code, message, details, hint}, or whatever a proxy in between sent."""
    body = _read_error(text)
    message = body.get("message") or f"HTTP {status} {reason}".strip()
    code, hint = body.get("code"), body.get("hint")
    if code is not None and len(code) == 5 and code.isalnum() and code.upper() == code:
        return from_sql_error(SqlError(code, message, body.get("details"), hint))
    if code in ("PGRST202", "PGRST205"):
        return NotInstalledError(message, code=code)
    if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        return ForbiddenError(message, code=code, hint=hint)
    # The same request would always be refused, so this is not a connection error.
    if status == http.client.REQUEST_ENTITY_TOO_LARGE:
        return PayloadTooLargeError(message, hint=hint)
    # The server is overloaded or restarting, or has lost its connection to the database.
    return ConnectionError(message, code=code, hint=hint, retryable=status in _RETRYABLE)


def _read_error(text: str) -> dict[str, str]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return {key: value for key, value in body.items() if isinstance(value, str)} if isinstance(body, dict) else {}
