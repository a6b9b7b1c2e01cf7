"""Hands back jobs that were claimed ahead and cannot start, because the jobs before them take longer than expected.

Another worker may have a slot for them. It costs them no attempt.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from ..defaults import MAX_SLOT_WAIT, SLOT_WAIT_CHECK

if TYPE_CHECKING:
    import asyncio

    from .runner import Runner
    from .slots import Slots


class Overdue:
    def __init__(self, loop: asyncio.AbstractEventLoop, slots: Slots, runner: Runner) -> None:
        self._loop = loop
        self._slots = slots
        self._runner = runner
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Checks the waiting jobs from time to time, as long as there are any."""
        if self._timer is None and self._slots.needed > 0:
            self._timer = self._loop.call_later(SLOT_WAIT_CHECK, self._check)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if monotonic() - self._slots.waiting_since > MAX_SLOT_WAIT:
            self._runner.note_still_running()
            for run in self._slots.take_unstarted():
                self._runner.hand_back(run)
        self.watch()
