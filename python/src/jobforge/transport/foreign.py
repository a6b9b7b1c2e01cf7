"""The caller's own connection or session: psycopg, SQLAlchemy, asyncpg, Django.

Libraries are recognized by their classes' modules, because none of them is a dependency. A call is one statement whose
parameters are texts, so no driver's connection has to be unwrapped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from ..error_mapping import from_driver_error
from ..errors import InvalidArgumentError
from .statement import FORMAT, NAMED, NUMBERED, Placeholder, Statement, Statements, text_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from .base import AsyncListener, AsyncTransacting, AsyncTransport, Listener, ListenEvents, Transacting, Transport

_IDLE: Final = 0
"""psycopg's transaction status of a connection without a transaction."""


class Write(Protocol):
    """Makes the writer of statements for a way to write parameters."""

    def __call__(self, write: Placeholder) -> Statements: ...


class ForeignTransport:
    """Calls in a transaction that the caller begins and ends."""

    can_listen = False
    can_transact = False
    is_transaction = True
    max_connections = 1

    def __init__(self, statements: Statements, fetch: Callable[[Statement], object]) -> None:
        self._statements = statements
        self._fetch = fetch

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        """As for every transport, but without a time limit: the connection's own settings apply."""
        del timeout
        statement = self._statements.call(name, args)
        try:
            return text_of(self._fetch(statement))
        except Exception as error:
            raise from_driver_error(error) from error

    def listen(self, channels: Sequence[str], events: ListenEvents) -> Listener:
        del channels, events
        _in_transaction()

    def transaction(self) -> AbstractContextManager[Transacting]:
        _in_transaction()

    def close(self) -> None:
        """The connection belongs to the caller."""

    def abandon(self) -> None:
        """The connection belongs to the caller."""


class AsyncForeignTransport:
    """The same for an event loop."""

    can_listen = False
    can_transact = False
    is_transaction = True
    max_connections = 1

    def __init__(self, statements: Statements, fetch: Callable[[Statement], Awaitable[object]]) -> None:
        self._statements = statements
        self._fetch = fetch

    async def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        """As for every transport, but without a time limit: the connection's own settings apply."""
        del timeout
        statement = self._statements.call(name, args)
        try:
            return text_of(await self._fetch(statement))
        except Exception as error:
            raise from_driver_error(error) from error

    async def listen(self, channels: Sequence[str], events: ListenEvents) -> AsyncListener:
        del channels, events
        _in_transaction()

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransacting]:
        _in_transaction()

    def blocking(self) -> Transport:
        _in_transaction()

    async def close(self) -> None:
        """The connection belongs to the caller."""

    def abandon(self) -> None:
        """The connection belongs to the caller."""


def foreign_transport(connection: Any, write: Write) -> Transport:
    """Calls on a blocking connection or session of the caller. Raises an InvalidArgumentError for anything else."""
    modules = _modules_of(connection)
    if "psycopg" in modules and hasattr(connection, "pgconn"):
        if _is_async(connection):
            raise _wrong_client("AsyncJobForge")
        _require_psycopg_transaction(connection)
        return ForeignTransport(write(NUMBERED), lambda statement: _fetch_psycopg(connection, statement))
    if "sqlalchemy" in modules and hasattr(connection, "execute"):
        if _is_async(connection):
            raise _wrong_client("AsyncJobForge")
        return ForeignTransport(write(NAMED), lambda statement: _fetch_sqlalchemy(connection, statement))
    if getattr(connection, "vendor", None) == "postgresql":
        if not connection.in_atomic_block and connection.get_autocommit():
            raise no_transaction()
        return django_transport(connection, write)
    if "asyncpg" in modules:
        raise _wrong_client("AsyncJobForge")
    raise _not_a_connection()


def django_transport(connection: Any, write: Write) -> Transport:
    """Calls on a connection of Django, in its transaction if there is one."""
    return ForeignTransport(write(FORMAT), lambda statement: _fetch_django(connection, statement))


