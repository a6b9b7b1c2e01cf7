"""What waiting for a result needs, apart from the waiting itself."""

from __future__ import annotations

import random
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from .errors import (
    ConnectionError,
    InvalidValueError,
    JobCanceledError,
    JobFailedError,
    JobForgeError,
    JobNotFoundError,
    WaitTimeoutError,
)
from .words import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .definition import JobDefinition
    from .records import Job

WATCH_AGAIN: Final = 8 * 60.0
"""In the kernel, a watch lasts ten minutes."""
_PATIENCE: Final = 60.0


class Patience:
    """Tolerates a database that cannot be reached, for example during a restart, for up to a minute."""

    def __init__(self) -> None:
        self._since: float | None = None

    def reset(self) -> None:
        """The database has responded."""
        self._since = None

    def tolerate(self, error: JobForgeError) -> None:
        """Raises the error if it is not temporary, or lasts too long."""
        if self._since is None:
            self._since = monotonic()
        is_temporary = isinstance(error, ConnectionError) and error.retryable
        if not is_temporary or monotonic() - self._since > _PATIENCE:
            raise error


class Countdown:
    """The time that a waiter has left."""

    def __init__(self, job_id: str, timeout: float | None, what: str = "Job") -> None:
        self._job_id = job_id
        self._what = what
        self._timeout = timeout
        self._end = None if timeout is None else monotonic() + timeout

    def left(self) -> float | None:
        """Seconds; None for no limit. Raises a WaitTimeoutError when the time is over."""
        if self._end is None:
            return None
        left = self._end - monotonic()
        if left <= 0:
            raise self.error()
        return left

    def is_over(self) -> bool:
        """Whether no time is left."""
        return self._end is not None and monotonic() >= self._end

    def error(self) -> WaitTimeoutError:
        """The error of a waiter whose time is over."""
        return WaitTimeoutError(self._job_id, self._timeout or 0, self._what)

    def require_time(self) -> None:
        """Raises a WaitTimeoutError when the time is over."""
        self.left()

    def call_limit(self) -> float | None:
        """The time limit of one call; None for the usual one."""
        if self._timeout == 0:
            # Who does not want to wait gets the result of a job that has ended.
            return None
        left = self.left()
        return None if left is None or left > DEFAULT_TIMEOUT else left

    def limit(self, seconds: float) -> float:
        """The seconds, or what is left if that is less."""
        left = self.left()
        return seconds if left is None else min(seconds, left)


def sleep_before(looks: int, *, is_listening: bool) -> float:
    """Grows with the number of looks, with jitter. It is longer while notifications arrive."""
    first, longest = (1.0, 10.0) if is_listening else (0.05, 2.0)
    return min(longest, first * 1.5 ** min(looks, 20)) * (0.75 + random.random() / 2)  # noqa: S311 - jitter


def has_ended(outcome: Mapping[str, Any]) -> bool:
    """Whether a job has finished."""
    return outcome["status"] not in ("queued", "running")


def output_of(definition: JobDefinition[Any, Any] | None, result: Any) -> Any:
    """The output for a waiting caller. A handler that returned nothing has no result, so this returns None."""
    if definition is None:
        return result
    try:
        return definition.output.load(result, "output")
    except InvalidValueError:
        if result is None:
            return None
        raise


def failure_of(job_id: str, job: Job | None) -> JobForgeError:
    """The error of a job that did not succeed."""
    if job is None:
        return JobNotFoundError(job_id)
    return JobCanceledError(job) if job.status == "canceled" else JobFailedError(job)
