"""The process in which a handler with `run_in="process"` runs: `python -m jobforge.worker.executors.child`.

It reads calls as lines of JSON from its standard input, and writes lines to its standard output. What handlers print
goes to the standard error. It ends when its standard input does, so it does not outlive its worker. SIGTERM aborts the
handler: it raises the `JobAborted` of the run, or cancels the task of an `async def`.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import signal
import sys
import time
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

from ...definition import BatchItem, JobHandler
from ...describe_error import describe_error
from ...errors import JobAborted
from ..errors import RunOver
from ..handled_type import HandledType
from ..handlers import module_handlers
from ..presence.clock import DatabaseClock
from ..reporting.log import WorkerLog
from ..reporting.sinks import JsonSink, Level, Output
from ..running.context import RunContext
from ..running.current import HandlerCall, enter_call
from ..running.ending import refusal
from ..running.run import Run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from types import FrameType

# How long the reason of an abort may take to arrive after the signal.
_REASON_WITHIN: Final = 0.2


class Child:
    """The side of the process: the lines to and from the worker."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines
        self._lock = Lock()
        self.calls: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self.replies: SimpleQueue[Mapping[str, Any]] = SimpleQueue()
        # The runs of the current call.
        self.runs: Sequence[Run] = ()

    def send(self, message: Mapping[str, Any]) -> None:
        text = json.dumps(message, default=_plain)
        with self._lock:
            self._lines.write(f"{text}\n")
            self._lines.flush()

    def read(self) -> None:
        """Passes on what the worker sends, until the worker ends."""
        for line in sys.stdin:
            message: Mapping[str, Any] = json.loads(line)
            if "abort" in message:
                self._abort(message["abort"])
            elif "reply" in message:
                self.replies.put(message)
            else:
                self.calls.put(message)
        self.calls.put(None)
        # The worker is gone, so nothing can be settled.
        os._exit(0)

    def _abort(self, reason: Sequence[Any]) -> None:
        kind, message = reason
        for run in self.runs:
            run.aborted = JobAborted(kind, message)


def _plain(value: object) -> object:
    """The JSON form of a value in a log line."""
    return describe_error(value) if isinstance(value, BaseException) else str(value)


class PipedLog(WorkerLog):
    """Passes log lines on to the worker, which masks and writes them."""

    def __init__(self, child: Child) -> None:
        super().__init__(JsonSink(100, Output(sys.stderr)), "", shows_stacks=False)
        self._child = child

    def is_enabled(self, level: Level) -> bool:
        del level
        return True

    def job(self, level: Level, run: Run, fields: Mapping[str, Any] | None, message: str) -> None:
        place = self._child.runs.index(run)
        self._child.send({"place": place, "log": level, "message": message, "fields": fields or {}})


