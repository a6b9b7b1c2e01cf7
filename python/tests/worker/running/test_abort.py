"""How running handlers are stopped: by their timeout, a cancel, a lost lease, and the end of the worker's patience."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import BatchItem, JobContext, JobNotHeldError, define_job
from jobforge.worker import Hooks

from ..support import TENANT, Happening, until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...conftest import AsyncConnect, Way
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

a = define_job("a")
b = define_job("b")
brief = define_job("brief", timeout=0.2)
both = pytest.mark.parametrize("way", ["postgres", "http"])


async def test_a_timeout_cancels_the_task_and_fails_the_run_whatever_it_returns(workers: Workers, jobs: Jobs) -> None:
    reasons: list[Any] = []

    @brief.handler
    async def handle(input: Any, job: JobContext) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            reasons.append(job.abort_reason.kind if job.abort_reason else None)
        return "a result that comes too late"

    id = await jobs.one("brief")
    summary = await workers.make(handlers=[handle]).tick()
    assert summary.retried == 1
    assert reasons == ["timeout"]
    error = await jobs.error(id)
    assert error["name"] == "JobTimeoutError"
    assert error["message"] == "The handler took longer than 200 ms"
    assert await jobs.result(id) is None


async def test_the_earlier_of_the_definitions_and_the_policys_timeout_holds(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        await asyncio.Event().wait()

    await jobs.rows("select jobforge_set_policy('a', '{\"timeout_ms\": 150}')")
    id = await jobs.one("a")
    # The policy is read when the type is met, and holds for the run that has started.
    assert (await workers.make(handlers=[handle], sync=False).tick()).retried == 1
    assert (await jobs.job(id))["last_error"] == "The handler took longer than 150 ms"


@both
async def test_a_canceled_job_aborts_its_handler_and_its_result_is_kept(
    workers: Workers, connect_async: AsyncConnect, jobs: Jobs, log: KeptLog, way: Way
) -> None:
    started: Happening[str] = Happening()

    @a.handler
    async def waits(input: Any, job: JobContext) -> Any:
        started.now(job.id)
        reason = await job.wait_aborted()
        return {"saved": 3, "kind": reason.kind}

    @b.handler
    async def fails(input: Any, job: JobContext) -> None:
        started.now(job.id)
        await asyncio.Event().wait()

    kept, dropped = await jobs.one("a"), await jobs.one("b")
    forge = connect_async(way, "jobforge_worker")
    await workers.start(forge, handlers=[waits, fails], heartbeat=0.2)
    await started.times(2)
    await jobs.cancel(kept)
    await jobs.cancel(dropped)
    await jobs.finished(2)
    assert await jobs.statuses() == {"canceled": 2}
    assert await jobs.result(kept) == {"saved": 3, "kind": "canceled"}
    assert (await jobs.error(dropped))["name"] == "JobCanceledError"
    assert log.messages("info").count("Job canceled") == 2


async def test_a_cancel_is_noticed_by_a_notification_long_before_the_next_heartbeat(
    workers: Workers, jobs: Jobs
) -> None:
    started: Happening[str] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        started.now(job.id)
        await asyncio.Event().wait()

    id = await jobs.one("a")
    await workers.start(handlers=[handle], heartbeat=30)
    await started.once()
    await jobs.marked(1)
    await jobs.cancel(id)
    await jobs.finished(1)
    assert (await jobs.job(id))["status"] == "canceled"


async def test_progress_of_a_canceled_job_aborts_its_handler(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        await jobs.cancel(job.id)
        await job.progress(1)
        await asyncio.Event().wait()

    id = await jobs.one("a")
    assert (await workers.make(handlers=[handle], listen=False).tick()).canceled == 1
    assert (await jobs.job(id))["status"] == "canceled"


async def test_a_lost_lease_aborts_the_handler_and_its_result_is_dropped(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    started: Happening[str] = Happening()
    kinds: Happening[str] = Happening()
    stale: Happening[Any] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        if job.attempt > 1:
            return {"attempt": job.attempt}
        started.now(job.id)
        kinds.now((await job.wait_aborted()).kind)
        return "a result of a lost run"

    id = await jobs.one("a")
    await workers.start(handlers=[handle], heartbeat=0.2, hooks=Hooks(on_stale=stale.now))
    await started.once()
    await jobs.lose_leases()
    assert (await stale.once()).id == id
    assert await kinds.once() == "lost"
    await jobs.finished(1)
    assert await jobs.result(id) == {"attempt": 2}
    assert await jobs.attempts(id) == ["lost", "succeeded"]
    assert "Job lost: its lease ran out or was taken; its result is dropped" in log.messages("warning")


async def test_progress_of_a_lost_run_raises_and_aborts_it(workers: Workers, jobs: Jobs) -> None:
    raised: list[BaseException] = []
    reasons: list[Any] = []

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        await jobs.lose_leases()
        try:
            await job.progress({"page": 1})
        except JobNotHeldError as error:
            raised.append(error)
        reasons.append(job.abort_reason)

    await jobs.one("a")
    summary = await workers.make(handlers=[handle]).tick(limit=1)
    assert summary.stale == 1
    assert len(raised) == 1
    assert reasons[0].kind == "lost"


async def test_a_handler_that_ignores_its_abort_loses_its_slot(workers: Workers, jobs: Jobs, log: KeptLog) -> None:
    gate = asyncio.Event()

    @brief.handler
    async def deaf(input: Any, job: JobContext) -> None:
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    @a.handler
    async def other(input: Any, job: JobContext) -> None: ...

    id = await jobs.one("brief")
    worker = await workers.start(handlers=[deaf, other], concurrency=1, abort_grace=0.1)
    await jobs.one("a")

    async def is_done() -> bool:
        return (await jobs.statuses()).get("succeeded") == 1

    await until(is_done)
    assert (await jobs.job(id))["last_error"] == "The handler took longer than 200 ms"
    line = log.find("The handler ignores its aborted signal; its slot becomes free while it continues")
    assert (line["level"], line["reason"]) == ("error", "timeout")
    gate.set()
    await worker.stop()


async def test_a_function_in_a_thread_sees_its_abort_and_a_deaf_one_loses_its_slot(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    gate = threading.Event()

    @brief.handler
    def handle(input: Any, job: JobContext) -> None:
        if input.get("deaf"):
            gate.wait(60)
            return
        while True:
            job.raise_if_aborted()
            threading.Event().wait(0.01)

    polite, deaf = await jobs.one("brief"), await jobs.one("brief", '{"deaf": true}')
    # On a busy machine, a thread may take long to notice its abort.
    summary = await workers.make(handlers=[handle], abort_grace=3).tick(limit=2)
    gate.set()
    assert summary.retried == 2
    for id in (polite, deaf):
        assert (await jobs.error(id))["name"] == "JobTimeoutError"
    assert [line["job_id"] for line in log.lines if line["message"].startswith("The handler ignores")] == [deaf]


async def test_a_batch_is_canceled_when_all_of_its_jobs_are_aborted(workers: Workers, jobs: Jobs) -> None:
    started: Happening[list[str]] = Happening()

    @a.batch_handler(2)
    async def handle(items: Sequence[BatchItem[Any]]) -> list[Any]:
        started.now([item.job.id for item in items])
        await items[0].job.wait_aborted()
        assert items[1].job.abort_reason is None
        return ["first", "second"]

    await jobs.enqueue("a", 2)
    await workers.start(handlers=[handle], heartbeat=0.2)
    first, second = await started.once()
    await jobs.cancel(first)
    await jobs.finished(2)
    assert (await jobs.job(first))["status"] == "canceled"
    assert (await jobs.job(second))["status"] == "succeeded"
    assert await jobs.result(second) == "second"


async def test_a_cancelled_error_of_the_handlers_own_is_a_failure(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    id = await jobs.one("a")
    assert (await workers.make(handlers=[handle]).tick()).retried == 1
    assert (await jobs.error(id))["name"] == "CancelledError"


async def test_sys_exit_in_a_handler_of_a_worker_in_an_application_is_an_error(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        raise SystemExit(3)

    id = await jobs.one("a")
    assert (await workers.make(handlers=[handle]).tick()).retried == 1
    assert (await jobs.error(id))["name"] == "SystemExit"


async def test_a_run_of_a_schedule_that_ignores_its_timeout_keeps_its_lease(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    gate = asyncio.Event()
    runs: Happening[int] = Happening()

    @brief.handler
    async def deaf(input: Any, job: JobContext) -> None:
        assert job.schedule is not None
        assert job.schedule.key == "k"
        assert job.scheduled_for is not None
        runs.now(job.attempt)
        while not gate.is_set():
            try:
                await gate.wait()
            except asyncio.CancelledError:
                continue

    options = '{"every": "1 second", "payload": {}}'
    await jobs.rows("select jobforge_ensure_schedule(%s, 'brief', 'k', %s::jsonb)", TENANT, options)
    worker = await workers.start(handlers=[deaf], abort_grace=0.1, poll=0.1)
    await runs.once()

    async def is_reported() -> bool:
        return any(line["message"].startswith("The handler ignores its timeout") for line in log.lines)

    await until(is_reported)
    assert len(runs.values) == 1
    gate.set()
    await until(lambda: jobs.value("select count(*) > 0 from jobforge_jobs where status = 'failed'"))
    await worker.stop()
