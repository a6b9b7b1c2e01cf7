"""When a failed request is repeated."""

from __future__ import annotations

import math
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

from .errors import ConnectorError

if TYPE_CHECKING:
    from ..context import JobContext

_DAY: Final = 86_400
_PROXY_WAIT: Final = 30
"""An operator's proxy that is down is not the fault of a job: it waits this long without losing an attempt."""
_WITH_RETRY_AFTER: Final = (408, 429, 503)
_DATE: Final = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .+")


def has_status(some: Sequence[str], status: int) -> bool:
    """Whether a status is in a list such as `["2xx", "404"]`."""
    return str(status) in some or f"{status // 100}xx" in some


def retry_after_of(status: int, header: str | None, now: float | None = None) -> int | None:
    """The seconds that a response asks to wait: a number or a date. Garbage and past times count as nothing."""
    if status not in _WITH_RETRY_AFTER or header is None:
        return None
    text = header.strip()
    if re.fullmatch(r"[0-9]{1,10}", text):
        seconds = int(text)
    elif _DATE.fullmatch(text):
        try:
            seconds = math.ceil(parsedate_to_datetime(text).timestamp() - (time.time() if now is None else now))
        except (ValueError, OverflowError):
            return None
    else:
        return None
    return min(seconds, _DAY) if seconds > 0 else None


@dataclass(slots=True)
class RetryRules:
    """What decides about a retry."""

    schedule: Sequence[int] | None = None
    """Waits in seconds that the tenant's configuration sets, one after each failure; the last one repeats."""
    is_final: Callable[[ConnectorError], bool] | None = None
    """Whether a failure is final although its code is not."""


async def end_failed(job: JobContext[Any], error: ConnectorError, rules: RetryRules) -> NoReturn:
    """Ends a run whose request failed: as failed for good, or with a retry.

    The wait is the longest of what the policy, the configuration and the server say. What a server asks for is only
    ever lengthened, and all jobs with the same concurrency key wait for it.
    """
    if error.code == "proxy_unavailable":
        job.defer(_PROXY_WAIT, counts=False)
    asked = error.details.get("retry_after") or 0
    if asked > 0:
        await _hold_key(job, asked)
    if error.is_final or (rules.is_final is not None and rules.is_final(error)):
        job.fail(str(error), error.details)
    scheduled = rules.schedule[min(job.attempt, len(rules.schedule)) - 1] if rules.schedule else 0
    if asked == 0 and scheduled == 0:
        raise error
    jitter = 1 + random.random() * 0.1  # noqa: S311 - it spreads load
    job.retry_after(min(_DAY, max(scheduled, asked * jitter)), error, at_least=scheduled == 0)


async def _hold_key(job: JobContext[Any], seconds: float) -> None:
    """The failure of the request is what the run must end with, so a hold that fails is only logged."""
    try:
        await job.hold_key(seconds, "The server asked to wait (Retry-After).")
    except Exception as error:  # noqa: BLE001 - whatever it is
        job.log.warning("The concurrency key could not be held", error=str(error))
