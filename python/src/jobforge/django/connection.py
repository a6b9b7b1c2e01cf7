"""A client on a database of Django's settings. In `atomic()`, its calls are committed or rolled back with the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import connections
from psycopg.conninfo import make_conninfo

from ..blocking.client import TransactionClient
from ..errors import InvalidArgumentError
from ..signals import DoneSignals
from ..transport.foreign import django_transport
from ..transport.statement import Placeholder, Statements

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from ..transport.base import Listener, ListenEvents, Transacting


class DjangoTransport:
    """Calls on the connection that the current thread has for an alias."""

    can_listen = False
    can_transact = False
    is_transaction = True
    max_connections = 1

    def __init__(self, alias: str, schema: str) -> None:
        self._alias = alias
        self._written: dict[Placeholder, Statements] = {}
        self._schema = schema

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        connection: Any = connections[self._alias]
        if connection.vendor != "postgresql":
            message = f"The database {self._alias} of Django's settings is not Postgres"
            raise InvalidArgumentError(message, field="database")
        return django_transport(connection, self._statements).call(name, args, timeout=timeout)

    def _statements(self, write: Placeholder) -> Statements:
        if write not in self._written:
            self._written[write] = Statements(self._schema, write=write)
        return self._written[write]

    def listen(self, channels: Sequence[str], events: ListenEvents) -> Listener:
        raise NotImplementedError

    def transaction(self) -> AbstractContextManager[Transacting]:
        raise NotImplementedError

    def close(self) -> None:
        """The connection belongs to Django."""

    def abandon(self) -> None:
        """The connection belongs to Django."""


class DjangoForge(TransactionClient):
    """The blocking client on Django's own connection. Outside of `atomic()`, each call is a transaction."""

    def __init__(self, alias: str = "default", schema: str = "public") -> None:
        transport = DjangoTransport(alias, schema)
        super().__init__(transport, DoneSignals(transport))


def database_of(alias: str) -> str:
    """How to reach a database of Django's settings."""
    parameters = connections[alias].get_connection_params()
    names = ("host", "port", "user", "password", "dbname", "sslmode", "sslrootcert", "options", "service")
    return make_conninfo(**{name: parameters[name] for name in names if parameters.get(name)})


forge = DjangoForge()
"""The client on the default database."""
