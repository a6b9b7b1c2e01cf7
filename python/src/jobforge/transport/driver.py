"""What both Postgres transports share: their settings, and psycopg, which is an optional dependency."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from ..arguments import check_one_of, check_range, check_timeout, refuse
from ..errors import ConnectionError, DatabaseError, InvalidArgumentError, JobForgeError
from ..words import DEFAULT_TIMEOUT, Bounds
from .database_url import check_database_url
from .statement import Statements

if TYPE_CHECKING:
    from collections.abc import Mapping

PoolMode = Literal["session", "transaction"]
DEFAULT_CONNECTIONS: Final = 10
ROLLBACK_WITHIN: Final = 5.0
"""A busy or dead connection cannot run a rollback in time, and is dropped."""
CANCELED: Final = "57014"


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresOptions:
    """How to reach a database."""

    database: str
    pool_mode: PoolMode = "session"
    """`transaction` for a pooler in transaction mode: there is no LISTEN then, and waiting uses polling only."""
    max_connections: int = DEFAULT_CONNECTIONS
    schema: str = "public"
    timeout: float | None = DEFAULT_TIMEOUT
    """How long a call may take, including the wait for a connection."""
    name_tenant: bool = True
    """False leaves the setting `app.tenant_id` alone. Logins with `jobforge_app` must then set it themselves."""
    connect: Mapping[str, Any] = field(default_factory=dict)
    """More arguments of `psycopg.connect`, such as `sslrootcert`."""

    def checked(self) -> PostgresOptions:
        """The same options, if they are valid."""
        if not isinstance(self.database, str):
            refuse("database", "must be a URL", "To use a connection of your own, call forge.on(connection).")
        check_one_of(self.pool_mode, "pool_mode", PoolMode)
        check_range(self.max_connections, "max_connections", Bounds(1, 1000))
        check_timeout(self.timeout)
        check_database_url(self.database)
        require_psycopg()
        return self

    def statements(self) -> Statements:
        """Writes calls for this database."""
        return Statements(self.schema, name_tenant=self.name_tenant)

    def arguments(self) -> dict[str, Any]:
        """The arguments of `psycopg.connect`. Nothing is prepared until the session is known: see prepared.py."""
        return {
            "conninfo": check_database_url(self.database),
            "autocommit": True,
            "prepare_threshold": None,
            "application_name": "jobforge",
            "connect_timeout": 10,
            "keepalives": 1,
            **self.connect,
        }


def require_psycopg() -> None:
    """Says how to install psycopg, if it is missing."""
    try:
        import psycopg as _  # noqa: F401
    except ImportError as error:
        raise InvalidArgumentError(
            "psycopg is needed to connect to Postgres, and cannot be loaded",
            field="database",
            hint='Install "jobforge[postgres]" where libpq is installed, or "jobforge[binary]". Or pass url and token.',
        ) from error


def is_broken(error: JobForgeError) -> bool:
    """Whether the connection itself is broken, as opposed to a statement that failed or was canceled."""
    return isinstance(error, ConnectionError) and error.code != CANCELED


def rolled_back() -> DatabaseError:
    """A commit that the database has turned into a rollback."""
    return DatabaseError("The transaction was rolled back, because a statement in it had failed", code="25P02")


def closed() -> ConnectionError:
    """A call after `close`."""
    return ConnectionError("This JobForge was closed", retryable=False)
