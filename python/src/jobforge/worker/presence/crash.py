"""Names the job whose handler ends the process, or whose background task fails.

A handler that calls sys.exit() ends the process: its run fails with that, the other runs are released, and the workers
say that they stop. Otherwise all these jobs would wait for their leases to run out.

An error in a task that a handler has started, and that nothing awaits, ends nothing in Python. A log line names the
job. If the process exits while jobs run, a line says what was lost.
"""

from __future__ import annotations

import asyncio
import atexit
from typing import TYPE_CHECKING, Any

from ...describe_error import describe_error
from ..defaults import CRASH, EXIT_DELAY
from ..running.current import HandlerCall, current_call
from .shutdown import leave_process_after
from .watchdog import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..engine import Engine
    from ..running.run import Run

_engines: set[Engine] = set()
_is_dying = False


def guard_process(engine: Engine) -> None:
    """Reports what ends the process, or fails in the background, for this engine, until `leave_process`."""
    if not _engines:
        atexit.register(_on_exit)
    _engines.add(engine)
    loop = asyncio.get_running_loop()
    if loop.get_exception_handler() is None:
        loop.set_exception_handler(_on_background_error)


def leave_process(engine: Engine) -> None:
    _engines.discard(engine)
    if _engines:
        return
    atexit.unregister(_on_exit)
    loop = asyncio.get_running_loop()
    if loop.get_exception_handler() is _on_background_error:
        loop.set_exception_handler(None)


def process_ends(engine: Engine, runs: Sequence[Run], error: BaseException) -> None:
    """A handler called sys.exit(). The jobs are settled and released in a short time; then the process ends."""
    global _is_dying  # noqa: PLW0603 - there is one process
    for run in runs:
        fields = {"exit_code": _exit_code(error)}
        engine.log.job("error", run, fields, "The handler of this job ended the process")
    if _is_dying:
        return
    _is_dying = True
    loop = asyncio.get_running_loop()
    task = loop.create_task(_die(list(runs), error))
    _tasks.add(task)


_tasks: set[asyncio.Task[None]] = set()


async def _die(culprits: Sequence[Run], error: BaseException) -> None:
    crashes = [asyncio.ensure_future(engine.crash(culprits, error)) for engine in list(_engines)]
    await asyncio.wait(crashes, timeout=CRASH)
    # Whatever keeps the process alive, such as a handler in a thread, must not keep it for ever.
    leave_process_after(EXIT_DELAY, _exit_code(error))
    asyncio.get_running_loop().call_soon(_raise, error)


def _raise(error: BaseException) -> None:
    """Ends the event loop, as the error would have done."""
    raise error


def _exit_code(error: BaseException) -> int:
    if not isinstance(error, SystemExit):
        return 1
    if error.code is None:
        return 0
    return error.code if isinstance(error.code, int) else 1


def _on_background_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    call = _call_of(context)
    if error is not None and call is not None:
        described = describe_error(error)
        for run in call.runs:
            when = "in a task of this job" if run.state == "running" else "of a job that had already ended"
            call.log.failure("error", run, described, f"Uncaught error {when}: the process goes on")
    loop.default_exception_handler(context)


def _call_of(context: dict[str, Any]) -> HandlerCall | None:
    """The handler call whose code has failed, as far as Python knows it: tasks have a context since 3.12."""
    task = context.get("task") or context.get("future")
    get_context = getattr(task, "get_context", None)
    if get_context is None:
        return current_call()
    found: HandlerCall | None = get_context().run(current_call)
    return found


def _on_exit() -> None:
    """Nothing can be settled at this point, but the log says what was lost."""
    for engine in _engines:
        runs = engine.open_runs()
        if runs and not _is_dying:
            fields = {"running": len(runs), "jobs": listed(runs)}
            message = "The process exits while jobs run: they are retried when their leases have run out"
            engine.log.error(fields, message)
            engine.log.flush()
