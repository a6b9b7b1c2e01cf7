"""Lets a tick look again.

A claim may return less than is due: another claim, which has not committed yet, holds what it is about to make ready. A
worker that runs until it is stopped looks again a moment later. A tick would end, and the jobs would wait for the next
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..defaults import FIRST_DUE_RETRY, TICK_LOOKS
from .clock import parse_time

if TYPE_CHECKING:
    import asyncio

    from ..claiming.signal import LoopSignal


class LookAgain:
    def __init__(self, loop: asyncio.AbstractEventLoop, signal: LoopSignal) -> None:
        self._loop = loop
        self._signal = signal
        self._timer: asyncio.TimerHandle | None = None
        self._looks = 0

    @property
    def is_pending(self) -> bool:
        """Whether it will look again."""
        return self._timer is not None

    def found(self) -> None:
        """A claim has returned jobs."""
        self._looks = 0

    def drained(self, next_due_at: str | None, now: str) -> None:
        """A claim has returned less than it asked for. Looks again, a few times, if something is due all the same."""
        if next_due_at is None or self._looks >= TICK_LOOKS or parse_time(next_due_at) > parse_time(now):
            return
        self.stop()
        self._timer = self._loop.call_later(FIRST_DUE_RETRY * 2**self._looks, self._look)
        self._looks += 1

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        self._signal.wake()
