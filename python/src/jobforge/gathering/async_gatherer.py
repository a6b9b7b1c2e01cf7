"""Gathers the enqueues of the tasks of an event loop: those of one turn, and those that come while others are sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from ..aio.enqueue_alone import enqueue_alone
from ..loop_bound import LoopBound
from ..operations.enqueue import due_of, enqueue_each
from .parts import LANES, SLOW, fitting, goes_alone, notifies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..aio.runner import AsyncRunner
    from ..operations.enqueue import Enqueued
    from ..operations.prepare import PreparedJob
    from ..wake import AsyncWaker


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    job: PreparedJob
    future: asyncio.Future[Enqueued]

    def resolve(self, found: Enqueued) -> None:
        # A caller that was cancelled no longer waits.
        if not self.future.done():
            self.future.set_result(found)

    def reject(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class AsyncGatherer(LoopBound):
    """For asynchronous clients."""

    def __init__(self, runner: AsyncRunner, waker: AsyncWaker) -> None:
        self._runner = runner
        self._waker = waker
        self._forget_loop()

    def _forget_loop(self) -> None:
        self._waiting: list[_Call] = []
        self._under_way: dict[asyncio.Task[None], float] = {}
        """When each statement that is under way was sent."""
        self._timer: asyncio.TimerHandle | None = None

    async def enqueue(self, job: PreparedJob) -> Enqueued:
        """Enqueues a job together with those of other callers.

        Jobs of one tenant and turn keep the order of the calls. A caller that is cancelled before its job was sent
        enqueues nothing.
        """
        self._enter_loop()
        loop = asyncio.get_running_loop()
        call = _Call(job, loop.create_future())
        self._waiting.append(call)
        if len(self._waiting) == 1:
            # After the other tasks of this turn.
            loop.call_soon(self._send)
        return await call.future

    async def settled(self) -> None:
        """Returns when no call waits or is under way."""
        self._enter_loop()
        while self._waiting or self._under_way:
            if self._under_way:
                await asyncio.wait(self._under_way)
            # What was done and what waits is looked at in the next turn.
            await asyncio.sleep(0)

    def _send(self) -> None:
        self._waiting = [call for call in self._waiting if not call.future.done()]
        loop = asyncio.get_running_loop()
        while self._waiting and self._has_room():
            count = fitting([call.job for call in self._waiting])
            calls, self._waiting = self._waiting[:count], self._waiting[count:]
            task = loop.create_task(self._deliver(calls))
            self._under_way[task] = monotonic()
            task.add_done_callback(self._ended)
        if self._waiting and self._timer is None:
            self._timer = loop.call_later(SLOW, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._send()

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        if not task.cancelled():
            self._send()

    def _has_room(self) -> bool:
        slow = monotonic() - SLOW
        return sum(since > slow for since in self._under_way.values()) < LANES

    async def _deliver(self, calls: Sequence[_Call]) -> None:
        """Sends calls and passes each its outcome."""
        try:
            if len(calls) == 1:
                await self._alone(calls[0])
                return
            rejected = self._pass(calls, *await self._reply([call.job for call in calls]))
            await asyncio.gather(*map(self._alone, rejected))
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it
            for call in calls:
                call.reject(error)
        finally:
            # If the loop ends meanwhile, no caller waits for ever.
            for call in calls:
                call.future.cancel()

    async def _alone(self, call: _Call) -> None:
        try:
            call.resolve(await enqueue_alone(self._runner, self._waker, call.job))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets it
            call.reject(error)

    async def _reply(self, jobs: Sequence[PreparedJob]) -> tuple[bool, list[Enqueued | None] | Exception]:
        """Whether the statement notifies, and its result or error."""
        notified = notifies(jobs, self._waker.leads)
        try:
            return notified, await self._runner.run(enqueue_each(jobs, notify=notified))
        except Exception as error:  # noqa: BLE001 - as above
            return notified, error

    def _pass(
        self, calls: Sequence[_Call], notified: bool, reply: Sequence[Enqueued | None] | Exception
    ) -> Sequence[_Call]:
        """Passes the callers their outcomes. Returns those whose jobs were rejected."""
        if isinstance(reply, Exception):
            if goes_alone(reply):
                return calls
            for call in calls:
                call.reject(reply)
            return []
        rejected = []
        for call, found in zip(calls, reply, strict=True):
            if found is None:
                rejected.append(call)
                continue
            if not notified:
                self._waker.follow(call.job.definition.type, due_of(call.job, found))
            call.resolve(found)
        return rejected
