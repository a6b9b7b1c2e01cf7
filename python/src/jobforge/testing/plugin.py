"""Fixtures for pytest. They are there as soon as the package is installed; each test gets a database of its own.

The server is a Postgres whose role may create databases and roles: `pytest --jobforge-server postgresql://…`, or the
variable JOBFORGE_TEST_SERVER. It must be one for tests.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from ..aio.forge import AsyncJobForge
    from ..blocking.forge import JobForge
    from ..worker import TickSummary
    from .database import TestDatabase, TestServer


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    group = parser.getgroup("jobforge")
    group.addoption("--jobforge-server", help="The URL of a Postgres for tests, as a role that may create databases.")


@pytest.fixture(scope="session")
def jobforge_server(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """A server with a migrated template. Override it to prepare the template with tables of your own."""
    from ..transport.driver import require_psycopg

    require_psycopg()
    from .database import prepared_server

    url = request.config.getoption("--jobforge-server") or os.environ.get("JOBFORGE_TEST_SERVER")
    if not url:
        raise pytest.UsageError("Pass --jobforge-server postgresql://…, or set JOBFORGE_TEST_SERVER.")
    with prepared_server(url) as server:
        yield server


@pytest.fixture
def jobforge_database(jobforge_server: TestServer) -> Iterator[TestDatabase]:
    """A migrated database of the test's own. It is dropped afterwards."""
    from .database import TestDatabase

    database = TestDatabase(jobforge_server)
    yield database
    database.drop()


@pytest.fixture
def forge(jobforge_database: TestDatabase) -> Iterator[AsyncJobForge]:
    """An asynchronous client of the test's database, with all rights."""
    from ..aio.forge import AsyncJobForge

    client = AsyncJobForge(jobforge_database.url)
    yield client
    # The loop of the test has ended, so nothing can be awaited.
    client.transport.abandon()


@pytest.fixture
def blocking_forge(jobforge_database: TestDatabase) -> Iterator[JobForge]:
    """A blocking client of the test's database, with all rights."""
    from ..blocking.forge import JobForge

    with JobForge(jobforge_database.url) as client:
        yield client


@pytest.fixture
def drain(forge: AsyncJobForge) -> Callable[..., Coroutine[Any, Any, TickSummary]]:
    """Runs all due jobs: `await drain([app.tasks])`."""
    from .jobs import drain

    def run(handlers: Any, *, forge: AsyncJobForge = forge, **options: Any) -> Coroutine[Any, Any, TickSummary]:
        return drain(forge, handlers, **options)

    return run


@pytest.fixture
def blocking_drain(jobforge_database: TestDatabase) -> Callable[..., TickSummary]:
    """`drain` for tests that are a plain `def`: `blocking_drain([app.tasks])`."""
    from ..aio.forge import AsyncJobForge
    from .jobs import drain

    async def work(handlers: Any, options: dict[str, Any]) -> TickSummary:
        async with AsyncJobForge(jobforge_database.url) as client:
            return await drain(client, handlers, **options)

    def run(handlers: Any, **options: Any) -> TickSummary:
        return asyncio.run(work(handlers, options))

    return run


@pytest.fixture
def travel(jobforge_database: TestDatabase) -> Callable[[str], AsyncJobForge]:
    """A client whose clock is moved: `async with travel("1 hour") as later: …`."""
    from ..aio.forge import AsyncJobForge

    return lambda offset: AsyncJobForge(jobforge_database.url_at(offset))
