"""An asynchronous transport from a blocking one: each call runs in a thread of a small pool.

A worker makes few, large calls, so the hand-over costs nothing that can be measured. Threads are daemons: a call that
hangs does not keep the process.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..errors import InvalidArgumentError
from ..forked import renew_after_fork

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from .base import AsyncListener, AsyncTransacting, ListenEvents
    from .http import HttpTransport

_MOST: Final = 16
_Work: TypeAlias = tuple[Callable[[], Any], "asyncio.AbstractEventLoop", "asyncio.Future[Any]"]


class ThreadedHttpTransport:
    """The asynchronous transport over HTTP."""

    can_listen = False
    can_transact = False
    is_transaction = False
    max_connections = None

    def __init__(self, inner: HttpTransport) -> None:
        self._inner = inner
        self._threads = _Threads()

    async def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        result: str | None = await self._threads.run(lambda: self._inner.call(name, args, timeout=timeout))
        return result

    async def upload(self, path: str, content: bytes) -> str:
        text: str = await self._threads.run(lambda: self._inner.upload(path, content))
        return text

    async def download(self, path: str) -> AsyncIterator[bytes] | None:
        parts: Iterator[bytes] | None = await self._threads.run(lambda: self._inner.download(path))
        return None if parts is None else self._parts(parts)

    async def _parts(self, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
        while (part := await self._threads.run(lambda: next(parts, None))) is not None:
            yield part

    async def listen(self, channels: Sequence[str], events: ListenEvents) -> AsyncListener:
        del channels, events
        raise InvalidArgumentError("There is no LISTEN over HTTP")

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransacting]:
        raise InvalidArgumentError("There are no transactions over HTTP", hint="Connect to Postgres itself.")

    def blocking(self) -> HttpTransport:
        return self._inner.another()

    async def close(self) -> None:
        self._inner.close()
        self._threads.close()

    def abandon(self) -> None:
        self._inner.abandon()
        self._threads.close()


class _Threads:
    """Up to sixteen threads, started when they are needed."""

    def __init__(self) -> None:
        self.begin_anew()
        renew_after_fork(self)

    def begin_anew(self) -> None:
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._pending = 0
        self._started = 0

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Runs a function in a thread. If the future is cancelled, the function goes on without it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._lock:
            self._pending += 1
            if self._started < min(self._pending, _MOST):
                self._started += 1
                threading.Thread(target=self._serve, name="jobforge-http", daemon=True).start()
        self._work.put((function, loop, future))
        return future

    def close(self) -> None:
        """Ends the threads after the work that they have."""
        with self._lock:
            started, self._started = self._started, 0
        for _ in range(started):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            function, loop, future = work
            try:
                result, error = function(), None
            except BaseException as reason:  # noqa: BLE001 - whatever it is, the caller gets it
                result, error = None, reason
            with self._lock:
                self._pending -= 1
            _hand_over(loop, future, result, error)
            del work, function, future, result, error


def _hand_over(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], result: object, error: BaseException | None
) -> None:
    def settle() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    # A loop that is closed has no task that waits.
    if not loop.is_closed():
        try:
            loop.call_soon_threadsafe(settle)
        except RuntimeError:
            return