def async_foreign_transport(connection: Any, write: Write) -> AsyncTransport:
    """Calls on an asynchronous connection or session of the caller."""
    modules = _modules_of(connection)
    if "psycopg" in modules and hasattr(connection, "pgconn"):
        if not _is_async(connection):
            raise _wrong_client("JobForge")
        _require_psycopg_transaction(connection)
        return AsyncForeignTransport(write(NUMBERED), lambda statement: _fetch_async_psycopg(connection, statement))
    if "sqlalchemy" in modules and hasattr(connection, "execute"):
        if not _is_async(connection):
            raise _wrong_client("JobForge")
        return AsyncForeignTransport(write(NAMED), lambda statement: _fetch_async_sqlalchemy(connection, statement))
    if "asyncpg" in modules and hasattr(connection, "fetchrow") and hasattr(connection, "is_in_transaction"):
        if not connection.is_in_transaction():
            raise no_transaction()
        return AsyncForeignTransport(write(NUMBERED), lambda statement: _fetch_asyncpg(connection, statement))
    raise _not_a_connection()


def _modules_of(connection: object) -> set[str]:
    """The packages that the classes of an object come from."""
    return {kind.__module__.split(".", 1)[0] for kind in type(connection).__mro__}


def _is_async(connection: object) -> bool:
    names = (kind.__name__ for kind in type(connection).__mro__)
    return any("async" in name.lower() for name in names)


def _require_psycopg_transaction(connection: Any) -> None:
    # Without autocommit, psycopg begins the transaction with the first statement.
    if connection.autocommit and connection.info.transaction_status == _IDLE:
        raise no_transaction()


def _fetch_psycopg(connection: Any, statement: Statement) -> object:
    from psycopg import RawCursor
    from psycopg.rows import tuple_row

    with RawCursor(connection, row_factory=tuple_row) as cursor:
        row = cursor.execute(statement.text.encode(), statement.values, prepare=False).fetchone()
    return row[statement.place] if row else None


async def _fetch_async_psycopg(connection: Any, statement: Statement) -> object:
    from psycopg import AsyncRawCursor
    from psycopg.rows import tuple_row

    async with AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(statement.text.encode(), statement.values, prepare=False)
        row = await cursor.fetchone()
    return row[statement.place] if row else None


def _sqlalchemy_call(statement: Statement) -> tuple[Any, dict[str, str | None]]:
    from sqlalchemy import text

    return text(statement.text), {f"p{index}": value for index, value in enumerate(statement.values, 1)}


def _fetch_sqlalchemy(session: Any, statement: Statement) -> object:
    row = session.execute(*_sqlalchemy_call(statement)).one()
    return row[statement.place]


async def _fetch_async_sqlalchemy(session: Any, statement: Statement) -> object:
    row = (await session.execute(*_sqlalchemy_call(statement))).one()
    return row[statement.place]


async def _fetch_asyncpg(connection: Any, statement: Statement) -> object:
    row = await connection.fetchrow(statement.text, *statement.values)
    return row[statement.place]


def _fetch_django(connection: Any, statement: Statement) -> object:
    with connection.cursor() as cursor:
        cursor.execute(statement.text, statement.values)
        row = cursor.fetchone()
    return row[statement.place]


def no_transaction() -> InvalidArgumentError:
    """A call that would run outside of the caller's transaction."""
    return InvalidArgumentError(
        "forge.on() was called outside of a transaction, or after its end",
        code="25P01",
        kind="no_transaction",
        field="connection",
        hint="Begin the transaction first. To call without a transaction, use forge itself.",
    )


def _in_transaction() -> NoReturn:
    raise InvalidArgumentError("This is not possible in a transaction of the caller")


def _wrong_client(name: str) -> InvalidArgumentError:
    kind = "an asynchronous" if name.startswith("Async") else "a blocking"
    message = f"Invalid argument: connection is {kind} one"
    return InvalidArgumentError(message, field="connection", hint=f"Use {name} with it.")


def _not_a_connection() -> InvalidArgumentError:
    return InvalidArgumentError(
        "This is not a connection that JobForge can use",
        field="connection",
        hint="Pass a connection of psycopg or asyncpg, a session or connection of SQLAlchemy, or "
        "django.db.connection. Not an engine, and not a pool.",
    )
