"""How many jobs run at the same time, which ones, and how many are claimed before they can start."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from jobforge import JobContext, define_job
from jobforge.worker import Hooks

from ..support import TENANT, Crowd, Happening, until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..conftest import Workers
    from ..support import Jobs

a = define_job("a")
b = define_job("b")


@a.handler
async def quick(input: Any, job: JobContext) -> None: ...


async def test_a_worker_claims_the_types_that_it_handles_and_no_others(workers: Workers, jobs: Jobs) -> None:
    await jobs.enqueue("a", 20)
    await jobs.enqueue("b", 20)
    summary = await workers.make(handlers=[quick]).tick()
    assert (summary.claimed, summary.succeeded) == (20, 20)
    assert await jobs.value("select max(attempts) from jobforge_jobs where type = 'b'") == 0


async def test_as_many_handlers_run_as_the_concurrency_allows_and_no_more(workers: Workers, jobs: Jobs) -> None:
    crowd = Crowd()

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        with crowd:
            await asyncio.sleep(0.001)

    await jobs.enqueue("a", 200)
    await workers.start(handlers=[handle], concurrency=7)
    await jobs.finished(200)
    assert crowd.most == 7


async def test_functions_run_in_threads_as_many_as_the_concurrency_allows(workers: Workers, jobs: Jobs) -> None:
    barrier = threading.Barrier(3)
    threads: set[int] = set()

    @a.handler
    def handle(input: Any, job: JobContext) -> None:
        threads.add(threading.get_ident())
        barrier.wait(30)

    await jobs.enqueue("a", 6)
    await workers.start(handlers=[handle], concurrency=3)
    await jobs.finished(6)
    assert len(threads) == 3, "threads are used again"
    assert threading.get_ident() not in threads


async def test_one_slow_job_blocks_no_other_slot(workers: Workers, jobs: Jobs) -> None:
    gate = asyncio.Event()
    ended: Happening[Any] = Happening()

    @a.handler
    async def slow(input: Any, job: JobContext) -> None:
        await gate.wait()

    @b.handler
    async def short(input: Any, job: JobContext) -> None:
        ended.now(job.id)

    await jobs.enqueue("a", 1)
    await jobs.enqueue("b", 20)
    await workers.start(handlers=[slow, short], concurrency=3)
    await ended.times(20)
    assert (await jobs.statuses())["running"] >= 1
    gate.set()
    await jobs.finished(21)


async def test_a_types_own_cap_holds_and_the_other_types_use_the_remaining_slots(workers: Workers, jobs: Jobs) -> None:
    everything, capped = Crowd(), Crowd()

    @a.handler
    async def handle_a(input: Any, job: JobContext) -> None:
        with everything, capped:
            await asyncio.sleep(0.002)

    @b.handler
    async def handle_b(input: Any, job: JobContext) -> None:
        with everything:
            await asyncio.sleep(0.002)

    await jobs.enqueue("a", 60)
    await jobs.enqueue("b", 60)
    await workers.start(handlers=[handle_a, handle_b], concurrency=6, prefetch=0, max_per_type={"a": 2})
    await jobs.finished(120)
    assert capped.most == 2
    assert everything.most == 6
    assert await jobs.value("select count(*)::int from jobforge_job_attempts where status = 'released'") == 0


async def test_a_type_at_its_cap_is_claimed_again_as_soon_as_a_handler_of_it_ends(workers: Workers, jobs: Jobs) -> None:
    started: Happening[int] = Happening()
    gates = [asyncio.Event() for _ in range(6)]

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        started.now(input["n"])
        await gates[input["n"]].wait()

    @b.handler
    async def other(input: Any, job: JobContext) -> None: ...

    await jobs.enqueue("a", 5)
    # Only the end of a run makes the worker claim again.
    await workers.start(handlers=[handle, other], concurrency=4, max_per_type={"a": 1}, poll=60)
    for number in range(1, 6):
        assert len(await started.times(number)) == number
        gates[number].set()
    await jobs.finished(5)


async def test_slow_jobs_are_not_claimed_before_there_is_a_slot_for_them(workers: Workers, jobs: Jobs) -> None:
    @a.handler
    async def slow(input: Any, job: JobContext) -> None:
        await asyncio.sleep(0.1)

    await jobs.enqueue("a", 12)
    await workers.start(handlers=[slow], concurrency=2)
    most = 0

    async def are_done() -> bool:
        nonlocal most
        found = await jobs.statuses()
        most = max(most, found.get("running", 0))
        return found.get("succeeded", 0) == 12

    await until(are_done)
    assert most == 2


async def test_jobs_claimed_ahead_go_back_when_the_jobs_before_them_are_unexpectedly_slow(
    workers: Workers, jobs: Jobs
) -> None:
    gate = asyncio.Event()
    stuck: Happening[int] = Happening()

    @a.handler
    async def sticks(input: Any, job: JobContext) -> None:
        if input["n"] > 1_000:
            stuck.now(input["n"])
            await gate.wait()

    await jobs.enqueue("a", 3_000)
    await workers.start(handlers=[sticks], concurrency=2, id="first")
    await stuck.times(2)

    async def holds_two() -> bool:
        held = "select count(*)::int from jobforge_jobs where locked_by = 'first'"
        return bool(await jobs.value(held) == 2)

    await until(holds_two)
    other = await workers.start(handlers=[quick])

    async def are_done() -> bool:
        return (await jobs.statuses()).get("succeeded") == 2_998

    await until(are_done)
    await other.stop()
    gate.set()
    await jobs.finished(3_000)
    assert await jobs.value("select max(attempts - uncounted) from jobforge_jobs") == 1, "it cost no attempt"


class Observed:
    """A client's transport that counts its calls. It changes nothing else."""

    def __init__(self, forge: Any) -> None:
        self._transport = forge.transport
        self.calls: list[str] = []
        self.in_flight = 0
        self.most = 0

    @property
    def transport(self) -> Observed:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def blocking(self) -> Any:
        return self._transport.blocking()

    async def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> Any:
        self.calls.append(name)
        is_settle = name == "jobforge_settle_jobs_text"
        self.in_flight += is_settle
        self.most = max(self.most, self.in_flight)
        try:
            return await self._transport.call(name, args, timeout=timeout)
        finally:
            self.in_flight -= is_settle


