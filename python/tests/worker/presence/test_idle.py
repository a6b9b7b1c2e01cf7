"""How an idle worker wakes up: by notifications, at due times, and by polling."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import JobContext, define_job

from ..support import TENANT, Happening, until

if TYPE_CHECKING:
    from ...conftest import AsyncConnect
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

a = define_job("a")


@pytest.fixture
async def ran() -> Happening[str]:
    return Happening()


@pytest.fixture
def handler(ran: Happening[str]) -> Any:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        ran.now(job.id)

    return handle


async def test_a_notification_wakes_a_worker_that_polls_once_a_minute(
    workers: Workers, jobs: Jobs, handler: Any, ran: Happening[str]
) -> None:
    await workers.start(handlers=[handler], poll=60)
    await jobs.marked(1)
    for number in range(1, 4):
        await jobs.one("a")
        assert len(await ran.times(number)) == number


async def test_a_worker_sleeps_until_the_next_job_is_due(
    workers: Workers, jobs: Jobs, handler: Any, ran: Happening[str]
) -> None:
    later = "select jobforge_enqueue_job(%s, 'a', p_run_at => clock_timestamp() + interval '700 milliseconds')"
    await jobs.rows(later, TENANT)
    await workers.start(handlers=[handler], poll=60)
    await ran.times(1)
    await jobs.marked(1)
    # The notification names the time.
    await jobs.rows(later, TENANT)
    await ran.times(2)


async def test_a_worker_that_does_not_listen_polls(
    workers: Workers, jobs: Jobs, handler: Any, ran: Happening[str]
) -> None:
    await workers.start(handlers=[handler], listen=False, poll=0.2)
    await jobs.one("a")
    await ran.once()
    assert await jobs.value("select count(*)::int from jobforge.idle_workers") == 0


async def test_a_worker_over_http_polls(
    workers: Workers, connect_async: AsyncConnect, jobs: Jobs, handler: Any, ran: Happening[str]
) -> None:
    await workers.start(connect_async("http", "jobforge_worker"), handlers=[handler], poll=0.3)
    await jobs.one("a")
    await ran.once()


async def test_a_busy_worker_withdraws_its_request_to_be_notified(workers: Workers, jobs: Jobs) -> None:
    stop = asyncio.Event()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        if not stop.is_set():
            job.enqueue(a, {})
            await asyncio.sleep(0.001)

    await workers.start(handlers=[handle], concurrency=2)
    await jobs.marked(1)
    await jobs.enqueue("a", 30)
    await jobs.marked(0)
    stop.set()
    await jobs.marked(1)


async def test_a_lost_listening_connection_is_replaced_and_the_worker_looks_for_jobs(
    workers: Workers, jobs: Jobs, log: KeptLog, handler: Any, ran: Happening[str]
) -> None:
    await workers.start(handlers=[handler], poll=60)
    await jobs.marked(1)
    ended = (
        "select count(pg_terminate_backend(pid))::int from pg_stat_activity"
        " where datname = current_database() and query ilike '%%listen%%' and pid <> pg_backend_pid()"
    )
    assert await jobs.value(ended) == 1

    async def is_over() -> bool:
        return "Database trouble is over" in log.messages("info")

    await until(is_over)
    assert log.find("Database trouble: retrying until it is over")["activity"] == "listen"
    await jobs.one("a")
    await ran.once()


async def test_a_heartbeat_finds_a_job_whose_notification_was_lost(
    workers: Workers, jobs: Jobs, handler: Any, ran: Happening[str]
) -> None:
    await workers.start(handlers=[handler], poll=60, heartbeat=0.1)
    await jobs.marked(1)
    await jobs.rows("select jobforge_enqueue_job(%s, 'a', p_notify => false)", TENANT)
    await ran.times(1)
