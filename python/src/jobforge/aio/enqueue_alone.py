"""Enqueues one job with a call of its own, and wakes workers for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operations.enqueue import due_of, enqueue

if TYPE_CHECKING:
    from ..operations.enqueue import Enqueued
    from ..operations.prepare import PreparedJob
    from ..wake import AsyncWaker
    from .runner import AsyncRunner


async def enqueue_alone(runner: AsyncRunner, waker: AsyncWaker | None, job: PreparedJob) -> Enqueued:
    """Without a waker, the commit of the caller's transaction sends the notification.

    A call that is committed at once, and notifies by itself, may hand its job to an idle worker.
    """
    leads = waker is None or waker.leads(job.definition.type)
    found = await runner.run(enqueue(job, notify=leads, hand_off=leads and waker is not None))
    if waker is not None and not leads:
        waker.follow(job.definition.type, due_of(job, found))
    return found
