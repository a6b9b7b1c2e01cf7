"""Reads which JobForge a database holds, and compares it with the files of this package."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from ..version import VERSION
from .errors import MigrationError
from .files import RepeatableFiles, SqlFile, numbered_files, repeatable_files

Connection = psycopg.Connection[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Installed:
    """What a database holds."""

    version: str
    api_schema: str
    migrations: Mapping[int, str]
    """Numbers with checksums."""
    repeatables: Mapping[str, str]
    """Names with checksums."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done."""

    api_schema: str
    installed: Installed | None
    migrations: list[SqlFile]
    repeatables: RepeatableFiles
    """All repeatable files. They refer to each other, so they are applied together when one has changed."""
    up_to_date: bool


# Not to_regclass(): after a wait for another migration it may read an outdated cache.
_IS_INSTALLED: Final = b"""
    select exists (
      select from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
      where n.nspname operator(pg_catalog.=) 'jobforge'
        and c.relname operator(pg_catalog.=) 'installation')"""
_READ: Final = b"""
    select pg_catalog.jsonb_build_object(
      'version', i.version,
      'apiSchema', i.api_schema,
      'migrations', (select coalesce(pg_catalog.jsonb_agg(m), '[]') from jobforge.migrations m),
      'repeatables', (select coalesce(pg_catalog.jsonb_agg(r), '[]') from jobforge.repeatables r))
    from jobforge.installation i"""


def read_installed(connection: Connection) -> Installed | None:
    """Reads what is installed; None when nothing is. The search path of the session does not matter."""
    found = connection.execute(_IS_INSTALLED).fetchone()
    if found is None or not found[0]:
        return None
    row = connection.execute(_READ).fetchone()
    if row is None:
        return None
    raw = row[0]
    return Installed(
        raw["version"],
        raw["apiSchema"],
        {each["number"]: each["checksum"] for each in raw["migrations"]},
        {each["name"]: each["checksum"] for each in raw["repeatables"]},
    )


def plan(installed: Installed | None, wanted_schema: str | None) -> Plan:
    """Compares what is installed with the files. Raises when migrating would lose something."""
    api_schema = wanted_schema or (installed.api_schema if installed else "public")
    _check_api_schema(api_schema, installed)
    numbered, repeatables = numbered_files(api_schema), repeatable_files(api_schema)
    if installed is None:
        return Plan(api_schema, None, numbered, repeatables, up_to_date=False)
    _check_history(installed, numbered)
    migrations = [file for file in numbered if file.number not in installed.migrations]
    same = {file.name: file.checksum for file in repeatables.all()} == installed.repeatables
    up_to_date = not migrations and same and installed.version == VERSION
    return Plan(api_schema, installed, migrations, repeatables, up_to_date)


def _check_api_schema(api_schema: str, installed: Installed | None) -> None:
    is_name = re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", api_schema, re.IGNORECASE)
    if not is_name or re.match(r"(pg_|jobforge$|information_schema$)", api_schema, re.IGNORECASE):
        raise MigrationError(
            "invalid_api_schema",
            f'"{api_schema}" cannot be the API schema',
            "Use letters, digits and underscores. Names of the system and the name jobforge are reserved.",
        )
    if installed is not None and installed.api_schema != api_schema:
        raise MigrationError(
            "api_schema_differs",
            f'JobForge is installed with the API schema "{installed.api_schema}", not "{api_schema}"',
            f"Migrate with --api-schema {installed.api_schema}, or without the option.",
        )


def _check_history(installed: Installed, numbered: list[SqlFile]) -> None:
    known = {file.number for file in numbered}
    if not set(installed.migrations) <= known or _order(installed.version) > _order(VERSION):
        raise MigrationError(
            "newer_jobforge",
            f"This database was migrated by JobForge {installed.version}; this is {VERSION}",
            f"Use JobForge {installed.version} or newer. Older workers may keep running, but they cannot migrate.",
        )
    for file in numbered:
        if installed.migrations.get(file.number, file.checksum) != file.checksum:
            raise MigrationError(
                "changed_migration",
                f"Migration {file.name} differs from the one that was applied to this database",
                "Restore the file. A numbered migration never changes after its release. Write a new one instead.",
            )


def _order(version: str) -> tuple[list[tuple[int, str]], bool, list[tuple[int, str]]]:
    """Orders versions of the form 1.2.3 or 1.2.3-beta.4. A release comes after its pre-releases."""
    core, _, pre = version.partition("-")
    return _parts(core), pre == "", _parts(pre)


def _parts(text: str) -> list[tuple[int, str]]:
    return [(int(each), "") if each.isdigit() else (-1, each) for each in text.split(".")]
