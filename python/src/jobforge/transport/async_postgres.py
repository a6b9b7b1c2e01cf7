"""The asynchronous transport over Postgres, with psycopg, for one event loop.

Each statement runs in a task of its own. A caller that gives up, or is cancelled, leaves the task behind: it never
waits for a connection whose other side is silent.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import psycopg
from psycopg.rows import tuple_row

from ..error_mapping import from_driver_error
from ..errors import InvalidArgumentError, JobForgeError, TimeoutError
from ..forked import keep_unused, renew_after_fork
from ..loop_bound import LoopBound
from .base import AsyncTransacting, ListenEvents
from .driver import ROLLBACK_WITHIN, PostgresOptions, closed, is_broken, rolled_back
from .listen import listen_on_loop
from .postgres import PostgresTransport
from .prepared import PROCESS_ID, UNKNOWN_NAME, Sessions
from .sockets import has_input, shut_down
from .statement import Statement, Statements

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from .base import AsyncListener, Transport

T = TypeVar("T")
AnyConnection = psycopg.AsyncConnection[Any]


async def within(what: str, timeout: float | None, work: Coroutine[Any, Any, T], lost: list[AnyConnection]) -> T:
    """Waits for work, at most so long. If it takes longer, ends the connection that it has put into `lost`."""
    task = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait({task}, timeout=timeout)
    except asyncio.CancelledError:
        _leave(task, lost)
        raise
    if not done:
        _leave(task, lost)
        raise TimeoutError(f"{what} did not respond within {timeout:g} s")
    return task.result()


_left: Final[set[asyncio.Task[Any]]] = set()


def _leave(task: asyncio.Task[Any], lost: list[AnyConnection]) -> None:
    """The caller no longer waits for the task. It ends soon, because its connection does."""
    _left.add(task)

    def forget(ended: asyncio.Task[Any]) -> None:
        _left.discard(ended)
        if not ended.cancelled():
            ended.exception()

    task.add_done_callback(forget)
    if not lost:
        task.cancel()
    for connection in lost:
        with suppress(psycopg.Error):
            shut_down(connection.fileno())


class AsyncConnections(LoopBound):
    """A pool of at most `max_connections`, opened when they are needed and kept."""

    def __init__(self, options: PostgresOptions) -> None:
        self._options = options
        self._room = asyncio.Semaphore(options.max_connections)
        self._idle: list[AnyConnection] = []
        self._busy: set[AnyConnection] = set()
        self._is_closed = False
        renew_after_fork(self)

    def begin_anew(self) -> None:
        keep_unused((*self._idle, *self._busy))
        self._idle, self._busy = [], set()

    def _forget_loop(self) -> None:
        for connection in (*self._idle, *self._busy):
            connection.pgconn.finish()
        self._room = asyncio.Semaphore(self._options.max_connections)
        self._idle, self._busy = [], set()

    async def lend(self) -> AnyConnection:
        self._enter_loop()
        if self._is_closed:
            raise closed()
        await self._room.acquire()
        try:
            connection = await self._kept() or await self._open()
        except BaseException:
            self._room.release()
            raise
        self._busy.add(connection)
        return connection

    async def _kept(self) -> AnyConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed and not has_input(connection.fileno()):
                return connection
            await connection.close()
        return None

    async def _open(self) -> AnyConnection:
        try:
            return await psycopg.AsyncConnection.connect(**self._options.arguments())
        except psycopg.Error as error:
            raise from_driver_error(error) from error

    async def release(self, connection: AnyConnection, *, broken: bool = False) -> None:
        """Gives a connection back. One that may be broken is not used again."""
        self._busy.discard(connection)
        self._room.release()
        if broken or self._is_closed or connection.closed:
            await connection.close()
        else:
            self._idle.append(connection)

    async def close(self) -> None:
        """Closes idle connections now, and the others when they are given back."""
        self._is_closed = True
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    def abandon(self) -> None:
        """Ends all connections at once. It awaits nothing, so it also works when the loop has ended."""
        self._is_closed = True
        for connection in self._busy:
            with suppress(psycopg.Error):
                shut_down(connection.fileno())
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.pgconn.finish()


class AsyncPostgresTransport:
    """Calls on connections of a pool of its own."""

    is_transaction = False
    can_transact = True

    def __init__(self, options: PostgresOptions) -> None:
        self._options = options.checked()
        self._statements = options.statements()
        self._connections = AsyncConnections(options)
        self._sessions = Sessions(options)

    @property
    def can_listen(self) -> bool:
        return self._options.pool_mode == "session"

    @property
    def max_connections(self) -> int:
        return self._options.max_connections

    async def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        limit = self._options.timeout if timeout is None else timeout
        return await self._execute(self._statements.call(name, args), name, limit)

    async def _execute(self, statement: Statement, what: str, limit: float | None) -> str | None:
        lost: list[AnyConnection] = []
        return await within(what, limit, self._execute_on_one(statement, lost), lost)

    async def _execute_on_one(self, statement: Statement, lost: list[AnyConnection]) -> str | None:
        connection = await self._connections.lend()
        lost.append(connection)
        broken = True
        try:
            if self._sessions.wants_process_id(connection):
                self._sessions.learn(connection, await _process_id(connection))
            result = await execute(connection, statement)
            broken = False
        except JobForgeError as error:
            broken = is_broken(error)
            raise
        finally:
            await self._connections.release(connection, broken=broken)
        return result

    async def listen(self, channels: Sequence[str], events: ListenEvents) -> AsyncListener:
        if not self.can_listen:
            raise InvalidArgumentError("There is no LISTEN with a transaction-mode pooler", field="pool_mode")
        return await listen_on_loop(self._options, channels, events)

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransacting]:
        return self._transaction()

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[AsyncTransacting]:
        limit = self._options.timeout
        connection = await within("transaction", limit, self._connections.lend(), [])
        broken = True
        try:
            await run(connection, "begin", limit)
            try:
                yield AsyncTransacting(connection, AsyncConnectionTransport(connection, self._statements, limit))
                if await run(connection, "commit", limit) == "ROLLBACK":
                    raise rolled_back()
                broken = False
            except BaseException:
                broken = not await _rolls_back(connection)
                raise
        finally:
            await self._connections.release(connection, broken=broken)

    def blocking(self) -> Transport:
        return PostgresTransport(self._options)

    async def close(self) -> None:
        await self._connections.close()

    def abandon(self) -> None:
        self._connections.abandon()


class AsyncConnectionTransport:
    """Calls on one connection, in the transaction that is open on it."""

    can_listen = False
    can_transact = False
    is_transaction = True
    max_connections = 1

    def __init__(self, connection: AnyConnection, statements: Statements, timeout: float | None = None) -> None:
        self._connection = connection
        self._statements = statements
        self._timeout = timeout

    async def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        statement = self._statements.call(name, args)
        limit = self._timeout if timeout is None else timeout
        return await within(name, limit, execute(self._connection, statement), [self._connection])

    async def listen(self, channels: Sequence[str], events: ListenEvents) -> AsyncListener:
        del channels, events
        raise InvalidArgumentError("There is no LISTEN in a transaction")

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransacting]:
        raise InvalidArgumentError("This is a transaction already")

    def blocking(self) -> Transport:
        raise InvalidArgumentError("A transaction has no other connection")

    async def close(self) -> None:
        """The connection belongs to the caller."""

    def abandon(self) -> None:
        """The connection belongs to the caller."""


async def execute(connection: AnyConnection, statement: Statement) -> str | None:
    """Runs one or several calls and returns their results. Prepares the statement if the session is kept."""
    try:
        try:
            rows = await _rows(connection, statement)
        except UNKNOWN_NAME:
            connection.prepare_threshold = None
            rows = await _rows(connection, statement)
    except psycopg.Error as error:
        raise from_driver_error(error) from error
    return statement.result(rows)


async def _rows(connection: AnyConnection, statement: Statement) -> list[tuple[Any, ...]]:
    async with psycopg.AsyncRawCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(statement.text.encode(), statement.values)
        return await cursor.fetchall()


async def _process_id(connection: AnyConnection) -> tuple[Any, ...] | None:
    try:
        return await (await connection.execute(PROCESS_ID, prepare=False)).fetchone()
    except psycopg.Error as error:
        raise from_driver_error(error) from error


async def run(connection: AnyConnection, text: str, timeout: float | None) -> str | None:
    """Runs a statement without a result, and returns its tag."""

    async def work() -> str | None:
        try:
            return (await connection.execute(text.encode())).statusmessage
        except psycopg.Error as error:
            raise from_driver_error(error) from error

    return await within(text, timeout, work(), [connection])


async def _rolls_back(connection: AnyConnection) -> bool:
    try:
        await run(connection, "rollback", ROLLBACK_WITHIN)
    except JobForgeError:
        return False
    return True
