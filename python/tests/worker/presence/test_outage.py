"""A worker survives the loss of its database: it keeps results, does not spin, and logs the trouble once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import JobContext, define_job
from jobforge.errors import JobForgeError
from jobforge.worker import Hooks

from ..proxy import Proxy
from ..support import Happening, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobforge.testing.database import TestDatabase

    from ..conftest import Workers
    from ..support import Jobs, KeptLog

a = define_job("a")


@pytest.fixture
def proxy(db: TestDatabase) -> Iterator[Proxy]:
    made = Proxy(db.url)
    yield made
    made.close()


async def test_ends_are_kept_through_an_outage_and_settled_afterwards(
    workers: Workers, jobs: Jobs, proxy: Proxy, log: KeptLog
) -> None:
    gate = asyncio.Event()
    started: Happening[str] = Happening()
    troubles: Happening[Any] = Happening()
    over: Happening[Any] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        started.now(job.id)
        await gate.wait()
        return {"n": input["n"]}

    await jobs.enqueue("a", 5)
    forge = await workers.forge_at(proxy.url)
    hooks = Hooks(on_trouble=troubles.now, on_trouble_over=over.now)
    await workers.start(forge, handlers=[handle], heartbeat=0.2, hooks=hooks)
    await started.times(5)
    proxy.cut()
    gate.set()
    assert (await troubles.once()).activity in ("work", "heartbeat", "listen")
    # Without waits between its tries, a worker would make thousands of them.
    await asyncio.sleep(1)
    assert proxy.refused < 100
    assert await jobs.statuses() == {"running": 5}
    proxy.restore()
    await jobs.finished(5)
    await over.once()
    assert await jobs.value("select count(*)::int from jobforge_job_results") == 5
    assert await jobs.value("select max(attempts) from jobforge_jobs") == 1
    assert len([line for line in log.lines if line["message"].startswith("Database trouble: ")]) == 1
    line = log.find("Database trouble is over")
    assert line["level"] == "info"
    assert line["duration_ms"] > 0


async def test_a_worker_can_be_started_while_the_database_is_down(workers: Workers, jobs: Jobs, proxy: Proxy) -> None:
    ran: Happening[str] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        ran.now(job.id)

    await jobs.one("a")
    proxy.cut()
    worker = workers.make(await workers.forge_at(proxy.url), handlers=[handle])
    starting = asyncio.ensure_future(worker.start())

    async def was_refused() -> bool:
        return proxy.refused >= 2

    await until(was_refused)
    assert not starting.done()
    proxy.restore()
    await starting
    await ran.once()


async def test_a_tick_gives_up_at_once_if_it_holds_nothing(workers: Workers, jobs: Jobs, proxy: Proxy) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None: ...

    forge = await workers.forge_at(proxy.url)
    proxy.cut()
    with pytest.raises(JobForgeError):
        await workers.make(forge, handlers=[handle], sync=False).tick()


async def test_a_tick_keeps_trying_to_settle_what_it_has_run(workers: Workers, jobs: Jobs, proxy: Proxy) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        proxy.cut()
        asyncio.get_running_loop().call_later(0.5, proxy.restore)

    await jobs.one("a")
    forge = await workers.forge_at(proxy.url)
    summary = await workers.make(forge, handlers=[handle], sync=False).tick(limit=1)
    assert summary.succeeded == 1
    assert await jobs.statuses() == {"succeeded": 1}


async def test_a_claim_that_fails_pauses_claims_only_and_ends_are_settled(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    ran: Happening[str] = Happening()
    broken = asyncio.Event()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        ran.now(job.id)
        if not broken.is_set():
            broken.set()
            await jobs.rows("alter function jobforge.claim_documents rename to claim_documents_away")

    await jobs.one("a")
    await workers.start(handlers=[handle], listen=False, poll=0.1)
    await ran.once()

    async def is_reported() -> bool:
        return any(line["message"].startswith("Database trouble: ") for line in log.lines)

    await until(is_reported)
    await jobs.finished(1)
    assert log.find("Database trouble: ")["activity"] == "claim"
    await jobs.rows("alter function jobforge.claim_documents_away rename to claim_documents")
    await jobs.one("a")
    await ran.times(2)
