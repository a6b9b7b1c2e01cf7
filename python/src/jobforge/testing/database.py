"""A migrated database for one test: cloned from a template in a few dozen milliseconds, and dropped afterwards."""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from ..migrate import migrate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import LiteralString


class TestServer:
    """A Postgres whose role may create databases and roles. It holds the template of the tests."""

    __test__ = False

    def __init__(self, url: str, template: str) -> None:
        self.url = url
        """The URL of the maintenance database, for a superuser."""
        self.template = template
        """The database that tests clone."""

    def run(self, statement: sql.Composed | sql.SQL) -> None:
        """Runs a statement on the maintenance database."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


@contextmanager
def prepared_server(url: str) -> Iterator[TestServer]:
    """Migrates a template on a server, for the length of a test run."""
    server = TestServer(url, f"jobforge_template_{secrets.token_hex(6)}")
    name = sql.Identifier(server.template)
    server.run(sql.SQL("create database {}").format(name))
    try:
        template = database_url(url, server.template)
        migrate(template)
        with psycopg.connect(template, autocommit=True) as connection:
            connection.execute("select jobforge.allow_time_travel(true)")
        yield server
    finally:
        server.run(sql.SQL("drop database if exists {} with (force)").format(name))


class TestDatabase:
    """A database of one test."""

    __test__ = False

    def __init__(self, server: TestServer) -> None:
        self._server = server
        self.name = f"jobforge_test_{secrets.token_hex(6)}"
        self.url = database_url(server.url, self.name)
        self._logins: list[str] = []
        clone = "create database {} template {} strategy file_copy"
        server.run(sql.SQL(clone).format(sql.Identifier(self.name), sql.Identifier(server.template)))

    def query(self, statement: LiteralString, values: Sequence[Any] | None = None) -> list[dict[str, Any]]:
        """Runs a statement as superuser and returns its rows."""
        with (
            psycopg.connect(self.url, autocommit=True) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            cursor.execute(statement, values)
            return cursor.fetchall() if cursor.description is not None else []

    def value(self, statement: LiteralString, values: Sequence[Any] | None = None) -> Any:
        """Runs a statement that returns one column and one row, and returns that value."""
        return next(iter(self.query(statement, values)[0].values()))

    def url_at(self, offset: str, url: str | None = None) -> str:
        """The URL for clients whose clock is moved, such as tomorrow's worker: `url_at("1 day")`."""
        parts = urlsplit(url or self.url)
        escaped = offset.replace(" ", "\\ ")
        option = f"options={quote(f'-c jobforge.clock_offset={escaped}', safe='')}"
        return urlunsplit(parts._replace(query=f"{parts.query}&{option}" if parts.query else option))

    def create_login(self, *roles: str) -> str:
        """Creates a login that is a member of the roles, and returns its URL. It is dropped with the database."""
        login, password = f"jobforge_login_{secrets.token_hex(6)}", secrets.token_hex(12)
        self._logins.append(login)
        with psycopg.connect(self.url, autocommit=True) as connection:
            create = sql.SQL("create role {} login password {}").format(sql.Identifier(login), sql.Literal(password))
            connection.execute(create)
            for role in roles:
                connection.execute(sql.SQL("grant {} to {}").format(sql.Identifier(role), sql.Identifier(login)))
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{login}:{password}@{host}"))

    def drop(self) -> None:
        """Drops the database and its logins."""
        self._server.run(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(self.name)))
        for login in self._logins:
            self._server.run(sql.SQL("drop role if exists {}").format(sql.Identifier(login)))


def database_url(url: str, database: str) -> str:
    """The URL of another database on the same server."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{quote(database)}"))
