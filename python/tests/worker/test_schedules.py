"""Runs of schedules: what a handler knows about its schedule, and how it sets the next run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobforge import JobContext, define_job

from .support import TENANT

if TYPE_CHECKING:
    from .conftest import Workers
    from .support import Jobs, KeptLog

feed = define_job("feed")


async def _ensure(jobs: Jobs, options: str) -> None:
    await jobs.rows("select jobforge_ensure_schedule(%s, 'feed', 'f1', %s::jsonb)", TENANT, options)


async def test_a_handler_knows_when_its_run_was_due_and_how_the_previous_run_ended(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    seen: list[tuple[datetime | None, Any]] = []

    @feed.handler
    async def handle(input: Any, job: JobContext) -> None:
        seen.append((job.scheduled_for, job.schedule))
        if len(seen) < 3:
            job.next_run(0)
        if len(seen) == 1:
            raise ValueError("503")

    due = (datetime.now(UTC) - timedelta(minutes=1)).replace(microsecond=0)
    await _ensure(jobs, f'{{"dynamic": true, "payload": {{}}, "next_run_at": "{due.isoformat()}"}}')
    worker = workers.make(handlers=[handle])
    while len(seen) < 3:
        await worker.tick()
    assert seen[0][0] == due
    assert (seen[0][1].key, seen[0][1].previous_run) == ("f1", None)
    previous = seen[1][1].previous_run
    assert (previous.scheduled_for, previous.status, previous.error) == (due, "failed", "503")
    assert previous.consecutive_failures == 1
    last = seen[2][1].previous_run
    assert (last.scheduled_for, last.status, last.error, last.consecutive_failures) == (
        seen[1][0],
        "succeeded",
        None,
        0,
    )
    assert log.find("Run failed, and its schedule continues")["level"] == "warning"


async def test_the_next_run_is_a_time_or_seconds_from_now_and_retry_after_replaces_it(
    workers: Workers, jobs: Jobs
) -> None:
    calls: list[Any] = []
    exact = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)

    @feed.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.next_run(60)
        calls[0](job)

    await _ensure(jobs, '{"dynamic": true, "payload": {}}')

    async def next_after(call: Any) -> timedelta:
        calls[:] = [call]
        await jobs.rows("select jobforge_run_schedule(%s, 'feed', 'f1')", TENANT)
        await workers.make(handlers=[handle]).tick()
        found: datetime = await jobs.value("select next_run_at from jobforge_schedules")
        return found - datetime.now(UTC)

    assert timedelta(days=2, hours=23) < await next_after(lambda job: job.next_run(exact)) < timedelta(days=3)
    two_hours = await next_after(lambda job: job.next_run(timedelta(hours=2)))
    assert timedelta(minutes=119) < two_hours < timedelta(minutes=121)
    an_hour = await next_after(lambda job: job.retry_after(3600))
    assert timedelta(minutes=59) < an_hour < timedelta(minutes=61)
