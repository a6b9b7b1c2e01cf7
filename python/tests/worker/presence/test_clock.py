"""The worker's estimate of the database's time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobforge.worker.presence.clock import DatabaseClock, parse_time
from jobforge.worker.presence.outage import backoff


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def test_the_estimate_moves_only_as_far_as_responses_prove() -> None:
    own = 1_000.0
    clock = DatabaseClock(lambda: own)

    def respond(ahead: float, sent: float, read: float, received: float) -> None:
        nonlocal own
        own = received
        clock.learn(_iso(read + ahead), sent)

    respond(0, 1_000, 1_000.05, 1_000.1)
    assert clock.now() == own, "the clocks may agree, so no difference is assumed"
    respond(5, 1_000.2, 1_000.21, 1_000.3)
    assert 4.91 <= round(clock.now() - own, 3) <= 5.01
    respond(5, 1_000.4, 1_000.401, 1_000.402)
    assert 0.999 <= round(clock.until(_iso(own + 6)), 3) <= 1.001


def test_a_time_in_the_future_is_on_the_clock_of_the_database() -> None:
    clock = DatabaseClock(lambda: 1_000.0)
    clock.learn(_iso(5_000), 999.9)
    assert parse_time(clock.after(60)) == pytest.approx(5_060, abs=0.2)


def test_retries_wait_longer_each_time_up_to_five_seconds() -> None:
    for times, most in enumerate((0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5)):
        waits = [backoff(times) for _ in range(100)]
        assert min(waits) >= most / 2
        assert max(waits) <= most
    assert backoff(1_000_000) <= 5
