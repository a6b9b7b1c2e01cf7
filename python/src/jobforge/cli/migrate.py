"""`jobforge-py migrate`: applies the migrations, shows their status or prints their SQL."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

from ..transport.driver import require_psycopg
from .values import database_url


def add_command(commands: Any) -> None:
    """Adds the command."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "migrate",
        help="migrate a database to this version of JobForge",
        description="Brings a database to this version of JobForge. Any number of processes may run it at once.",
    )
    parser.add_argument(
        "--database-url",
        metavar="URL",
        help="the database (default: DATABASE_URL); the role must own it and be allowed to create roles",
    )
    parser.add_argument("--api-schema", metavar="NAME", help="the schema for functions and views (default: public)")
    parser.add_argument("--status", action="store_true", help="show what is pending; exit code 1 if anything is")
    parser.add_argument("--print", action="store_true", help="print the SQL of a first installation, and run nothing")
    parser.add_argument("--json", action="store_true", help="write the outcome as JSON")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs the command."""
    require_psycopg()
    from ..migrate import MigrationError

    try:
        return _run(given)
    except MigrationError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if error.code == "invalid_api_schema" else 1


def _run(given: argparse.Namespace) -> int:
    from ..migrate import migrate, migration_script, migration_status

    if given.print:
        sys.stdout.write(migration_script(given.api_schema or "public"))
        return 0
    database = database_url(given)
    if given.status:
        status = migration_status(database, api_schema=given.api_schema)
        what = ", ".join(status.pending) or ("none" if status.up_to_date else "functions and views")
        installed = status.installed_version or "nothing"
        _write(given, status, f"Installed: {installed}\nThis is: {status.version}\nPending: {what}\n")
        return 0 if status.up_to_date else 1
    result = migrate(database, api_schema=given.api_schema, on_progress=lambda message: _remark(given, f"{message}\n"))
    changed = "is now at" if result.refreshed else "was already at"
    text = f'The database {changed} JobForge {result.version} (API schema "{result.api_schema}").\n'
    _write(given, result, text)
    return 0


def _remark(given: argparse.Namespace, text: str) -> None:
    (sys.stderr if given.json else sys.stdout).write(text)


def _write(given: argparse.Namespace, outcome: Any, text: str) -> None:
    sys.stdout.write(f"{json.dumps(dataclasses.asdict(outcome))}\n" if given.json else text)
