"""Claimed jobs that wait for a slot, in THE CLAIM ORDER of sql/functions/claim/claim.sql.

Higher priority first; within a priority tenants take turns; the jobs of a tenant in the order of their claim. In the
order of claims alone, the first job of a tenant would wait behind everything that was claimed ahead for a tenant with a
flood of jobs.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ..fifo import Fifo

if TYPE_CHECKING:
    from .run import Run


class TenantQueue:
    """The waiting jobs of one tenant."""

    __slots__ = ("runs", "tenant")

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self.runs: Fifo[Run] = Fifo()


class Level:
    """The waiting jobs of one priority."""

    __slots__ = ("priority", "queues", "turns")

    def __init__(self, priority: int) -> None:
        self.priority = priority
        self.queues: dict[str, TenantQueue] = {}
        # The tenants in the order of their turns. Each queue that has jobs is in it once.
        self.turns: Fifo[TenantQueue] = Fifo()


class Turns:
    def __init__(self) -> None:
        # The priorities that have jobs, the highest first. Mostly there is one.
        self._levels: list[Level] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def first(self) -> Run | None:
        """What `shift` would take."""
        if not self._levels:
            return None
        queue = self._levels[0].turns.first
        return None if queue is None else queue.runs.first

    @property
    def waiting_since(self) -> float:
        """When the job that has waited longest was claimed; infinity when none waits."""
        since = inf
        for level in self._levels:
            for queue in level.queues.values():
                first = queue.runs.first
                if first is not None:
                    since = min(since, first.claimed_at)
        return since

    def push(self, run: Run) -> None:
        level = self._level_of(run.job["priority"])
        tenant = run.job["tenant_id"]
        queue = level.queues.get(tenant)
        if queue is None:
            queue = level.queues[tenant] = TenantQueue(tenant)
            level.turns.push(queue)
        queue.runs.push(run)
        self._length += 1

    def shift(self) -> Run | None:
        if not self._levels:
            return None
        level = self._levels[0]
        queue = level.turns.shift()
        run = None if queue is None else queue.runs.shift()
        if queue is None or run is None:
            return None
        self._length -= 1
        if len(queue.runs) > 0:
            level.turns.push(queue)
        else:
            del level.queues[queue.tenant]
            if not level.queues:
                del self._levels[0]
        return run

    def take_all(self) -> list[Run]:
        """Takes all jobs, in their order."""
        taken: list[Run] = []
        while (run := self.shift()) is not None:
            taken.append(run)
        return taken

    def _level_of(self, priority: int) -> Level:
        place = next((index for index, each in enumerate(self._levels) if each.priority <= priority), len(self._levels))
        if place < len(self._levels) and self._levels[place].priority == priority:
            return self._levels[place]
        level = Level(priority)
        self._levels.insert(place, level)
        return level
