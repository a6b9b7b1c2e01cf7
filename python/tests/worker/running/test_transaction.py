"""A handler's own writes and the end of its job in one transaction."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import JobContext, define_job

if TYPE_CHECKING:
    from ...conftest import AsyncConnect
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

a = define_job("a")
brief = define_job("brief", timeout=0.3)


@pytest.fixture(autouse=True)
async def notes(jobs: Jobs) -> None:
    await jobs.rows("create table notes (text text)")


async def _notes(jobs: Jobs) -> list[str]:
    return [row["text"] for row in await jobs.rows("select text from notes order by 1")]


async def test_the_writes_and_the_end_are_committed_together(workers: Workers, jobs: Jobs) -> None:
    child = define_job("child")

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.enqueue(child, {})
        async with job.transaction() as connection:
            await connection.execute("insert into notes values ('kept')")
            job.set_result({"rows": 1})
        with pytest.raises(RuntimeError, match="too late"):
            job.cost(1)

    id = await jobs.one("a")
    assert (await workers.make(handlers=[handle]).tick()).succeeded == 1
    assert await _notes(jobs) == ["kept"]
    assert await jobs.result(id) == {"rows": 1}
    assert await jobs.value("select count(*)::int from jobforge_jobs where type = 'child'") == 1


async def test_the_same_in_a_thread(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    def handle(input: Any, job: JobContext) -> None:
        with job.transaction_sync() as connection:
            connection.execute("insert into notes values ('from a thread')")
            if input["fails"]:
                raise ValueError("no")

    good, bad = await jobs.one("a", '{"fails": false}'), await jobs.one("a", '{"fails": true}')
    summary = await workers.make(handlers=[handle]).tick()
    assert (summary.succeeded, summary.retried) == (1, 1)
    assert await _notes(jobs) == ["from a thread"]
    assert (await jobs.job(good))["status"] == "succeeded"
    assert (await jobs.job(bad))["last_error"] == "no"


async def test_everything_is_rolled_back_if_the_block_raises_and_the_run_goes_on(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        try:
            async with job.transaction() as connection:
                await connection.execute("insert into notes values ('dropped')")
                raise ValueError("no")
        except ValueError:
            return "went on"

    id = await jobs.one("a")
    assert (await workers.make(handlers=[handle]).tick()).succeeded == 1
    assert await _notes(jobs) == []
    assert await jobs.result(id) == "went on"


async def test_everything_is_rolled_back_if_the_lease_is_lost(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        async with job.transaction() as connection:
            await connection.execute("insert into notes values ('dropped')")
            await jobs.lose_leases()

    await jobs.one("a")
    summary = await workers.make(handlers=[handle]).tick(limit=1)
    assert (summary.stale, summary.succeeded) == (1, 0)
    assert await _notes(jobs) == []


async def test_everything_is_rolled_back_at_the_timeout(workers: Workers, jobs: Jobs) -> None:
    @brief.handler
    async def handle(input: Any, job: JobContext) -> None:
        async with job.transaction() as connection:
            await connection.execute("insert into notes values ('dropped')")
            await asyncio.Event().wait()

    id = await jobs.one("brief")
    assert (await workers.make(handlers=[handle]).tick()).retried == 1
    assert await _notes(jobs) == []
    assert (await jobs.error(id))["name"] == "JobTimeoutError"


async def test_more_transactions_than_connections_wait_for_their_turn(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        async with job.transaction() as connection:
            await connection.execute("insert into notes values (%s)", [f"{input['n']:02d}"])
            await asyncio.sleep(0.005)

    await jobs.enqueue("a", 40)
    assert (await workers.make(handlers=[handle], concurrency=40).tick()).succeeded == 40
    assert len(await _notes(jobs)) == 40


async def test_a_value_returned_after_the_transaction_is_warned_about(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        async with job.transaction():
            pass
        return "too late"

    await jobs.one("a")
    await workers.make(handlers=[handle]).tick()
    assert log.find("The handler returned a value after transaction()")["level"] == "warning"


async def test_there_are_no_transactions_over_http(workers: Workers, connect_async: AsyncConnect, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        async with job.transaction():
            pass

    id = await jobs.one("a")
    forge = connect_async("http", "jobforge_worker")
    await workers.make(forge, handlers=[handle]).tick()
    assert "connected to Postgres itself, not over HTTP" in (await jobs.job(id))["last_error"]
