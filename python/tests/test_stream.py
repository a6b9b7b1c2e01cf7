"""Streams of jobs: any iterable, in parts, with little memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jobforge import AsyncJobForge, BulkCounts, InvalidArgumentError, JobForge, NewJob, define_job

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from jobforge.testing.database import TestDatabase

row = define_job("row", input=dict[str, int])
OTHER = "22222222-2222-4222-8222-222222222222"


def rows(count: int) -> Iterator[NewJob[Any]]:
    for n in range(count):
        yield row.new({"n": n}).using(idempotency_key=f"row-{n}")


def test_a_generator_is_enqueued_in_parts_and_can_be_repeated(db: TestDatabase, tenant: str) -> None:
    seen: list[BulkCounts] = []
    with JobForge(db.url) as forge:
        counts = forge.enqueue_stream(rows(5001), tenant=tenant, on_progress=seen.append)
        assert counts == BulkCounts(5001, 5001, 0, 0)
        assert [each.enqueued for each in seen] == [5000, 5001]
        assert forge.enqueue_stream(rows(3), tenant=tenant) == BulkCounts(3, 0, 3, 0)
        assert forge.enqueue_stream([], tenant=tenant) == BulkCounts()
    assert db.query("select count(*)::int as jobs from jobforge_jobs") == [{"jobs": 5001}]


async def test_an_asynchronous_generator_may_have_several_tenants(db: TestDatabase, tenant: str) -> None:
    async def read() -> AsyncIterator[NewJob[Any]]:
        for n in range(4):
            yield row.new({"n": n}).using(tenant=OTHER if n % 2 else tenant)

    async with AsyncJobForge(db.url) as forge:
        assert (await forge.enqueue_stream(read())).created == 4
        assert (await forge.enqueue_stream(rows(1), tenant=tenant)).created == 1
    found = db.query("select tenant_id::text, count(*)::int as jobs from jobforge_jobs group by 1 order by 1")
    assert sorted(each["jobs"] for each in found) == [2, 3]


def test_an_error_names_the_place_in_the_stream(db: TestDatabase, tenant: str) -> None:
    def with_a_mistake() -> Iterator[Any]:
        yield from rows(5002)
        yield row.new({"n": "five"})  # type: ignore[dict-item]

    with JobForge(db.url) as forge:
        with pytest.raises(InvalidArgumentError) as raised:
            forge.enqueue_stream(with_a_mistake(), tenant=tenant)
        assert raised.value.field is not None
        assert raised.value.field.startswith("jobs[5002]")
        # The part before is enqueued.
        assert forge.enqueue_stream(rows(5001), tenant=tenant) == BulkCounts(5001, 1, 5000, 0)
