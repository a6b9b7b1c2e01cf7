"""Statements that a session has parsed and planned before. A call with one costs the server about a tenth less.

A prepared statement works only where a connection always leads to the same session. A pooler in transaction mode would
send its name to a session that does not know it. So only connections of a pool of our own prepare statements, and only
if the session has the process id that the login has returned: a pooler returns one of its own. If a session does not
know a name all the same, the statement is sent again without one: such an error comes before the statement has done
anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import psycopg

if TYPE_CHECKING:
    from .driver import PostgresOptions

    AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]

# A connection that makes fewer calls does not ask for its process id.
_CALLS_BEFORE: Final = 5
# psycopg prepares a statement when the session has seen it so often.
_TIMES_BEFORE: Final = 2

PROCESS_ID: Final = b"select pg_catalog.pg_backend_pid()"
UNKNOWN_NAME: Final = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement)


class Sessions:
    """Finds out which connections of a pool keep their session."""

    def __init__(self, options: PostgresOptions) -> None:
        self._is_shared = options.pool_mode == "transaction"
        self._calls: WeakKeyDictionary[AnyConnection, int] = WeakKeyDictionary()

    def wants_process_id(self, connection: AnyConnection) -> bool:
        """Counts a call, and returns whether to ask the session for its process id before it."""
        if self._is_shared:
            return False
        calls = self._calls.get(connection, 0) + 1
        self._calls[connection] = calls
        return calls == _CALLS_BEFORE

    def learn(self, connection: AnyConnection, row: tuple[Any, ...] | None) -> None:
        """The session has said its process id."""
        if row is not None and row[0] == connection.info.backend_pid:
            connection.prepare_threshold = _TIMES_BEFORE
