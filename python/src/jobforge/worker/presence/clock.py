"""An estimate of the database's clock, learnt from its responses.

Due times are the database's, and the worker's own clock may differ from it or be set while the worker runs. So the time
since a response is measured with a clock that only goes forward. Times are seconds since 1970.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_ORIGIN: Final = time.time() - time.monotonic()


def own_time() -> float:
    """The time of a clock that only goes forward."""
    return _ORIGIN + time.monotonic()


def parse_time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


class DatabaseClock:
    __slots__ = ("_ahead", "mark")

    def __init__(self, own: Callable[[], float] = own_time) -> None:
        # The worker's own time, for `learn`.
        self.mark = own
        self._ahead = 0.0

    def learn(self, then: str, called_at: float, received_at: float | None = None) -> None:
        """Learns from a response: the database's time was `then` at some moment between the call and its response."""
        stamp = parse_time(then)
        received = self.mark() if received_at is None else received_at
        self._ahead = min(max(self._ahead, stamp - received), stamp - called_at)

    def now(self) -> float:
        return self.mark() + self._ahead

    def until(self, stamp: str) -> float:
        """Seconds until a time of the database; negative when it has passed."""
        return parse_time(stamp) - self.now()

    def after(self, seconds: float) -> str:
        """The database's time this many seconds from now."""
        return datetime.fromtimestamp(self.now() + seconds, UTC).isoformat(timespec="milliseconds")
