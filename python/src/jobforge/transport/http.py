"""Calls over HTTP in the form of PostgREST and Supabase: POST /rest/v1/rpc/{function}, with named arguments as JSON.

Only the standard library is used. Connections are kept and used again. Threads may share the transport.
"""

from __future__ import annotations

import builtins
import http.client
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

from ..errors import ConnectionError, InvalidArgumentError
from .http_connections import Connections, seconds_to_keep
from .http_messages import UPLOAD_TIMEOUT, Deadline, HttpOptions, Response, base_url, body_of, headers_of
from .repeatable import is_repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from .base import Listener, ListenEvents, Transacting

_CHUNK: Final = 1 << 16


class HttpTransport:
    """The blocking transport over HTTP."""

    can_listen = False
    can_transact = False
    is_transaction = False
    max_connections = None

    def __init__(self, options: HttpOptions) -> None:
        self._options = options
        self._base = base_url(options.url)
        self._connections = Connections(self._base, options.ssl_context)

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        deadline = Deadline(name, self._options.timeout if timeout is None else timeout)
        body = body_of(args)
        return self._post(f"/rest/v1/rpc/{name}", body, deadline, partial(is_repeatable, name, args)).result(name)

    def upload(self, path: str, content: bytes) -> str:
        """Sends a content and returns the response as JSON text."""
        return self._post(path, content, Deadline("upload", UPLOAD_TIMEOUT), lambda: False).content()

    def download(self, path: str) -> Iterator[bytes] | None:
        """The content in parts; None if the server has no such file."""
        connection, response = self._open(path)
        if response.status == http.client.UNAUTHORIZED and callable(self._options.token):
            self._connections.release(connection)
            connection, response = self._open(path)
        if response.status == http.client.OK:
            return self._parts(connection, response)
        text = b"".join(self._parts(connection, response)).decode("utf-8", "replace")
        if response.status == http.client.NOT_FOUND:
            return None
        Response(response.status, response.reason, text).content()
        raise ConnectionError(f"The server responded with status {response.status} to a download")

    def listen(self, channels: Sequence[str], events: ListenEvents) -> Listener:
        del channels, events
        raise InvalidArgumentError("There is no LISTEN over HTTP")

    def transaction(self) -> AbstractContextManager[Transacting]:
        raise InvalidArgumentError("There are no transactions over HTTP", hint="Connect to Postgres itself.")

    def another(self) -> HttpTransport:
        """A transport with the same settings and connections of its own."""
        return HttpTransport(self._options)

    def close(self) -> None:
        self._connections.close()

    def abandon(self) -> None:
        self._connections.abandon()

    def _post(self, path: str, body: bytes, deadline: Deadline, may_repeat: Callable[[], bool]) -> Response:
        response = self._send(path, body, deadline, may_repeat)
        if response.asks_again(self._options):
            response = self._send(path, body, deadline, may_repeat)
        return response

    def _send(self, path: str, body: bytes, deadline: Deadline, may_repeat: Callable[[], bool]) -> Response:
        try:
            return self._exchange(path, body, deadline, may_repeat, fresh=False)
        except _Stale:
            return self._exchange(path, body, deadline, may_repeat, fresh=True)

    def _exchange(
        self, path: str, body: bytes, deadline: Deadline, may_repeat: Callable[[], bool], *, fresh: bool
    ) -> Response:
        """One request and its response.

        A server may close a kept connection just as it is used again. Raises `_Stale` if that has happened before any
        byte of the response, and the request can be repeated on a new connection: either it was not sent completely,
        so that the server cannot have acted on it, or a second call does no harm. Otherwise the call may have taken
        effect, and only the caller can decide.
        """
        headers = headers_of(self._options)
        connection, is_used = self._connections.take(deadline, fresh=fresh)
        has_sent = False
        keep_for = 0.0
        try:
            connection.request("POST", self._target(path), body, headers)
            has_sent = True
            response = connection.getresponse()
            is_used = False
            content = bytearray()
            while chunk := response.read(_CHUNK):
                content += chunk
                if connection.sock is not None:
                    connection.sock.settimeout(deadline.left())
            keep_for = seconds_to_keep(response)
            return Response(response.status, response.reason, content.decode())
        except builtins.TimeoutError as error:
            raise deadline.error() from error
        except (OSError, http.client.HTTPException, UnicodeDecodeError) as error:
            if is_used and isinstance(error, OSError) and (not has_sent or may_repeat()):
                raise _Stale from error
            _lost(error)
        finally:
            self._connections.release(connection, keep_for)

    def _open(self, path: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Asks for a file, on a connection of its own."""
        deadline = Deadline("download", self._options.timeout)
        connection, _ = self._connections.take(deadline, fresh=True)
        try:
            connection.request("GET", self._target(path), headers={**headers_of(self._options), "accept": "*/*"})
            return connection, connection.getresponse()
        except builtins.TimeoutError as error:
            self._connections.release(connection)
            raise deadline.error() from error
        except (OSError, http.client.HTTPException) as error:
            self._connections.release(connection)
            _lost(error)

    def _parts(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> Iterator[bytes]:
        try:
            while chunk := response.read(_CHUNK):
                yield chunk
        except (OSError, http.client.HTTPException) as error:
            _lost(error)
        finally:
            self._connections.release(connection)

    def _target(self, path: str) -> str:
        return self._connections.target(f"{self._base.path}{path}")


class _Stale(Exception):  # noqa: N818 - it does not leave this module
    """The server had closed a kept connection, and the request can be sent again."""


def _lost(error: Exception) -> NoReturn:
    raise ConnectionError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
