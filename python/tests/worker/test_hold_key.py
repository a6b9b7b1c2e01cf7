"""What a handler does for a server that asks to wait: `hold_key`, in a thread and without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jobforge import AsyncJobForge, InvalidArgumentError, JobContext, define_job
from jobforge.testing import call_handler
from jobforge.worker import Worker

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

HOUR = 3600
call = define_job("call")


async def test_a_handler_in_a_thread_holds_its_key(async_forge: AsyncJobForge, tenant: str) -> None:
    ran: list[str | None] = []

    @call.handler
    def handle(input: Any, job: JobContext[Any]) -> None:
        ran.append(job.subject)
        if len(ran) == 1:
            job.hold_key_sync(HOUR, "The server asked to wait.")

    worker = Worker(async_forge, handlers=[handle], sync=False)
    await async_forge.enqueue(call, {}, tenant=tenant, subject="first", concurrency_key="k")
    await worker.tick()
    for subject, key in (("held", "k"), ("other", "l"), ("none", None)):
        await async_forge.enqueue(call, {}, tenant=tenant, subject=subject, concurrency_key=key)
    await worker.tick()
    assert sorted(map(str, ran)) == ["first", "none", "other"]


async def test_without_a_key_it_does_nothing_and_more_than_a_day_is_refused(
    async_forge: AsyncJobForge, db: TestDatabase, tenant: str
) -> None:
    @call.handler
    async def handle(input: Any, job: JobContext[Any]) -> None:
        await job.hold_key(HOUR)
        with pytest.raises(InvalidArgumentError):
            await job.hold_key(48 * HOUR)

    job = await async_forge.enqueue(call, {}, tenant=tenant)
    await Worker(async_forge, handlers=[handle], sync=False).tick()
    found = await job.get()
    assert found is not None
    assert found.status == "succeeded", found.error


def test_the_context_for_tests_records_it() -> None:
    @call.handler
    def handle(input: Any, job: JobContext[Any]) -> None:
        job.hold_key_sync(60)
        job.retry_after(5, "busy", at_least=True)

    record = call_handler(handle)
    assert (record.held_until, record.how, record.when) == (60, "retried", 5)
