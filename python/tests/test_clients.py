"""What both clients do for applications, over Postgres and over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

from jobforge import (
    ForbiddenError,
    InvalidArgumentError,
    JobCanceledError,
    JobFailedError,
    JobLimitExceededError,
    JobNotFoundError,
    JobNotHeldError,
    NotCancelableError,
    NotReschedulableError,
    NotUpdatableError,
    PayloadTooLargeError,
    WaitTimeoutError,
    define_job,
)

if TYPE_CHECKING:
    from .conftest import AsyncConnect, Connect, Way

mail = define_job("mail.send", retry="standard")
report = define_job("report.build", input=dict[str, Any], tags=["reports"], dedupe=lambda payload: payload["month"])
both = pytest.mark.parametrize("way", ["postgres", "http"])


@both
def test_enqueues_gets_and_lists(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    run_at = datetime.now(UTC) + timedelta(hours=1)
    handle = forge.enqueue(mail, {"to": "ada"}, tenant=tenant, run_at=run_at, tags=["news"], priority=3)
    assert handle.outcome == "created"
    job = handle.get()
    assert job is not None
    assert (job.payload, job.status, job.tags, job.priority) == ({"to": "ada"}, "queued", ["news"], 3)
    assert (job.tenant, job.max_attempts, job.type) == (tenant, 5, "mail.send")
    assert abs(job.run_at - run_at) < timedelta(milliseconds=1)
    assert [each.id for each in forge.list(tenant=tenant, job=mail)] == [handle.id]
    assert forge.get(str(uuid4()), tenant=tenant) is None
    reasons = handle.explain()
    assert reasons is not None
    assert reasons[0].code == "scheduled"


@both
async def test_waits_for_a_result(connect_async: AsyncConnect, way: Way, tenant: str) -> None:
    forge = connect_async(way)
    handle = await forge.enqueue(mail, {"to": "ada"}, tenant=UUID(tenant))
    [run] = await forge.runs.claim("w1", job=mail)
    assert (run.payload, run.attempt, run.tenant) == ({"to": "ada"}, 1, tenant)
    await run.complete({"sent": True})
    assert await handle.result(timeout=20) == {"sent": True}
    [attempt] = await handle.attempts()
    assert (attempt.status, attempt.worker_id, attempt.attempt_no) == ("succeeded", "w1", 1)


@both
async def test_a_result_tells_how_a_job_failed(connect_async: AsyncConnect, way: Way, tenant: str) -> None:
    forge = connect_async(way)
    failed = await forge.enqueue(mail, {}, tenant=tenant)
    [run] = await forge.runs.claim("w1")
    await run.fail(ValueError("no such address"), retry=False)
    with pytest.raises(JobFailedError, match="no such address") as failure:
        await failed.result(timeout=20)
    assert failure.value.failure is not None
    assert failure.value.failure["name"] == "ValueError"
    canceled = await forge.enqueue(mail, {}, tenant=tenant)
    await canceled.cancel()
    with pytest.raises(JobCanceledError):
        await canceled.result(timeout=20)
    waiting = await forge.enqueue(mail, {}, tenant=tenant)
    with pytest.raises(WaitTimeoutError):
        await waiting.result(timeout=0.2)
    with pytest.raises(WaitTimeoutError):
        await waiting.result(timeout=0)
    with pytest.raises(JobFailedError, match="no such address"):
        await failed.result(timeout=0)
    with pytest.raises(JobNotFoundError):
        await forge.result(str(uuid4()), tenant=tenant)


@both
def test_keys_keep_jobs_apart(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    first = forge.enqueue(mail, {"n": 1}, tenant=tenant, idempotency_key="receipt-42")
    again = forge.enqueue(mail, {"n": 2}, tenant=tenant, idempotency_key="receipt-42")
    assert (again.outcome, again.id) == ("existing", first.id)
    built = forge.enqueue(report, {"month": "2026-11"}, tenant=tenant, tags=["big"])
    other = forge.enqueue(report, {"month": "2026-11", "draft": True}, tenant=tenant, dedupe_mode="replace")
    assert (other.outcome, other.id) == ("replaced", built.id)
    assert built.job is not None
    assert built.job.tags == ["reports", "big"]
    assert built.job.dedupe_key == "2026-11"


@both
def test_enqueues_many_in_order(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    jobs = [mail.new({"n": n}).using(priority=n) for n in range(3)]
    other = str(uuid4())
    handles = forge.enqueue_many([*jobs, report.new({"month": "1"}).using(tenant=other)], tenant=tenant, subject="s")
    assert [each.outcome for each in handles] == ["created"] * 4
    found = [each.get() for each in handles]
    assert [each.payload for each in found if each] == [{"n": 0}, {"n": 1}, {"n": 2}, {"month": "1"}]
    assert [each.tenant for each in found if each] == [tenant] * 3 + [other]
    assert {each.subject for each in found if each} == {"s"}


def test_many_jobs_are_enqueued_all_or_none(connect: Connect, tenant: str) -> None:
    forge = connect("postgres")
    forge.tenants.set(tenant, max_pending=5500)
    with pytest.raises(JobLimitExceededError) as refused:
        forge.enqueue_many([mail.new({"n": n}) for n in range(6000)], tenant=tenant)
    assert refused.value.retryable
    assert forge.list(tenant=tenant).page().items == []
    fitting = forge.enqueue_fitting([mail.new({"n": n}) for n in range(6000)], tenant=tenant)
    assert [each is not None for each in fitting] == [True] * 5500 + [False] * 500


def test_an_error_of_many_names_the_job(connect: Connect, tenant: str) -> None:
    forge = connect("postgres")
    with pytest.raises(InvalidArgumentError) as refused:
        forge.enqueue_many([mail.new({}), mail.new({"price": float("nan")})], tenant=tenant)
    assert refused.value.field == "jobs[1].payload.price"
    with pytest.raises(InvalidArgumentError) as wrong:
        forge.enqueue_many([mail], tenant=tenant)  # type: ignore[arg-type]
    assert wrong.value.field == "jobs[0]"


@both
def test_lists_by_pages_and_filters(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    forge.enqueue_many([mail.new({"n": n}).using(tags=["odd"] if n % 2 else []) for n in range(8)], tenant=tenant)
    page = forge.list(tenant=tenant, page_size=3).page()
    assert [each.payload["n"] for each in page.items] == [7, 6, 5]
    rest = forge.list(tenant=tenant, page_size=3).page(page.cursor)
    assert [each.payload["n"] for each in rest.items] == [4, 3, 2]
    assert [each.payload["n"] for each in forge.list(tenant=tenant, tags=["odd"], status="queued")] == [7, 5, 3, 1]
    assert list(forge.list(tenant=tenant, created_before=datetime(2000, 1, 1, tzinfo=UTC))) == []
    with pytest.raises(InvalidArgumentError) as refused:
        forge.list(tenant=tenant, state="queued")  # type: ignore[call-arg]
    assert refused.value.hint == "Did you mean status?"


@both
def test_steers_jobs(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    handle = forge.enqueue(mail, {"n": 1}, tenant=tenant, delay=3600)
    changed = handle.update(payload={"n": 2}, priority=9, tags=["vip"])
    assert (changed.payload, changed.priority, changed.tags) == ({"n": 2}, 9, ["vip"])
    moved = handle.reschedule(max_attempts=7)
    assert (moved.status, moved.max_attempts) == ("queued", 7)
    assert handle.cancel().status == "canceled"
    with pytest.raises(NotCancelableError):
        handle.cancel()
    with pytest.raises(NotReschedulableError):
        handle.reschedule()
    with pytest.raises(NotUpdatableError):
        handle.update(priority=1)
    copied = forge.copy(handle.id, tenant=tenant, job=mail, payload={"n": 3}, max_attempts=2, tags=["copy"])
    assert copied is not None
    assert (copied.status, copied.payload, copied.max_attempts) == ("queued", {"n": 3}, 2)
    assert forge.reschedule(copied.id, tenant=tenant, payload={"n": 4}).status == "queued"
    again = forge.get(copied.id, tenant=tenant)
    assert again is not None
    assert again.payload == {"n": 4}
    assert forge.copy(str(uuid4()), tenant=tenant) is None
    forge.enqueue_many([mail.new({"n": n}) for n in range(3)], tenant=tenant, tags=["bulk"])
    assert forge.reschedule_many(tenant=tenant, tags="bulk", limit=2).changed == 2
    assert forge.cancel_many(tenant=tenant, tags="bulk").changed == 3


@both
def test_refuses_what_the_role_may_not_do(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way, "jobforge_app", tenant)
    with pytest.raises(ForbiddenError):
        forge.gates.list()
    stranger = str(uuid4())
    if way == "http":
        with pytest.raises(ForbiddenError):
            forge.enqueue(mail, {}, tenant=stranger)
    assert forge.enqueue(mail, {}, tenant=tenant).outcome == "created"


@both
def test_a_lost_run_cannot_be_ended(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    forge.enqueue(mail, {}, tenant=tenant)
    [run] = forge.runs.claim("w1")
    assert run.heartbeat().cancel_requested is False
    assert run.defer(datetime.now(UTC) + timedelta(minutes=1), counts=False).status == "queued"
    with pytest.raises(JobNotHeldError):
        run.complete()


@both
def test_a_payload_may_have_a_mebibyte(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    assert forge.enqueue(mail, {"text": "x" * 1_000_000}, tenant=tenant).outcome == "created"
    with pytest.raises(PayloadTooLargeError):
        forge.enqueue(mail, {"text": "x" * 1_048_576}, tenant=tenant)


@both
async def test_texts_of_all_languages_stay_as_they_are(connect_async: AsyncConnect, way: Way, tenant: str) -> None:
    forge = connect_async(way)
    payload: dict[str, Any] = {"text": "Grüße 你好 🎉 \\u0000 \\ \" ' $1 %s :p1", "n": 2**53 + 1, "f": 0.1}
    handle = await forge.enqueue(mail, payload, tenant=tenant, subject="ünï 'quoted' {a,b}", tags=['a "b"', "c\\d"])
    job = await handle.get()
    assert job is not None
    assert job.payload == payload
    assert (job.subject, job.tags) == ("ünï 'quoted' {a,b}", ['a "b"', "c\\d"])
