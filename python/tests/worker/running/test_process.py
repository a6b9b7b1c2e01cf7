"""Handlers in processes of their own, the only ones that can really be stopped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import AsyncJobForge, InvalidArgumentError, JobContext, define_job
from jobforge.worker import Worker

from .. import process_handlers

if TYPE_CHECKING:
    from ..conftest import Workers
    from ..support import Jobs, KeptLog


async def test_a_handler_in_a_process_has_its_context_and_its_result_is_stored(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    good, bad = await jobs.one("crunch", '{"n": 12}'), await jobs.one("crunch", '{"n": -1}')
    worker = workers.make(handlers=[process_handlers.handle_crunch], concurrency=1)
    summary = await worker.tick(limit=2)
    assert (summary.succeeded, summary.retried) == (1, 1)
    result = await jobs.result(good)
    assert (result["square"], result["attempt"]) == (144, 1)
    assert result["pid"] != os.getpid()
    assert (await jobs.job(good))["cost_cents"] == 2
    assert await jobs.value("select count(*)::int from jobforge_jobs where type = 'child'") == 1
    error = await jobs.error(bad)
    assert (error["name"], error["message"]) == ("ValueError", "negative")
    assert "process_handlers.py" in error["stack"]
    assert log.find("crunching -1 failed")["err"]["message"] == "negative"
    line = log.find("crunching")
    assert (line["n"], line["job_id"], line["attempt_no"]) == (12, good, 1)


async def test_what_a_handler_in_a_process_asks_for_holds(workers: Workers, jobs: Jobs) -> None:
    ids = {what: await jobs.one("asked", f'{{"do": "{what}"}}') for what in ("defer", "fail", "other")}
    summary = await workers.make(handlers=[process_handlers.handle_asked], concurrency=1).tick(limit=3)
    assert (summary.deferred, summary.failed, summary.retried) == (1, 1, 1)
    assert (await jobs.job(ids["fail"]))["last_error"] == "never"
    assert "job.resources is not available" in (await jobs.job(ids["other"]))["last_error"]


async def test_a_process_that_dies_fails_its_run_and_not_the_worker(workers: Workers, jobs: Jobs) -> None:
    id = await jobs.one("killed")
    good = await jobs.one("crunch", '{"n": 2}')
    handlers = [process_handlers.handle_killed, process_handlers.handle_crunch]
    summary = await workers.make(handlers=handlers).tick(limit=2)
    assert (summary.retried, summary.succeeded) == (1, 1)
    error = await jobs.error(id)
    assert error["name"] == "HandlerProcessDied"
    assert "SIGKILL" in error["message"]
    assert (await jobs.result(good))["square"] == 4


async def test_a_timeout_ends_the_process_and_kills_one_that_ignores_it(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    ids = [await jobs.one(type) for type in ("slow", "deaf", "waiting")]
    kept = await jobs.one("returning")
    handlers = [
        process_handlers.handle_slow,
        process_handlers.handle_deaf,
        process_handlers.handle_waiting,
        process_handlers.handle_returning,
    ]
    # On a busy machine, a process may take long to act on a signal.
    summary = await workers.make(handlers=handlers, abort_grace=5).tick(limit=4)
    assert (summary.retried, summary.succeeded) == (3, 1)
    for id in ids:
        assert (await jobs.error(id))["name"] == "JobTimeoutError"
    assert await jobs.result(kept) == "returned"
    deaf = [line for line in log.lines if line["message"].endswith("its process was killed")]
    assert [line["job_type"] for line in deaf] == ["deaf"]


async def test_batches_and_decorated_functions_run_in_processes_too(workers: Workers, jobs: Jobs) -> None:
    await jobs.enqueue("pairs", 2)
    report = await jobs.one("report.build", '{"month": "May"}')
    handlers: list[Any] = [process_handlers.handle_pairs, process_handlers.build]
    summary = await workers.make(handlers=handlers).tick(limit=3)
    assert (summary.succeeded, summary.retried) == (2, 1)
    assert await jobs.result(report) == "May 1"
    assert await jobs.value("select last_error from jobforge_jobs where status = 'queued'") == "one"


def test_a_handler_that_another_process_cannot_import_is_refused(workers_forge: Any) -> None:
    hidden = define_job("hidden")

    @hidden.handler_in("process")
    def handle(input: Any, job: JobContext) -> None: ...

    with pytest.raises(InvalidArgumentError, match="cannot import it"):
        Worker(workers_forge, handlers=[handle])


@pytest.fixture
def workers_forge() -> Any:
    return AsyncJobForge("postgresql://localhost/none")
