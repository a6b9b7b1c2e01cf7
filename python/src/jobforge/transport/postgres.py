"""The blocking transport over Postgres, with psycopg. Threads may share it."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.rows import tuple_row

from ..error_mapping import from_driver_error
from ..errors import InvalidArgumentError, JobForgeError, TimeoutError
from ..forked import keep_unused, renew_after_fork
from .base import Transacting
from .driver import ROLLBACK_WITHIN, PostgresOptions, closed, is_broken, rolled_back
from .listen import listen
from .prepared import PROCESS_ID, UNKNOWN_NAME, Sessions
from .sockets import has_input, shut_down
from .statement import Statement, Statements

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from .base import Listener, ListenEvents


class _GivenUp(Exception):  # noqa: N818 - it never leaves this module
    """The time of a call is over."""


class TimedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose statements end at a deadline. psycopg asks for news every tenth of a second."""

    deadline: float | None = None

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        return super().wait(gen if self.deadline is None else self._until(gen, self.deadline), *args, **kwargs)

    @staticmethod
    def _until(gen: Generator[Any, Any, Any], deadline: float) -> Generator[Any, Any, Any]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if monotonic() >= deadline and not ready:
                    raise _GivenUp
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value


class Connections:
    """A pool of at most `max_connections`, opened when they are needed and kept."""

    def __init__(self, options: PostgresOptions) -> None:
        self._options = options
        self._idle: list[TimedConnection] = []
        self._busy: set[TimedConnection] = set()
        self._is_closed = False
        self.begin_anew()
        renew_after_fork(self)

    def begin_anew(self) -> None:
        keep_unused((*self._idle, *self._busy))
        self._condition = threading.Condition()
        self._idle, self._busy = [], set()
        self._opening = 0

    def lend(self, what: str, timeout: float | None) -> TimedConnection:
        """A connection whose deadline is set. Raises a TimeoutError if none gets free in time."""
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            connection = self._take(what, deadline, timeout)
            if connection is None:
                connection = self._open()
            elif has_input(connection.fileno()):
                self.release(connection, broken=True)
                continue
            connection.deadline = deadline
            return connection

    def _take(self, what: str, deadline: float | None, timeout: float | None) -> TimedConnection | None:
        """An idle connection, or None if a new one may be opened."""
        with self._condition:
            while True:
                if self._is_closed:
                    raise closed()
                if self._idle:
                    connection = self._idle.pop()
                    self._busy.add(connection)
                    return connection
                if len(self._busy) + self._opening < self._options.max_connections:
                    self._opening += 1
                    return None
                left = None if deadline is None else deadline - monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError(f"{what} got no connection within {timeout:g} s")
                self._condition.wait(left)

    def _open(self) -> TimedConnection:
        try:
            connection = TimedConnection.connect(**self._options.arguments())
        except BaseException as error:
            with self._condition:
                self._opening -= 1
                self._condition.notify()
            if isinstance(error, psycopg.Error):
                raise from_driver_error(error) from error
            raise
        with self._condition:
            self._opening -= 1
            self._busy.add(connection)
        return connection

    def release(self, connection: TimedConnection, *, broken: bool = False) -> None:
        """Gives a connection back. One that may be broken is not used again."""
        connection.deadline = None
        with self._condition:
            self._busy.discard(connection)
            keep = not (broken or self._is_closed or connection.closed)
            if keep:
                self._idle.append(connection)
            self._condition.notify()
        if not keep:
            connection.close()

    def close(self) -> None:
        """Closes idle connections now, and the others when they are given back."""
        with self._condition:
            self._is_closed = True
            idle, self._idle = self._idle, []
            self._condition.notify_all()
        for connection in idle:
            connection.close()

    def abandon(self) -> None:
        """Ends all connections at once."""
        with self._condition:
            for connection in self._busy:
                with suppress(psycopg.Error):
                    shut_down(connection.fileno())
        self.close()


