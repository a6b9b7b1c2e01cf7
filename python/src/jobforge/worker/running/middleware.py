"""Calls a handler through middleware. Each job passes all layers by itself, even when one call serves a batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from ...definition import BatchItem
from .ending import Outcome, Raised, Returned, no_outcome

Next = Callable[[], Awaitable[Any]]
Middleware = Callable[[BatchItem[Any], Next], Awaitable[Any]]
"""Wraps every handler: `async def timed(item, next)`. `await next()` goes on, and returns what the handler returned or
raises what it raised. The item has the `input` and the `job`."""

CallHandler = Callable[[Sequence[BatchItem[Any]]], Awaitable[Sequence[Outcome]]]


async def call_through(
    middleware: Sequence[Middleware], call: CallHandler, items: Sequence[BatchItem[Any]]
) -> list[Outcome]:
    """Calls the handler with middleware around each item, and returns the outcome of each item, in order.

    The handler is called when every item has either reached it or was decided by a middleware. So a middleware may
    decide or refuse one job of a batch and let the others pass.
    """
    onion = _Onion(middleware, call, len(items))
    if len(items) == 1:
        return [await onion.passed(items[0])]
    return await _together([onion.passed(item) for item in items])


class _Onion:
    def __init__(self, middleware: Sequence[Middleware], call: CallHandler, items: int) -> None:
        self._middleware = middleware
        self._call = call
        self._undecided = items
        # The items that have reached the handler, and where their outcomes go.
        self._arrived: list[tuple[BatchItem[Any], asyncio.Future[Outcome]]] = []

    async def passed(self, item: BatchItem[Any]) -> Outcome:
        """The outcome of one item, after all layers."""
        core: asyncio.Future[Outcome] | None = None
        is_decided = False

        async def layer(depth: int) -> Any:
            nonlocal core
            if depth < len(self._middleware):
                return await self._middleware[depth](item, lambda: layer(depth + 1))
            if is_decided:
                raise RuntimeError("next() was called too late: the middleware had already returned")
            if core is None:
                core = asyncio.get_running_loop().create_future()
                self._arrived.append((item, core))
                await self._decide_one()
            outcome = await core
            if isinstance(outcome, Raised):
                raise outcome.error
            return outcome.value

        try:
            result: Outcome = Returned(await layer(0))
        except (GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - what a handler raises is the outcome of its run
            result = Raised(error)
        if core is None:
            is_decided = True
            await self._decide_one()
        return result

    async def _decide_one(self) -> None:
        self._undecided -= 1
        if self._undecided > 0 or not self._arrived:
            return
        outcomes = await self._call([item for item, _ in self._arrived])
        for place, (_, core) in enumerate(self._arrived):
            if not core.done():
                core.set_result(outcomes[place] if place < len(outcomes) else no_outcome())


async def _together(work: Sequence[Coroutine[Any, Any, Outcome]]) -> list[Outcome]:
    """Runs all of them. If this is canceled, each of them is, and may still return an outcome."""
    tasks = [asyncio.ensure_future(each) for each in work]
    try:
        await asyncio.wait(tasks)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    return [task.result() for task in tasks]
