"""How errors are stored: with their code, their causes and their members."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import JobContext, define_job
from jobforge.describe_error import describe_error

if TYPE_CHECKING:
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

a = define_job("a")


async def test_an_error_is_stored_with_its_traceback_code_causes_and_members(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        try:
            raise ConnectionRefusedError(111, "connect to 127.0.0.1:1 refused")
        except OSError as cause:
            raise ExceptionGroup("two things failed", [ValueError("first"), KeyError("second")]) from cause

    id = await jobs.one("a")
    await workers.make(handlers=[handle], log_stacks=True).tick()
    error = await jobs.error(id)
    assert error["name"] == "ExceptionGroup"
    assert error["class_path"] == "builtins.ExceptionGroup"
    assert error["message"].startswith("two things failed")
    assert error["stack"].startswith("Traceback (most recent call last):")
    assert "in handle" in error["stack"]
    assert (error["cause"]["name"], error["cause"]["code"]) == ("ConnectionRefusedError", "ECONNREFUSED")
    assert [(each["name"], each["message"]) for each in error["errors"]] == [
        ("ValueError", "first"),
        ("KeyError", "'second'"),
    ]
    line = log.find("Job failed and will be retried")
    assert line["level"] == "warning"
    assert line["error_name"] == "ExceptionGroup"
    assert "refused" in line["error"]
    assert line["error_at"].startswith("handle (")
    assert "test_causes.py:" in line["error_at"]
    assert "Traceback" in line["stack"]


async def test_a_program_that_ends_its_run_itself_keeps_the_error_as_a_worker_does(
    workers: Workers, jobs: Jobs
) -> None:
    try:
        try:
            raise ConnectionRefusedError(111, "connect to 127.0.0.1:1 refused")
        except OSError as cause:
            raise ExceptionGroup("two things failed", [ValueError("first"), KeyError("second")]) from cause
    except ExceptionGroup as caught:
        error = caught
    id = await jobs.one("a")
    [run] = await workers.forge.runs.claim("script")
    await run.fail(error)
    kept = await jobs.error(id)
    assert {name: kept[name] for name in describe_error(error)} == describe_error(error)
    assert "test_causes.py" in kept["stack"]
    assert kept["cause"]["name"] == "ConnectionRefusedError"
    assert [each["name"] for each in kept["errors"]] == ["ValueError", "KeyError"]
    id = await jobs.one("a")
    [run] = await workers.forge.runs.claim("script")
    await run.fail("410 Gone")
    kept = await jobs.error(id)
    assert (kept["name"], kept["message"]) == ("Error", "410 Gone")


def test_errors_that_refer_to_themselves_and_long_ones_are_cut() -> None:
    error = ValueError("x" * 10_000)
    inner = ValueError("inner")
    error.__cause__ = inner
    inner.__cause__ = error
    described = describe_error(error)
    assert len(described["message"]) <= 4000
    assert len(described["stack"]) <= 4000
    assert described["cause"]["message"] == "inner"
    assert "cause" not in described["cause"]
    many = ExceptionGroup("many", [ValueError(str(number)) for number in range(100)])
    assert len(describe_error(many)["errors"]) == 5
    assert describe_error(many)["omittedErrors"] == 95


def test_an_error_whose_text_fails_is_described_all_the_same() -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

        @property
        def code(self) -> str:
            raise RuntimeError("no code")

    described = describe_error(OddError())
    assert described["name"] == "OddError"
    assert described["message"] == "an error without a text (OddError)"


def test_a_deep_traceback_keeps_its_last_frames() -> None:
    def deeper(depth: int) -> None:
        if depth == 0:
            raise ValueError("at the bottom")
        deeper(depth - 1)

    def start(depth: int) -> None:
        eval(f"deeper({depth})", {"deeper": deeper})  # noqa: S307 - a frame without source

    with pytest.raises(ValueError, match="at the bottom") as caught:
        start(120)
    stack = describe_error(caught.value)["stack"]
    assert len(stack) <= 4000
    assert stack.endswith("ValueError: at the bottom")
    assert "in deeper" in stack


async def test_an_error_of_a_task_group_names_the_member(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        async def fails() -> None:
            raise ValueError("in a task")

        async with asyncio.TaskGroup() as group:
            group.create_task(fails())

    id = await jobs.one("a")
    await workers.make(handlers=[handle]).tick()
    assert (await jobs.error(id))["errors"][0]["message"] == "in a task"
