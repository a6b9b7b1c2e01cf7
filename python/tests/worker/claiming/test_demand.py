"""What a worker claims next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobforge.worker.claiming.demand import Demand
from jobforge.worker.claiming.pace import Pace
from jobforge.worker.running.slots import Slots

from ..support import run_of, type_called

if TYPE_CHECKING:
    from jobforge.worker.handled_type import HandledType


def _demand(types: list[HandledType], concurrency: int = 10, prefetch: int = 1_000) -> tuple[Demand, Slots, Pace]:
    slots, pace = Slots(concurrency, types), Pace(types)
    return Demand(slots, types, pace, batch_size=500, prefetch=prefetch), slots, pace


def test_as_many_jobs_are_claimed_as_slots_are_free_and_expected_ones_count() -> None:
    a = type_called("a")
    demand, slots, _ = _demand([a])
    request = demand.next(1_000)
    assert request is not None
    assert (request.limit, request.types, request.covers_all) == (10, ("a",), True)
    demand.expect(request)
    assert demand.next(1_000) is None
    demand.arrived(request)
    for number in range(4):
        slots.add(run_of(a, str(number)))
    again = demand.next(1_000)
    assert again is not None
    assert again.limit == 6
    limited = demand.next(2)
    assert limited is not None
    assert limited.limit == 2


def test_fast_jobs_are_claimed_ahead_but_not_by_the_handful_while_all_slots_are_busy() -> None:
    a = type_called("a", concurrency=1)
    demand, slots, pace = _demand([a], concurrency=1)
    pace.note_claim(10, {a: 10})
    pace.note_call(a, 0.00005, 1)
    ahead = pace.ahead(1)
    assert 99 <= ahead <= 100
    slots.add(run_of(a, "running"))
    assert slots.take_next() is not None
    for number in range(90):
        slots.add(run_of(a, str(number)))
    assert demand.next(1_000) is None, "ten more are not worth a call"
    for _ in range(30):
        slots.free(a)
        assert slots.take_next() is not None
    request = demand.next(1_000)
    assert request is not None
    assert request.limit == ahead - 60


def test_a_type_at_its_cap_is_left_out_and_remembered() -> None:
    a, b = type_called("a", cap=1), type_called("b")
    demand, slots, _ = _demand([a, b])
    slots.add(run_of(a, "1"))
    assert slots.take_next() is not None
    request = demand.next(1_000)
    assert request is not None
    assert request.types == ("b",)
    assert demand.take_left_out(a)
    assert not demand.take_left_out(a)
    assert not demand.take_left_out(b)


def test_claims_alternate_between_all_types_and_those_with_much_room() -> None:
    a, b = type_called("a", cap=2), type_called("b")
    demand, _, _ = _demand([a, b])
    first, second = demand.next(1_000), demand.next(1_000)
    assert first is not None
    assert second is not None
    assert {(first.types, first.limit, first.covers_all), (second.types, second.limit, second.covers_all)} == {
        (("b",), 10, False),
        (("a", "b"), 2, True),
    }


def test_an_incomplete_batch_is_filled_by_a_call_of_its_own() -> None:
    a = type_called("a", batch_size=10)
    demand, slots, _ = _demand([a], concurrency=2)
    for number in range(3):
        slots.add(run_of(a, str(number)))
    slots.expect_more(a, is_more_due=True)
    request = demand.next(1_000)
    assert request is not None
    assert (request.limit, request.fills_batches) == (17, True)
    demand.expect(request)
    demand.arrived(request)
    assert not slots.expects_more(a)
