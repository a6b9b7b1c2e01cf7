"""Brings a database to this version of JobForge, in one transaction.

Each numbered file is applied once. All repeatable files are applied again when one of them has changed. Many processes
may migrate at the same time. When `migrate` raises, nothing has changed. It waits for a lock for at most five seconds,
so it never stops running workers for long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import psycopg

from ..error_mapping import from_driver_error
from ..transport.database_url import check_database_url
from ..version import VERSION
from .errors import MigrationError
from .files import MIN_CLIENT, identifier, literal, setup_file
from .state import Connection, Plan, plan, read_installed

_MAX_TRIES: Final = 5
_OLDEST_SERVER: Final = 150_000
_TRANSIENT: Final = frozenset({"40001", "40P01", "55P03", "42P06", "42P07", "42710"})

PIN_SESSION: Final = """set local search_path = pg_catalog, pg_temp;
set local timezone = 'UTC';
set local datestyle = 'ISO, MDY';
set local intervalstyle = 'postgres';
set local standard_conforming_strings = on;
set local quote_all_identifiers = off;
set local default_tablespace = '';
set local default_table_access_method = 'heap';
set local row_security = on;"""
"""The settings under which a transaction runs nothing but JobForge's own statements, whatever its session has set."""


@dataclass(frozen=True, slots=True)
class MigrateResult:
    """What a migration did."""

    version: str
    api_schema: str
    applied: list[str]
    """The names of the numbered files that this call applied."""
    refreshed: bool
    """Whether this call applied functions, views and grants."""


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """What a migration would do."""

    version: str
    installed_version: str | None
    api_schema: str
    pending: list[str]
    up_to_date: bool


class _InstalledMeanwhile(Exception):  # noqa: N818 - it never leaves this module
    """Another process has installed JobForge since this one read what is installed."""


def migrate(
    database: str, *, api_schema: str | None = None, on_progress: Callable[[str], None] | None = None
) -> MigrateResult:
    """Brings a database to this version of JobForge. Raises a MigrationError when it refuses.

    `api_schema` is the schema for functions and views. Default: the one in which they are installed, else `public`.
    """
    with _connected(database) as connection:
        _require_server(connection)
        for tries in range(1, _MAX_TRIES + 1):
            try:
                return _migrate_once(connection, api_schema, on_progress or (lambda _: None))
            except (psycopg.Error, _InstalledMeanwhile) as error:
                if tries == _MAX_TRIES or not _is_transient(error):
                    raise _explained(error) from error
    raise AssertionError


def migration_status(database: str, *, api_schema: str | None = None) -> MigrationStatus:
    """Returns what `migrate` would do, and changes nothing."""
    with _connected(database) as connection:
        _require_server(connection)
        try:
            found = plan(read_installed(connection), api_schema)
        except psycopg.Error as error:
            raise _explained(error) from error
    installed = None if found.installed is None else found.installed.version
    pending = [file.name for file in found.migrations]
    return MigrationStatus(VERSION, installed, found.api_schema, pending, found.up_to_date)


def migration_script(api_schema: str = "public") -> str:
    """Returns the SQL of a first installation as one script."""
    todo = plan(None, api_schema)
    return "\n".join(["begin;", PIN_SESSION, _prepare(todo), *_statements(todo), "commit;", ""])


@contextmanager
def _connected(database: str) -> Iterator[Connection]:
    url = check_database_url(database)
    name = "jobforge-migrate"
    try:
        opened = psycopg.connect(url, autocommit=True, application_name=name, prepare_threshold=None)
    except psycopg.OperationalError as error:
        raise from_driver_error(error) from error
    with opened:
        yield opened


def _migrate_once(connection: Connection, api_schema: str | None, tell: Callable[[str], None]) -> MigrateResult:
    # Read committed, so that the plan is read as it is after the wait for another migration.
    connection.execute(b"begin isolation level read committed")
    try:
        connection.execute(PIN_SESSION.encode())
        todo = _locked_plan(connection, api_schema)
        _refuse_foreign_objects(connection, todo)
        if todo.up_to_date:
            connection.execute(b"rollback")
            return _result(todo)
        connection.execute(_prepare(todo).encode())
        if todo.installed is None and read_installed(connection) is not None:
            raise _InstalledMeanwhile
        # Workers hold their locks for milliseconds. When another transaction holds one for longer, the migration gives
        # up: all work would have to wait behind it.
        connection.execute(b"set local lock_timeout = '5s'")
        for file in todo.migrations:
            tell(f"Applying {file.name}")
        if not todo.migrations:
            tell("Refreshing functions, views and grants")
        for statement in _statements(todo):
            connection.execute(statement.encode())
        connection.execute(b"commit")
        return _result(todo)
    except BaseException:
        with suppress(psycopg.Error):
            connection.execute(b"rollback")
        raise


def _locked_plan(connection: Connection, api_schema: str | None) -> Plan:
    """Reads the plan so that processes migrate one after the other, also through a pooler.

    The lock is on a table that only the owner may lock; any role could take an advisory lock and keep it. Where nothing
    is installed, the creation of the schema waits for another first installation, and fails after it.
    """
    first = plan(read_installed(connection), api_schema)
    if first.up_to_date or first.installed is None:
        return first
    connection.execute(b"lock table jobforge.migrations in share row exclusive mode")
    return plan(read_installed(connection), api_schema)


def _result(done: Plan) -> MigrateResult:
    return MigrateResult(VERSION, done.api_schema, [file.name for file in done.migrations], not done.up_to_date)


def _prepare(todo: Plan) -> str:
    """Creates the roles and schemas, and acts as the owner from then on."""
    return f"{setup_file('before', todo.api_schema)}\nset local check_function_bodies = off;"


