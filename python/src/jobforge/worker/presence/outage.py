"""Trouble with the database: when each activity retries, and what is logged.

The first failure begins an outage, with one log line. The outage is over when every activity that failed works again,
with another line. In between nothing is logged, however often calls fail.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Literal

from ...describe_error import describe_error
from ...failure import failure_line
from ..defaults import FIRST_RETRY_DELAY, MAX_RETRY_DELAY
from ..errors import sql_state
from ..jitter import jitter

if TYPE_CHECKING:
    from ..reporting.hooks import HookCaller
    from ..reporting.log import WorkerLog

Activity = Literal["work", "claim", "heartbeat", "listen"]


class Outage:
    def __init__(self, log: WorkerLog, hooks: HookCaller) -> None:
        self._log = log
        self._hooks = hooks
        # The activities that fail now, and how often in a row.
        self._failing: dict[Activity, int] = {}
        self._since = 0.0

    def is_failing(self, activity: Activity) -> bool:
        return activity in self._failing

    def failed(self, activity: Activity, error: BaseException) -> float:
        """Notes a failure. Returns the seconds after which to retry: exponential, with jitter, limited."""
        if not self._failing:
            self._since = monotonic()
            code = sql_state(error)
            self._log.error(
                {"activity": activity, "error": failure_line(describe_error(error)), "code": code},
                "Database trouble: retrying until it is over",
            )
            self._hooks.trouble(error, activity, code)
        times = self._failing.get(activity, 0)
        self._failing[activity] = times + 1
        return backoff(times)

    def worked(self, activity: Activity) -> None:
        """Notes that the activity works."""
        if not self._failing or self._failing.pop(activity, None) is None or self._failing:
            return
        duration = monotonic() - self._since
        self._log.info({"duration_ms": round(duration * 1000)}, "Database trouble is over")
        self._hooks.trouble_over(duration)

    def forget(self, activity: Activity) -> None:
        """The activity has stopped, so it no longer counts as failing."""
        self._failing.pop(activity, None)


def backoff(times: int) -> float:
    """Between half and all of 100 ms, doubled for each earlier failure, and at most five seconds."""
    return min(MAX_RETRY_DELAY, FIRST_RETRY_DELAY * (1 << min(times, 20))) * jitter(0.5, 1)
