"""The state of an asynchronous client belongs to an event loop, and `asyncio.run` makes a new one for each call."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod

from .errors import InvalidArgumentError


class LoopBound(ABC):
    """Uses one event loop at a time. What belongs to a loop that has ended is forgotten."""

    _loop: asyncio.AbstractEventLoop | None = None
    _process = 0

    def _enter_loop(self) -> None:
        """Must come before each use of the state. Raises if another loop uses it now."""
        loop = asyncio.get_running_loop()
        if loop is self._loop and self._process == os.getpid():
            return
        if self._loop is not None:
            # The loop of a parent looks as if it ran.
            if self._loop.is_running() and self._process == os.getpid():
                raise _used_elsewhere()
            self._forget_loop()
        self._loop, self._process = loop, os.getpid()

    @abstractmethod
    def _forget_loop(self) -> None:
        """The loop has ended, and its tasks with it."""


def _used_elsewhere() -> InvalidArgumentError:
    return InvalidArgumentError(
        "This AsyncJobForge is used by another event loop, which runs at the same time",
        hint="Create one AsyncJobForge in each event loop, or use a JobForge, which threads may share.",
    )
