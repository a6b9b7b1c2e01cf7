"""Durable steps: handlers that save, sleep, wait and call children, and go on where they were."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import (
    AsyncJobForge,
    ChildFailedError,
    InvalidArgumentError,
    JobContext,
    Ref,
    RetryPolicy,
    Step,
    StepFacts,
    StepFailedError,
    Steps,
    build_workflow,
    define_job,
    define_workflow,
    run,
)
from jobforge.testing import call_handler, drain
from jobforge.worker import Hooks

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

    from ..conftest import Workers

order = define_job("order", retry=RetryPolicy(base=60, max_attempts=3))
child = define_job("child")

Body = Callable[[JobContext], Any]


@child.handler
def on_child(input: dict[str, int], job: JobContext) -> dict[str, int]:
    if input["n"] < 0:
        job.fail("negative")
    return input


async def run_at(db: TestDatabase, offset: str, body: Body) -> None:
    """Runs what is due at an offset from now. Children return their number; a negative one fails."""

    async def on_loop(_: Any, job: JobContext) -> Any:
        found: Any = body(job)
        return await found if isinstance(found, Awaitable) else found

    async with AsyncJobForge(db.url_at(offset)) as forge:
        await drain(forge, [order.handler(on_loop), on_child])


async def run_in_thread(db: TestDatabase, offset: str, body: Body) -> None:
    """The same in a thread."""

    def in_thread(_: Any, job: JobContext) -> Any:
        return body(job)

    async with AsyncJobForge(db.url_at(offset)) as forge:
        await drain(forge, [order.handler(in_thread), on_child])


@dataclass
class Hold:
    id: str


async def test_a_step_runs_once(db: TestDatabase, async_forge: AsyncJobForge, tenant: str) -> None:
    calls: list[str] = []

    async def reserve(step: StepFacts) -> Hold:
        calls.append(step.key)
        return Hold("h1")

    async def body(job: JobContext) -> Any:
        hold = await job.step("reserve", reserve, output=Hold)
        if job.attempt == 1:
            raise RuntimeError("no network")
        return [hold.id, await job.step("charge", lambda: "p1"), await job.step("charge", lambda: "p2")]

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    await run_at(db, "0", body)
    await run_at(db, "1 hour", body)
    assert await handle.result(timeout=30) == ["h1", "p1", "p2"]
    assert calls == [f"{handle.id}:reserve"]
    names = db.query("select name from jobforge.checkpoints order by name")
    assert [each["name"] for each in names] == ["charge", "charge#2", "reserve"]


@pytest.mark.parametrize("is_async", [True, False])
async def test_sleeps_hold_no_slot_and_cost_no_attempt(
    is_async: bool, db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    woken: list[int] = []

    async def body(job: JobContext) -> str:
        for day in range(3):
            await job.step("day", partial(int, day))
            await job.sleep(timedelta(days=1))
            woken.append(day)
        return "done"

    def in_thread(job: JobContext) -> str:
        for day in range(3):
            job.step_sync("day", partial(int, day))
            job.sleep_sync(86_400)
            woken.append(day)
        return "done"

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    run: Any = run_at if is_async else run_in_thread
    work: Body = body if is_async else in_thread
    await run(db, "0", work)
    assert woken == []
    for days in (1, 2, 3):
        await run(db, f"{days} days 1 hour", work)
    assert await handle.result(timeout=30) == "done"
    job = await handle.get()
    assert job is not None
    assert (job.attempts, job.uncounted) == (4, 3)


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_wait_ends_with_a_signal_or_with_its_timeout(
    is_async: bool, db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    async def body(job: JobContext) -> Any:
        reply = await job.wait_for(["paid", "canceled"], Hold, timeout=3600)
        return "late" if reply.timed_out else [reply.signal, reply.payload.id]

    def in_thread(job: JobContext) -> Any:
        reply = job.wait_for_sync(["paid", "canceled"], Hold, timeout=3600)
        return "late" if reply.timed_out else [reply.signal, reply.payload.id]

    run: Any = run_at if is_async else run_in_thread
    work: Body = body if is_async else in_thread
    early = await async_forge.enqueue(order, {}, tenant=tenant)
    await async_forge.signal(early.id, "canceled", {"id": "x"}, tenant=tenant)
    await run(db, "0", work)
    assert await early.result(timeout=30) == ["canceled", "x"]
    late = await async_forge.enqueue(order, {}, tenant=tenant)
    await run(db, "0", work)
    await run(db, "2 hours", work)
    assert await late.result(timeout=30) == "late"


@pytest.mark.parametrize("is_async", [True, False])
async def test_children_run_while_the_parent_waits(
    is_async: bool, db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    async def body(job: JobContext) -> Any:
        one = await job.run(child, {"n": 7})
        many = await job.all([job.call(child, {"n": n}, tags=["x"]) for n in (1, 2, 3)])
        ends = await job.all([child.new({"n": 1}), child.new({"n": -1})], settled=True)
        try:
            await job.run(child, {"n": -2})
        except ChildFailedError as error:
            return [one, many, await job.all([]), [end.status for end in ends], str(error)]

    def in_thread(job: JobContext) -> Any:
        one = job.run_sync(child, {"n": 7})
        many = job.all_sync([job.call(child, {"n": n}, tags=["x"]) for n in (1, 2, 3)])
        ends = job.all_sync([child.new({"n": 1}), child.new({"n": -1})], settled=True)
        try:
            job.run_sync(child, {"n": -2})
        except ChildFailedError as error:
            return [one, many, job.all_sync([]), [end.status for end in ends], str(error)]

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    await (run_at(db, "0", body) if is_async else run_in_thread(db, "0", in_thread))
    assert await handle.result(timeout=30) == [
        {"n": 7},
        [{"n": 1}, {"n": 2}, {"n": 3}],
        [],
        ["succeeded", "failed"],
        "The child 0 (child) ended badly: negative",
    ]


async def test_abandoned_children_run_on_when_their_parent_is_canceled(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    def abandoning_in_thread(job: JobContext) -> Any:
        return job.run_sync(child, {"n": 3}, delay=3600, abandon=True)

    bodies: list[Body] = [
        lambda job: job.run(child, {"n": 1}, delay=3600, abandon=True),
        lambda job: job.all([job.call(child, {"n": 2}, delay=3600)], abandon=True),
        lambda job: job.run(child, {"n": 4}, delay=3600),
        lambda job: job.all([job.call(child, {"n": 5}, delay=3600)]),
    ]
    for body in bodies:
        handle = await async_forge.enqueue(order, {}, tenant=tenant)
        await run_at(db, "0", body)
        await async_forge.cancel(handle.id, tenant=tenant)
    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    await run_in_thread(db, "0", abandoning_in_thread)
    await async_forge.cancel(handle.id, tenant=tenant)
    await run_at(db, "2 hours", lambda _: None)
    children = "select (payload ->> 'n')::int, status from jobforge_jobs where type = 'child' order by 1"
    assert [tuple(row.values()) for row in db.query(children)] == [
        (1, "succeeded"),
        (2, "succeeded"),
        (3, "succeeded"),
        (4, "canceled"),
        (5, "canceled"),
    ]


async def test_a_failure_that_is_kept_is_raised_again(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    tried: list[int] = []

    async def pay() -> None:
        tried.append(1)
        raise KeyError("declined")

    async def body(job: JobContext) -> Any:
        try:
            await job.step("pay", pay, retries=2, backoff=0.001)
        except StepFailedError as error:
            await job.step("refund", lambda: tried.append(100))
            await job.sleep(3600)
            return error.name
        return None

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    await run_at(db, "0", body)
    await run_at(db, "2 hours", body)
    assert await handle.result(timeout=30) == "KeyError"
    assert tried == [1, 1, 1, 100]


async def test_a_long_wait_before_a_retry_suspends_the_run(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    tried: list[int] = []

    def ask() -> int:
        tried.append(1)
        if len(tried) < 3:
            raise RuntimeError("busy")
        return len(tried)

    async def body(job: JobContext) -> Any:
        return await job.step("ask", ask, retries=5, backoff=60)

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    for offset in ("0", "5 minutes", "20 minutes"):
        await run_at(db, offset, body)
    assert await handle.result(timeout=30) == 3
    assert len(await handle.attempts()) > 1


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_saga_undoes_in_reverse_what_has_succeeded_once(
    is_async: bool, db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    done: list[str] = []

    def book(what: str) -> str:
        done.append(what)
        return what[0]

    def no_cars() -> None:
        raise RuntimeError("no cars")

    def undo(what: str) -> None:
        done.append(f"undo {what}")

    async def undo_later(what: str, step: StepFacts) -> None:
        done.append(f"undo {what} {step.key.split(':')[1]}")

    async def body(job: JobContext) -> None:
        async with job.saga() as saga:
            await saga.step("hotel", partial(book, "hotel"), undo=undo)
            await saga.step("flight", partial(book, "flight"), undo=undo_later)
            await job.sleep(60)
            await saga.step("car", no_cars, undo=undo)

    def in_thread(job: JobContext) -> None:
        with job.saga_sync() as saga:
            saga.step("hotel", partial(book, "hotel"), undo=undo)
            saga.step("flight", partial(book, "flight"), undo=undo)
            job.sleep_sync(60)
            saga.step("car", no_cars, undo=undo)

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    for offset in ("0", "10 minutes", "1 hour", "2 hours", "3 hours"):
        await (run_at(db, offset, body) if is_async else run_in_thread(db, offset, in_thread))
    job = await handle.get()
    assert job is not None
    assert (job.status, job.last_error) == ("dead", "no cars")
    assert job.error is not None
    assert job.error["name"] == "RuntimeError"
    assert done == ["hotel", "flight", "undo f undo flight" if is_async else "undo f", "undo h"]


async def test_a_saga_goes_back_after_fail_and_not_after_defer(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    done: list[str] = []

    async def body(job: JobContext) -> None:
        async with job.saga() as saga:
            await saga.step("a", lambda: 1, undo=lambda _: done.append("undo"))
            if job.attempt == 1:
                job.defer(60)
            done.append("fails")
            job.fail("enough")

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    await run_at(db, "0", body)
    await run_at(db, "1 hour", body)
    job = await handle.get()
    assert job is not None
    assert (job.status, done) == ("failed", ["fails", "undo"])


@pytest.mark.parametrize("is_async", [True, False])
async def test_writes_of_step_in_and_its_checkpoint_are_one_commit(
    is_async: bool, db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    db.query("create table shipped (id int)")

    async def write(connection: Any) -> int:
        await connection.execute("insert into shipped values (1)")
        return 1

    async def fail(connection: Any) -> None:
        await connection.execute("insert into shipped values (0)")
        raise RuntimeError("rolled back")

    async def body(job: JobContext) -> Any:
        with pytest.raises(RuntimeError):
            await job.step_in("fails", fail)
        rows = await job.step_in("book", write)
        await job.sleep(60)
        return rows

    def write_in_thread(connection: Any) -> int:
        connection.execute("insert into shipped values (1)")
        return 1

    def in_thread(job: JobContext) -> Any:
        rows = job.step_in_sync("book", write_in_thread)
        job.sleep_sync(60)
        return rows

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    for offset in ("0", "1 hour"):
        await (run_at(db, offset, body) if is_async else run_in_thread(db, offset, in_thread))
    assert await handle.result(timeout=30) == 1
    assert db.query("select id from shipped") == [{"id": 1}]


async def test_new_code_meets_old_checkpoints(db: TestDatabase, async_forge: AsyncJobForge, tenant: str) -> None:
    async def before(job: JobContext) -> Any:
        await job.step("price", lambda: 1)
        await job.sleep(60)

    async def after(job: JobContext) -> Any:
        is_new = await job.version("v2")
        await job.step("price", lambda: 1)
        await job.sleep(60)
        return is_new

    old = await async_forge.enqueue(order, {}, tenant=tenant)
    await run_at(db, "0", before)
    fresh = await async_forge.enqueue(order, {}, tenant=tenant)
    await run_at(db, "1 hour", after)
    await run_at(db, "2 hours", after)
    assert await old.result(timeout=30) is False
    assert await fresh.result(timeout=30) is True


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_step_reads_the_results_of_the_steps_that_it_needs(
    is_async: bool, db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    def steps(w: Steps) -> None:
        sizes = w.map("size", child, [{"n": 1}, {"n": -1}, {"n": 3}])
        w.step("sum", order, {}, needs=[run(sizes)])

    read: list[tuple[int, str, Any]] = []

    async def body(job: JobContext) -> None:
        async for item in job.results(child, "size"):
            read.append((item.index, item.status, item.value))  # noqa: PERF401 - the sample of the page

    def in_thread(job: JobContext) -> None:
        read.extend((item.index, item.status, item.value) for item in job.results_sync(child, "size"))

    await async_forge.start(build_workflow("sum", steps), {}, tenant=tenant)
    await (run_at(db, "0", body) if is_async else run_in_thread(db, "0", in_thread))
    assert read == [(0, "succeeded", {"n": 1}), (1, "failed", None), (2, "succeeded", {"n": 3})]


async def test_a_wait_is_no_error_that_a_handler_catches(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    seen: list[str] = []

    async def body(job: JobContext) -> str:
        try:
            await job.sleep(60)
        except Exception:  # noqa: BLE001 - the test shows that nothing gets here
            seen.append("caught")
        finally:
            seen.append("finally")
        return "awake"

    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    await run_at(db, "0", body)
    await run_at(db, "1 hour", body)
    assert await handle.result(timeout=30) == "awake"
    assert seen == ["finally", "finally"]


async def test_durable_steps_are_refused_in_handlers_of_batches(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    batch = define_job("batch", retry=RetryPolicy(max_attempts=1))

    @batch.batch_handler(10)
    async def handle_batch(items: Any) -> list[Any]:
        return [await item.job.step("a", lambda: 1) for item in items]

    handle = await async_forge.enqueue(batch, {}, tenant=tenant)
    await drain(async_forge, [handle_batch])
    job = await handle.get()
    assert job is not None
    assert "batches" in (job.last_error or "")


def test_a_handler_can_be_called_with_the_steps_of_earlier_executions() -> None:
    @order.handler
    async def handle(_: Any, job: JobContext) -> Any:
        hold = await job.step("reserve", lambda: {"id": "h1"})
        reply = await job.wait_for("paid", timeout=60)
        return [hold["id"], reply.signal]

    first = call_handler(handle, {})
    assert (first.how, first.steps) == ("suspended", {"reserve": {"id": "h1"}})
    assert first.wait == {"name": "wait for paid", "signals": ["paid"], "until": 60}
    second = call_handler(
        handle, {}, steps={**first.steps, "wait for paid": {"signal": "paid", "payload": None}}, attempt=2
    )
    assert second.result == ["h1", "paid"]


def test_times_are_checked() -> None:
    @order.handler
    async def handle(_: Any, job: JobContext) -> Any:
        await job.sleep(datetime(2030, 1, 1, tzinfo=UTC))

    found = call_handler(handle, {})
    assert found.how == "suspended"


async def test_a_handler_waits_for_a_workflow_as_for_a_job_and_gets_its_output(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    @define_workflow("double")
    def double(w: Steps, input: Ref[Any]) -> Step[Any]:
        first = w.step("first", child, {"n": input.n})
        return w.step("second", child, {"n": first.result.n})

    async def body(job: JobContext) -> list[int]:
        one = await job.run(double, {"n": 7}, subject="sub")
        two, three = await job.all([job.call(child, {"n": 2}), job.call(double, {"n": 3})])
        four = await job.run(double.new({"n": 4}))
        return [one["n"], two["n"], three["n"], four["n"]]

    id = (await async_forge.enqueue(order, {}, tenant=tenant)).id
    await run_at(db, "0", body)
    assert await async_forge.result(id, tenant=tenant) == [7, 2, 3, 4]
    workflows = [each async for each in async_forge.workflows.list(tenant=tenant)]
    assert [(each.name, each.status, each.parent_id) for each in workflows] == [("double", "succeeded", id)] * 3


async def test_a_workflow_that_fails_is_an_error_of_the_handler_that_waits_for_it(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    bad = build_workflow("bad", lambda w: w.step("only", child, {"n": -1}))
    caught: list[ChildFailedError] = []

    async def body(job: JobContext) -> str:
        (end,) = await job.all([job.call(bad, {})], settled=True)
        try:
            await job.run(bad, {})
        except ChildFailedError as error:
            caught.append(error)
        return str(end.status)

    id = (await async_forge.enqueue(order, {}, tenant=tenant)).id
    await run_at(db, "0", body)
    assert await async_forge.result(id, tenant=tenant) == "failed"
    assert [(each.type, each.job_id) for each in caught] == [("bad", None)]
    found = await async_forge.workflows.get(caught[0].workflow_id or "", tenant=tenant)
    assert found is not None
    assert found.status == "failed"


async def test_a_step_adds_steps_with_its_success_or_at_once(
    db: TestDatabase, async_forge: AsyncJobForge, tenant: str
) -> None:
    def graph(w: Steps) -> None:
        engine = w.step("engine", order, {})
        w.step("report", child, {"n": 9}, needs=[engine])

    counts: list[tuple[int, int]] = []

    async def body(job: JobContext) -> None:
        job.add_steps(lambda w: w.step("one", child, {"n": 1}))
        job.add_steps(lambda w: w.step("two", child, {"n": 2}, needs=[w.existing("one")]))
        with pytest.raises(InvalidArgumentError, match="detached"):
            job.add_steps(lambda w: w.step("x", child, {"n": 3}), detached=True)
        with pytest.raises(InvalidArgumentError, match="at least one step"):
            job.add_steps(lambda _: None)
        now = await job.add_steps_now(lambda w: w.step("now", child, {"n": 4}))
        counts.append((now.added, now.existing))
        if job.attempt == 1:
            raise ValueError("not yet")

    started = await async_forge.start(build_workflow("engine", graph), {}, tenant=tenant)
    await run_at(db, "0", body)
    await run_at(db, "1 hour", body)
    await started.result()
    assert counts == [(1, 0), (0, 1)]
    steps = {each.path: each async for each in started.steps()}
    assert set(steps) == {"engine", "report", "engine+", "engine+/one", "engine+/two", "engine+/now"}
    report = steps["report"].decided_at
    assert report is not None
    assert all(each.ended_at is not None and each.ended_at <= report for name, each in steps.items() if "+" in name)


async def test_a_hook_is_called_when_a_handler_waits(workers: Workers, async_forge: AsyncJobForge, tenant: str) -> None:
    seen: list[tuple[str, str, str]] = []

    async def body(_: Any, job: JobContext) -> None:
        await job.sleep(3600)

    hooks = Hooks(on_suspend=lambda run: seen.append((run.id, run.status, run.wait)))
    handle = await async_forge.enqueue(order, {}, tenant=tenant)
    await workers.make(handlers=[order.handler(body)], hooks=hooks).tick()
    assert seen == [(handle.id, "queued", "sleep")]
