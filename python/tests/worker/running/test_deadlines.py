"""Deadlines of runs, which share one timer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobforge.worker.running.deadlines import Deadlines

from ..support import run_of, type_called

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


class FakeLoop:
    """An event loop whose time the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[FakeTimer] = []

    def time(self) -> float:
        return self.now

    def call_at(self, at: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self, at, callback)
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        self.now += seconds
        while due := [timer for timer in self.timers if timer.at <= self.now]:
            self.timers.remove(due[0])
            due[0].callback()


class FakeTimer:
    def __init__(self, loop: FakeLoop, at: float, callback: Callable[[], None]) -> None:
        self.loop, self.at, self.callback = loop, at, callback

    def cancel(self) -> None:
        if self in self.loop.timers:
            self.loop.timers.remove(self)


def test_deadlines_are_reached_in_order_with_one_timer_unless_they_are_cleared() -> None:
    loop: Any = FakeLoop()
    as_loop: asyncio.AbstractEventLoop = loop
    deadlines = Deadlines(as_loop)
    reached: list[str] = []
    type = type_called("a")
    first, second, third = (run_of(type, id) for id in ("1", "2", "3"))
    deadlines.set(third, 0.3, lambda run: reached.append(run.id))
    deadlines.set(first, 0.1, lambda run: reached.append(run.id))
    deadlines.set(second, 0.2, lambda run: reached.append(run.id))
    assert len(loop.timers) == 1
    deadlines.clear(second)
    loop.advance(0.15)
    assert reached == ["1"]
    loop.advance(1)
    assert reached == ["1", "3"]
    assert loop.timers == []
