"""Notices an event loop that does not respond, because a handler blocks it, and names the handlers.

The heartbeat's thread asks from time to time. A worker whose event loop has not responded for minutes is wedged: its
heartbeats stop, so that other workers get its jobs.
"""

from __future__ import annotations

import sys
import traceback
from threading import get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..defaults import BLOCKED_AFTER, WEDGED_AFTER
from ..error_frames import last_own_frame

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from ..reporting.log import WorkerLog
    from ..running.run import Run


class Watchdog:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        log: WorkerLog,
        open_runs: Callable[[], Sequence[Run]],
        *,
        blocked_after: float = BLOCKED_AFTER,
        wedged_after: float = WEDGED_AFTER,
    ) -> None:
        """Must be made on the thread of the event loop."""
        self._loop = loop
        self._thread_id = get_ident()
        self._log = log
        self._open_runs = open_runs
        self._blocked_after = blocked_after
        self._wedged_after = wedged_after
        # How often it should look.
        self.every = blocked_after / 2
        self._asked_at: float | None = None
        self._was_reported = False

    def is_wedged(self, now: float) -> bool:
        """Whether the event loop has not responded for so long that the worker should count as dead."""
        asked_at = self._asked_at
        return asked_at is not None and now - asked_at > self._wedged_after

    def look(self, now: float) -> None:
        """Asks the event loop to respond, or looks how long the response takes. Called by the heartbeat's thread."""
        asked_at = self._asked_at
        if asked_at is None:
            self._asked_at = now
            try:
                self._loop.call_soon_threadsafe(self._respond)
            except RuntimeError:
                # The event loop has been closed. The heartbeat notices it, too.
                return
        elif now - asked_at >= self._blocked_after and not self._was_reported:
            self._was_reported = True
            self._report(now - asked_at)

    def _respond(self) -> None:
        asked_at = self._asked_at
        self._asked_at = None
        if self._was_reported and asked_at is not None:
            self._was_reported = False
            fields = {"duration_ms": round((monotonic() - asked_at) * 1000)}
            self._log.info(fields, "The event loop responds again")

    def _report(self, seconds: float) -> None:
        runs = self._open_runs()
        fields = {
            "duration_ms": round(seconds * 1000),
            "blocked_at": self._place(),
            "running": len(runs),
            "jobs": listed(runs),
        }
        message = (
            "The event loop does not respond, so no job is started or settled: a handler blocks it."
            ' Make the handler a plain def, which runs in a thread, or use run_in="process"'
        )
        self._log.warning(fields, message)
        self._log.flush()

    def _place(self) -> str | None:
        """Where in the application's code the event loop is."""
        frame = sys._current_frames().get(self._thread_id)  # noqa: SLF001 - the documented name
        return None if frame is None else last_own_frame("".join(traceback.format_stack(frame)))


def listed(runs: Sequence[Run], most: int = 20) -> list[dict[str, Any]]:
    """The runs as one log line lists them."""
    return [{"id": run.id, "type": run.type.name, "attempt": run.attempt} for run in runs[:most]]
