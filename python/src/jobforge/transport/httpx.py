"""Calls over a client of httpx2 that the application has made: its proxies, certificates, limits and HTTP/2.

The client stays open: it belongs to the application. Any client with the same methods will do, such as one of httpx.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import ConnectionError, InvalidArgumentError
from .http import Deadline, HttpOptions, HttpTransport, Response, base_url, body_of, headers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from .base import AsyncListener, AsyncTransacting, ListenEvents


class HttpxTransport(HttpTransport):
    """The blocking transport over a `Client`. Threads may share it, as they may share the client."""

    def __init__(self, options: HttpOptions, client: Any) -> None:
        super().__init__(options)
        self._client = client

    def another(self) -> HttpxTransport:
        return HttpxTransport(self._options, self._client)

    def _send(self, name: str, body: bytes, deadline: Deadline) -> Response:
        if self._is_closed:
            raise ConnectionError("This JobForge was closed", retryable=False)
        try:
            response = self._client.post(**_request(self._options, name, body, deadline))
        except Exception as error:  # noqa: BLE001 - each library has errors of its own, and all become ours
            _raise(error, deadline)
        return _read(response)


class AsyncHttpxTransport:
    """The asynchronous transport over an `AsyncClient`."""

    can_listen = False
    can_transact = False
    is_transaction = False
    max_connections = None

    def __init__(self, options: HttpOptions, client: Any) -> None:
        self._options = options
        self._client = client
        self._is_closed = False

    async def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        deadline = Deadline(name, self._options.timeout if timeout is None else timeout)
        body = body_of(args)
        response = await self._send(name, body, deadline)
        if response.asks_again(self._options):
            response = await self._send(name, body, deadline)
        return response.result(name)

    async def listen(self, channels: Sequence[str], events: ListenEvents) -> AsyncListener:
        del channels, events
        raise InvalidArgumentError("There is no LISTEN over HTTP")

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransacting]:
        raise InvalidArgumentError("There are no transactions over HTTP", hint="Connect to Postgres itself.")

    def blocking(self) -> HttpTransport:
        """For the heartbeat, which has a thread of its own: an `AsyncClient` belongs to its event loop."""
        return HttpTransport(self._options)

    async def close(self) -> None:
        self._is_closed = True

    def abandon(self) -> None:
        self._is_closed = True

    async def _send(self, name: str, body: bytes, deadline: Deadline) -> Response:
        if self._is_closed:
            raise ConnectionError("This JobForge was closed", retryable=False)
        try:
            response = await self._client.post(**_request(self._options, name, body, deadline))
        except Exception as error:  # noqa: BLE001 - each library has errors of its own, and all become ours
            _raise(error, deadline)
        return _read(response)


def is_asynchronous(client: Any) -> bool:
    """Whether this is an `AsyncClient`. Raises if it is no client at all."""
    if not callable(getattr(client, "post", None)):
        raise InvalidArgumentError("client must be a Client or an AsyncClient of httpx2", field="client")
    return hasattr(client, "aclose")


def _request(options: HttpOptions, name: str, body: bytes, deadline: Deadline) -> dict[str, Any]:
    base = base_url(options.url)
    return {
        "url": f"{base.geturl()}/rest/v1/rpc/{name}",
        "content": body,
        "headers": headers_of(options),
        "timeout": deadline.left(),
    }


def _read(response: Any) -> Response:
    return Response(response.status_code, response.reason_phrase, response.text)


def _raise(error: Exception, deadline: Deadline) -> NoReturn:
    if "Timeout" in type(error).__name__:
        raise deadline.error() from error
    raise ConnectionError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
