"""Random shares of waits, so that many workers do not act at the same moment."""

from __future__ import annotations

from random import random


def jitter(least: float, most: float) -> float:
    """A random number between both."""
    return least + (most - least) * random()  # noqa: S311 - nothing secret depends on it
