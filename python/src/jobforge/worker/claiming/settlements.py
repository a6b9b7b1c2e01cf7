"""Ends of runs that the database has not confirmed.

They are kept until it has: through lost connections and a database that is down, however long. A batch that the
database cannot read is halved until the faulty end is alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fifo import Fifo
from ..running.ending import end_unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..reporting.log import WorkerLog
    from ..reporting.report import Report
    from ..running.held_runs import HeldRuns
    from ..running.run import Run
    from .protocol import SettledRun


class Settlements:
    def __init__(self, held: HeldRuns, report: Report, log: WorkerLog) -> None:
        self._held = held
        self._report = report
        self._log = log
        self._pending: Fifo[Run] = Fifo()
        # Batches that must be sent alone, because a larger one with them was refused.
        self._suspects: Fifo[list[Run]] = Fifo()
        self._replaced: set[Run] = set()
        self._in_flight = 0
        # How many pending ends may make other jobs ready.
        self._freeing = 0

    @property
    def unsent(self) -> int:
        """The number of ends that wait to be sent; a suspect batch counts as one."""
        return len(self._pending) + len(self._suspects)

    @property
    def is_empty(self) -> bool:
        return self.unsent == 0 and self._in_flight == 0

    @property
    def may_free_jobs(self) -> bool:
        """Whether an end that waits to be sent may make other jobs ready."""
        return self._freeing > 0 or len(self._suspects) > 0

    def add(self, run: Run) -> None:
        self._pending.push(run)
        if not run.ends_quietly:
            self._freeing += 1

    def take(self, most: int) -> tuple[list[Run], bool]:
        """The next ends to send, and whether they must be sent alone.

        They return by `confirmed`, `failed` or `refused`.
        """
        suspect = self._suspects.shift()
        runs = self._take_pending(most) if suspect is None else suspect
        self._in_flight += len(runs)
        return runs, suspect is not None

    def _take_pending(self, most: int) -> list[Run]:
        runs = self._pending.take(most)
        self._freeing -= sum(not run.ends_quietly for run in runs)
        return runs

    def confirmed(self, runs: Sequence[Run], settled: Sequence[SettledRun]) -> None:
        """The database has replied to each end, in the same order."""
        self._in_flight -= len(runs)
        for run, reply in zip(runs, settled, strict=True):
            self._held.let_go(run)
            self._replaced.discard(run)
            if reply["outcome"] == "stale":
                self._report.stale(run)
            else:
                self._report.settled(run, reply)

    def failed(self, runs: Sequence[Run]) -> None:
        """The call failed for a reason that may pass: the same ends are sent again."""
        self._in_flight -= len(runs)
        for run in runs:
            self.add(run)

    def refused(self, runs: list[Run], error: BaseException, *, alone: bool) -> None:
        """The database refused the content of the call: these ends, unless a claim was part of the call."""
        self._in_flight -= len(runs)
        if not alone:
            self._suspects.push(runs)
        elif len(runs) > 1:
            half = (len(runs) + 1) // 2
            self._suspects.push(runs[:half])
            self._suspects.push(runs[half:])
        elif runs:
            self._replace(runs[0], error)

    def _replace(self, run: Run, error: BaseException) -> None:
        """Replaces an end that the database cannot read. If it cannot read the new one either, the run is dropped."""
        self._log.job("error", run, {"err": error}, "The database cannot read the end of the run")
        if run in self._replaced:
            self._replaced.discard(run)
            self._held.let_go(run)
            self._report.stale(run)
            return
        self._replaced.add(run)
        end_unreadable(run, error)
        self._suspects.push([run])
