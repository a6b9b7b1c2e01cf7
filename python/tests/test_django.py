"""Django's transactions and its tasks. Django 6 needs Python 3.12, so an older one looks for a newer."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql

from jobforge.migrate import migration_status
from jobforge.testing.database import TestServer, database_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobforge.testing.database import TestDatabase

from .support.newer_python import django_python

PROJECT = Path(__file__).parent / "django_project"
SOURCE = Path(__file__).parents[1] / "src"


@pytest.fixture(autouse=True, scope="module")
def _newer() -> None:
    """Skips loudly where no Python can run Django 6."""
    if django_python() is None:
        reason = "Django 6 needs Python 3.12, and there is none"
        if os.environ.get("JOBFORGE_REQUIRE_TOOLS") == "1":
            pytest.fail(reason)
        pytest.skip(reason)


def command(url: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [django_python() or "", "manage.py", *arguments],
        cwd=PROJECT,
        env={"DATABASE_URL": url, "PATH": "", "PYTHONPATH": str(SOURCE), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def manage(db: TestDatabase | str, *arguments: str, **environment: str) -> str:
    done = command(db if isinstance(db, str) else db.url, *arguments, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def steps(db: TestDatabase, name: str) -> Any:
    """Runs a function of the project's `steps` module, and returns what it returned."""
    return json.loads(manage(db, "steps", name))


def test_tasks_are_enqueued_with_the_transaction(db: TestDatabase) -> None:
    found = steps(db, "enqueue_in_transactions")
    assert found == {"committed": "READY", "rolled_back": None, "signals": 2}
    [job] = db.query("select type, payload, priority, tags from jobforge_jobs")
    assert job == {
        "type": "shop.tasks.resize",
        "payload": {"args": [7], "kwargs": {"width": 100}},
        "priority": 5,
        "tags": ["queue:default"],
    }


def test_the_command_runs_tasks_and_results_are_read(db: TestDatabase) -> None:
    ids = steps(db, "enqueue_all")
    assert "3 succeeded, 1 did not" in manage(db, "jobforge_worker", "--once")
    results = {name: json.loads(manage(db, "steps", "result", ids[name])) for name in ids}
    assert results["resize"]["value"] == 700
    assert results["context"]["value"] == {"attempt": 1, "name": "ada"}
    assert results["asynchronous"]["value"] == "done"
    assert results["resize"]["status"] == "SUCCESSFUL"
    assert results["resize"]["workers"] == 1
    # Retried by its policy, so it is ready again.
    assert results["broken"]["status"] == "READY"
    assert results["broken"]["errors"] == ["builtins.ValueError"]


def test_a_task_may_name_the_type_of_its_jobs(db: TestDatabase) -> None:
    id = steps(db, "enqueue_named")
    assert db.query("select type from jobforge_jobs") == [{"type": "image.blur"}]
    assert "1 succeeded, 0 did not" in manage(db, "jobforge_worker", "--once")
    assert json.loads(manage(db, "steps", "result", id))["value"] == 14


def test_two_tasks_of_one_type_are_refused(db: TestDatabase) -> None:
    message = steps(db, "define_twice")
    assert "have the same type, 'image.blur'" in message


def test_definitions_work_in_atomic_blocks(db: TestDatabase) -> None:
    assert steps(db, "enqueue_definitions") == {"committed": True, "rolled_back": False}


def test_the_command_runs_definitions_next_to_the_tasks_and_in_named_modules(db: TestDatabase) -> None:
    ids = steps(db, "enqueue_jobs")
    assert "1 succeeded, 0 did not" in manage(db, "jobforge_worker", "--once")
    assert "1 succeeded, 0 did not" in manage(db, "jobforge_worker", "shop.more", "--once")
    tables, greeting = json.loads(manage(db, "steps", "results", *ids))
    assert tables > 10
    assert greeting == "Hello Ada"


@pytest.fixture
def empty(jobforge_server: TestServer) -> Iterator[str]:
    """A database without JobForge, which Django may also use for its tests."""
    name = f"jobforge_django_{token_hex(6)}"
    jobforge_server.run(sql.SQL("create database {}").format(sql.Identifier(name)))
    yield database_url(jobforge_server.url, name)
    jobforge_server.run(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))


def test_a_worker_without_the_schema_says_what_to_do_and_the_command_migrates(empty: str) -> None:
    failed = command(empty, "jobforge_worker", "--once")
    assert failed.returncode == 1
    assert "CommandError: JobForge is not installed in this database" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert "is now at JobForge" in manage(empty, "jobforge_migrate")
    assert "was already at JobForge" in manage(empty, "jobforge_migrate")
    assert "0 succeeded" in manage(empty, "jobforge_worker", "--once")


def test_an_option_migrates_with_django_also_in_the_database_of_tests(empty: str) -> None:
    manage(empty, "migrate")
    assert not migration_status(empty).up_to_date
    manage(empty, "migrate", SHOP_MIGRATES="1")
    assert migration_status(empty).up_to_date
    done = command(empty, "test", SHOP_MIGRATES="1")
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr


def test_the_checks_of_django_pass(db: TestDatabase) -> None:
    assert "no issues" in manage(db, "check")
