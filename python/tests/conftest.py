"""Databases, servers and clients for tests. Each test has a database of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Literal
from uuid import uuid4

import pytest

from jobforge import AsyncJobForge, JobForge
from jobforge.testing.database import TestDatabase, TestServer

from .support.backend import Backend

Way = Literal["postgres", "http"]
Connect = Callable[..., JobForge]
AsyncConnect = Callable[..., AsyncJobForge]


@pytest.fixture(scope="session")
def backend() -> Iterator[Backend]:
    """The real servers behind the tests."""
    started = Backend()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def jobforge_server(backend: Backend) -> TestServer:
    """The server of the plugin's fixtures."""
    return TestServer(backend.url, backend.template)


@pytest.fixture
def db(jobforge_database: TestDatabase) -> TestDatabase:
    """A database of the test's own."""
    return jobforge_database


@pytest.fixture
def tenant() -> str:
    """A tenant that no other test has."""
    return str(uuid4())


class Ways:
    """Connects clients with the rights of a role, over Postgres or over the server."""

    def __init__(self, backend: Backend, db: TestDatabase) -> None:
        self._backend = backend
        self._db = db
        self._server: str | None = None

    def arguments(self, way: Way, role: str, tenant: str | None = None) -> dict[str, Any]:
        """The arguments of a client."""
        if way == "postgres":
            return {"database": self._db.create_login(role)}
        return {"url": self.server(), "token": self._backend.token(role, tenant)}

    def server(self) -> str:
        """The URL of an HTTP server for the database."""
        if self._server is None:
            roles = ("jobforge_tenant", "jobforge_app", "jobforge_worker", "jobforge_operator", "jobforge_reader")
            self._server = self._backend.serve(self._db.create_login(*roles))
        return self._server

    def close(self) -> None:
        """Ends the server."""
        if self._server is not None:
            self._backend.close_server(self._server)


@pytest.fixture
def ways(backend: Backend, db: TestDatabase) -> Iterator[Ways]:
    """Ways to the test's database."""
    made = Ways(backend, db)
    yield made
    made.close()


@pytest.fixture
def connect(ways: Ways) -> Iterator[Connect]:
    """Opens blocking clients: `connect("http", "jobforge_operator")`."""
    with ExitStack() as stack:

        def opened(way: Way, role: str = "jobforge_operator", tenant: str | None = None) -> JobForge:
            return stack.enter_context(JobForge(**ways.arguments(way, role, tenant)))

        yield opened


@pytest.fixture
async def connect_async(ways: Ways) -> AsyncIterator[AsyncConnect]:
    """Opens asynchronous clients."""
    async with AsyncExitStack() as stack:

        def opened(way: Way, role: str = "jobforge_operator", tenant: str | None = None) -> AsyncJobForge:
            forge = AsyncJobForge(**ways.arguments(way, role, tenant))
            stack.push_async_exit(forge)
            return forge

        yield opened


@pytest.fixture
async def async_forge(db: TestDatabase) -> AsyncIterator[AsyncJobForge]:
    """An asynchronous client with all rights, which is closed on the test's loop."""
    async with AsyncJobForge(db.url) as client:
        yield client
