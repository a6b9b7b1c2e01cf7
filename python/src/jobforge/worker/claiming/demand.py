"""What to claim next: as many jobs as can start now, and those that will start within the next milliseconds.

Never more of a type than its cap allows to start, so that no job has to be handed back.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from ..defaults import MAX_BATCH_SIZE
from ..handled_type import HandledType, PerType
from .protocol import ClaimRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..running.slots import Slots
    from .pace import Pace


class TypeDemand:
    """What the demand knows of one type."""

    __slots__ = ("expected", "was_left_out")

    def __init__(self) -> None:
        # The number of jobs that calls in flight may bring.
        self.expected = 0
        # Whether a claim left this type out, because its cap was reached.
        self.was_left_out = False


class Demand:
    def __init__(
        self, slots: Slots, types: Sequence[HandledType], pace: Pace, *, batch_size: int, prefetch: int
    ) -> None:
        """`batch_size`: the jobs in one call, at most. `prefetch`: the jobs claimed ahead of their start, at most."""
        self._slots = slots
        self._types = types
        self._pace = pace
        self._batch_size = batch_size
        self._prefetch = prefetch
        self._per_type = PerType(types, TypeDemand)
        self._all_names = tuple(type.name for type in types)
        self._batched = [type for type in types if type.batch_size > 1]
        # Whether every type may take every slot, one job per call: then nothing has to be counted per type.
        self._is_uniform = not any(type.is_capped or type.batch_size > 1 for type in types)
        # The number of slots that the jobs of calls in flight may take.
        self._expected = 0
        self._is_narrow_turn = True

    def next(self, limit: float) -> ClaimRequest | None:
        """The next claim, of at most `limit` jobs; None when there is no room for any."""
        return self._to_fill(limit) or self._to_start(int(min(limit, self._batch_size)))

    def expect(self, request: ClaimRequest) -> None:
        """A call goes out: the room for the jobs that it may bring is reserved."""
        self._count(request, request.limit)

    def arrived(self, request: ClaimRequest) -> None:
        """The call has returned, with however many jobs."""
        self._count(request, -request.limit)
        if not request.fills_batches:
            return
        for type in self._batched:
            if type.name in request.types:
                self._slots.expect_more(type, is_more_due=False)

    def stop_filling(self) -> None:
        """No job will be claimed for now: batches start as they are."""
        for type in self._batched:
            self._slots.expect_more(type, is_more_due=False)

    def take_left_out(self, type: HandledType) -> bool:
        """Returns whether a claim has left this type out since the last call of this method."""
        state = self._per_type.of(type)
        was_left_out = state.was_left_out
        state.was_left_out = False
        return was_left_out

    def _to_fill(self, most: float) -> ClaimRequest | None:
        """A claim that fills up the incomplete batches of one type."""
        available = self._slots.available
        if available <= 0:
            return None
        for type in self._batched:
            if not self._slots.expects_more(type) or self._per_type.of(type).expected > 0:
                continue
            calls = min(available, type.cap - self._slots.calls(type))
            room = calls * type.batch_size - self._slots.unstarted(type)
            limit = int(min(most, MAX_BATCH_SIZE, room))
            if limit > 0:
                return ClaimRequest(limit, (type.name,), covers_all=False, fills_batches=True)
            self._slots.expect_more(type, is_more_due=False)
        return None

    def _to_start(self, most: int) -> ClaimRequest | None:
        ahead = min(self._pace.ahead(self._slots.concurrency), self._prefetch)
        room = self._slots.available - self._slots.needed - self._expected
        want = min(most, room + ahead)
        # While every slot is busy, a few more jobs are not worth a call.
        if want < 1 or (room <= 0 and want < ahead / 4):
            return None
        if self._is_uniform:
            return ClaimRequest(want, self._all_names, covers_all=True, fills_batches=False)
        # A batch that expects more jobs is filled by a call of its own.
        open_types = [type for type in self._types if not self._slots.expects_more(type) and self._has_room(type)]
        if not open_types:
            return None
        least = min(self._room(type) for type in open_types)
        if least >= want:
            return self._request(want, open_types, covers_all=True)
        # Some types have less room. Alternate: claim all types up to the least room, then only those with enough room.
        self._is_narrow_turn = not self._is_narrow_turn
        wide = [type for type in open_types if self._room(type) >= want]
        if self._is_narrow_turn or not wide:
            return self._request(int(least), open_types, covers_all=True)
        return self._request(want, wide, covers_all=False)

    def _room(self, type: HandledType) -> float:
        """The number of jobs of the type that can start now or within the next milliseconds."""
        if not type.is_capped:
            return inf
        ahead = min(self._pace.ahead_of(type), self._prefetch)
        calls = type.cap - self._slots.calls(type)
        waiting = self._slots.unstarted(type) + self._per_type.of(type).expected
        return calls * type.batch_size + ahead - waiting

    def _has_room(self, type: HandledType) -> bool:
        has_room = self._room(type) >= 1
        if not has_room:
            self._per_type.of(type).was_left_out = True
        return has_room

    def _request(self, limit: int, types: Sequence[HandledType], *, covers_all: bool) -> ClaimRequest:
        names = self._all_names if len(types) == len(self._types) else tuple(type.name for type in types)
        return ClaimRequest(limit, names, covers_all=covers_all, fills_batches=False)

    def _count(self, request: ClaimRequest, jobs: int) -> None:
        if not request.fills_batches:
            self._expected += jobs
        if self._is_uniform:
            return
        for type in self._types:
            if type.name in request.types:
                self._per_type.of(type).expected += jobs
