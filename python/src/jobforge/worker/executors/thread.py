"""Runs handlers that are plain functions, each in a thread.

The threads are daemons of the worker's own: `asyncio.run` waits at its end for the threads of its default executor, and
`concurrent.futures` waits for its threads at exit, so one handler that never returns would keep the process. A thread
whose handler was given up is replaced when the next handler needs one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

_Work = tuple[Callable[[], Any], asyncio.Future[tuple[Any, BaseException | None]]]


class Threads:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._work: SimpleQueue[_Work | None] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._busy = 0

    async def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls the function in a thread, with the context variables of the caller."""
        context = copy_context()
        future: asyncio.Future[tuple[Any, BaseException | None]] = self._loop.create_future()
        with self._lock:
            self._busy += 1
            is_new = self._busy > self._threads
            if is_new:
                self._threads += 1
        self._work.put((lambda: context.run(function, *args), future))
        if is_new:
            Thread(target=self._run, name="jobforge-handler", daemon=True).start()
        value, error = await future
        if error is not None:
            raise error
        return value

    def stop(self) -> None:
        with self._lock:
            idle = self._threads - self._busy
            self._threads -= idle
        for _ in range(idle):
            self._work.put(None)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            function, future = work
            value: Any = None
            error: BaseException | None = None
            try:
                value = function()
            except BaseException as raised:  # noqa: BLE001 - what a handler raises is the outcome of its run
                error = raised
            with self._lock:
                self._busy -= 1
            try:
                self._loop.call_soon_threadsafe(_resolve, future, value, error)
            except RuntimeError:
                # The event loop has been closed, and the worker with it.
                return
            # A thread that waits must not keep what its last handler has returned.
            del work, function, future, value, error


def _resolve(
    future: asyncio.Future[tuple[Any, BaseException | None]], value: object, error: BaseException | None
) -> None:
    if not future.done():
        future.set_result((value, error))
