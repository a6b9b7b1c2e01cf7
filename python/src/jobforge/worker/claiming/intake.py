"""Takes claimed jobs in: makes a run of each, and lets it wait for a slot."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from ..running.run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..handled_type import HandledType
    from ..reporting.reporting import Reporting
    from ..running.overdue import Overdue
    from ..running.policies import Policies
    from ..running.runner import Runner
    from ..running.slots import Slots
    from .pace import Pace
    from .protocol import ClaimedJob, ClaimRequest


class Intake:
    def __init__(
        self,
        types: Sequence[HandledType],
        *,
        reporting: Reporting,
        runner: Runner,
        slots: Slots,
        overdue: Overdue,
        policies: Policies,
        pace: Pace,
    ) -> None:
        self._types = {type.name: type for type in types}
        self._reporting = reporting
        self._runner = runner
        self._slots = slots
        self._overdue = overdue
        self._policies = policies
        self._pace = pace

    def accept(self, jobs: Sequence[ClaimedJob], request: ClaimRequest, *, is_full: bool) -> None:
        """The jobs wait for a slot from now on; `runner.start_waiting` starts them.

        `is_full`: more jobs may be due, so batches wait for them.
        """
        now = monotonic()
        runs = self._hold(jobs, now)
        per_type: dict[HandledType, int] = {}
        for run in runs:
            self._slots.add(run)
            per_type[run.type] = per_type.get(run.type, 0) + 1
        for type in per_type:
            expects_more = type.batch_size > 1 and is_full and not request.fills_batches
            self._slots.expect_more(type, is_more_due=expects_more)
            self._policies.refresh(type, now)
        self._pace.note_claim(len(jobs), per_type)
        self._overdue.watch()

    def receive(self, jobs: Sequence[ClaimedJob]) -> None:
        """Jobs that enqueues have handed to this worker. They wait for a slot as claimed jobs do."""
        now = monotonic()
        for run in self._hold(jobs, now, is_handed=True):
            self._slots.add(run)
            self._policies.refresh(run.type, now)
        self._overdue.watch()

    def hand_back(self, jobs: Sequence[ClaimedJob]) -> None:
        """The response to a claim that was in flight when the shutdown began: its jobs go back at once."""
        for run in self._hold(jobs, monotonic()):
            self._runner.hand_back(run)

    def _hold(self, jobs: Sequence[ClaimedJob], now: float, *, is_handed: bool = False) -> list[Run]:
        runs: list[Run] = []
        for job in jobs:
            type = self._types.get(job["type"])
            if type is None:
                continue
            run = Run(job, type, now, is_handed=is_handed)
            self._runner.hold(run)
            runs.append(run)
        self._reporting.report.claimed(len(runs))
        self._reporting.hooks.claimed(runs)
        return runs
