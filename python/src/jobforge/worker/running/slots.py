"""The worker's slots: at most `concurrency` handler calls at the same time, and of each type at most its cap.

Jobs start by priority and in turns of their tenants; a job whose type is at its cap lets the others pass. A batch is
one handler call and takes one slot.
"""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING

from ..fifo import Fifo
from ..handled_type import HandledType, PerType
from .turns import Turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .run import Run


class TypeSlots:
    """What the slots know of one type."""

    __slots__ = ("calls", "expects_more", "queue", "unstarted")

    def __init__(self) -> None:
        # Handler calls in progress.
        self.calls = 0
        # Claimed jobs that have not started.
        self.unstarted = 0
        # Those of them that wait for the cap, or for the rest of their batch.
        self.queue: Fifo[Run] = Fifo()
        # Whether more jobs are due that would fill up the incomplete batch.
        self.expects_more = False

    @property
    def claimed_at(self) -> float | None:
        """When the first job of the queue was claimed; None when the queue is empty."""
        first = self.queue.first
        return None if first is None else first.claimed_at


class Slots:
    def __init__(self, concurrency: int, types: Sequence[HandledType]) -> None:
        self.concurrency = concurrency
        # The number of handler calls in progress.
        self.busy = 0
        self._per_type = PerType(types, TypeSlots)
        self._batched = [type for type in types if type.batch_size > 1]
        # Jobs that wait for a slot only.
        self._turns = Turns()
        # Types with jobs that wait for their cap or their batch; the values are not used.
        self._waiting_types: dict[HandledType, None] = {}
        # Claimed jobs of types without batches that have not started.
        self._unstarted = 0

    @property
    def available(self) -> int:
        """The number of free slots."""
        return self.concurrency - self.busy

    @property
    def needed(self) -> int:
        """The number of slots that the claimed jobs which have not started will take."""
        slots = self._unstarted
        for type in self._batched:
            slots += ceil(self.unstarted(type) / type.batch_size)
        return slots

    @property
    def is_empty(self) -> bool:
        """Whether no handler call is in progress and no job waits."""
        return self.busy == 0 and len(self._turns) == 0 and not self._waiting_types

    @property
    def waiting_since(self) -> float:
        """When the job that has waited longest for a slot was claimed; infinity when none waits."""
        since = self._turns.waiting_since
        for type in self._waiting_types:
            state = self._per_type.of(type)
            if not state.expects_more:
                since = min(since, _or(state.claimed_at, since))
        return since

    def calls(self, type: HandledType) -> int:
        """The number of handler calls of the type in progress."""
        return self._per_type.of(type).calls

    def unstarted(self, type: HandledType) -> int:
        """The number of claimed jobs of the type that have not started."""
        return self._per_type.of(type).unstarted

    def expects_more(self, type: HandledType) -> bool:
        """Whether an incomplete batch of the type waits for more jobs."""
        return self._per_type.of(type).expects_more

    def expect_more(self, type: HandledType, *, is_more_due: bool) -> None:
        """Makes an incomplete batch of the type wait for more jobs, or start as it is."""
        self._per_type.of(type).expects_more = is_more_due

    def add(self, run: Run) -> None:
        """A claimed job waits for a slot."""
        self._count(run.type, 1)
        if run.type.batch_size > 1:
            self._wait_for_type(run)
        else:
            self._turns.push(run)

    def take_next(self) -> list[Run] | None:
        """Takes a slot for the next handler call that may start, and returns its runs; None when none may start."""
        while self.busy < self.concurrency:
            type = self._next_waiting_type() if self._waiting_types else None
            run = self._turns.first
            if type is not None and self._is_older(type, run):
                return self._occupy_queued(type)
            if run is None:
                return None
            self._turns.shift()
            state = self._per_type.of(run.type)
            if state.calls < run.type.cap and len(state.queue) == 0:
                return self._occupy(run.type, [run])
            self._wait_for_type(run)
        return None

    def free(self, type: HandledType) -> None:
        """A handler call has ended, or is no longer waited for: its slot becomes free."""
        self.busy -= 1
        self._per_type.of(type).calls -= 1

    def take_unstarted(self) -> list[Run]:
        """Takes out every job that has not started."""
        runs = self._turns.take_all()
        for type in self._waiting_types:
            queue = self._per_type.of(type).queue
            runs.extend(queue.take(len(queue)))
        self._waiting_types.clear()
        for run in runs:
            self._count(run.type, -1)
        return runs

    def _wait_for_type(self, run: Run) -> None:
        self._per_type.of(run.type).queue.push(run)
        self._waiting_types[run.type] = None

    def _next_waiting_type(self) -> HandledType | None:
        """The type whose queued jobs may start, and have waited longest."""
        found: HandledType | None = None
        since = inf
        for type in self._waiting_types:
            claimed_at = _or(self._per_type.of(type).claimed_at, since)
            if claimed_at >= since or not self._may_start(type):
                continue
            found = type
            since = claimed_at
        return found

    def _may_start(self, type: HandledType) -> bool:
        """Whether a call for the type's queued jobs may start, as far as the type is concerned."""
        state = self._per_type.of(type)
        return state.calls < type.cap and (len(state.queue) >= type.batch_size or not state.expects_more)

    def _is_older(self, type: HandledType, run: Run | None) -> bool:
        """Whether the type's queued jobs were claimed before the run, or together with it."""
        return _or(self._per_type.of(type).claimed_at, 0) <= (inf if run is None else run.claimed_at)

    def _occupy_queued(self, type: HandledType) -> list[Run]:
        queue = self._per_type.of(type).queue
        runs = queue.take(type.batch_size)
        if len(queue) == 0:
            del self._waiting_types[type]
        return self._occupy(type, runs)

    def _occupy(self, type: HandledType, runs: list[Run]) -> list[Run]:
        self.busy += 1
        self._per_type.of(type).calls += 1
        self._count(type, -len(runs))
        return runs

    def _count(self, type: HandledType, jobs: int) -> None:
        self._per_type.of(type).unstarted += jobs
        if type.batch_size == 1:
            self._unstarted += jobs


def _or(time: float | None, other: float) -> float:
    return other if time is None else time
