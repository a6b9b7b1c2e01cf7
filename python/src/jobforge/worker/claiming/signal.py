"""How the other parts of a worker reach the loop.

The runner signals when a run has ended, idle and the notifications when a job may be due. Work goes round in a circle
(loop, intake, runner, settlements, loop), and only this class refers back to the loop.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable


# Short handlers may end in one turn of the event loop after the other for this long, before the worker's loop turns.
_LONGEST_GATHERING: Final = 0.01


class LoopSignal:
    __slots__ = ("_is_scheduled", "_loop", "_news", "_seen", "_turn", "_until", "may_be_due", "wake_ups")

    def __init__(self, loop: asyncio.AbstractEventLoop, turn: Callable[[], None]) -> None:
        """`turn` is a turn of the worker's loop."""
        self._loop = loop
        self._turn = turn
        self._is_scheduled = False
        # How often something has happened, and how much of it the last turn of the event loop has seen.
        self._news = 0
        self._seen = 0
        self._until = 0.0
        # Whether a job may be due.
        self.may_be_due = True
        # How often a job was reported as possibly due. If this grows during a claim, an empty response does not show
        # that no job is due.
        self.wake_ups = 0

    def wake(self) -> None:
        """A job may be due: the loop looks for it now."""
        self.note_due()
        self._turn()

    def note_due(self) -> None:
        """A job may be due: the loop looks for it at its next turn."""
        self.may_be_due = True
        self.wake_ups += 1

    def note_claim(self, is_more_due: bool) -> None:
        """A claim has shown whether more jobs are due."""
        self.may_be_due = is_more_due

    def schedule(self) -> None:
        """A run has ended, or a job may start.

        The loop turns once for everything that happens in this turn of the event loop, and in the next ones while each
        of them brings more: the task of a handler starts one turn after the end that freed its slot, and ten jobs at a
        time would make small batches.
        """
        self._news += 1
        if not self._is_scheduled:
            self._is_scheduled = True
            self._seen = self._news
            self._until = monotonic() + _LONGEST_GATHERING
            self._loop.call_soon(self._scheduled)

    def _scheduled(self) -> None:
        if self._news != self._seen and monotonic() < self._until:
            self._seen = self._news
            self._loop.call_soon(self._scheduled)
            return
        self._is_scheduled = False
        self._turn()