class ChildServices:
    """What contexts can do in a process."""

    def __init__(self, child: Child, base: float) -> None:
        self._child = child
        self.clock = DatabaseClock(lambda: base + time.monotonic())
        self.log: WorkerLog = PipedLog(child)

    @property
    def resources(self) -> NoReturn:
        raise RuntimeError('job.resources is not available with run_in="process": the lifespan is in the worker')

    async def progress(self, run: Run, value: object) -> None:
        await asyncio.to_thread(self.progress_sync, run, value)

    def progress_sync(self, run: Run, value: object) -> None:
        self._child.send({"place": self._child.runs.index(run), "progress": value})
        reply = self._child.replies.get()
        if reply["reply"] is not None:
            raise RuntimeError(reply["reply"])

    async def hold_key(self, run: Run, until: str, reason: str | None) -> NoReturn:
        del run, until, reason
        raise RuntimeError('hold_key() is not available with run_in="process"')

    def transaction(self, context: RunContext) -> AbstractAsyncContextManager[Any]:
        return self._no_transaction(context)

    def transaction_sync(self, context: RunContext) -> AbstractContextManager[Any]:
        return self._no_transaction(context)

    def store(self, context: RunContext) -> NoReturn:
        self._no_steps(context)

    def wait_on_loop(self, work: Awaitable[Any]) -> NoReturn:
        del work
        raise RuntimeError('Durable steps are not available with run_in="process"')

    async def step_in(self, context: RunContext, name: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
        del name, work
        self._no_steps(context)

    def step_in_sync(self, context: RunContext, name: str, work: Callable[[Any], Any]) -> Any:
        del name, work
        self._no_steps(context)

    def _no_steps(self, context: RunContext) -> NoReturn:
        raise RuntimeError(f'Durable steps are not available with run_in="process": {context.type}')

    def _no_transaction(self, context: RunContext) -> NoReturn:
        raise RuntimeError(f'transaction() is not available with run_in="process": {context.type}')


def main() -> None:
    """Serves calls until the worker ends."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    child = Child(lines)
    # The worker decides when handlers end; a terminal sends its signals to all processes.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Thread(target=child.read, name="jobforge-child", daemon=True).start()
    handlers: dict[str, JobHandler[Any, Any]] = {}
    while (message := child.calls.get()) is not None:
        if "import" in message:
            child.send(_import(handlers, message))
        else:
            child.send({"done": _serve(child, handlers, message)})


def _import(handlers: dict[str, JobHandler[Any, Any]], message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Imports the application's module, from where the worker has found it."""
    sys.path.extend(folder for folder in message["path"] if folder not in sys.path)
    try:
        found = module_handlers(importlib.import_module(message["import"]))
    except Exception as error:  # noqa: BLE001 - importing the application's code may raise anything
        return {"error": describe_error(error)}
    handlers.update({handler.definition.type: handler for handler in found})
    return {"ready": True}


def _serve(
    child: Child, handlers: Mapping[str, JobHandler[Any, Any]], message: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    handler = handlers[message["type"]]
    type = HandledType(handler, None, 1)
    runs = [Run(job, type, 0) for job in message["jobs"]]
    services = ChildServices(child, message["clock"])
    contexts = [RunContext(run, services, header) for run, header in zip(runs, message["traceparents"], strict=True)]
    for run in runs:
        run.start(time.monotonic())
    child.runs = runs
    try:
        results = _call(child, handler, contexts)
    except BaseException as error:  # noqa: BLE001 - what a handler raises is the outcome of its run
        return [_end(run, error) for run in runs]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child.runs = ()
    if handler.is_batch and len(results) != len(runs):
        text = f"The handler of {type.name} got {len(runs)} jobs and returned {len(results)} results"
        return [_end(run, RuntimeError(text)) for run in runs]
    return [_end(run, result) for run, result in zip(runs, results, strict=True)]


def _call(child: Child, handler: JobHandler[Any, Any], contexts: Sequence[RunContext]) -> Sequence[Any]:
    call = HandlerCall([context.held_run for context in contexts], PipedLog(child))
    call.contexts.extend(contexts)
    enter_call(call)
    load = handler.definition.input.load
    items = [BatchItem(load(context.held_run.job["payload"], "payload"), context) for context in contexts]
    signal.signal(signal.SIGTERM, lambda number, frame: _raise_abort(child, number, frame))
    args: tuple[Any, ...] = (items,) if handler.is_batch else (items[0].input, items[0].job)
    result = handler.function(*args)
    if inspect.isawaitable(result):
        result = asyncio.run(_awaited(result))
    results: Sequence[Any] = result if handler.is_batch else [result]
    return results


def _raise_abort(child: Child, _number: int, _frame: FrameType | None) -> NoReturn:
    until = time.monotonic() + _REASON_WITHIN
    while child.runs and child.runs[0].aborted is None and time.monotonic() < until:
        time.sleep(0.002)
    aborted = child.runs[0].aborted if child.runs else None
    raise aborted or JobAborted("shutdown", "The process of the handler was asked to end")


async def _awaited(result: Awaitable[Any]) -> Any:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(result)
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _end(run: Run, result: object) -> Mapping[str, Any]:
    """The outcome of a run, as the worker takes it over."""
    end: dict[str, Any] = {
        "verdict": run.verdict,
        "cost_cents": run.cost_cents,
        "next_run_at": run.next_run_at,
        "children": run.children,
    }
    if isinstance(result, RunOver):
        return end
    if isinstance(result, BaseException):
        return {**end, "error": describe_error(result)}
    try:
        return {**end, "value": run.type.handler.definition.output.dump(result, "result")}
    except Exception as error:  # noqa: BLE001 - a result may be anything
        return {**end, "verdict": refusal(error)}


if __name__ == "__main__":
    main()
