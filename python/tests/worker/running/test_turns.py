"""The order in which claimed jobs start."""

from __future__ import annotations

from math import inf

from jobforge.worker.fifo import Fifo
from jobforge.worker.running.slots import Slots
from jobforge.worker.running.turns import Turns

from ..support import run_of, type_called

a = type_called("a")


def _order(turns: Turns) -> list[str]:
    return [run.id for run in turns.take_all()]


def test_tenants_take_turns_and_jobs_of_a_tenant_keep_their_order() -> None:
    turns = Turns()
    for id in ("x1", "x2", "x3", "y1", "z1", "y2"):
        turns.push(run_of(a, id, tenant=id[0]))
    assert turns.first is not None
    assert turns.first.id == "x1"
    assert len(turns) == 6
    assert _order(turns) == ["x1", "y1", "z1", "x2", "y2", "x3"]
    assert len(turns) == 0
    assert turns.shift() is None


def test_a_new_tenant_is_served_after_one_job_of_each_waiting_tenant() -> None:
    turns = Turns()
    for number in range(1, 101):
        turns.push(run_of(a, f"flood {number}", tenant="flood"))
    assert turns.shift() is not None
    turns.push(run_of(a, "first", tenant="new"))
    assert _order(turns)[:3] == ["flood 2", "first", "flood 3"]


def test_priority_comes_first_whenever_jobs_were_claimed() -> None:
    turns = Turns()
    for id, priority, tenant in (
        ("usual", 0, "t"),
        ("low", -5, "t"),
        ("urgent", 9, "t"),
        ("high", 5, "t"),
        ("urgent too", 9, "u"),
    ):
        turns.push(run_of(a, id, priority=priority, tenant=tenant))
    assert _order(turns) == ["urgent", "urgent too", "high", "usual", "low"]


def test_the_turns_know_how_long_the_oldest_job_has_waited() -> None:
    turns = Turns()
    assert turns.waiting_since == inf
    turns.push(run_of(a, "late", at=30, priority=1))
    turns.push(run_of(a, "early", at=10, tenant="y"))
    turns.push(run_of(a, "middle", at=20, tenant="z"))
    assert turns.waiting_since == 10
    assert _order(turns)[:2] == ["late", "early"]


def test_a_job_whose_type_is_at_its_cap_lets_the_others_pass() -> None:
    capped, free = type_called("capped", cap=1), type_called("free")
    slots = Slots(3, [capped, free])
    for run in (run_of(capped, "c1"), run_of(capped, "c2"), run_of(free, "f1")):
        slots.add(run)
    started = []
    while (runs := slots.take_next()) is not None:
        started += [run.id for run in runs]
    assert started == ["c1", "f1"]
    slots.free(capped)
    following = slots.take_next()
    assert following is not None
    assert [run.id for run in following] == ["c2"]
    assert slots.busy == 2
    assert [run.id for run in slots.take_unstarted()] == []


def test_a_batch_is_one_slot_and_starts_when_it_is_full_or_nothing_more_is_due() -> None:
    batched = type_called("b", batch_size=3)
    slots = Slots(2, [batched])
    slots.expect_more(batched, is_more_due=True)
    for number in range(4):
        slots.add(run_of(batched, str(number)))
    assert slots.needed == 2
    first = slots.take_next()
    assert first is not None
    assert len(first) == 3
    assert slots.take_next() is None
    slots.expect_more(batched, is_more_due=False)
    rest = slots.take_next()
    assert rest is not None
    assert len(rest) == 1
    assert slots.available == 0


def test_a_queue_returns_its_items_in_order_one_by_one_and_many_at_a_time() -> None:
    queue: Fifo[int] = Fifo()
    for number in range(5_000):
        queue.push(number)
    assert queue.shift() == 0
    assert queue.take(1_500) == list(range(1, 1_501))
    assert queue.first == 1_501
    queue.push(5_000)
    assert len(queue.take(10_000)) == 3_500
    assert len(queue) == 0
    assert queue.shift() is None
