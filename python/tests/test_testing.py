"""What `jobforge.testing` offers to the tests of applications."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from jobforge import InvalidValueError, JobContext, JobFailedError, define_job, job
from jobforge.testing import assert_enqueued, call_handler, refute_enqueued, run_job

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jobforge import AsyncJobForge
    from jobforge.testing.database import TestServer
    from jobforge.worker import TickSummary

pytest_plugins = ["pytester"]


class Mail(BaseModel):
    to: str


class Receipt(BaseModel):
    message_id: str


send_mail = define_job("mail.send", input=Mail, output=Receipt)
audit = define_job("audit")


@send_mail.handler
async def send(mail: Mail, job: JobContext[dict[str, str]]) -> Receipt:
    if mail.to == "nobody":
        job.fail("There is no such address", {"address": mail.to})
    if mail.to == "later":
        job.retry_after(60, "rate limited")
    await job.progress({"step": 1})
    job.cost(3)
    job.log.info("Sending", to=mail.to)
    job.enqueue(audit, {"mail": mail.to}, priority=2)
    return Receipt(message_id=job.resources["prefix"] + mail.to)


@job("report.build")
def build(job: JobContext, month: date) -> str:
    return f"{month:%Y-%m}"


def test_a_handler_is_called_with_a_context_that_records() -> None:
    call = call_handler(send, Mail(to="ada"), resources={"prefix": "m-"})
    assert (call.how, call.result, call.cost_cents) == ("succeeded", Receipt(message_id="m-ada"), 3)
    assert call.progress == [{"step": 1}]
    assert [(each.job, each.input, each.options) for each in call.enqueued] == [
        (audit, {"mail": "ada"}, {"priority": 2})
    ]
    assert call.log == [("info", "Sending", {"to": "ada"})]
    assert call_handler(build, {"month": "2026-11-01"}).result == "2026-11"


async def test_a_handler_is_called_from_a_test_on_a_loop() -> None:
    failed = call_handler(send, Mail(to="nobody"))
    assert (failed.how, failed.message, failed.details) == ("failed", "There is no such address", {"address": "nobody"})
    retried = call_handler(send, Mail(to="later"))
    assert (retried.how, retried.when, retried.message) == ("retried", 60, "rate limited")


def test_the_input_and_output_of_a_handler_are_checked() -> None:
    with pytest.raises(InvalidValueError):
        call_handler(send, {"to": 1})

    @send_mail.handler
    def wrong(mail: Mail, job: JobContext) -> Receipt:
        return {"message_id": 1}  # type: ignore[return-value]

    with pytest.raises(InvalidValueError) as refused:
        call_handler(wrong, Mail(to="ada"))
    assert refused.value.field == "output.message_id"


async def test_assertions_about_enqueued_jobs(forge: AsyncJobForge, tenant: str) -> None:
    await forge.enqueue(send_mail, Mail(to="ada"), tenant=tenant, tags=["news"])
    [found] = await assert_enqueued(forge, send_mail, {"to": "ada"}, count=1, tags=["news"])
    assert found.tenant == tenant
    await refute_enqueued(forge, send_mail, {"to": "bob"}, tenant=tenant)
    with pytest.raises(
        AssertionError, match=r"Expected at least one job of type mail.send.*found 0.\nThese jobs exist"
    ):
        await assert_enqueued(forge, send_mail, {"to": "bob"})
    with pytest.raises(AssertionError, match="Expected no job of type"):
        await refute_enqueued(forge, send_mail)


async def test_drains_and_travels(
    forge: AsyncJobForge,
    drain: Callable[..., Awaitable[TickSummary]],
    travel: Callable[[str], AsyncJobForge],
    tenant: str,
) -> None:
    await forge.enqueue(build.new(date(2026, 11, 1)), tenant=tenant)
    later = await forge.enqueue(build.new(date(2026, 12, 1)), tenant=tenant, delay=3600)
    assert (await drain([build])).succeeded == 1
    assert (await drain([build])).claimed == 0
    async with travel("2 hours") as moved:
        assert (await drain([build], forge=moved)).succeeded == 1
    assert await later.result(timeout=20) == "2026-12"


async def test_runs_one_job(forge: AsyncJobForge, tenant: str) -> None:
    assert await run_job(forge, build.new(date(2026, 11, 1)), handlers=[build], tenant=tenant) == "2026-11"
    flaky = define_job("flaky", retry="quick")

    @flaky.handler
    def fail(input: Any, job: JobContext) -> None:
        if input["for_good"]:
            job.fail("gone")
        raise ValueError("not now")

    with pytest.raises(AssertionError, match="Its last run failed: not now"):
        await run_job(forge, flaky, {"for_good": False}, handlers=[fail], tenant=tenant)
    with pytest.raises(JobFailedError, match="gone"):
        await run_job(forge, flaky, {"for_good": True}, handlers=[fail], tenant=tenant)


def test_the_plugin_migrates_a_server_of_its_own(pytester: pytest.Pytester, jobforge_server: TestServer) -> None:
    pytester.makeini("[pytest]\nasyncio_mode = auto\n")
    pytester.makepyfile(
        """
        from jobforge import GLOBAL_TENANT, define_job

        job = define_job("a")

        async def test_one(forge):
            assert (await forge.enqueue(job, {}, tenant=GLOBAL_TENANT)).outcome == "created"

        def test_two(blocking_forge):
            assert blocking_forge.list(tenant=GLOBAL_TENANT).page().items == []
        """
    )
    result = pytester.runpytest_subprocess("--jobforge-server", jobforge_server.url, "-q")
    result.assert_outcomes(passed=2)


def test_the_plugin_says_what_it_needs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBFORGE_TEST_SERVER", raising=False)
    pytester.makepyfile("def test_one(blocking_forge): ...")
    result = pytester.runpytest_subprocess("-q")
    result.stdout.fnmatch_lines(["*--jobforge-server*"])
