"""Calls the handler of one run, or of a batch: checks the payloads, passes the middleware, and returns outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...artifacts.stored_value import is_stored_value
from ...definition import BatchItem
from . import ending
from .context import RunContext
from .ending import RELEASED, Outcome, Raised
from .middleware import Middleware, call_through
from .run import Run

if TYPE_CHECKING:
    from ...context import JobContext
    from ..claiming.protocol import Verdict
    from ..executors.calls import Executors
    from .current import HandlerCall
    from .services import RunServices

ProcessEnds = Callable[[Sequence[Run], BaseException], None]
"""Called when a handler called sys.exit()."""


class Calling:
    def __init__(
        self,
        executors: Executors,
        middleware: Sequence[Middleware],
        services: RunServices,
        process_ends: ProcessEnds | None,
    ) -> None:
        self._executors = executors
        self._middleware = middleware
        self._services = services
        self._process_ends = process_ends

    async def items(
        self, call: HandlerCall, end: Callable[[Run, Verdict], None]
    ) -> tuple[list[BatchItem[Any]], list[Run]]:
        """The checked payloads of the runs that can start. The others are passed to `end`."""
        items: list[BatchItem[Any]] = []
        called: list[Run] = []
        for run in call.runs:
            if run.aborted is not None:
                end(run, RELEASED)
                continue
            if is_stored_value(run.job["payload"]) and not await self._read_payload(run, end):
                continue
            try:
                input = run.type.handler.definition.input.load(run.job["payload"], "payload")
            except Exception as error:  # noqa: BLE001 - a schema is the application's code
                end(run, ending.refusal(error))
                continue
            context = cast("JobContext[Any]", RunContext(run, self._services))
            call.contexts.append(context)
            items.append(BatchItem(input, context))
            called.append(run)
        return items, called

    async def _read_payload(self, run: Run, end: Callable[[Run, Verdict], None]) -> bool:
        """Reads a payload that was offloaded. Returns False if the run ends here."""
        outcome: Outcome | None = None
        try:
            run.job["payload"] = await self._services.offloading.read(run, run.job["payload"])
        except Exception as error:  # noqa: BLE001 - a store may raise anything
            # Another worker may have the store, and a store that is down may be available again.
            outcome = Raised(error)
        if run.aborted is not None:
            outcome = Raised(run.aborted)
        if outcome is not None:
            end(run, ending.conclude(run, outcome))
        return outcome is None

    async def outcomes(self, call: HandlerCall, items: Sequence[BatchItem[Any]]) -> Sequence[Outcome]:
        """What the handler returned or raised, for each item."""
        handler = call.runs[0].type.handler
        middleware = self._middleware
        if not middleware:
            return await self._executors.call(call, handler, items)

        async def call_handler(passed: Sequence[BatchItem[Any]]) -> Sequence[Outcome]:
            return await self._executors.call(call, handler, passed)

        return await call_through(middleware, call_handler, items)

    def ends_process(self, runs: Sequence[Run], outcomes: Sequence[Outcome]) -> bool:
        """Whether the handler called sys.exit(), and the process ends. Its runs end with the process."""
        process_ends = self._process_ends
        if process_ends is None:
            return False
        for outcome in outcomes:
            if isinstance(outcome, Raised) and isinstance(outcome.error, SystemExit | KeyboardInterrupt):
                process_ends(runs, outcome.error)
                return True
        return False
