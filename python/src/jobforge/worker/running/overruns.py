"""Runs of schedules whose handlers ignore their timeout. Their slots are free.

Heartbeats keep their leases until the handler returns, so that no other run of the schedule starts next to it; but only
up to `OVERRUN_FACTOR` timeouts.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from ..defaults import OVERRUN_FACTOR

if TYPE_CHECKING:
    from .run import Run


class Overruns:
    def __init__(self, is_enabled: bool) -> None:
        """A tick ends before its handlers return, so it has no overruns."""
        self._is_enabled = is_enabled
        self._runs: set[Run] = set()

    def accepts(self, run: Run) -> bool:
        """Whether the schedule of this run waits from now on for its handler, which ignores its abort."""
        is_of_schedule = run.job.get("scheduled_for") is not None
        has_timed_out = run.aborted is not None and run.aborted.kind == "timeout"
        return self._is_enabled and is_of_schedule and has_timed_out and run not in self._runs

    def add(self, run: Run) -> float:
        """Returns for how many seconds more the schedule waits."""
        self._runs.add(run)
        return OVERRUN_FACTOR * (run.type.timeout or 0) - (monotonic() - run.started_at)

    def __contains__(self, run: Run) -> bool:
        return run in self._runs

    def discard(self, run: Run) -> None:
        self._runs.discard(run)

    def all(self) -> list[Run]:
        return list(self._runs)
