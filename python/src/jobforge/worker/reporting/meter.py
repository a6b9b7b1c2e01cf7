"""A worker's own metrics: how long the database takes to respond, and how runs ended.

They are plain numbers, so that any metrics library can show them. Every heartbeat carries them, so that a server can
show those of all workers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

# The upper limits of the bins, in seconds. One more bin counts the calls that took longer.
LATENCY_BINS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

# The calls in one bin: their number, and the seconds that all of them took.
LatencyBin = tuple[int, float]


@dataclass(slots=True)
class Tally:
    """The number of runs, by how they ended."""

    claimed: int = 0
    succeeded: int = 0
    retried: int = 0
    """Runs that failed and whose jobs will be retried, or whose schedules continue."""
    failed: int = 0
    """Runs that failed and whose jobs will not be retried: these are failed or dead."""
    deferred: int = 0
    released: int = 0
    canceled: int = 0
    stale: int = 0
    """Runs whose lease was lost."""


@dataclass(frozen=True, slots=True)
class WorkerMetrics:
    claim: tuple[LatencyBin, ...]
    """Calls that claimed. A call that also settled counts in `settle` as well."""
    settle: tuple[LatencyBin, ...]
    """Calls that settled runs."""
    runs: Tally
    """Runs since the worker was started, by how they ended."""
    handed: int
    """Jobs that enqueues have handed to the worker, without a claim. They count in `runs.claimed` as well."""
    heard_at: datetime | None
    """When the database last responded to a heartbeat."""


class Meter:
    def __init__(self) -> None:
        self.runs = Tally()
        self._claim = _Latency()
        self._settle = _Latency()
        self._handed = 0
        self._heard_at: datetime | None = None

    def note_call(self, seconds: float, ends: int, has_claimed: bool) -> None:
        """The database has responded to a call that settled `ends` runs, and may have claimed."""
        if has_claimed:
            self._claim.note(seconds)
        if ends > 0:
            self._settle.note(seconds)

    def note_handed(self, jobs: int) -> None:
        """Enqueues have handed jobs to the worker."""
        self._handed += jobs

    def note_heartbeat(self) -> None:
        """The database has responded to a heartbeat."""
        self._heard_at = datetime.now(UTC)

    def read(self) -> WorkerMetrics:
        return WorkerMetrics(self._claim.read(), self._settle.read(), replace(self.runs), self._handed, self._heard_at)

    def report(self) -> dict[str, Any]:
        """What heartbeats carry."""
        return {
            "claim": self._claim.read(),
            "settle": self._settle.read(),
            "stale": self.runs.stale,
            "handed": self._handed,
        }


class _Latency:
    def __init__(self) -> None:
        self._counts = [0] * (len(LATENCY_BINS) + 1)
        self._seconds = [0.0] * (len(LATENCY_BINS) + 1)

    def note(self, seconds: float) -> None:
        place = bisect_left(LATENCY_BINS, seconds)
        self._counts[place] += 1
        self._seconds[place] += seconds

    def read(self) -> tuple[LatencyBin, ...]:
        # Rounded to microseconds, to keep heartbeats short.
        return tuple((count, round(seconds, 6)) for count, seconds in zip(self._counts, self._seconds, strict=True))