class PostgresTransport:
    """Calls on connections of a pool of its own."""

    is_transaction = False
    can_transact = True

    def __init__(self, options: PostgresOptions) -> None:
        self._options = options.checked()
        self._statements = options.statements()
        self._connections = Connections(options)
        self._sessions = Sessions(options)

    @property
    def can_listen(self) -> bool:
        return self._options.pool_mode == "session"

    @property
    def max_connections(self) -> int:
        return self._options.max_connections

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        limit = self._options.timeout if timeout is None else timeout
        return self._execute(self._statements.call(name, args), name, limit)

    def _execute(self, statement: Statement, what: str, limit: float | None) -> str | None:
        connection = self._connections.lend(what, limit)
        broken = True
        try:
            if self._sessions.wants_process_id(connection):
                self._sessions.learn(connection, _process_id(connection))
            result = execute(connection, statement)
            broken = False
            return result
        except _GivenUp as error:
            raise TimeoutError(f"{what} did not respond within {limit:g} s") from error
        except JobForgeError as error:
            broken = is_broken(error)
            raise
        finally:
            self._connections.release(connection, broken=broken)

    def listen(self, channels: Sequence[str], events: ListenEvents) -> Listener:
        if not self.can_listen:
            raise InvalidArgumentError("There is no LISTEN with a transaction-mode pooler", field="pool_mode")
        return listen(self._options, channels, events)

    def transaction(self) -> AbstractContextManager[Transacting]:
        return self._transaction()

    @contextmanager
    def _transaction(self) -> Iterator[Transacting]:
        connection = self._connections.lend("transaction", self._options.timeout)
        connection.deadline = None
        broken = True
        try:
            run(connection, "begin")
            try:
                yield Transacting(connection, ConnectionTransport(connection, self._statements, self._options.timeout))
                if run(connection, "commit") == "ROLLBACK":
                    raise rolled_back()
                broken = False
            except BaseException:
                broken = not _rolls_back(connection)
                raise
        finally:
            self._connections.release(connection, broken=broken)

    def close(self) -> None:
        self._connections.close()

    def abandon(self) -> None:
        self._connections.abandon()


class ConnectionTransport:
    """Calls on one connection, in the transaction that is open on it."""

    can_listen = False
    can_transact = False
    is_transaction = True
    max_connections = 1

    def __init__(
        self, connection: psycopg.Connection[Any], statements: Statements, timeout: float | None = None
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._timeout = timeout

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        statement = self._statements.call(name, args)
        limit = self._timeout if timeout is None else timeout
        connection = self._connection
        if isinstance(connection, TimedConnection) and limit is not None:
            connection.deadline = monotonic() + limit
        try:
            return execute(connection, statement)
        except _GivenUp as error:
            raise TimeoutError(f"{name} did not respond within {limit:g} s") from error
        finally:
            if isinstance(connection, TimedConnection):
                connection.deadline = None

    def listen(self, channels: Sequence[str], events: ListenEvents) -> Listener:
        del channels, events
        raise InvalidArgumentError("There is no LISTEN in a transaction")

    def transaction(self) -> AbstractContextManager[Transacting]:
        raise InvalidArgumentError("This is a transaction already")

    def close(self) -> None:
        """The connection belongs to the caller."""

    def abandon(self) -> None:
        """The connection belongs to the caller."""


def execute(connection: psycopg.Connection[Any], statement: Statement) -> str | None:
    """Runs one or several calls and returns their results. Prepares the statement if the session is kept."""
    try:
        try:
            rows = _rows(connection, statement)
        except UNKNOWN_NAME:
            connection.prepare_threshold = None
            rows = _rows(connection, statement)
    except psycopg.Error as error:
        raise from_driver_error(error) from error
    return statement.result(rows)


def _rows(connection: psycopg.Connection[Any], statement: Statement) -> list[tuple[Any, ...]]:
    with psycopg.RawCursor(connection, row_factory=tuple_row) as cursor:
        cursor.execute(statement.text.encode(), statement.values)
        return cursor.fetchall()


def _process_id(connection: psycopg.Connection[Any]) -> tuple[Any, ...] | None:
    try:
        return connection.execute(PROCESS_ID, prepare=False).fetchone()
    except psycopg.Error as error:
        raise from_driver_error(error) from error


def run(connection: psycopg.Connection[Any], text: str) -> str | None:
    """Runs a statement without a result, and returns its tag."""
    try:
        return connection.execute(text.encode()).statusmessage
    except psycopg.Error as error:
        raise from_driver_error(error) from error


def _rolls_back(connection: TimedConnection) -> bool:
    connection.deadline = monotonic() + ROLLBACK_WITHIN
    try:
        run(connection, "rollback")
    except (JobForgeError, _GivenUp):
        return False
    return True
