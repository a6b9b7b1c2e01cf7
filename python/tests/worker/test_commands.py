"""`jobforge-py worker` and `jobforge-py tick`."""

from __future__ import annotations

import asyncio
import json
import signal
import textwrap
import urllib.request
from typing import TYPE_CHECKING, Any

from .support import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobforge.testing.database import TestDatabase

    from .children import Child
    from .support import Jobs

MODULE = "tests.worker.child_handlers"


async def test_tick_runs_what_is_due_and_prints_the_result(jobs: Jobs, children: Callable[..., Child]) -> None:
    await jobs.enqueue("a", 3)
    child = children("tick", MODULE, "--json")
    assert await child.ended() == 0
    assert (await jobs.statuses()) == {"succeeded": 3}
    summary: dict[str, Any] = json.loads("".join(child.noise)) if child.noise else child.lines[-1]
    assert (summary["claimed"], summary["succeeded"]) == (3, 3)


async def test_a_worker_of_some_types_with_a_metrics_port(jobs: Jobs, children: Callable[..., Child]) -> None:
    await jobs.one("a")
    child = children("worker", MODULE, "--types", "a", "--concurrency", "2", "--metrics-port", "0", "--id", "w1")
    line = await child.logged("Worker started")
    assert (line["types"], line["worker_id"]) == (["a"], "w1")
    await child.logged("Job succeeded")
    url = (await child.wrote("Health and metrics: ")).split(": ")[1].strip()

    def read(path: str) -> str:
        with urllib.request.urlopen(f"{url}{path}", timeout=30) as response:  # noqa: S310 - a server of this test
            return str(response.read().decode())

    assert json.loads(await asyncio.to_thread(read, "/readyz")) == {"ok": True}

    async def is_counted() -> bool:
        return 'jobforge_worker_runs_total{outcome="succeeded"} 1' in await asyncio.to_thread(read, "/metrics")

    await until(is_counted)
    metrics = await asyncio.to_thread(read, "/metrics")
    assert 'jobforge_worker_claim_seconds_bucket{le="+Inf"}' in metrics
    child.send(signal.SIGTERM)
    assert await child.ended() == 0


async def test_the_database_is_an_option(jobs: Jobs, db: TestDatabase, children: Callable[..., Child]) -> None:
    """Processes that the command starts get the option as well."""
    environment = {"DATABASE_URL": "postgresql://me@127.0.0.1:1/app"}
    await jobs.enqueue("a", 1)
    child = children("tick", MODULE, "--json", "--database-url", db.url, env=environment)
    assert await child.ended() == 0
    child = children("worker", MODULE, "--processes", "2", "--database-url", db.url, env=environment)
    await child.logged("Worker started", 2)
    await jobs.enqueue("a", 1)
    await jobs.finished(2)
    child.send(signal.SIGTERM)
    assert await child.ended() == 0


async def test_processes_share_the_work_and_are_replaced(jobs: Jobs, children: Callable[..., Child]) -> None:
    child = children("worker", MODULE, "--processes", "2", "--max-jobs", "3")
    await child.logged("Worker started", 2)
    await jobs.enqueue("a", 4)
    await jobs.finished(4)
    # At least one of them has run three jobs, and another one takes its place.
    await jobs.enqueue("a", 4)
    await child.logged("Worker started", 3)
    await jobs.finished(8)
    ids = {line["worker_id"] for line in child.lines if line["message"] == "Worker started"}
    assert len(ids) >= 3
    child.send(signal.SIGTERM)
    assert await child.ended() == 0


async def test_one_process_is_replaced_as_well(jobs: Jobs, children: Callable[..., Child]) -> None:
    child = children("worker", MODULE, "--max-jobs", "1", "--id", "w1")
    for runs in (1, 2):
        await jobs.enqueue("a", 1)
        await jobs.finished(runs)
        await child.logged("Worker started", runs + 1)
    assert {line["worker_id"] for line in child.lines if line["message"] == "Worker started"} == {"w1"}
    child.send(signal.SIGTERM)
    assert await child.ended() == 0


