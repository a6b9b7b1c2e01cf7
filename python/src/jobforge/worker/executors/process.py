"""Runs handlers with `run_in="process"`, each call in a process of its own.

A process is started for a call that finds none idle, and serves further calls afterwards. It is the only place where a
handler can really be stopped: an abort sends SIGTERM, and after the worker's `abort_grace` the process is killed. A
process that dies fails its run and not the worker. Parent and child exchange lines of JSON: `executors/child.py` is the
other side.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, cast

from ...describe_error import RemoteError
from ..errors import HandlerProcessDied
from ..running.ending import Outcome, Raised, Returned
from .importable import module_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...definition import BatchItem, JobHandler
    from ..presence.clock import DatabaseClock
    from ..running.context import RunContext
    from ..running.current import HandlerCall
    from ..running.run import Run

# The longest line: results have up to 1 MiB, and a batch has many of them.
_MAX_LINE: Final = 256 * 1024 * 1024
# How long a process may take to start and to import the application's module.
_START_WITHIN: Final = 60.0
_LEVELS: Final = ("debug", "info", "warning", "error")


class Processes:
    def __init__(self, clock: DatabaseClock) -> None:
        self._clock = clock
        # By the module of their handlers, which they have imported.
        self._idle: dict[str, list[_Child]] = {}
        self._all: set[_Child] = set()

    async def call(
        self, call: HandlerCall, handler: JobHandler[Any, Any], items: Sequence[BatchItem[Any]]
    ) -> Sequence[Outcome]:
        """Calls the handler in a process, and returns the outcome of each item."""
        module = module_of(handler)
        idle = self._idle.setdefault(module, [])
        child = idle.pop() if idle else await self._start()
        runs = call.runs
        call.cancel = lambda: child.terminate(runs[0])
        call.kill = child.kill
        is_over = False
        try:
            if not child.is_ready:
                async with asyncio.timeout(_START_WITHIN):
                    await child.prepare(module)
            if call.begin is not None:
                call.begin()
            # The database's time, on a clock that all processes of a machine share.
            base = self._clock.now() - time.monotonic()
            outcomes = await child.call(handler, [cast("RunContext", item.job) for item in items], base)
            is_over = True
            return outcomes
        finally:
            call.cancel = call.kill = None
            if is_over and child.is_reusable:
                idle.append(child)
            else:
                self._all.discard(child)
                child.kill()

    def stop(self) -> None:
        """Ends all processes. Those of handlers that were given up are killed."""
        for child in self._all:
            child.kill()
        self._all.clear()
        self._idle.clear()

    async def _start(self) -> _Child:
        # The child's own standard output carries the lines; what handlers print goes to the standard error.
        command = (sys.executable, "-m", "jobforge.worker.executors.child")
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=_MAX_LINE)
        child = _Child(process)
        self._all.add(child)
        return child


class _Child:
    """One process, and its call."""

    def __init__(self, process: Process) -> None:
        self._process = process
        # A process that was asked to end may do so at any moment.
        self.is_reusable = True
        # Whether it has imported the module of its handlers.
        self.is_ready = False

    async def prepare(self, module: str) -> None:
        """Lets the process import a module."""
        self._send({"path": sys.path, "import": module})
        message = await self._message()
        if "error" in message:
            raise RemoteError(message["error"])
        self.is_ready = True

    def terminate(self, run: Run) -> None:
        """Asks the handler to end, and says why."""
        self.is_reusable = False
        if run.aborted is not None:
            self._send({"abort": (run.aborted.kind, str(run.aborted))})
        with suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        self.is_reusable = False
        with suppress(ProcessLookupError):
            self._process.kill()

    async def call(
        self, handler: JobHandler[Any, Any], contexts: Sequence[RunContext], clock: float
    ) -> Sequence[Outcome]:
        runs = [context.held_run for context in contexts]
        self._send(
            {
                "type": handler.definition.type,
                "jobs": [run.job for run in runs],
                "traceparents": [context.traceparent for context in contexts],
                "clock": clock,
            }
        )
        while True:
            message = await self._message()
            if "done" in message:
                return [_outcome(run, end) for run, end in zip(runs, message["done"], strict=True)]
            await self._serve(message, contexts)

    async def _message(self) -> Mapping[str, Any]:
        line = await self._line()
        if line is None:
            self.is_reusable = False
            raise HandlerProcessDied(await self._fate())
        message: Mapping[str, Any] = json.loads(line)
        return message

    async def _line(self) -> bytes | None:
        if self._process.stdout is None:
            return None
        line = await self._process.stdout.readline()
        return line if line.endswith(b"\n") else None

    async def _serve(self, message: Mapping[str, Any], contexts: Sequence[RunContext]) -> None:
        context = contexts[message["place"]]
        if "log" in message and message["log"] in _LEVELS:
            getattr(context.log, message["log"])(message["message"], **message["fields"])
        elif "progress" in message:
            error: str | None = None
            try:
                await context.progress(message["progress"])
            except Exception as failed:  # noqa: BLE001 - the handler gets the error
                error = str(failed)
            self._send({"reply": error})

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _fate(self) -> str:
        code = await self._process.wait()
        if code >= 0:
            return f"The process of the handler ended with code {code} before the handler returned"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"The process of the handler was ended by {name} before the handler returned"


def _outcome(run: Run, end: Mapping[str, Any]) -> Outcome:
    """Takes over what the handler has asked for, and returns its outcome."""
    run.verdict = end.get("verdict")
    run.cost_cents = end.get("cost_cents")
    run.next_run_at = end.get("next_run_at")
    run.children = end.get("children")
    if "error" in end:
        return Raised(RemoteError(end["error"]))
    return Returned(end.get("value"))
