"""Handlers that run in processes of their own. They are in a module that can be imported."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING, Any

from jobforge import JobContext, define_job, job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobforge import BatchItem

crunch = define_job("crunch")
killed = define_job("killed")
slow = define_job("slow", timeout=1.5)
deaf = define_job("deaf", timeout=1.5)
waiting = define_job("waiting", timeout=1.5)
returning = define_job("returning")
pairs = define_job("pairs")
child = define_job("child")
asked = define_job("asked")


@crunch.handler_in("process")
def handle_crunch(input: Any, job: JobContext) -> Any:
    job.log.info("crunching", n=input["n"])
    job.progress_sync({"n": input["n"]})
    job.cost(2)
    job.enqueue(child, {"of": job.id})
    if input["n"] < 0:
        try:
            raise ValueError("negative")
        except ValueError:
            job.log.exception("crunching %s failed", input["n"])
            raise
    return {"pid": os.getpid(), "square": input["n"] ** 2, "attempt": job.attempt}


@asked.handler_in("process")
def handle_asked(input: Any, job: JobContext) -> None:
    if input["do"] == "defer":
        job.defer(3600)
    if input["do"] == "fail":
        job.fail("never")
    job.resources  # noqa: B018 - raises


@killed.handler_in("process")
def handle_killed(input: Any, job: JobContext) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@slow.handler_in("process")
def handle_slow(input: Any, job: JobContext) -> None:
    while True:
        time.sleep(0.01)


@deaf.handler_in("process")
def handle_deaf(input: Any, job: JobContext) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.01)


@waiting.handler_in("process")
async def handle_waiting(input: Any, job: JobContext) -> Any:
    await asyncio.Event().wait()


@returning.handler_in("process")
async def handle_returning(input: Any, job: JobContext) -> Any:
    await job.progress(1)
    return "returned"


@pairs.batch_handler(2, run_in="process")
def handle_pairs(items: Sequence[BatchItem[Any]]) -> list[Any]:
    return [item.input["n"] if item.input["n"] != 1 else ValueError("one") for item in items]


@job("report.build", run_in="process")
def build(job: JobContext, month: str) -> str:
    return f"{month} {job.attempt}"