async def test_a_process_that_uses_too_much_memory_is_replaced(children: Callable[..., Child]) -> None:
    """Every process uses more than this."""
    child = children("worker", MODULE, "--max-memory", "1")
    await child.logged("Worker started", 2)
    child.send(signal.SIGTERM)
    assert await child.ended() == 0
    first, second = [line["worker_id"] for line in child.lines if line["message"] == "Worker started"][:2]
    assert first != second


async def test_watch_restarts_when_a_module_changes_and_waits_when_it_is_broken(
    jobs: Jobs, children: Callable[..., Child], tmp_path: Path
) -> None:
    module = tmp_path / "tasks.py"
    source = textwrap.dedent(
        """
        from jobforge import define_job

        a = define_job("a")

        @a.handler
        async def handle(input, job):
            return "first"
        """
    )
    module.write_text(source)
    child = children("worker", "tasks", "--watch", folder=tmp_path)
    await child.logged("Worker started")
    id = await jobs.one("a")
    await jobs.finished(1)
    assert await jobs.result(id) == "first"
    module.write_text("this is no Python")
    await child.wrote("The worker ended with code 1: waiting for a file to change")
    module.write_text(source.replace("first", "second"))
    await child.logged("Worker started", 2)
    id = await jobs.one("a")
    await jobs.finished(2)
    assert await jobs.result(id) == "second"
    child.send(signal.SIGINT)
    assert await child.ended() == 0


async def test_the_connectors_run_without_a_module_and_heed_the_environment(
    jobs: Jobs, children: Callable[..., Child]
) -> None:
    server = await asyncio.start_server(_respond, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        id = await jobs.one("connector.http.request", json.dumps({"url": url}))
        refused = children("tick", "--connectors")
        assert await refused.ended() == 0
        assert "is not public" in (await jobs.job(id))["last_error"]
        id = await jobs.one("connector.http.request", json.dumps({"url": url}))
        child = children("worker", "--connectors", env={"JOBFORGE_EGRESS": "loopback"})
        line = await child.logged("Worker started")
        assert len(line["types"]) == 3
        await child.logged("Job succeeded")
        assert (await jobs.result(id))["body"] == "pong"
        child.send(signal.SIGTERM)
        assert await child.ended() == 0
    wrong = children("worker", "--connectors", env={"JOBFORGE_EGRESS": "all"})
    assert await wrong.ended() == 2
    assert "JOBFORGE_EGRESS must be public or loopback, not 'all'" in "".join(wrong.noise)


async def _respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\npong")
    await writer.drain()
    writer.close()


async def test_mistakes_in_arguments_are_reported_without_a_traceback(
    jobs: Jobs, children: Callable[..., Child]
) -> None:
    for arguments, expected in (
        (("worker", MODULE, "--types", "b"), "--types names b, which has no handler"),
        (("worker", MODULE, "--concurrency", "0"), "concurrency must be"),
        (("worker", "json"), "has no handlers"),
        (("worker",), "MODULE is missing\nName a module with handlers, such as app.tasks, or pass --connectors."),
        (("worker", "tests.worker.missing"), "There is no module tests.worker.missing\nRun the command in the folder"),
        (("worker", "missing.tasks"), "There is no module missing\n"),
        (("tick", "tests/worker/child_handlers.py"), "Write tests.worker.child_handlers."),
        (("worker", "tests.worker:app"), "must be the name of a module, such as app.tasks, not 'tests.worker:app'"),
        (("worker", MODULE, "--tenant", "null"), "not the id of a tenant"),
        (("worker", MODULE, "--grace", "soon"), "must be a time span"),
        (("worker", MODULE, "--max-jobs", "0"), "must be a whole number from 1 on"),
        (("worker", MODULE, "--processes", "2", "--metrics-port", "0"), "--metrics-port is for one process"),
        (("worker", MODULE, "--processes", "2", "--id", "w1"), "--id is for one process"),
    ):
        child = children(*arguments)
        assert await child.ended() != 0
        assert expected in "".join(child.noise)
