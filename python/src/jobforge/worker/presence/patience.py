"""When a tick gives up on a database that fails: at once, unless the worker holds runs.

Those it tries to settle for a while, because their results would be lost.
"""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from ..defaults import TICK_PATIENCE

if TYPE_CHECKING:
    import asyncio

    from ..running.held_runs import HeldRuns


class Patience:
    def __init__(self, loop: asyncio.AbstractEventLoop, held: HeldRuns) -> None:
        self._held = held
        self._failing_since = inf
        # Raises the error of the call that used up the patience.
        self.exhausted: asyncio.Future[None] = loop.create_future()

    def failed(self, error: BaseException) -> None:
        """A call failed and will be repeated."""
        now = monotonic()
        self._failing_since = min(self._failing_since, now)
        is_over = len(self._held) == 0 or now - self._failing_since > TICK_PATIENCE
        if is_over and not self.exhausted.done():
            self.exhausted.set_exception(error)
