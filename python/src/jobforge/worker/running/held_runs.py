"""The runs that the worker holds: from their claim until the database has confirmed their end, or their lease is lost.

Every heartbeat lists them. The heartbeat's thread only copies the dictionary; everything else stays on the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..claiming.protocol import RunKey
    from .run import Run


class HeldRuns:
    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}

    def __len__(self) -> int:
        return len(self._runs)

    def all(self) -> list[Run]:
        """The runs of this moment. Any thread may call it."""
        return list(self._runs.copy().values())

    def keys(self) -> list[RunKey]:
        """What a heartbeat lists: the id and the attempt of each run. Any thread may call it."""
        return [{"id": run.id, "attempt": run.attempt} for run in self._runs.copy().values()]

    def of_job(self, id: str) -> Run | None:
        """The run of this job, in whichever attempt."""
        return self._runs.get(id)

    def find(self, key: RunKey) -> Run | None:
        """The run of this job in this attempt."""
        run = self._runs.get(key["id"])
        return run if run is not None and run.attempt == key["attempt"] else None

    def add(self, run: Run) -> None:
        self._runs[run.id] = run

    def let_go(self, run: Run) -> None:
        """The worker no longer holds the run: the database has confirmed its end, or its lease is lost."""
        run.close()
        if self._runs.get(run.id) is run:
            del self._runs[run.id]
