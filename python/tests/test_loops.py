"""An asynchronous client that outlives its event loop, as in scripts that call `asyncio.run` several times."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import psycopg
import pytest

from jobforge import AsyncJobForge, InvalidArgumentError, define_job

from .support.polling import PATIENCE

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

    from .conftest import Way, Ways

mail = define_job("mail.send")
both = pytest.mark.parametrize("way", ["postgres", "http"])


@both
def test_a_client_serves_one_loop_after_another(ways: Ways, way: Way, tenant: str) -> None:
    forge = AsyncJobForge(**ways.arguments(way, "jobforge_operator"))

    async def use(number: int) -> int:
        handles = await asyncio.gather(*(forge.enqueue(mail, {"n": number}, tenant=tenant) for _ in range(15)))
        waiting = [asyncio.ensure_future(handle.result(timeout=PATIENCE)) for handle in handles]
        for run in await forge.runs.claim("w1", limit=15):
            await run.complete(number)
        return sum(await asyncio.gather(*waiting))

    assert [asyncio.run(use(number)) for number in range(3)] == [0, 15, 30]
    asyncio.run(forge.close())


def test_the_first_enqueue_of_a_loop_notifies(db: TestDatabase, tenant: str) -> None:
    """Also if the loop before it has ended in the moment in which enqueues are notified together."""
    db.query("""select jobforge_heartbeat_worker('w1', '{"types": ["mail.send"], "idle": true}')""")
    forge = AsyncJobForge(db.url)

    async def enqueue() -> None:
        await forge.enqueue(mail, {}, tenant=tenant)

    with psycopg.connect(db.url, autocommit=True) as ear:
        ear.execute("listen jobforge_wake")
        for _ in range(2):
            asyncio.run(enqueue())
        db.query("select pg_notify('jobforge_wake', 'end')")
        heard: list[str] = []
        while "end" not in heard:
            heard += [each.payload for each in ear.notifies(timeout=PATIENCE, stop_after=1)]
    assert [each.partition("\n")[0] for each in heard] == ["mail.send", "mail.send", "end"]
    asyncio.run(forge.close())


def test_two_loops_at_the_same_time_are_refused(db: TestDatabase, tenant: str) -> None:
    forge = AsyncJobForge(db.url)
    used, done = threading.Event(), threading.Event()

    async def keep() -> None:
        await forge.enqueue(mail, {}, tenant=tenant)
        used.set()
        await asyncio.to_thread(done.wait, PATIENCE)
        await forge.close()

    thread = threading.Thread(target=lambda: asyncio.run(keep()))
    thread.start()
    assert used.wait(PATIENCE)
    with pytest.raises(InvalidArgumentError, match="another event loop") as refused:
        asyncio.run(forge.enqueue(mail, {}, tenant=tenant))
    done.set()
    thread.join()
    assert "JobForge, which threads may share" in (refused.value.hint or "")
