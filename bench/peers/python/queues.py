"""What differs between the contestants in Python. Each library implements this class in a module of its own."""

import asyncio
import dataclasses
import os
from collections.abc import Awaitable, Callable
from typing import Any

from measures import Measures, epoch_ms

Stop = Callable[[], Awaitable[None]]


class Unsupported(Exception):
    """A feature that a queue does not have. Contains the reason."""


class FailsFirst(Exception):
    """A job that is meant to fail in its first execution."""


@dataclasses.dataclass(frozen=True)
class Order:
    """What a worker is to do."""

    sleep: float
    concurrency: int | None
    measures: Measures

    async def run(self, job: dict[str, Any], execution: int) -> None:
        """Runs one execution of a job. `execution` counts from 1."""
        began = epoch_ms()
        if execution == 1:
            self.measures.wait(job["tenant"], began - job["t"])
            if job.get("fail"):
                raise FailsFirst
        if self.sleep > 0:
            await asyncio.sleep(self.sleep)
        self.measures.ended(began)


class Queue:
    """A library with its settings."""

    # The name of the package, for its version.
    package: str
    # The number of jobs in one bulk call.
    bulk = 1000
    # What it keeps of finished jobs, and its settings, for the report.
    keeps: str
    settings: str

    def __init__(self, *, best: bool) -> None:
        self.best = best
        self.url = os.environ["DATABASE_URL"]

    async def prepare(self) -> None:
        """Creates the tables, if necessary."""
        raise NotImplementedError

    async def open(self, calls: int) -> None:
        """Makes ready for this many concurrent calls of `send`."""
        raise NotImplementedError

    async def send(self, job: dict[str, Any], delay: float) -> None:
        raise NotImplementedError

    async def send_many(self, jobs: list[dict[str, Any]], delay: float) -> None:
        raise NotImplementedError

    async def work(self, order: Order) -> Stop:
        """Starts a worker. Returns when it is ready, a function that stops it after its ends are written."""
        raise NotImplementedError

    async def close(self) -> None:
        """Closes what `open` has opened."""
        raise NotImplementedError
