"""An endpoint for `/api/jobs/tick`, for platforms without long-running processes, as an ASGI or a WSGI application.

A cron job calls it by POST or GET; it runs the jobs that are due and responds `{"ok": true}` with the number of runs by
how they ended. The caller must send the secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import asdict
from http import HTTPStatus
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from ..arguments import refuse
from .defaults import REMOTE_TICK_LIMIT
from .options import WorkerOptions, tick_limit
from .worker import HasTransport, Worker

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Cron services of platforms call by GET. The secret is in a header, so no link can run jobs.
_METHODS: Final = ("GET", "POST")
_BEARER: Final = re.compile(r"Bearer +(.+)", re.IGNORECASE)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
StartResponse = Callable[[str, list[tuple[str, str]]], object]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


def tick_app(
    forge: HasTransport,
    *,
    secret: str | None = None,
    limit: int = REMOTE_TICK_LIMIT,
    **options: Unpack[WorkerOptions],
) -> AsgiApp:
    """An ASGI application, for FastAPI, Starlette and Django: `app.mount("/api/jobs/tick", tick_app(forge, …))`.

    Callers must send the secret, as `Authorization: Bearer …` or in the header `x-jobforge-secret`. By default it is
    the environment variable `JOBFORGE_TICK_SECRET`, or else `CRON_SECRET`, which Vercel Cron sends. Raises without a
    secret: an open endpoint would let any caller run jobs. `limit` is the number of jobs per call, at most.
    """
    endpoint = _Endpoint(forge, secret, limit, options)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _serve_lifespan(receive, send)
        elif scope["type"] == "http":
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
            status, body, more = await endpoint.respond(scope["method"], headers)
            sent = [(name.encode(), value.encode()) for name, value in more]
            await send({"type": "http.response.start", "status": status, "headers": sent})
            await send({"type": "http.response.body", "body": body})

    return app


class TickWsgiApp:
    """The same as a WSGI application, for Flask and Django: `app.mount(…, TickWsgiApp(forge, handlers=…))`.

    It runs jobs on an event loop in a thread of its own. Nothing else may use the forge, because an `AsyncJobForge`
    belongs to one event loop.
    """

    def __init__(
        self,
        forge: HasTransport,
        *,
        secret: str | None = None,
        limit: int = REMOTE_TICK_LIMIT,
        **options: Unpack[WorkerOptions],
    ) -> None:
        self._forge = forge
        self._endpoint = _Endpoint(forge, secret, limit, options)
        self._background = _Background()

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        headers = {
            name[5:].replace("_", "-").lower(): str(value)
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        method = str(environ.get("REQUEST_METHOD", ""))
        status, body, more = self._background.run(self._endpoint.respond(method, headers))
        start_response(f"{status} {HTTPStatus(status).phrase}", more)
        return [body]

    def close(self) -> None:
        """Closes the connections of the forge, and ends the thread."""
        self._background.run(self._forge.transport.close())
        self._background.stop()


class _Endpoint:
    def __init__(self, forge: HasTransport, secret: str | None, limit: int, options: WorkerOptions) -> None:
        given = secret or os.environ.get("JOBFORGE_TICK_SECRET") or os.environ.get("CRON_SECRET")
        if not isinstance(given, str) or given == "":
            hint = "Pass it, or set the environment variable JOBFORGE_TICK_SECRET or CRON_SECRET."
            refuse("secret", "must be set", hint)
        self._expected = _digest(given)
        self._forge = forge
        self._limit = tick_limit(limit)
        self._options = options
        # An invalid option raises here and not at the first request.
        Worker(forge, **options)

    async def respond(self, method: str, headers: Mapping[str, str]) -> tuple[int, bytes, list[tuple[str, str]]]:
        """The status, the body and the headers of the response."""
        if method not in _METHODS:
            return _response(405, {"ok": False, "error": "Use POST or GET"}, ("allow", ", ".join(_METHODS)))
        if not hmac.compare_digest(_digest(_secret_of(headers)), self._expected):
            error = {"ok": False, "error": "The secret is missing or wrong"}
            return _response(401, error, ("www-authenticate", "Bearer"))
        try:
            # Each request has its own worker: requests may overlap, and each worker needs a name of its own.
            summary = await Worker(self._forge, **self._options).tick(limit=self._limit)
        except Exception:  # noqa: BLE001 - the log says why; the caller gets no details
            return _response(503, {"ok": False, "error": "The jobs could not be run"})
        return _response(200, {"ok": True, **asdict(summary)})


async def _serve_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


class _Background:
    """An event loop in a thread of its own, started for the first request."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Any) -> Any:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=_run_loop, args=(self._loop,), name="jobforge-tick", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


def _secret_of(headers: Mapping[str, str]) -> str:
    match = _BEARER.fullmatch(headers.get("authorization", ""))
    return headers.get("x-jobforge-secret", "") if match is None else match[1]


def _digest(text: str) -> bytes:
    """Digests have the same length, so comparing them takes the same time for every guess."""
    return hashlib.sha256(text.encode()).digest()


def _response(status: int, body: Mapping[str, Any], *more: tuple[str, str]) -> tuple[int, bytes, list[tuple[str, str]]]:
    data = json.dumps(body).encode()
    headers = [
        ("content-type", "application/json"),
        ("content-length", str(len(data))),
        ("cache-control", "no-store"),
        *more,
    ]
    return status, data, headers
