"""A worker brings the policies of its types in line with their definitions, and says what it did not change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import psycopg

from jobforge import JobContext, RetryPolicy, define_job

if TYPE_CHECKING:
    from ...conftest import AsyncConnect
    from ..conftest import Workers
    from ..support import Jobs, KeptLog

mail = define_job("mail", timeout=30, retry=RetryPolicy(base=10, max_attempts=3))


@mail.handler
async def handle(input: Any, job: JobContext) -> None: ...


async def test_the_policies_are_set_at_start_and_a_second_start_changes_nothing(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    worker = await workers.start(handlers=[handle])
    policy = await jobs.value("select jobforge_get_policy('mail') as policy")
    assert (policy["timeout_ms"], policy["base_ms"], policy["max_attempts"]) == (30_000, 10_000, 3)
    line = log.find("Policies were set as the definitions say: mail (")
    assert "timeout_ms null → 30000" in line["message"]
    await worker.stop()
    log.lines.clear()
    await worker.start()
    assert not [each for each in log.messages() if "olicies" in each]


async def test_what_an_operator_has_set_by_hand_stays_and_the_log_has_the_statement_that_changes_it(
    workers: Workers, jobs: Jobs, log: KeptLog
) -> None:
    await jobs.rows("select jobforge_set_policy('mail', '{\"timeout_ms\": 5000}')")
    await workers.start(handlers=[handle])
    line = log.find("Settings that an operator has set by hand differ from the definitions, and stay:")
    assert "timeout_ms is 5000, the definition says 30000" in line["message"]
    statement = line["message"].partition("To apply the definitions: ")[2]

    def run() -> None:
        with psycopg.connect(jobs.db.url, autocommit=True) as connection:
            connection.execute(statement.encode())

    await asyncio.to_thread(run)
    assert (await jobs.value("select jobforge_get_policy('mail') as policy"))["timeout_ms"] == 30_000


async def test_a_login_that_may_not_change_policies_warns_and_works(
    workers: Workers, connect_async: AsyncConnect, jobs: Jobs, log: KeptLog
) -> None:
    await jobs.one("mail")
    await workers.start(connect_async("postgres", "jobforge_worker"), handlers=[handle])
    await jobs.finished(1)
    line = log.find("Definitions differ from the policies in the database, and this login may not change policies:")
    assert line["level"] == "warning"
    assert "select jobforge_sync_policies(" in line["message"]


async def test_a_newer_version_stays_in_force(workers: Workers, jobs: Jobs, log: KeptLog) -> None:
    newer = define_job("mail", timeout=60)

    @newer.handler
    async def handle_newer(input: Any, job: JobContext) -> None: ...

    await (await workers.start(handlers=[handle], app_version="1.0")).stop()
    await (await workers.start(handlers=[handle_newer], app_version="1.1")).stop()
    log.lines.clear()
    await workers.start(handlers=[handle], app_version="1.0")
    line = log.find("A newer version of the application is in force, so the definitions of this worker (version 1.0)")
    assert "p_version => '1.0'" in line["message"]
    assert (await jobs.value("select jobforge_get_policy('mail') as policy"))["timeout_ms"] == 60_000


async def test_nothing_is_changed_if_the_option_says_so(workers: Workers, jobs: Jobs) -> None:
    await workers.start(handlers=[handle], sync=False)
    assert (await jobs.value("select jobforge_get_policy('mail') as policy"))["timeout_ms"] is None
