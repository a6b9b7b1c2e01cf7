"""The Postgres transports: time limits, lost connections, LISTEN, and settings of the session."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from jobforge import (
    AsyncJobForge,
    ConnectionError,
    InvalidArgumentError,
    JobForge,
    NotInstalledError,
    TimeoutError,
    define_job,
    wake,
)
from jobforge.transport.base import ListenEvents

from .support.polling import PATIENCE, eventually, eventually_async

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

mail = define_job("mail.send")
LOCK_JOBS = "lock table jobforge.queue in access exclusive mode"


def test_a_call_gives_up_in_time(db: TestDatabase, tenant: str) -> None:
    with JobForge(db.url, max_connections=1) as forge, psycopg.connect(db.url) as other:
        other.execute(LOCK_JOBS)
        with pytest.raises(TimeoutError) as late:
            forge.within(0.3).enqueue(mail, {}, tenant=tenant)
        assert late.value.retryable
        other.rollback()
        # The connection of the call was dropped, so its place is free again.
        assert forge.enqueue(mail, {}, tenant=tenant).outcome == "created"


async def test_a_call_gives_up_in_time_on_a_loop(db: TestDatabase, tenant: str) -> None:
    async with AsyncJobForge(db.url, max_connections=1) as forge:
        with psycopg.connect(db.url) as other:
            other.execute(LOCK_JOBS)
            with pytest.raises(TimeoutError):
                await forge.within(0.3).enqueue(mail, {}, tenant=tenant)
            with pytest.raises(builtin_timeout):
                async with asyncio.timeout(0.3):
                    await forge.enqueue(mail, {}, tenant=tenant)
        assert (await forge.enqueue(mail, {}, tenant=tenant)).outcome == "created"


builtin_timeout = asyncio.TimeoutError


def test_a_call_waits_for_a_free_connection(db: TestDatabase, tenant: str) -> None:
    with (
        JobForge(db.url, max_connections=1) as forge,
        forge.transport.transaction(),
        pytest.raises(TimeoutError, match="no connection"),
    ):
        forge.within(0.2).enqueue(mail, {}, tenant=tenant)


def end_sessions(db: TestDatabase) -> None:
    db.query(
        "select pg_terminate_backend(pid, 10000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )


def test_idle_connections_that_were_lost_are_replaced(db: TestDatabase, tenant: str) -> None:
    with JobForge(db.url) as forge:
        forge.enqueue(mail, {}, tenant=tenant)
        end_sessions(db)
        assert forge.enqueue(mail, {}, tenant=tenant).outcome == "created"


async def test_idle_connections_that_were_lost_are_replaced_on_a_loop(db: TestDatabase, tenant: str) -> None:
    async with AsyncJobForge(db.url) as forge:
        await forge.enqueue(mail, {}, tenant=tenant)
        end_sessions(db)
        assert (await forge.enqueue(mail, {}, tenant=tenant)).outcome == "created"


def test_abandoned_calls_fail_at_once(db: TestDatabase, tenant: str) -> None:
    forge = JobForge(db.url)
    errors: list[Exception] = []

    def call() -> None:
        try:
            forge.enqueue(mail, {}, tenant=tenant)
        except Exception as error:  # noqa: BLE001 - compared below
            errors.append(error)

    with psycopg.connect(db.url) as other:
        other.execute(LOCK_JOBS)
        thread = threading.Thread(target=call)
        thread.start()
        waiting = (
            "select count(*) > 0 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        )
        eventually(lambda: db.value(waiting))
        forge.transport.abandon()
        thread.join(10)
        assert not thread.is_alive()
    assert isinstance(errors[0], ConnectionError)
    with pytest.raises(ConnectionError, match="closed"):
        forge.enqueue(mail, {}, tenant=tenant)


async def test_listens_again_after_a_loss(db: TestDatabase) -> None:
    async with AsyncJobForge(db.url) as forge:
        heard: list[tuple[str, str]] = []
        states: list[str] = []
        events = ListenEvents(
            lambda channel, payload: heard.append((channel, payload)), lambda state, _: states.append(state)
        )
        listener = await forge.transport.listen(["Some Channel"], events)
        await eventually_async(lambda: states == ["up"])
        db.query("select pg_notify('Some Channel', 'one')")
        await eventually_async(lambda: heard == [("Some Channel", "one")])
        end_sessions(db)
        await eventually_async(lambda: states == ["up", "down", "up"])
        db.query("select pg_notify('Some Channel', 'two')")
        await eventually_async(lambda: heard[1:] == [("Some Channel", "two")])
        await listener.close()


async def test_a_notification_ends_a_wait(db: TestDatabase, tenant: str) -> None:
    async with AsyncJobForge(db.url) as forge:
        handle = await forge.enqueue(mail, {}, tenant=tenant)
        waiting = asyncio.create_task(handle.result(timeout=60))
        watched = "select count(*) > 0 from jobforge.watches"
        await eventually_async(lambda: db.value(watched) and forge._signals.is_listening)
        [run] = await forge.runs.claim("w1")
        await run.complete("done")
        assert await waiting == "done"


def test_transactions_of_the_transport(db: TestDatabase, tenant: str) -> None:
    with JobForge(db.url) as forge:
        with forge.transport.transaction() as inside:
            assert inside.transport.is_transaction
            prepared: dict[str, Any] = {"p_tenant_id": tenant, "p_type": "mail.send", "p_payload": {}}
            assert inside.transport.call("jobforge_enqueue_job", prepared) is not None
        with pytest.raises(ZeroDivisionError), forge.transport.transaction() as inside:
            inside.transport.call("jobforge_enqueue_job", prepared)
            _ = 1 / 0
        assert len(forge.list(tenant=tenant).page().items) == 1


def test_a_blocking_transport_from_an_asynchronous_one(db: TestDatabase) -> None:
    async_forge = AsyncJobForge(db.url)
    transport = async_forge.transport.blocking()
    assert transport.call("jobforge_tenant_id", {"p_text": "org_123"}) == '"09209a93-96ec-5493-b10f-cd74e85b0218"'
    assert transport.call("jobforge_wake_workers", {"p_wakes": {}}) is None
    transport.close()
    with pytest.raises(InvalidArgumentError):
        transport.call("jobforge_no_such", {})


def test_the_search_path_and_date_style_of_a_session_do_not_matter(db: TestDatabase, tenant: str) -> None:
    url = f"{db.url}?options=-csearch_path%3Dpg_temp%20-cdatestyle%3DGerman"
    with JobForge(url) as forge:
        handle = forge.enqueue(mail, {}, tenant=tenant)
        found = handle.get()
        assert found is not None
        assert found.run_at.tzinfo is not None


def test_connections_that_are_refused(db: TestDatabase, tenant: str) -> None:
    login = db.create_login("jobforge_app")
    wrong = login.replace(login.split(":")[2].split("@")[0], "wrong")
    for url, code in ((wrong, "28P01"), (db.url.replace(db.name, "no_such_database"), "3D000")):
        with JobForge(url) as forge, pytest.raises(ConnectionError) as refused:
            forge.enqueue(mail, {}, tenant=tenant)
        assert (refused.value.code, refused.value.retryable) == (code, False)
        assert "wrong@" not in str(refused.value)
    with JobForge(f"{db.url}?sslmode=require") as forge, pytest.raises(ConnectionError) as plain:
        forge.enqueue(mail, {}, tenant=tenant)
    assert (plain.value.code, plain.value.retryable) == ("08000", False)
    assert plain.value.hint == "Remove sslmode from the database URL, or enable TLS in the server."
    with JobForge("postgresql://127.0.0.1:1/none") as forge, pytest.raises(ConnectionError) as absent:
        forge.enqueue(mail, {}, tenant=tenant)
    assert absent.value.retryable


def test_a_database_without_jobforge(db: TestDatabase, tenant: str) -> None:
    db.query("create schema nothing_here")
    for schema in ("other", "nothing_here"):
        with JobForge(db.url, schema=schema) as forge, pytest.raises(NotInstalledError) as missing:
            forge.enqueue(mail, {}, tenant=tenant)
        assert "migrate" in (missing.value.hint or "")
        assert str(missing.value).startswith("JobForge is not installed in this database")


def test_a_burst_of_enqueues_wakes_once_more(db: TestDatabase, tenant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # However slow the machine is, all of them come within this time. The end of the client ends it.
    monkeypatch.setattr(wake, "_TOGETHER", 3600.0)
    db.query('select jobforge_heartbeat_worker(\'w1\', \'{"types": ["mail.send"], "idle": true}\')')
    with psycopg.connect(db.url, autocommit=True) as ear:
        ear.execute("listen jobforge_wake")
        with JobForge(db.url) as forge:
            for _ in range(20):
                forge.enqueue(mail, {}, tenant=tenant)
        db.query("select pg_notify('jobforge_wake', 'end')")
        heard: list[str] = []
        while "end" not in heard:
            heard += [each.payload for each in ear.notifies(timeout=PATIENCE, stop_after=1)]
    assert [each.partition("\n")[0] for each in heard] == ["mail.send", "mail.send", "end"]


PREPARED = "select statement from pg_prepared_statements where statement like '%jobforge_list_jobs%'"


def prepared_on(forge: JobForge, then: str = "select") -> int:
    """How many statements the only session of a client has prepared. Runs another statement on it, too."""
    with forge.transport.transaction() as inside:
        assert isinstance(inside.connection, psycopg.Connection)
        found = inside.connection.execute(PREPARED).fetchall()
        inside.connection.execute(then.encode())
        return len(found)


def test_calls_prepare_statements_on_a_session_of_their_own(db: TestDatabase, tenant: str) -> None:
    with JobForge(db.url, max_connections=1) as forge:
        for _ in range(4):
            assert forge.list(tenant=tenant).page().items == []
        assert prepared_on(forge) == 0
        for _ in range(6):
            assert forge.list(tenant=tenant).page().items == []
        assert prepared_on(forge, then="do 'begin execute ''deallocate all''; end'") == 1
        # The session no longer knows what the driver has prepared.
        assert forge.list(tenant=tenant).page().items == []
        assert prepared_on(forge) == 0


async def test_calls_on_a_loop_prepare_statements_on_a_session_of_their_own(db: TestDatabase, tenant: str) -> None:
    async with AsyncJobForge(db.url, max_connections=1) as forge:
        for _ in range(10):
            assert (await forge.list(tenant=tenant).page()).items == []
        async with forge.transport.transaction() as inside:
            assert isinstance(inside.connection, psycopg.AsyncConnection)
            found = await inside.connection.execute(PREPARED)
            assert len(await found.fetchall()) == 1


def test_nothing_is_prepared_in_transaction_mode(db: TestDatabase, tenant: str) -> None:
    with JobForge(db.url, max_connections=1, pool_mode="transaction") as forge:
        for _ in range(10):
            assert forge.list(tenant=tenant).page().items == []
        assert prepared_on(forge) == 0
