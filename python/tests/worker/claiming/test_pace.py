"""How many jobs a worker claims ahead of their start."""

from __future__ import annotations

from jobforge.worker.claiming.caller import Caller
from jobforge.worker.claiming.pace import Pace
from jobforge.worker.claiming.protocol import ClaimRequest

from ..support import type_called


def test_nothing_is_claimed_ahead_while_nothing_is_known_or_jobs_are_slow() -> None:
    type = type_called("a")
    pace = Pace([type])
    assert pace.ahead(10) == 0
    pace.note_claim(1, {type: 1})
    assert pace.ahead(10) == 0
    pace.note_call(type, 1.0, 1)
    assert pace.ahead(10) == 0


def test_hundreds_are_claimed_ahead_when_jobs_take_microseconds() -> None:
    type = type_called("a")
    pace = Pace([type])
    pace.note_claim(10, {type: 10})
    pace.note_call(type, 0.00002, 1)
    assert pace.ahead(10) > 1_000


def test_the_pace_is_careful_when_one_job_in_a_hundred_is_slow_or_of_an_unknown_type() -> None:
    fast, slow = type_called("fast"), type_called("slow")
    pace = Pace([fast, slow])
    pace.note_claim(100, {fast: 100})
    pace.note_call(fast, 0.00002, 1)
    assert pace.ahead(10) > 1_000
    pace.note_claim(100, {fast: 99, slow: 1})
    assert pace.ahead(10) < 10
    pace.note_call(slow, 10, 1)
    assert pace.ahead(10) == 0


def test_a_longer_round_trip_makes_the_worker_claim_more_ahead_up_to_a_limit() -> None:
    type = type_called("a")
    pace = Pace([type])
    pace.note_claim(10, {type: 10})
    pace.note_call(type, 0.001, 1)
    assert 49 <= pace.ahead(10) <= 50
    pace.note_round_trip(0.010)
    assert 149 <= pace.ahead(10) <= 150
    pace.note_round_trip(10)
    assert 199 <= pace.ahead(10) <= 200


def test_hints_are_kept_for_each_list_of_types_and_there_are_few_of_them() -> None:
    caller = Caller()
    requests = [ClaimRequest(1, (f"t{n}",), covers_all=True, fills_batches=False) for n in range(17)]
    for number, request in enumerate(requests[:16]):
        caller.keep_hint(request, {"n": number})
    assert caller.hint_for(requests[3]) == {"n": 3}
    assert caller.hint_for(requests[16]) is None
    caller.keep_hint(requests[16], {"n": 16})
    assert caller.hint_for(requests[16]) == {"n": 16}
    assert caller.hint_for(requests[3]) is None
