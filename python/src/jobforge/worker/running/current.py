"""Which handler call the code that runs now belongs to.

Tasks and threads of the worker follow it by a context variable. So log lines of libraries have the fields of the run,
and an error that nothing has caught can be traced to its job.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...context import JobContext
    from ..reporting.log import WorkerLog
    from .run import Run


class HandlerCall:
    """A handler call in progress, for one run or for a batch of runs of one type."""

    __slots__ = ("begin", "cancel", "contexts", "kill", "left", "log", "runs")

    def __init__(self, runs: list[Run], log: WorkerLog) -> None:
        self.runs = runs
        self.log = log
        # How many of its runs have not ended.
        self.left = len(runs)
        self.contexts: list[JobContext[Any]] = []
        # Called when the handler of a process begins, which is later than its call if the process had to be started.
        self.begin: Callable[[], None] | None = None
        # Asks the handler to end, if it runs where that is possible.
        self.cancel: Callable[[], object] | None = None
        # Ends the handler without asking, if it runs where that is possible.
        self.kill: Callable[[], object] | None = None


_call: ContextVar[HandlerCall | None] = ContextVar("jobforge_call", default=None)


def enter_call(call: HandlerCall) -> None:
    """The current task, and what it starts, belong to this call."""
    _call.set(call)


def current_call() -> HandlerCall | None:
    """The handler call that started the code that runs now; None if that is other code of the application."""
    return _call.get()


def current_job() -> JobContext[Any]:
    """The context of the run whose handler runs now, for code that is not passed it.

    Raises a LookupError outside of a handler, and in the handler of a batch, which has several.
    """
    call = _call.get()
    if call is None or not call.contexts:
        raise LookupError("current_job() was called outside of a handler")
    if len(call.contexts) > 1:
        raise LookupError("current_job() was called in the handler of a batch: use the context of each item")
    return call.contexts[0]
