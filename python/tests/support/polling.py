"""Waiting for something to become true, as long as a loaded machine may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE = 60.0
_PAUSE = 0.02


def eventually(holds: Callable[[], object]) -> None:
    """Returns when the condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "It did not become true"
        time.sleep(_PAUSE)


async def eventually_async(holds: Callable[[], object]) -> None:
    """The same on a loop."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "It did not become true"
        await asyncio.sleep(_PAUSE)