def _statements(todo: Plan) -> list[str]:
    files = todo.repeatables
    statements = [file.with_name() for file in files.before_tables]
    for file in todo.migrations:
        statements.append(file.with_name())
        values = f"{file.number}, {literal(file.name)}, {literal(file.checksum)}"
        statements.append(f"insert into jobforge.migrations (number, name, checksum) values ({values});")
    statements.append(
        "insert into jobforge.installation (version, api_schema, min_client)\n"
        f"values ({literal(VERSION)}, {literal(todo.api_schema)}, {literal(MIN_CLIENT)})\n"
        "on conflict (only_row) do update\n"
        "set version = excluded.version, min_client = excluded.min_client, updated_at = clock_timestamp();"
    )
    statements += [file.with_name() for file in files.after_tables]
    # A new installation needs its first leaves before its first job finishes. Maintenance makes all later ones.
    if todo.installed is None:
        statements.append("select jobforge.maintain_leaves(jobforge.now());")
    statements.append(_drop_replaced_functions(todo.api_schema))
    statements += [file.with_name() for file in files.last]
    statements.append("delete from jobforge.repeatables;")
    for file in files.all():
        values = f"{literal(file.name)}, {literal(file.checksum)}"
        statements.append(f"insert into jobforge.repeatables (name, checksum) values ({values});")
    statements.append(setup_file("after", todo.api_schema))
    return statements


def _drop_replaced_functions(api_schema: str) -> str:
    """Drops functions that this version does not have.

    The transaction has just written every function of the kernel, so any other one was removed or is an old signature.
    An old signature with fewer parameters would make calls ambiguous. Runs before the grants, which write to every
    function as well.
    """
    return f"""do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid
    from pg_proc p
    where p.proowner = 'jobforge_owner'::regrole
      and (p.pronamespace = 'jobforge'::regnamespace
        or (p.pronamespace = {literal(identifier(api_schema))}::regnamespace and p.proname like 'jobforge\\_%'))
      and p.xmin <> pg_current_xact_id()::xid
  loop
    execute format('drop routine %s', v_function);
  end loop;
end $$;"""


_FOREIGN_OBJECTS: Final = """
  select f.object, f.owner::regrole::text as owner
  from (
    select p.oid::regprocedure::text as object, p.proowner as owner
    from pg_proc p
    where p.pronamespace = to_regnamespace(quote_ident($1)) and p.proname = any ($2::text[])
      and p.proowner is distinct from to_regrole('jobforge_owner')
    union all
    select c.oid::regclass::text, c.relowner
    from pg_class c
    where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relname = any ($2::text[])
      and c.relowner is distinct from to_regrole('jobforge_view')
    union all
    select 'The schema jobforge', n.nspowner
    from pg_namespace n
    where n.nspname = 'jobforge' and n.nspowner is distinct from to_regrole('jobforge_owner')
  ) f
  order by 1"""
"""Relations and functions of other owners by the names of ours, and the private schema if it has another owner."""


def _refuse_foreign_objects(connection: Connection, todo: Plan) -> None:
    """Refuses an API schema that has functions or relations with JobForge's names that are not JobForge's."""
    grants = next(file.sql for file in todo.repeatables.last if file.name == "security/grants.sql")
    names = re.findall(r"\('(jobforge_\w+)', '(?:api|view)'", grants)
    with psycopg.RawCursor(connection) as cursor:
        rows = cursor.execute(_FOREIGN_OBJECTS.encode(), [todo.api_schema, names]).fetchall()
    if rows:
        others = "" if len(rows) == 1 else f" and {len(rows) - 1} more"
        raise MigrationError(
            "foreign_objects",
            f"{rows[0][0]}{others} has a name of JobForge's, but belongs to {rows[0][1]}",
            "Drop or rename what is not JobForge's, and find out who created it. Then revoke the right to create "
            "objects in that schema, or install JobForge with an API schema of its own.",
        )


def _require_server(connection: Connection) -> None:
    """Asks for the version in a statement that depends on no search path, because nothing has pinned one yet."""
    row = connection.execute(
        b"select pg_catalog.current_setting('server_version_num'), pg_catalog.current_setting('server_version')"
    ).fetchone()
    if row is not None and int(row[0]) < _OLDEST_SERVER:
        message = f"JobForge needs PostgreSQL 15 or newer; this server is {row[1]}"
        raise MigrationError("server_too_old", message, "Upgrade the server.")


def _is_transient(error: Exception) -> bool:
    """Whether a retry can succeed: another process changed the same things, or held a lock for too long."""
    if isinstance(error, _InstalledMeanwhile):
        return True
    code = getattr(error, "sqlstate", None) or ""
    diag = getattr(error, "diag", None)
    if code == "XX000":
        return str(getattr(diag, "message_primary", "") or "").startswith("tuple concurrently")
    return code in _TRANSIENT or (code == "23505" and str(getattr(diag, "table_name", "") or "").startswith("pg_"))


def _explained(error: Exception) -> Exception:
    code = getattr(error, "sqlstate", None)
    if code == "42501":
        message = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
        return MigrationError(
            "insufficient_privilege",
            f"This role may not install JobForge: {message}",
            "Migrate as the owner of the database with the right to create roles (alter role NAME createrole), or let "
            "a superuser run the output of `python -m jobforge migrate --print`. If another role has installed "
            "JobForge in this cluster before, that role must also grant jobforge_owner, jobforge_view, "
            "jobforge_tenant, jobforge_app, jobforge_worker, jobforge_operator and jobforge_reader to this one with "
            "admin option.",
        )
    if code == "55P03":
        return MigrationError(
            "locked",
            "Another transaction has held a lock on JobForge's tables for too long",
            "Find that transaction in pg_stat_activity (the oldest xact_start), end it, and migrate again.",
        )
    return error
