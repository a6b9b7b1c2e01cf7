"""Calls over a client of httpx2 that the application has made: its proxies, certificates, limits and HTTP/2.

The client stays open: it belongs to the application. Any client with the same methods will do, such as one of httpx.
"""

from __future__ import annotations

import http.client
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from ..errors import ConnectionError, InvalidArgumentError
from .http import HttpTransport
from .http_connections import closed_error
from .http_messages import UPLOAD_TIMEOUT, Deadline, HttpOptions, Response, base_url, body_of, headers_of
from .repeatable import is_repeatable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from .base import AsyncListener, AsyncTransacting, ListenEvents

_CLOSED: Final = frozenset({"RemoteProtocolError", "ReadError", "WriteError"})


class HttpxTransport(HttpTransport):
    """The blocking transport over a `Client`. Threads may share it, as they may share the client."""

    def __init__(self, options: HttpOptions, client: Any) -> None:
        super().__init__(options)
        self._client = client

    def another(self) -> HttpxTransport:
        return HttpxTransport(self._options, self._client)

    def download(self, path: str) -> Iterator[bytes] | None:
        request = _download(self._options, path)
        try:
            response = self._client.send(self._client.build_request("GET", **request), stream=True)
        except Exception as error:  # noqa: BLE001 - each library has errors of its own, and all become ours
            _raise(error, Deadline("download", self._options.timeout))
        if response.status_code == http.client.OK:
            return _closing(response)
        response.read()
        response.close()
        _refused(response)
        return None

    def _send(self, path: str, body: bytes, deadline: Deadline, may_repeat: Callable[[], bool]) -> Response:
        if self._connections.is_closed:
            raise closed_error()
        try:
            return _read(self._client.post(**_request(self._options, path, body, deadline)))
        except Exception as error:  # noqa: BLE001 - each library has errors of its own, and all become ours
            if not (_was_closed(error) and may_repeat()):
                _raise(error, deadline)
        try:
            return _read(self._client.post(**_request(self._options, path, body, deadline)))
        except Exception as error:  # noqa: BLE001 - as above
            _raise(error, deadline)


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
        may_repeat = partial(is_repeatable, name, args)
        return (await self._post(f"/rest/v1/rpc/{name}", body_of(args), deadline, may_repeat)).result(name)

    async def upload(self, path: str, content: bytes) -> str:
        return (await self._post(path, content, Deadline("upload", UPLOAD_TIMEOUT), lambda: False)).content()

    async def download(self, path: str) -> AsyncIterator[bytes] | None:
        request = _download(self._options, path)
        try:
            response = await self._client.send(self._client.build_request("GET", **request), stream=True)
        except Exception as error:  # noqa: BLE001 - each library has errors of its own, and all become ours
            _raise(error, Deadline("download", self._options.timeout))
        if response.status_code == http.client.OK:
            return _closing_async(response)
        await response.aread()
        await response.aclose()
        _refused(response)
        return None

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

    async def _post(self, path: str, body: bytes, deadline: Deadline, may_repeat: Callable[[], bool]) -> Response:
        response = await self._send(path, body, deadline, may_repeat)
        if response.asks_again(self._options):
            response = await self._send(path, body, deadline, may_repeat)
        return response

    async def _send(self, path: str, body: bytes, deadline: Deadline, may_repeat: Callable[[], bool]) -> Response:
        if self._is_closed:
            raise closed_error()
        try:
            return _read(await self._client.post(**_request(self._options, path, body, deadline)))
        except Exception as error:  # noqa: BLE001 - each library has errors of its own, and all become ours
            if not (_was_closed(error) and may_repeat()):
                _raise(error, deadline)
        try:
            return _read(await self._client.post(**_request(self._options, path, body, deadline)))
        except Exception as error:  # noqa: BLE001 - as above
            _raise(error, deadline)


def is_asynchronous(client: Any) -> bool:
    """Whether this is an `AsyncClient`. Raises if it is no client at all."""
    if not callable(getattr(client, "post", None)):
        raise InvalidArgumentError("client must be a Client or an AsyncClient of httpx2", field="client")
    return hasattr(client, "aclose")


def _request(options: HttpOptions, path: str, body: bytes, deadline: Deadline) -> dict[str, Any]:
    return {
        "url": f"{base_url(options.url).geturl()}{path}",
        "content": body,
        "headers": headers_of(options),
        "timeout": deadline.left(),
    }


def _download(options: HttpOptions, path: str) -> dict[str, Any]:
    headers = {**headers_of(options), "accept": "*/*"}
    return {"url": f"{base_url(options.url).geturl()}{path}", "headers": headers, "timeout": options.timeout}


def _closing(response: Any) -> Iterator[bytes]:
    with closing(response):
        yield from response.iter_bytes()


async def _closing_async(response: Any) -> AsyncIterator[bytes]:
    try:
        async for part in response.aiter_bytes():
            yield part
    finally:
        await response.aclose()


def _refused(response: Any) -> None:
    """None if the server has no such file. Otherwise raises the error that the response describes."""
    if response.status_code != http.client.NOT_FOUND:
        _read(response).content()


def _read(response: Any) -> Response:
    return Response(response.status_code, response.reason_phrase, response.text)


def _was_closed(error: Exception) -> bool:
    """Whether the connection ended without a response. httpx does not say whether it had been used before."""
    return type(error).__name__ in _CLOSED


def _raise(error: Exception, deadline: Deadline) -> NoReturn:
    if "Timeout" in type(error).__name__:
        raise deadline.error() from error
    raise ConnectionError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
