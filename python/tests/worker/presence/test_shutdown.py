"""How worker processes end: by signals, by their own stop, and by a handler that ends the process."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

from jobforge import JobContext, define_job

from ..support import Happening

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..children import Child
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

MODULE = "tests.worker.child_handlers"
a = define_job("a")


async def test_sigterm_lets_running_jobs_finish(jobs: Jobs, children: Callable[..., Child]) -> None:
    id = await jobs.one("a", '{"do": "sleep", "seconds": 1}')
    child = children("worker", MODULE)
    await child.logged("handler started")
    child.send(signal.SIGTERM)
    await child.logged("Worker stops: no new jobs, running jobs may finish")
    assert await child.ended() == 0
    assert (await jobs.job(id))["status"] == "succeeded"
    assert child.messages()[0] == "Worker started"
    assert child.messages()[-1] == "Worker stopped"
    assert await jobs.value("select count(*)::int from jobforge.workers where stopped_at is null") == 0


async def test_after_the_grace_jobs_are_aborted_and_released(jobs: Jobs, children: Callable[..., Child]) -> None:
    id = await jobs.one("a", '{"do": "wait"}')
    child = children("worker", MODULE, "--grace", "0.2")
    await child.logged("handler started")
    child.send(signal.SIGTERM)
    await child.logged("Worker stops: aborting the jobs that still run")
    assert await child.ended() == 0
    row = await jobs.job(id)
    assert (row["status"], row["attempts"], row["uncounted"]) == ("queued", 1, 1)
    assert "Job released" in child.messages()


async def test_a_second_signal_hurries(jobs: Jobs, children: Callable[..., Child]) -> None:
    id = await jobs.one("a", '{"do": "wait"}')
    child = children("worker", MODULE, "--grace", "3600")
    await child.logged("handler started")
    child.send(signal.SIGINT)
    await child.logged("Worker stops: no new jobs, running jobs may finish")
    child.send(signal.SIGINT)
    assert await child.ended() == 0
    assert (await jobs.job(id))["status"] == "queued"


async def test_a_thread_that_never_returns_does_not_keep_the_process(
    jobs: Jobs, children: Callable[..., Child]
) -> None:
    id = await jobs.one("thread")
    child = children("worker", MODULE, "--grace", "0")
    await child.logged("handler started")
    child.send(signal.SIGTERM)
    child.send(signal.SIGTERM)
    assert await child.ended() == 0
    assert (await jobs.job(id))["status"] == "queued"


async def test_sys_exit_in_a_handler_fails_its_job_releases_the_others_and_ends_the_process(
    jobs: Jobs, children: Callable[..., Child]
) -> None:
    other = await jobs.one("a", '{"do": "wait"}')
    child = children("worker", MODULE)
    await child.logged("handler started")
    id = await jobs.one("a", '{"do": "exit"}')
    line = await child.logged("The handler of this job ended the process")
    assert (line["job_id"], line["exit_code"]) == (id, 3)
    assert await child.ended() == 3
    assert (await jobs.error(id))["name"] == "SystemExit"
    assert (await jobs.job(other))["status"] == "queued"
    assert await jobs.attempts(other) == ["released"]


async def test_a_background_task_that_fails_goes_on_and_the_job_succeeds(
    jobs: Jobs, children: Callable[..., Child]
) -> None:
    id = await jobs.one("a", '{"do": "background"}')
    child = children("worker", MODULE)
    await jobs.finished(1)
    child.send(signal.SIGTERM)
    assert await child.ended() == 0
    assert (await jobs.job(id))["status"] == "succeeded"
    assert "in the background" in "".join(child.noise) + str(child.lines)


async def test_stop_hands_back_what_has_not_started_and_waits_for_the_rest(workers: Workers, jobs: Jobs) -> None:
    gate = asyncio.Event()
    started: Happening[int] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        started.now(input["n"])
        await gate.wait()

    await jobs.enqueue("a", 10)
    worker = await workers.start(handlers=[handle], concurrency=3)
    await started.times(3)
    stopping = asyncio.ensure_future(worker.stop())
    await asyncio.sleep(0.1)
    assert not stopping.done()
    gate.set()
    await stopping
    assert await jobs.statuses() == {"succeeded": 3, "queued": 7}
    assert await jobs.value("select max(attempts - uncounted) from jobforge_jobs where status = 'queued'") == 0
    assert not worker.is_running
    # A stopped worker can be started again.
    await worker.start()
    await jobs.finished(10)


async def test_a_handler_may_return_a_result_after_the_abort_of_a_shutdown(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    started: Happening[str] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        started.now(job.id)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return {"saved": job.abort_reason.kind if job.abort_reason else None}

    id = await jobs.one("a")
    worker = await workers.start(handlers=[handle])
    await started.once()
    await worker.stop(grace=0)
    assert await jobs.result(id) == {"saved": "shutdown"}
    assert "Worker stops: aborting the jobs that still run" in log.messages("warning")


async def test_handlers_are_released_when_the_event_loop_ends_without_a_stop(jobs: Jobs) -> None:
    """A program that forgets to stop its worker cancels all tasks; the jobs are not failures of their handlers."""
    from jobforge.errors import JobAborted
    from jobforge.worker.running.ending import RELEASED, Raised, conclude

    from ..support import run_of, type_called

    run = run_of(type_called("a"), "1")
    concluded: list[Any] = []

    async def handler() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            concluded.append(conclude(run, Raised(error)))

    task = asyncio.ensure_future(handler())
    await asyncio.sleep(0)
    task.cancel()
    await task
    assert concluded == [RELEASED]
    run.abort(JobAborted("canceled", "x"))
    assert conclude(run, Raised(ValueError("y")))["error"]["name"] == "JobCanceledError"
