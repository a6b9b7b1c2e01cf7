"""Migrating without Node: the result is the same as that of the npm package."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from jobforge.migrate import MigrationError, migrate, migration_script, migration_status
from jobforge.testing.database import TestServer, database_url

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

    from .support.backend import Backend

GOLDEN = Path(__file__).resolve().parents[2] / "sql" / "schema.golden.txt"


@pytest.fixture
def empty(jobforge_server: TestServer) -> Iterator[str]:
    """An empty database."""
    name = f"jobforge_empty_{token_hex(6)}"
    jobforge_server.run(sql.SQL("create database {}").format(sql.Identifier(name)))
    yield database_url(jobforge_server.url, name)
    jobforge_server.run(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def test_the_schema_is_that_of_the_golden_file(backend: Backend, empty: str) -> None:
    assert not migration_status(empty).up_to_date
    told: list[str] = []
    result = migrate(empty, on_progress=told.append)
    assert result.refreshed
    assert told[0] == "Applying 0001_installation.sql"
    assert backend.describe(empty) == GOLDEN.read_text(encoding="utf-8")
    again = migrate(empty)
    assert (again.refreshed, again.applied) == (False, [])
    status = migration_status(empty)
    assert (status.up_to_date, status.pending, status.installed_version) == (True, [], status.version)


def test_either_side_finds_the_work_of_the_other_up_to_date(db: TestDatabase, empty: str) -> None:
    # The template of the tests was migrated by the npm package.
    assert migration_status(db.url).up_to_date
    migrate(empty)
    root = GOLDEN.parent.parent
    script = (
        "import('@jobforge/sql').then((sql) => sql.migrationStatus({ database: process.argv[1] }))"
        ".then((status) => console.log(JSON.stringify(status)))"
    )
    out = subprocess.run(["node", "-e", script, empty], capture_output=True, text=True, check=True, cwd=root).stdout
    assert json.loads(out)["upToDate"] is True


def test_a_changed_function_is_written_again(backend: Backend, db: TestDatabase) -> None:
    db.query("update jobforge.repeatables set checksum = 'old' where name = 'functions/read/get_job.sql'")
    db.query("create function jobforge.left_over() returns int language sql as 'select 1'")
    db.query("alter function jobforge.left_over() owner to jobforge_owner")
    assert not migration_status(db.url).up_to_date
    assert migrate(db.url).refreshed
    assert backend.describe(db.url) == GOLDEN.read_text(encoding="utf-8")


def test_many_processes_may_migrate_at_once(backend: Backend, empty: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: migrate(empty), range(4)))
    assert sum(bool(each.applied) for each in results) == 1
    assert backend.describe(empty) == GOLDEN.read_text(encoding="utf-8")


def test_an_api_schema_of_its_own(backend: Backend, empty: str) -> None:
    assert migrate(empty, api_schema="jobs_api").api_schema == "jobs_api"
    lines = backend.describe(empty, "jobs_api").replace("jobs_api.", "public.").splitlines()
    assert sorted(lines) == sorted(GOLDEN.read_text(encoding="utf-8").splitlines())
    with pytest.raises(MigrationError) as refused:
        migrate(empty, api_schema="public")
    assert refused.value.code == "api_schema_differs"


def test_the_script_of_a_first_installation(backend: Backend, empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(migration_script().encode())
    assert backend.describe(empty) == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("schema", ["jobforge", "pg_jobs", "a b", "information_schema"])
def test_names_that_cannot_be_the_api_schema(empty: str, schema: str) -> None:
    with pytest.raises(MigrationError) as refused:
        migrate(empty, api_schema=schema)
    assert refused.value.code == "invalid_api_schema"


def test_objects_of_others_are_refused(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("create function public.jobforge_enqueue_job() returns int language sql as 'select 1'")
    with pytest.raises(MigrationError) as refused:
        migrate(empty)
    assert refused.value.code == "foreign_objects"


def test_newer_and_changed_databases_are_refused(db: TestDatabase) -> None:
    db.query("update jobforge.installation set version = '99.0.0'")
    with pytest.raises(MigrationError) as newer:
        migrate(db.url)
    assert newer.value.code == "newer_jobforge"
    db.query("update jobforge.installation set version = '0.1.0'")
    db.query("update jobforge.migrations set checksum = 'other' where number = 1")
    with pytest.raises(MigrationError) as changed:
        migrate(db.url)
    assert changed.value.code == "changed_migration"


def test_a_role_without_rights_is_told_so(db: TestDatabase) -> None:
    db.query("update jobforge.repeatables set checksum = 'old' where name = 'functions/read/get_job.sql'")
    db.query("grant usage on schema jobforge to public")
    db.query("grant select on jobforge.installation, jobforge.migrations, jobforge.repeatables to public")
    with pytest.raises(MigrationError) as refused:
        migrate(db.create_login())
    assert refused.value.code == "insufficient_privilege"
    assert "migrate --print" in refused.value.hint


def test_the_command(empty: str) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "jobforge", "migrate", *arguments], capture_output=True, text=True, check=False
        )

    pending = run("--status", "--json", "--database-url", empty)
    assert pending.returncode == 1
    assert json.loads(pending.stdout)["installed_version"] is None
    done = run("--database-url", empty)
    assert done.returncode == 0
    assert "is now at JobForge" in done.stdout
    assert run("--status", "--database-url", empty).returncode == 0
    assert "begin;" in run("--print").stdout
    refused = run("--database-url", empty, "--api-schema", "pg_x")
    assert refused.returncode == 2
    assert "cannot be the API schema" in refused.stderr
