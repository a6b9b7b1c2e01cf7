"""The command line."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobforge import JobForge, define_job, tenant_id
from jobforge.cli import main
from jobforge.cli.values import add_connection_options, connection_arguments

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

    from .conftest import Ways


def command(*arguments: str, input: str | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JOBFORGE_", "DATABASE_"))}
    return subprocess.run(
        [sys.executable, "-m", "jobforge", *arguments],
        capture_output=True,
        text=True,
        check=False,
        input=input,
        env={**kept, **environment},
    )


def test_enqueues_from_the_environment(db: TestDatabase, tmp_path: Path) -> None:
    done = command("enqueue", "mail.send", '{"to": "ada"}', "--tenant", "org_1", "--tag", "a", DATABASE_URL=db.url)
    assert done.returncode == 0, done.stderr
    output = json.loads(done.stdout)
    assert output["outcome"] == "created"
    file = tmp_path / "payload.json"
    file.write_text('{"n": 2}')
    for argument, input in ((f"@{file}", None), ("-", '{"n": 2}')):
        more = command("enqueue", "mail.send", argument, "--delay", "2h", input=input, DATABASE_URL=db.url)
        assert more.returncode == 0, more.stderr
    with JobForge(db.url) as forge:
        found = forge.get(output["id"], tenant=tenant_id("org_1"))
        assert found is not None
        assert (found.payload, found.tags) == ({"to": "ada"}, ["a"])
        assert sum(each.payload == {"n": 2} for each in forge.jobs.search()) == 2


def test_waits_for_a_result_over_http(ways: Ways, db: TestDatabase) -> None:
    arguments = ways.arguments("http", "jobforge_operator")
    with JobForge(db.url) as forge:
        forge.enqueue(define_job("done"), {}, tenant=tenant_id("org_1"), idempotency_key="k")
        [run] = forge.runs.claim("w1")
        run.complete({"ok": True})
    done = command(
        "enqueue", "done", "--tenant", "org_1", "--idempotency-key", "k", "--wait", "20s",
        "--url", arguments["url"], JOBFORGE_TOKEN=arguments["token"],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"] == {"ok": True}
    assert json.loads(done.stdout)["outcome"] == "existing"


@pytest.mark.parametrize("arguments", [["migrate"], ["enqueue", "a"], ["worker", "tests.worker.child_handlers"]])
def test_no_connection_is_code_3_and_no_traceback(arguments: list[str]) -> None:
    done = command(*arguments, DATABASE_URL="postgresql://me@127.0.0.1:1/app")
    assert done.returncode == 3, done.stderr
    assert "\nerror: " in f"\n{done.stderr}"
    assert "Check that Postgres is running" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["enqueue", "a", "{"], "is not JSON"),
        (["enqueue", "a", "@/no/such/file"], "cannot be read"),
        (["enqueue", "a", "--delay", "soon"], "time span"),
        (["enqueue", "a", "--run-at", "soon"], "must be a time"),
        (["enqueue", "a", "--tenant", "null"], "not the id of a tenant"),
        (["unknown"], "invalid choice"),
        ([], "required"),
    ],
)
def test_wrong_usage_is_explained(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["enqueue", "a"], "No database is given.\nPass --database-url, or set DATABASE_URL. For a server"),
        (["enqueue", "a", "--database-url", ""], "No database is given.\nPass --database-url"),
        (["worker", "tests.worker.child_handlers"], "No database is given.\nPass --database-url"),
        (["tick", "tests.worker.child_handlers"], "No database is given.\nPass --database-url"),
        (["migrate"], "No database is given.\nPass --database-url, or set DATABASE_URL.\n"),
        (["migrate", "--database-url", ""], "No database is given.\nPass --database-url, or set DATABASE_URL.\n"),
        (
            ["worker", "tests.worker.child_handlers", "--database-url", "http://h"],
            "Invalid argument: database must begin with postgresql://",
        ),
        (
            ["enqueue", "a", "--database-url", "postgresql://h/d", "--url", "http://h"],
            "Invalid argument: --database-url",
        ),
        (["enqueue", "a", "--url", "http://h"], "JOBFORGE_TOKEN is not set"),
    ],
)
def test_failures_are_a_line_with_a_hint(arguments: list[str], message: str) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {message}")
    assert "Traceback" not in done.stderr


def test_an_option_replaces_its_variables_and_no_others(db: TestDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {
        "DATABASE_URL": "postgresql://me@127.0.0.1:1/app",
        "JOBFORGE_URL": "http://127.0.0.1:1",
        "JOBFORGE_SCHEMA": "elsewhere",
        "JOBFORGE_POOL_MODE": "transaction",
    }
    options = ("--database-url", db.url, "--api-schema", "public")
    done = command("enqueue", "mail.send", *options, **environment)
    assert done.returncode == 0, done.stderr
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    parser = argparse.ArgumentParser()
    add_connection_options(parser)
    assert connection_arguments(parser.parse_args(options)) == {
        "database": db.url,
        "schema": "public",
        "pool_mode": "transaction",
    }
