"""Calls handlers where they run: on the event loop, in a thread, or in a process."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

from ..running.ending import Outcome, Raised, Returned
from .process import Processes
from .thread import Threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...definition import BatchItem, JobHandler
    from ..presence.clock import DatabaseClock
    from ..running.current import HandlerCall


class Executors:
    def __init__(self, loop: asyncio.AbstractEventLoop, clock: DatabaseClock) -> None:
        self._threads = Threads(loop)
        self._processes = Processes(clock)

    async def call(
        self, call: HandlerCall, handler: JobHandler[Any, Any], items: Sequence[BatchItem[Any]]
    ) -> Sequence[Outcome]:
        """Calls the handler and returns the outcome of each item, in order. Raises only if the event loop ends."""
        try:
            if handler.run_in == "process":
                return await self._processes.call(call, handler, items)
            if not handler.is_batch:
                item = items[0]
                return [Returned(await self._run(call, handler, item.input, item.job))]
            results = await self._run(call, handler, items)
            if len(results) != len(items):
                type = handler.definition.type
                raise RuntimeError(f"The handler of {type} got {len(items)} jobs and returned {len(results)} results")
            return [Raised(result) if isinstance(result, BaseException) else Returned(result) for result in results]
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - what a handler raises is the outcome of its run
            return [Raised(error) for _ in items]

    def stop(self) -> None:
        """Ends the threads that have nothing to do, and all processes."""
        self._threads.stop()
        self._processes.stop()

    async def _run(self, call: HandlerCall, handler: JobHandler[Any, Any], *args: Any) -> Any:
        if handler.run_in == "thread":
            result = await self._threads.run(handler.function, *args)
        else:
            result = handler.function(*args)
        if not inspect.isawaitable(result):
            return result
        task = asyncio.current_task()
        call.cancel = None if task is None else task.cancel
        try:
            return await result
        finally:
            call.cancel = None
