"""What both clients do, over Postgres and over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from jobforge import define_job

if TYPE_CHECKING:
    from .conftest import AsyncConnect, Connect, Way

mail = define_job("mail.send")
both = pytest.mark.parametrize("way", ["postgres", "http"])


@both
def test_enqueue_get_and_list(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    run_at = datetime.now(UTC) + timedelta(hours=1)
    handle = forge.enqueue(mail, {"to": "ada"}, tenant=tenant, run_at=run_at, tags=["news"], priority=3)
    assert handle.outcome == "created"
    job = handle.get()
    assert job is not None
    assert (job.payload, job.status, job.tags, job.priority, job.tenant) == (
        {"to": "ada"},
        "queued",
        ["news"],
        3,
        tenant,
    )
    assert abs(job.run_at - run_at) < timedelta(milliseconds=1)
    assert [each.id for each in forge.list(tenant=tenant, job=mail)] == [handle.id]


@both
async def test_enqueue_and_wait(connect_async: AsyncConnect, way: Way, tenant: str) -> None:
    forge = connect_async(way)
    handle = await forge.enqueue(mail, {"to": "ada"}, tenant=tenant)
    [run] = await forge.runs.claim("w1", job=mail)
    assert run.payload == {"to": "ada"}
    await run.complete({"sent": True})
    assert await handle.result(timeout=20) == {"sent": True}
