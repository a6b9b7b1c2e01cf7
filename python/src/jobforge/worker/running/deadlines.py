"""Deadlines of runs. One timer serves them all: a timer for each of a million jobs would cost more than the jobs."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from .run import Run


class Deadlines:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: dict[Run, tuple[float, Callable[[Run], None]]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._armed_for = inf

    def set(self, run: Run, seconds: float, reached: Callable[[Run], None]) -> None:
        """Calls `reached` after this time, unless the run's deadline is cleared or set again before."""
        at = self._loop.time() + seconds
        self._due[run] = (at, reached)
        if at < self._armed_for:
            self._arm(at)

    def clear(self, run: Run) -> None:
        self._due.pop(run, None)

    def stop(self) -> None:
        """Clears all deadlines."""
        self._due.clear()
        self._disarm()

    def _arm(self, at: float) -> None:
        self._disarm()
        self._armed_for = at
        self._timer = self._loop.call_at(at, self._fire)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._armed_for = inf

    def _fire(self) -> None:
        now = self._loop.time()
        self._timer = None
        self._armed_for = inf
        # The event loop calls a timer up to its clock's resolution too early.
        reached = [run for run, (at, _) in self._due.items() if at <= now + 0.001]
        for run in reached:
            due = self._due.pop(run, None)
            if due is not None:
                due[1](run)
        next_at = min((at for at, _ in self._due.values()), default=inf)
        # A callback may have set other deadlines.
        if next_at < self._armed_for:
            self._arm(next_at)
