"""Logs that are kept with the attempt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jobforge import JobContext, define_job
from jobforge.worker.reporting.kept_log import KeptLog

from ..support import TENANT

if TYPE_CHECKING:
    from jobforge import AsyncJobForge

    from ..conftest import Workers


async def test_what_a_handler_logs_is_kept_without_secrets(workers: Workers, forge: AsyncJobForge) -> None:
    talk = define_job("talk", keep_logs="all")

    @talk.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.log.info("Starting")
        job.log.warning("Slow: token=abc", page=2, api_key="k-123")

    await workers.start(handlers=[handle])
    queued = await forge.enqueue(talk.new({}), tenant=TENANT)
    await queued.result()
    [log] = await queued.logs()
    assert (log.attempt_no, log.dropped) == (1, 0)
    assert [(line.level, line.message) for line in log.lines] == [
        ("info", "Starting"),
        ("warn", "Slow: token=[redacted]"),
    ]
    assert log.lines[1].fields == {"page": 2, "api_key": "[redacted]"}


async def test_logs_of_failed_runs_only(workers: Workers, forge: AsyncJobForge) -> None:
    talk = define_job("talk", keep_logs="failed")

    @talk.handler
    async def handle(input: Any, job: JobContext) -> None:
        job.log.info("Here")
        if input["fails"]:
            job.fail("no")

    await workers.start(handlers=[handle])
    fine = await forge.enqueue(talk.new({"fails": False}), tenant=TENANT)
    failing = await forge.enqueue(talk.new({"fails": True}), tenant=TENANT)
    await fine.result()
    while (job := await failing.get()) is not None and job.status != "failed":
        pass
    assert await fine.logs() == []
    assert [line.message for log in await failing.logs() for line in log.lines] == ["Here"]


def test_a_log_holds_its_last_lines() -> None:
    log = KeptLog()
    for number in range(250):
        log.add("info", None, f"line {number}")
    kept = json.loads(log.json())
    assert (len(kept["lines"]), kept["lines"][0]["message"], kept["dropped"]) == (200, "line 50", 50)
    log.add("info", {"value": object()}, "odd")
    for _ in range(20):
        log.add("info", {"text": "é" * 4000}, "long")
    full = json.loads(log.json())
    assert len(full["lines"]) + full["dropped"] == 271
    assert len(json.dumps(full["lines"], ensure_ascii=False).encode()) < 70_000
