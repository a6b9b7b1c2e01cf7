"""How a worker ends.

It stops claiming and hands back the jobs that have not started. Heartbeats go on while handlers finish. When their time
is over, or after a second signal, they are aborted. Then their ends are settled, and the worker closes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from threading import Timer, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Final

from ..defaults import EXIT_DELAY, HURRIED_GRACE, LAST_SETTLE
from ..reporting.sinks import flush_logs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from types import FrameType

    from ..engine import Engine

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def shut_down(engine: Engine, *, grace: float, abort_grace: float, hurried: asyncio.Event) -> None:
    """`hurried` is set when the caller no longer wants to wait."""
    engine.log.info({"running": engine.running}, "Worker stops: no new jobs, running jobs may finish")
    loop = asyncio.get_running_loop()
    drained = loop.create_task(engine.drain())
    hurrying = loop.create_task(hurried.wait())
    try:
        first = await _first_within(grace, drained, hurrying)
        if first is not drained:
            abort_grace = min(HURRIED_GRACE, abort_grace) if first is hurrying else abort_grace
            engine.log.warning({"running": engine.running}, "Worker stops: aborting the jobs that still run")
            engine.abort(abort_grace)
            waiting = (drained,) if first is hurrying else (drained, hurrying)
            second = await _first_within(abort_grace + LAST_SETTLE, *waiting)
            if second is hurrying:
                engine.abort(0)
                await _first_within(HURRIED_GRACE, drained)
    finally:
        hurrying.cancel()
        drained.cancel()
        await engine.close()
    engine.log.info({}, "Worker stopped")
    engine.log.flush()


async def _first_within(seconds: float, *tasks: asyncio.Task[Any]) -> asyncio.Task[Any] | None:
    """The first of the tasks that ends, or None when none does in time."""
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        if task in done:
            return task
    return None


async def run_until_signal(
    start: Callable[[], Coroutine[Any, Any, None]],
    stop: Callable[[], Awaitable[None]],
    hurry: Callable[[], None],
    ended: asyncio.Event,
) -> None:
    """Starts the worker, waits for SIGTERM or SIGINT, and stops it. A second signal hurries.

    Also returns when `ended` is set, because the program itself has stopped the worker.
    """
    loop = asyncio.get_running_loop()
    stopping: asyncio.Task[None] | None = None
    signaled = asyncio.Event()

    def on_signal() -> None:
        nonlocal stopping
        if stopping is None:
            stopping = loop.create_task(_stopped(stop))
            signaled.set()
        else:
            hurry()

    restore = _handle_signals(loop, on_signal)
    try:
        starting = loop.create_task(start())
        waiting = [loop.create_task(signaled.wait()), loop.create_task(ended.wait())]
        try:
            await starting
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (starting, *waiting):
                task.cancel()
        if stopping is not None:
            await stopping
    finally:
        restore()
    # After a signal the process must end, even if a handler in a thread, which cannot be stopped, keeps it alive. A
    # program that has stopped the worker without a signal decides by itself.
    if stopping is not None:
        leave_process_after(EXIT_DELAY)


async def _stopped(stop: Callable[[], Awaitable[None]]) -> None:
    await stop()


def leave_process_after(seconds: float, code: int = 0) -> None:
    """Ends the process when the time is over. Nothing else could stop a thread that never returns."""
    timer = Timer(seconds, _leave, args=(code,))
    timer.daemon = True
    timer.start()


def _leave(code: int) -> None:
    flush_logs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _handle_signals(loop: asyncio.AbstractEventLoop, on_signal: Callable[[], None]) -> Callable[[], None]:
    """Handles the signals until the returned function is called. Only the main thread can."""
    if current_thread() is not main_thread():
        return lambda: None
    before = {each: signal.getsignal(each) for each in SIGNALS}

    def received(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(on_signal)

    # Not loop.add_signal_handler: it does not exist on Windows, and cannot tell what was there before.
    for each in SIGNALS:
        signal.signal(each, received)

    def restore() -> None:
        for each, handler in before.items():
            if signal.getsignal(each) is received:
                signal.signal(each, handler)

    return restore
