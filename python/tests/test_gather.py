"""Single enqueues that are made at the same time are sent together, and each has its own outcome."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from jobforge import (
    AsyncJobForge,
    ConnectionError,
    ForbiddenError,
    InvalidArgumentError,
    JobForge,
    JobLimitExceededError,
    define_job,
)

from .support.polling import PATIENCE, eventually

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

    from .conftest import AsyncConnect, Connect, Way, Ways

both = pytest.mark.parametrize("way", ["postgres", "http"])
clean_up = define_job("clean.up")


class Recorded:
    """The transport of another client, which notes the names of its calls. It waits at a gate, if there is one."""

    can_listen = can_transact = is_transaction = False
    max_connections = None

    def __init__(self, through: Any) -> None:
        self._through = through
        self.sent: list[str] = []
        self.gate: threading.Event | None = None

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> Any:
        self.sent.append(name)
        if self.gate is not None:
            self.gate.wait(30)
        return self._through.call(name, args, timeout=timeout)

    def close(self) -> Any:
        return self._through.close()

    @property
    def enqueues(self) -> list[str]:
        """Without the wake-up that may follow."""
        return [name for name in self.sent if name != "jobforge_wake_workers"]


def recorded(forge: JobForge | AsyncJobForge) -> Any:
    return Recorded(forge.transport)


@both
async def test_calls_of_one_turn_are_one_statement_in_their_order(
    connect_async: AsyncConnect, way: Way, db: TestDatabase, tenant: str
) -> None:
    transport = recorded(connect_async(way))
    forge = AsyncJobForge(transport=transport)
    handles = await asyncio.gather(*(forge.enqueue(clean_up, {"n": n}, tenant=tenant) for n in range(50)))
    assert transport.enqueues == ["jobforge_enqueue_each"]
    assert [each["id"] for each in db.query("select id::text as id from jobforge.queue order by seq")] == [
        handle.id for handle in handles
    ]
    assert {handle.outcome for handle in handles} == {"created"}
    assert handles[7].job == await handles[7].get()
    assert handles[7].job is not None
    assert handles[7].job.payload == {"n": 7}


@both
async def test_a_call_alone_is_sent_as_it_is(connect_async: AsyncConnect, way: Way, tenant: str) -> None:
    transport = recorded(connect_async(way))
    forge = AsyncJobForge(transport=transport)
    for _ in range(2):
        handle = await forge.enqueue(clean_up, {}, tenant=tenant)
        assert handle.job is not None
    assert transport.enqueues == ["jobforge_enqueue_job"] * 2


@both
async def test_each_caller_gets_its_own_error(connect_async: AsyncConnect, way: Way, db: TestDatabase) -> None:
    t, u = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
    forge = connect_async(way)
    await forge.tenants.set(u, max_pending=1)
    past = datetime(2020, 1, 1, tzinfo=UTC)
    found = await asyncio.gather(
        forge.enqueue(clean_up, {}, tenant=t, subject="first"),
        forge.enqueue(clean_up, {}, tenant=u, subject="second"),
        forge.enqueue(clean_up, {}, tenant=t, expires_at=past),
        forge.enqueue(clean_up, {}, tenant=u, subject="no room"),
        forge.enqueue(clean_up, {}, tenant=t, subject="third"),
        return_exceptions=True,
    )
    failed = [each for each in found if isinstance(each, BaseException)]
    assert [type(each) for each in failed] == [InvalidArgumentError, JobLimitExceededError]
    assert list(found[2:4]) == failed
    assert db.value("select count(*)::int from jobforge_jobs") == 3


async def test_calls_of_several_tenants_are_one_statement(ways: Ways, db: TestDatabase) -> None:
    """For a login that must name its tenants."""
    t, u = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
    async with AsyncJobForge(**ways.arguments("postgres", "jobforge_app")) as app:
        transport = recorded(app)
        forge = AsyncJobForge(transport=transport)
        wanted = [u if n % 3 == 0 else t for n in range(9)]
        handles = await asyncio.gather(*(forge.enqueue(clean_up, {}, tenant=each) for each in wanted))
        assert transport.enqueues == ["jobforge_enqueue_each"]
        assert [handle.job.tenant for handle in handles if handle.job is not None] == wanted
    for tenant in (t, u):
        stored = db.query("select id::text from jobforge.queue where tenant_id = %s order by seq", [tenant])
        assert [each["id"] for each in stored] == [handle.id for handle in handles if handle.tenant == tenant]


async def test_a_login_of_a_tenant_is_refused_for_another_tenant_only(
    connect_async: AsyncConnect, db: TestDatabase, tenant: str
) -> None:
    forge = connect_async("http", "jobforge_app", tenant)
    other = "33333333-3333-4333-8333-333333333333"
    calls: list[Any] = [forge.enqueue(clean_up, {}, tenant=each) for each in (tenant, other)]
    found: list[Any] = list(await asyncio.gather(*calls, return_exceptions=True))
    assert isinstance(found[1], ForbiddenError)
    assert found[0].outcome == "created"
    assert db.value("select count(*)::int from jobforge_jobs") == 1


@pytest.mark.parametrize("blocking", [False, True])
async def test_a_call_that_waits_for_its_key_delays_no_other(
    connect: Connect, connect_async: AsyncConnect, db: TestDatabase, tenant: str, blocking: bool
) -> None:
    on_loop, in_thread = connect_async("postgres"), connect("postgres")
    with ThreadPoolExecutor(30) as pool:

        def enqueue(*args: Any, **options: Any) -> Any:
            if blocking:
                return asyncio.wrap_future(pool.submit(in_thread.enqueue, *args, **options))
            return on_loop.enqueue(*args, **options)

        with psycopg.connect(db.url) as holder:
            holder.execute("select jobforge_enqueue_job(%s, 'clean.up', p_idempotency_key => 'k')", [tenant])
            waits = [asyncio.ensure_future(enqueue(clean_up, {}, tenant=tenant, idempotency_key="k")) for _ in range(3)]
            await asyncio.gather(*(enqueue(clean_up, {}, tenant=tenant) for _ in range(20)))
            assert not any(each.done() for each in waits)
            holder.commit()
        found = await asyncio.gather(*waits)
    assert [each.outcome for each in found] == ["existing"] * 3
    assert len({each.id for each in found}) == 1
    assert db.value("select count(*)::int from jobforge_jobs") == 21


class Lost(Recorded):
    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> Any:
        del args, timeout
        self.sent.append(name)
        raise ConnectionError("connection reset")


async def test_a_lost_connection_rejects_every_call_and_none_is_sent_twice(tenant: str) -> None:
    transport: Any = Lost(None)
    forge = AsyncJobForge(transport=transport)
    found = await asyncio.gather(
        *(forge.enqueue(clean_up, {}, tenant=tenant) for _ in range(5)), return_exceptions=True
    )
    assert [type(each) for each in found] == [ConnectionError] * 5
    assert transport.enqueues == ["jobforge_enqueue_each"]


async def test_a_caller_that_is_cancelled_before_its_job_is_sent_enqueues_nothing(
    connect_async: AsyncConnect, db: TestDatabase, tenant: str
) -> None:
    forge = connect_async("postgres")
    first, second = (asyncio.ensure_future(forge.enqueue(clean_up, {}, tenant=tenant)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).outcome == "created"
    assert first.cancelled()
    assert db.value("select count(*)::int from jobforge_jobs") == 1


async def test_one_notification_wakes_for_all_jobs_of_a_statement(
    connect_async: AsyncConnect, db: TestDatabase, tenant: str
) -> None:
    db.query("""select jobforge_heartbeat_worker('w1', '{"types": ["clean.up"], "idle": true}')""")
    with psycopg.connect(db.url, autocommit=True) as ear:
        ear.execute("listen jobforge_wake")
        forge = connect_async("postgres")
        await asyncio.gather(*(forge.enqueue(clean_up, {}, tenant=tenant) for _ in range(50)))
        await forge.close()
        # Notifications arrive in the order of their commits.
        db.query("select pg_notify('jobforge_wake', 'end')")
        heard = []
        while "end" not in heard:
            heard += [each.payload for each in ear.notifies(timeout=PATIENCE, stop_after=1)]
    assert len(heard) == 2
    assert heard[0].startswith("clean.up")


async def test_without_gather_every_call_is_sent_by_itself(connect_async: AsyncConnect, tenant: str) -> None:
    transport = recorded(connect_async("postgres"))
    forge = AsyncJobForge(transport=transport, gather=False)
    await asyncio.gather(*(forge.enqueue(clean_up, {}, tenant=tenant) for _ in range(3)))
    assert transport.enqueues == ["jobforge_enqueue_job"] * 3


async def test_close_waits_for_the_calls_that_were_made_before(ways: Ways, db: TestDatabase, tenant: str) -> None:
    forge = AsyncJobForge(**ways.arguments("postgres", "jobforge_operator"))
    calls = [asyncio.ensure_future(forge.enqueue(clean_up, {}, tenant=tenant)) for _ in range(20)]
    await asyncio.sleep(0)
    await forge.close()
    await asyncio.gather(*calls)
    assert db.value("select count(*)::int from jobforge_jobs") == 20


def test_gather_is_true_or_false() -> None:
    with pytest.raises(InvalidArgumentError):
        JobForge("postgresql://h/d", gather="no")  # type: ignore[arg-type]


def in_threads(pool: ThreadPoolExecutor, calls: Sequence[Callable[[], Any]]) -> list[Future[Any]]:
    return [pool.submit(call) for call in calls]


@both
def test_calls_of_threads_that_come_while_others_are_sent_go_together(
    connect: Connect, way: Way, db: TestDatabase, tenant: str
) -> None:
    transport = recorded(connect(way))
    transport.gate = threading.Event()
    forge = JobForge(transport=transport)
    with ThreadPoolExecutor(32) as pool:
        first = in_threads(pool, [lambda: forge.enqueue(clean_up, {}, tenant=tenant)] * 2)
        eventually(lambda: len(transport.enqueues) == 2)
        calls = [*first, *in_threads(pool, [lambda: forge.enqueue(clean_up, {}, tenant=tenant)] * 30)]
        # They do not wait for slow statements.
        eventually(lambda: "jobforge_enqueue_each" in transport.enqueues)
        transport.gate.set()
        handles = [call.result(30) for call in calls]
    assert transport.enqueues[:2] == ["jobforge_enqueue_job"] * 2
    assert len(transport.enqueues) < 32
    assert len({handle.id for handle in handles}) == 32
    assert db.value("select count(*)::int from jobforge_jobs") == 32


def test_threads_get_their_own_errors(connect: Connect, db: TestDatabase, tenant: str) -> None:
    forge = connect("postgres")
    forge.tenants.set(tenant, max_pending=5)
    with ThreadPoolExecutor(20) as pool:
        calls = in_threads(pool, [lambda: forge.enqueue(clean_up, {}, tenant=tenant)] * 20)
        errors = [call.exception(30) for call in calls]
    # Two statements at the same time may both find the last free place.
    assert {type(error) for error in errors if error is not None} == {JobLimitExceededError}
    assert db.value("select count(*)::int from jobforge_jobs") == errors.count(None)


def test_threads_share_a_statement_for_several_tenants(connect: Connect, db: TestDatabase) -> None:
    forge = connect("postgres")
    tenants = [f"{n:08}-1111-4111-8111-111111111111" for n in range(20)]
    with ThreadPoolExecutor(20) as pool:
        calls = in_threads(pool, [lambda t=t: forge.enqueue(clean_up, {}, tenant=t) for t in tenants])  # type: ignore[misc]
        handles = [call.result(30) for call in calls]
    assert [handle.job.tenant for handle in handles] == tenants
    assert db.value("select count(distinct tenant_id)::int from jobforge_jobs") == 20


def test_a_client_in_a_transaction_never_gathers(connect: Connect, db: TestDatabase, tenant: str) -> None:
    forge = connect("postgres")
    with psycopg.connect(db.url) as connection:
        inside = forge.on(connection)
        assert inside._gatherer is None
        inside.enqueue(clean_up, {}, tenant=tenant)
        connection.rollback()
    assert forge.within(5)._gatherer is None
    assert db.value("select count(*)::int from jobforge_jobs") == 0
