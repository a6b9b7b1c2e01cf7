"""The heartbeat in its own thread, and the watchdog."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from jobforge import JobContext, define_job
from jobforge.worker.presence.watchdog import Watchdog
from jobforge.worker.reporting.log import WorkerLog
from jobforge.worker.reporting.sinks import LoggerSink

from ..support import Happening, KeptLog, run_of, type_called, until

if TYPE_CHECKING:
    from ..conftest import Workers
    from ..support import Jobs

a = define_job("a")


@a.handler
async def quick(input: Any, job: JobContext) -> None: ...


async def test_the_database_knows_a_worker_before_its_first_claim_and_that_it_has_stopped(
    workers: Workers, jobs: Jobs
) -> None:
    started: Happening[list[dict[str, Any]]] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        started.now(await jobs.rows("select id, instance, info, stopped_at from jobforge.workers"))

    await jobs.one("a")
    worker = await workers.start(handlers=[handle], concurrency=4)
    assert worker.id.startswith(f"{socket.gethostname()}-{os.getpid()}-")
    [row] = await started.once()
    assert row["id"] == worker.id
    info = row["info"]
    assert (info["types"], info["concurrency"], info["host"], info["pid"]) == (
        ["a"],
        4,
        socket.gethostname(),
        os.getpid(),
    )
    assert info["version"].startswith("python ")
    await jobs.finished(1)
    await worker.stop()
    stopped = await jobs.rows("select id, instance, info, stopped_at from jobforge.workers")
    assert all(each["stopped_at"] is not None for each in stopped)
    await worker.start()
    again = (await jobs.rows("select instance from jobforge.workers"))[0]["instance"]
    assert again != row["instance"]


async def test_a_handler_that_blocks_the_event_loop_costs_no_lease_and_is_named(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    beats: list[Any] = []

    @a.handler
    async def blocks(input: Any, job: JobContext) -> None:
        worker_row = "select seen_at from jobforge.workers"
        before = jobs.db.value(worker_row)
        until_time = time.monotonic() + 30
        # The event loop is blocked, but heartbeats arrive.
        while len(beats) < 3 and time.monotonic() < until_time:
            now = jobs.db.value(worker_row)
            if now not in (before, *beats):
                beats.append(now)
            time.sleep(0.05)  # noqa: ASYNC251 - what the test is about
        while time.monotonic() < until_time and not log_has_line(log):
            time.sleep(0.05)  # noqa: ASYNC251 - what the test is about

    id = await jobs.one("a")
    await workers.start(handlers=[blocks], heartbeat=0.2)
    await jobs.finished(1)
    assert len(beats) == 3
    assert await jobs.attempts(id) == ["succeeded"]
    line = log.find("The event loop does not respond")
    assert line["level"] == "warning"
    assert [each["id"] for each in line["jobs"]] == [id]
    assert "test_heartbeat.py" in line["blocked_at"]

    async def responds() -> bool:
        return "The event loop responds again" in log.messages("info")

    await until(responds)


def log_has_line(log: KeptLog) -> bool:
    return any(line["message"].startswith("The event loop does not respond") for line in log.lines)


async def test_a_worker_whose_event_loop_never_responds_is_wedged_after_a_while() -> None:
    log = KeptLog()
    run = run_of(type_called("a"), "j1")
    watchdog = Watchdog(
        asyncio.get_running_loop(),
        WorkerLog(LoggerSink(log), "w1", shows_stacks=False),
        lambda: [run],
        blocked_after=1,
        wedged_after=300,
    )
    watchdog.look(100)
    watchdog.look(100.5)
    assert log.lines == []
    watchdog.look(101)
    watchdog.look(102)
    assert len(log.lines) == 1
    assert not watchdog.is_wedged(399)
    assert watchdog.is_wedged(401)
    # The event loop responds.
    await asyncio.sleep(0)
    assert not watchdog.is_wedged(500)
    assert log.messages("info") == ["The event loop responds again"]


async def test_heartbeats_list_held_runs_and_name_their_metrics(workers: Workers, jobs: Jobs) -> None:
    gate = asyncio.Event()
    started: Happening[str] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        started.now(job.id)
        await gate.wait()

    await jobs.enqueue("a", 3)
    worker = await workers.start(handlers=[handle], heartbeat=0.1, id="w1")
    await started.times(3)

    async def is_heard() -> bool:
        return worker.metrics().heard_at is not None

    await until(is_heard)
    gate.set()
    await jobs.finished(3)

    async def is_reported() -> bool:
        settled = (
            "select coalesce(sum((b ->> 0)::int), 0)::int as calls from jobforge.workers w,"
            " jsonb_array_elements(w.info -> 'metrics' -> 'settle') b where w.id = 'w1'"
        )
        return bool(await jobs.value(settled) > 0)

    await until(is_reported)
    assert worker.metrics().runs.succeeded == 3
    await worker.stop()
    assert worker.metrics().runs.succeeded == 3, "metrics can still be read"


async def test_a_restart_under_the_same_name_takes_the_jobs_over(workers: Workers, jobs: Jobs) -> None:
    started: Happening[int] = Happening()
    kinds: Happening[str] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        started.now(job.attempt)
        if job.attempt == 1:
            kinds.now((await job.wait_aborted()).kind)

    await jobs.one("a")
    await workers.start(handlers=[handle], heartbeat=0.2, id="same")
    await started.once()
    await workers.start(handlers=[handle], heartbeat=0.2, id="same")
    assert await kinds.once() == "lost"
