"""The handlers of the worker processes that tests start. What they do is in the payload."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

from jobforge import JobContext, define_job

a = define_job("a")
thread = define_job("thread")


@a.handler
async def handle(input: Any, job: JobContext) -> Any:
    job.log.info("handler started")
    what = input.get("do")
    if what == "wait":
        await asyncio.Event().wait()
    elif what == "sleep":
        await asyncio.sleep(input["seconds"])
    elif what == "exit":
        sys.exit(3)
    elif what == "background":
        task = asyncio.ensure_future(_fails())
        await asyncio.sleep(0.05)
        del task
    return {"attempt": job.attempt}


async def _fails() -> None:
    raise ValueError("in the background")


@thread.handler
def handle_in_thread(input: Any, job: JobContext) -> None:
    job.log.info("handler started")
    threading.Event().wait()
