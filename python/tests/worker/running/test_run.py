"""How runs end: results, errors, and what a handler asks for. Over Postgres and over HTTP."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import pytest

from jobforge import BatchItem, JobContext, define_job, job
from jobforge.worker import Hooks, current_job

from ..support import TENANT, Happening

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobforge.worker.running.context import RunContext

    from ...conftest import AsyncConnect, Way
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

a = define_job("a")
b = define_job("b")
both = pytest.mark.parametrize("way", ["postgres", "http"])


@both
async def test_handlers_get_their_job_and_their_results_are_stored(
    workers: Workers, connect_async: AsyncConnect, jobs: Jobs, way: Way
) -> None:
    seen: list[dict[str, Any]] = []

    @a.handler
    async def on_loop(input: Any, job: JobContext) -> Any:
        assert current_job() is job
        seen.append({"id": job.id, "type": job.type, "tenant": job.tenant, "attempt": job.attempt})
        assert job.max_attempts == 5
        assert len(job.trace_id) == 32
        assert job.traceparent.startswith(f"00-{job.trace_id}-")
        assert job.created_at <= job.run_at <= datetime.now(UTC) + timedelta(minutes=1)
        assert (job.subject, job.tags, job.scheduled_for, job.schedule) == (None, (), None, None)
        return {"twice": input["n"] * 2}

    @b.handler
    def in_thread(input: Any, job: JobContext) -> Any:
        assert current_job() is job
        return [input["n"], job.attempt]

    first, second = await jobs.one("a", '{"n": 4}'), await jobs.one("b", '{"n": 5}')
    forge = connect_async(way, "jobforge_worker")
    summary = await workers.make(forge, handlers=[on_loop, in_thread]).tick()
    assert (summary.claimed, summary.succeeded) == (2, 2)
    assert seen == [{"id": first, "type": "a", "tenant": TENANT, "attempt": 1}]
    assert await jobs.result(first) == {"twice": 8}
    assert await jobs.result(second) == [5, 1]


@both
async def test_what_a_handler_asks_for_holds_even_if_it_catches_it(
    workers: Workers, connect_async: AsyncConnect, jobs: Jobs, way: Way
) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        try:
            if input["do"] == "defer":
                job.defer(3600, counts=False)
            if input["do"] == "fail":
                job.fail("never again", {"reason": "gone"})
            job.retry_after(timedelta(hours=2), "rate limited")
        except BaseException:  # noqa: BLE001 - what the test is about
            return

    ids = {what: await jobs.one("a", f'{{"do": "{what}"}}') for what in ("defer", "fail", "retry")}
    forge = connect_async(way, "jobforge_worker")
    summary = await workers.make(forge, handlers=[handle]).tick()
    assert (summary.deferred, summary.failed, summary.retried) == (1, 1, 1)
    deferred, failed, retried = [await jobs.job(ids[what]) for what in ("defer", "fail", "retry")]
    assert (deferred["status"], deferred["attempts"], deferred["uncounted"]) == ("queued", 1, 1)
    assert timedelta(minutes=59) < deferred["run_at"] - datetime.now(UTC) < timedelta(minutes=61)
    assert (failed["status"], failed["last_error"]) == ("failed", "never again")
    assert (await jobs.error(ids["fail"]))["details"] == {"reason": "gone"}
    assert (retried["status"], retried["last_error"]) == ("queued", "rate limited")
    assert timedelta(minutes=119) < retried["run_at"] - datetime.now(UTC) < timedelta(minutes=121)


@both
async def test_children_cost_and_progress_are_kept_with_the_success(
    workers: Workers, connect_async: AsyncConnect, jobs: Jobs, way: Way
) -> None:
    child = define_job("child")

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.cost(3)
        job.cost(4)
        await job.progress({"done": 0.5})
        assert job.last_progress == {"done": 0.5}
        job.enqueue(child, {"of": job.id}, priority=7)
        job.enqueue(child.new({"of": "another"}))

    id = await jobs.one("a")
    forge = connect_async(way, "jobforge_worker")
    assert (await workers.make(forge, handlers=[handle]).tick()).succeeded == 1
    assert (await jobs.job(id))["cost_cents"] == 7
    children = await jobs.rows(
        "select payload, priority, tenant_id::text as tenant from jobforge_jobs where type = 'child' order by priority"
    )
    assert children == [
        {"payload": {"of": "another"}, "priority": 0, "tenant": TENANT},
        {"payload": {"of": id}, "priority": 7, "tenant": TENANT},
    ]


async def test_children_are_dropped_when_the_run_fails_and_checked_when_they_are_added(
    workers: Workers, jobs: Jobs
) -> None:
    @dataclass
    class Mail:
        to: str

    child = define_job("child", input=Mail)

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.enqueue(child, Mail("ada"))
        wrong: Any = {"to": 5}
        job.enqueue(child, wrong)

    id = await jobs.one("a")
    assert (await workers.make(handlers=[handle]).tick()).failed == 1
    assert "payload.to" in (await jobs.job(id))["last_error"]
    assert await jobs.value("select count(*)::int from jobforge_jobs where type = 'child'") == 0


async def test_progress_of_an_earlier_attempt_is_there_in_the_next_one(workers: Workers, jobs: Jobs) -> None:
    seen: list[Any] = []

    @a.handler
    def handle(input: Any, job: JobContext) -> None:
        seen.append(job.last_progress)
        if job.attempt == 1:
            job.progress_sync({"page": 7})
            job.retry_after(0)

    await jobs.one("a")
    summary = await workers.make(handlers=[handle]).tick()
    assert (summary.retried, summary.succeeded) == (1, 1)
    assert seen == [None, {"page": 7}]


async def test_payloads_and_results_are_checked_and_a_violation_is_not_retried(workers: Workers, jobs: Jobs) -> None:
    @dataclass
    class Order:
        lines: list[int]

    @dataclass
    class Receipt:
        total: int

    order = define_job("order", input=Order, output=Receipt)

    @order.handler
    async def handle(input: Order, job: JobContext) -> Any:
        assert isinstance(input, Order)
        return Receipt(sum(input.lines)) if sum(input.lines) < 10 else {"total": "many"}

    good = await jobs.one("order", '{"lines": [1, 2]}')
    bad = await jobs.one("order", '{"lines": ["x"]}')
    wrong = await jobs.one("order", '{"lines": [100]}')
    summary = await workers.make(handlers=[handle]).tick()
    assert (summary.succeeded, summary.failed) == (1, 2)
    assert await jobs.result(good) == {"total": 3}
    assert "payload.lines[0]" in (await jobs.job(bad))["last_error"]
    assert "output.total" in (await jobs.job(wrong))["last_error"]
    assert (await jobs.job(wrong))["status"] == "failed"


async def test_results_that_cannot_be_stored_fail_the_job_without_retry(workers: Workers, jobs: Jobs) -> None:
    values: dict[str, Any] = {
        "set": {1, 2},
        "nan": float("nan"),
        "naive": datetime(2026, 1, 1),  # noqa: DTZ001 - what the test is about
        "large": "x" * 1_100_000,
    }

    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        return values[input["kind"]]

    ids = {kind: await jobs.one("a", f'{{"kind": "{kind}"}}') for kind in values}
    assert (await workers.make(handlers=[handle]).tick()).failed == 4
    errors = {kind: (await jobs.job(id))["last_error"] for kind, id in ids.items()}
    assert "a set has no JSON form" in errors["set"]
    assert "nan has no JSON form" in errors["nan"]
    assert "without a time zone" in errors["naive"]
    assert errors["large"] == "Payload too large: result is over 1 MiB"


async def test_characters_that_postgres_cannot_store_are_replaced(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        if input["fails"]:
            raise ValueError("bad \0 and \ud800")
        return {"text": "bad \0 and \ud800 and \\u0000"}

    good, bad = await jobs.one("a", '{"fails": false}'), await jobs.one("a", '{"fails": true}')
    await workers.make(handlers=[handle]).tick()
    assert await jobs.result(good) == {"text": "bad \ufffd and \ufffd and \\u0000"}
    assert (await jobs.job(bad))["last_error"] == "bad \ufffd and \ufffd"


async def test_an_end_that_the_database_cannot_read_fails_alone(workers: Workers, jobs: Jobs, log: KeptLog) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        if input["n"] == 7:
            # No method of the context can do this.
            cast("RunContext", job).held_run.children = ["{"]

    await jobs.enqueue("a", 20)
    summary = await workers.make(handlers=[handle], concurrency=20).tick()
    assert (summary.succeeded, summary.failed) == (19, 1)
    row = (await jobs.rows("select payload, last_error from jobforge_jobs where status = 'failed'"))[0]
    assert row["payload"] == {"n": 7}
    assert row["last_error"].startswith("The end of the run was refused: ")
    assert "The database cannot read the end of the run" in log.messages("error")


async def test_a_batch_handler_is_called_once_for_many_jobs_and_each_has_its_own_end(
    workers: Workers, jobs: Jobs
) -> None:
    sizes: list[int] = []

    @a.batch_handler(10)
    async def handle(items: Sequence[BatchItem[Any]]) -> list[Any]:
        sizes.append(len(items))
        await asyncio.sleep(0.001)
        return [
            ValueError(f"no {item.input['n']}") if item.input["n"] % 7 == 0 else {"n": item.input["n"]}
            for item in items
        ]

    await jobs.enqueue("a", 35)
    summary = await workers.make(handlers=[handle], concurrency=2).tick()
    assert (summary.claimed, summary.succeeded, summary.retried) == (35, 30, 5)
    assert max(sizes) == 10
    assert len(sizes) <= 5
    wrong = await jobs.value(
        """select count(*)::int from jobforge_jobs j left join jobforge_job_results r on r.job_id = j.id
           where coalesce(r.result ->> 'n', substr(j.last_error, 4)) is distinct from j.payload ->> 'n'"""
    )
    assert wrong == 0


async def test_a_batch_handler_that_raises_or_forgets_results_fails_all_of_its_jobs(
    workers: Workers, jobs: Jobs
) -> None:
    @a.batch_handler(4)
    def raises(items: Sequence[BatchItem[Any]]) -> list[Any]:
        raise ValueError("all of them")

    @b.batch_handler(4)
    async def forgets(items: Sequence[BatchItem[Any]]) -> list[Any]:
        return [1]

    await jobs.enqueue("a", 4)
    await jobs.enqueue("b", 4)
    assert (await workers.make(handlers=[raises, forgets]).tick()).retried == 8
    rows = await jobs.rows("select distinct type, last_error from jobforge_jobs order by 1")
    assert rows == [
        {"type": "a", "last_error": "all of them"},
        {"type": "b", "last_error": "The handler of b got 4 jobs and returned 1 results"},
    ]


async def test_functions_with_the_decorator_are_handlers(workers: Workers, jobs: Jobs) -> None:
    @job("report.build")
    def build(job: JobContext, month: str, formats: list[str]) -> str:
        return f"{month} {formats[0]} {job.attempt}"

    id = await jobs.one("report.build", '{"month": "May", "formats": ["pdf"]}')
    assert (await workers.make(handlers=[build]).tick()).succeeded == 1
    assert await jobs.result(id) == "May pdf 1"


async def test_calls_after_the_end_of_a_run_are_refused(workers: Workers, jobs: Jobs) -> None:
    contexts: Happening[JobContext] = Happening()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        contexts.now(job)

    await jobs.one("a")
    ended: Happening[Any] = Happening()
    worker = workers.make(handlers=[handle], hooks=Hooks(on_success=ended.now))
    await worker.tick()
    context = await contexts.once()
    late: list[Callable[[], object]] = [
        lambda: context.cost(1),
        lambda: context.defer(1),
        lambda: context.enqueue(b, {}),
        lambda: context.next_run(1),
    ]
    for call in late:
        with pytest.raises(RuntimeError, match="too late: this run has ended"):
            call()
    with pytest.raises(RuntimeError, match="too late"):
        await context.progress(1)
    with pytest.raises(LookupError):
        current_job()