async def test_fast_jobs_are_claimed_and_settled_by_the_hundred_in_two_calls_at_once(
    workers: Workers, jobs: Jobs
) -> None:
    await jobs.enqueue("a", 5_000, tenants=10)
    observed = Observed(workers.forge)
    # A machine under load may hand some jobs back, so a worker and not a tick runs them all.
    worker = await workers.start(observed, handlers=[quick])
    await jobs.finished(5_000)

    async def are_counted() -> bool:
        return worker.metrics().runs.succeeded == 5_000

    await until(are_counted)
    assert observed.calls.count("jobforge_settle_jobs_text") < 5_000 / 50
    assert observed.most == 2


async def test_a_batch_starts_as_it_is_when_no_more_jobs_are_due(workers: Workers, jobs: Jobs) -> None:
    sizes: list[int] = []

    @a.batch_handler(10)
    async def handle(items: Any) -> list[Any]:
        sizes.append(len(items))
        return [None for _ in items]

    await jobs.enqueue("a", 3)
    await workers.start(handlers=[handle], concurrency=3)
    await jobs.finished(3)
    assert sizes == [3]


async def test_a_worker_for_one_tenant_leaves_the_jobs_of_other_tenants_alone(workers: Workers, jobs: Jobs) -> None:
    await jobs.enqueue("a", 20, tenants=2)
    summary = await workers.make(handlers=[quick], tenant=TENANT).tick()
    assert summary.claimed == 10
    others = "select count(*)::int from jobforge_jobs where status = 'queued' and tenant_id <> %s"
    assert await jobs.value(others, TENANT) == 10


async def test_hooks_are_called_after_the_database_has_confirmed(workers: Workers, jobs: Jobs) -> None:
    seen: list[tuple[str, Any]] = []

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        if input["n"] == 2:
            raise ValueError("no")

    hooked: Happening[str] = Happening()

    async def slow_hook(event: Any) -> None:
        await asyncio.sleep(0)
        hooked.now(event.full_message)

    def fails(event: Any) -> None:
        raise RuntimeError("a hook that fails")

    hooks = Hooks(
        on_claim=lambda runs: seen.append(("claim", len(runs))),
        on_start=lambda run: seen.append(("start", run.attempt)),
        on_success=lambda run: seen.append(("success", run.status)),
        on_failure=slow_hook,
        on_dead=fails,
    )
    await jobs.rows("select jobforge_enqueue_job(%s, 'a', '{\"n\": 1}')", TENANT)
    await jobs.rows("select jobforge_enqueue_job(%s, 'a', '{\"n\": 2}', p_max_attempts => 1)", TENANT)
    worker = workers.make(handlers=[handle], hooks=hooks)
    summary = await worker.tick()
    assert (summary.succeeded, summary.failed) == (1, 1)
    assert await hooked.once() == "no"
    assert ("claim", 2) in seen
    assert seen.count(("start", 1)) == 2
    assert ("success", "succeeded") in seen
