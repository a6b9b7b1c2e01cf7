"""How fast jobs go, and therefore how many to claim ahead of their start.

Jobs that take microseconds must be claimed by the hundred; otherwise the worker would wait for the database most of
the time. A job that takes a minute must not be claimed before there is a slot for it, because another worker could run
it now. Times are seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..handled_type import HandledType, PerType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Longer times count for more than shorter ones: the worker soon claims less ahead, and only slowly more.
WEIGHT_UP: Final = 0.3
WEIGHT_DOWN: Final = 0.05
MIN_JOB: Final = 0.000_001
# The assumed duration of a job whose type has not yet run here: too long to claim it ahead.
UNKNOWN_JOB: Final = 1.0
# By how much each claimed job reduces the weight of those before it.
FADING: Final = 0.98
MIN_AHEAD: Final = 0.005
MAX_AHEAD: Final = 0.020


class Mean:
    """A moving mean."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float | None = None

    def note(self, sample: float) -> None:
        before = self.value
        if before is None:
            self.value = sample
        else:
            self.value = before + (sample - before) * (WEIGHT_UP if sample > before else WEIGHT_DOWN)


class TypePace:
    """What the pace knows of one type."""

    __slots__ = ("job", "share")

    def __init__(self) -> None:
        # Seconds that one job takes.
        self.job = Mean()
        # The share of this type in the last claims.
        self.share = 0.0


class Pace:
    def __init__(self, types: Sequence[HandledType]) -> None:
        self._types = types
        self._paces = PerType(types, TypePace)
        # Seconds from a call that settles and claims to its response.
        self._round_trip = Mean()

    def note_call(self, type: HandledType, seconds: float, jobs: int) -> None:
        """A handler call for `jobs` jobs of a type ended after this time."""
        self._paces.of(type).job.note(max(seconds / jobs, MIN_JOB))

    def note_still_running(self, type: HandledType, seconds: float) -> None:
        """A job has been running for this long, so it takes at least that long."""
        job = self._paces.of(type).job
        if seconds > (job.value or 0):
            job.note(seconds)

    def note_round_trip(self, seconds: float) -> None:
        self._round_trip.note(seconds)

    def note_claim(self, jobs: int, per_type: Mapping[HandledType, int]) -> None:
        """`jobs` jobs were claimed, of these types. The next claims are expected to be like the last ones."""
        kept = FADING**jobs
        for type in self._types:
            pace = self._paces.of(type)
            pace.share = pace.share * kept + (per_type.get(type, 0) / jobs) * (1 - kept)

    def ahead(self, slots: int) -> int:
        """How many jobs `slots` slots will start before another claim can return. Zero while nothing is known."""
        return self._ahead(slots, self._expected_job())

    def ahead_of(self, type: HandledType) -> int:
        """The same for one type only."""
        return self._ahead(type.cap, self._paces.of(type).job.value or UNKNOWN_JOB)

    def _ahead(self, slots: int, job: float) -> int:
        round_trip = (self._round_trip.value or 0) * 1.5
        return int(slots * min(max(round_trip, MIN_AHEAD), MAX_AHEAD) / job)

    def _expected_job(self) -> float:
        """The expected duration of the next job: each type's mean, weighted by its share in the last claims."""
        seconds = shares = 0.0
        for type in self._types:
            pace = self._paces.of(type)
            seconds += pace.share * (pace.job.value or UNKNOWN_JOB)
            shares += pace.share
        return seconds / shares if shares > 0 else UNKNOWN_JOB
