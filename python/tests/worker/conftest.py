"""Workers that end with their test."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import AsyncJobForge
from jobforge.worker import Worker

from .children import Child
from .support import Jobs, KeptLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from jobforge.testing.database import TestDatabase


@pytest.fixture
def jobs(db: TestDatabase) -> Jobs:
    """The jobs in the test's database."""
    return Jobs(db)


@pytest.fixture
def log() -> KeptLog:
    """What the workers of the test have logged."""
    return KeptLog()


class Workers:
    """Makes workers on a database. They write no log, and are stopped with the test."""

    def __init__(self, stack: AsyncExitStack, forge: AsyncJobForge, log: KeptLog) -> None:
        self.forge = forge
        self._stack = stack
        self.log = log

    def make(self, forge: Any = None, **options: Any) -> Worker:
        worker = Worker(forge or self.forge, **{"logger": self.log, "abort_grace": 0.5, **options})
        self._stack.push_async_callback(worker.stop, grace=0)
        return worker

    async def start(self, forge: Any = None, **options: Any) -> Worker:
        worker = self.make(forge, **options)
        await worker.start()
        return worker

    async def forge_at(self, url: str) -> AsyncJobForge:
        """A client of another URL, such as one at another time."""
        return await self._stack.enter_async_context(AsyncJobForge(url))


@pytest.fixture
async def workers(db: TestDatabase, log: KeptLog) -> AsyncIterator[Workers]:
    """Workers on the test's database, with a client of their own."""
    async with AsyncJobForge(db.url) as forge, AsyncExitStack() as stack:
        yield Workers(stack, forge, log)


@pytest.fixture
def children(db: TestDatabase) -> Iterator[Callable[..., Child]]:
    """Starts worker processes, which end with the test: `children("worker", "module", …)`."""
    started: list[Child] = []

    def start(*arguments: str, **options: Any) -> Child:
        child = Child(db.url, arguments, **options)
        started.append(child)
        return child

    yield start
    for child in started:
        child.close()
