"""Enqueueing in the caller's own transaction, with every library that the guide names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg
import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from jobforge import InvalidArgumentError, InvalidValueError, define_job

if TYPE_CHECKING:
    from jobforge import AsyncJobForge, JobForge
    from jobforge.testing.database import TestDatabase

mail = define_job("mail.send")
Open: TypeAlias = Callable[[str], AbstractContextManager[Any]]
AsyncOpen: TypeAlias = Callable[[str], AbstractAsyncContextManager[Any]]


class OwnError(Exception):
    """What the caller's own code raises."""


@contextmanager
def with_psycopg(url: str) -> Iterator[Any]:
    with psycopg.connect(url) as connection, connection.transaction():
        yield connection


@contextmanager
def with_sqlalchemy_session(url: str) -> Iterator[Any]:
    engine = create_engine(url.replace("postgres://", "postgresql+psycopg://"))
    try:
        with Session(engine) as session, session.begin():
            yield session
    finally:
        engine.dispose()


@contextmanager
def with_sqlalchemy_connection(url: str) -> Iterator[Any]:
    engine = create_engine(url.replace("postgres://", "postgresql+psycopg://"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@pytest.mark.parametrize("opened", [with_psycopg, with_sqlalchemy_session, with_sqlalchemy_connection])
def test_a_job_is_enqueued_with_the_commit(
    blocking_forge: JobForge, db: TestDatabase, tenant: str, opened: Open
) -> None:
    forge = blocking_forge
    with opened(db.url) as connection:
        handle = forge.on(connection).enqueue(mail, {"to": "ada"}, tenant=tenant, tags=["a:b", "100%"])
        assert handle.outcome == "created"
        assert handle.get() is None
        many = forge.on(connection).enqueue_many([mail.new({"n": n}) for n in range(3)], tenant=tenant)
        assert len(many) == 3
        assert forge.on(connection).schedules.ensure(mail, "s", tenant=tenant, every=60).outcome == "created"
        assert forge.on(connection).schedules.lock(mail, "s", tenant=tenant).key == "s"
    found = handle.get()
    assert found is not None
    assert (found.payload, found.tags) == ({"to": "ada"}, ["a:b", "100%"])
    lost = handle
    with pytest.raises(OwnError), opened(db.url) as connection:
        lost = forge.on(connection).enqueue(mail, {}, tenant=tenant)
        raise OwnError
    assert lost.get() is None


@asynccontextmanager
async def with_async_psycopg(url: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(url) as connection, connection.transaction():
        yield connection


@asynccontextmanager
async def with_asyncpg(url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def with_asyncpg_pool(url: str) -> AsyncIterator[Any]:
    async with (
        asyncpg.create_pool(url, min_size=1, max_size=1) as pool,
        pool.acquire() as connection,
        connection.transaction(),
    ):
        yield connection


def with_async_session(driver: str) -> AsyncOpen:
    @asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Any]:
        engine = create_async_engine(url.replace("postgres://", f"postgresql+{driver}://"))
        try:
            async with AsyncSession(engine) as session, session.begin():
                yield session
        finally:
            await engine.dispose()

    return opened


@pytest.mark.parametrize(
    "opened",
    [
        with_async_psycopg,
        with_asyncpg,
        with_asyncpg_pool,
        with_async_session("psycopg"),
        with_async_session("asyncpg"),
    ],
    ids=["psycopg", "asyncpg", "asyncpg-pool", "sqlalchemy-psycopg", "sqlalchemy-asyncpg"],
)
async def test_a_job_is_enqueued_with_the_commit_on_a_loop(
    async_forge: AsyncJobForge, db: TestDatabase, tenant: str, opened: AsyncOpen
) -> None:
    forge = async_forge
    async with opened(db.url) as connection:
        handle = await forge.on(connection).enqueue(mail, {"to": "ada"}, tenant=tenant, delay=60, tags=["a"])
        assert handle.outcome == "created"
        assert await handle.get() is None
    found = await handle.get()
    assert found is not None
    assert found.payload == {"to": "ada"}
    lost = handle
    with pytest.raises(OwnError):
        async with opened(db.url) as connection:
            lost = await forge.on(connection).enqueue(mail, {}, tenant=tenant)
            raise OwnError
    assert await lost.get() is None


async def test_a_call_outside_of_a_transaction_is_refused(async_forge: AsyncJobForge, db: TestDatabase) -> None:
    connection = await asyncpg.connect(db.url)
    with pytest.raises(InvalidArgumentError) as refused:
        async_forge.on(connection)
    assert refused.value.kind == "no_transaction"
    await connection.close()
    async with await psycopg.AsyncConnection.connect(db.url, autocommit=True) as own:
        with pytest.raises(InvalidArgumentError):
            async_forge.on(own)
    with psycopg.connect(db.url) as blocking, pytest.raises(InvalidArgumentError) as wrong:
        async_forge.on(blocking)
    assert wrong.value.hint == "Use JobForge with it."


@pytest.mark.parametrize("connection", [None, "postgresql://h/d", object()])
def test_what_is_no_connection_is_refused(blocking_forge: JobForge, connection: Any) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        blocking_forge.on(connection)
    assert refused.value.field == "connection"


def test_a_mistake_leaves_the_transaction_usable(blocking_forge: JobForge, db: TestDatabase, tenant: str) -> None:
    typed = define_job("typed", input=int)
    with psycopg.connect(db.url) as connection:
        with pytest.raises(InvalidValueError):
            blocking_forge.on(connection).enqueue(typed, "x", tenant=tenant)  # type: ignore[misc]
        handle = blocking_forge.on(connection).enqueue(typed, 1, tenant=tenant)
    assert handle.get() is not None
