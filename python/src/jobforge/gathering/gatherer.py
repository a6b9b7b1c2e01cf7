"""Gathers the enqueues of threads: those that come while others are sent.

There is no thread of its own. A caller that finds a free lane sends what waits, its own job and those of other threads.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from ..blocking.enqueue_alone import enqueue_alone
from ..errors import ConnectionError
from ..forked import renew_after_fork
from ..operations.enqueue import due_of, enqueue_each
from .parts import LANES, SLOW, fitting, goes_alone, notifies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..blocking.runner import Runner
    from ..operations.enqueue import Enqueued
    from ..operations.prepare import PreparedJob
    from ..wake import Waker


@dataclass(slots=True, eq=False)
class _Call:
    job: PreparedJob
    is_taken: bool = False
    """Whether a thread sends it."""
    found: Enqueued | None = None
    error: Exception | None = None
    is_rejected: bool = False
    """Its own thread sends it alone."""
    woken: threading.Event = field(default_factory=threading.Event)

    @property
    def is_over(self) -> bool:
        return self.found is not None or self.error is not None or self.is_rejected

    def resolve(self, found: Enqueued) -> None:
        self.found = found
        self.woken.set()

    def reject(self, error: Exception | None) -> None:
        """Without an error, the caller sends its job alone."""
        self.error, self.is_rejected = error, error is None
        self.woken.set()


class Gatherer:
    """For blocking clients."""

    def __init__(self, runner: Runner, waker: Waker) -> None:
        self._runner = runner
        self._waker = waker
        self.begin_anew()
        renew_after_fork(self)

    def begin_anew(self) -> None:
        self._condition = threading.Condition()
        self._waiting: list[_Call] = []
        self._under_way: dict[int, float] = {}
        """When each statement that is under way was sent."""
        self._sent = 0

    def enqueue(self, job: PreparedJob) -> Enqueued:
        """Enqueues a job together with those of other threads."""
        call = _Call(job)
        with self._condition:
            self._waiting.append(call)
        try:
            while not call.is_over:
                if not self._lead(call):
                    call.woken.wait(None if call.is_taken else SLOW)
                    call.woken.clear()
        except BaseException:
            with self._condition:
                if not call.is_taken:
                    self._waiting.remove(call)
            raise
        if call.error is not None:
            raise call.error
        return call.found or enqueue_alone(self._runner, self._waker, job)

    def settled(self) -> None:
        """Returns when no call waits or is under way."""
        with self._condition:
            self._condition.wait_for(lambda: not self._waiting and not self._under_way)

    def _lead(self, own: _Call) -> bool:
        """Sends what waits, if the own call does and there is room."""
        with self._condition:
            if own.is_taken or not self._has_room():
                return False
            count = fitting([call.job for call in self._waiting])
            calls, self._waiting = self._waiting[:count], self._waiting[count:]
            for call in calls:
                call.is_taken = True
            self._sent += 1
            lane = self._sent
            self._under_way[lane] = monotonic()
        try:
            self._deliver(calls)
        finally:
            for call in calls:
                if not call.is_over:
                    call.reject(ConnectionError("The thread that sent the job was interrupted"))
            with self._condition:
                del self._under_way[lane]
                if self._waiting:
                    self._waiting[0].woken.set()
                self._condition.notify_all()
        return True

    def _has_room(self) -> bool:
        slow = monotonic() - SLOW
        return sum(since > slow for since in self._under_way.values()) < LANES

    def _deliver(self, calls: Sequence[_Call]) -> None:
        """Sends calls and passes each its outcome."""
        if len(calls) == 1:
            self._alone(calls[0])
            return
        jobs = [call.job for call in calls]
        notified = notifies(jobs, self._waker.leads)
        try:
            reply = self._runner.run(enqueue_each(jobs, notify=notified))
        except Exception as error:  # noqa: BLE001 - whatever it is, the callers get it
            for call in calls:
                call.reject(None if goes_alone(error) else error)
            return
        for call, found in zip(calls, reply, strict=True):
            if found is None:
                call.reject(None)
                continue
            if not notified:
                self._waker.follow(call.job.definition.type, due_of(call.job, found))
            call.resolve(found)

    def _alone(self, call: _Call) -> None:
        try:
            call.resolve(enqueue_alone(self._runner, self._waker, call.job))
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets it
            call.reject(error)
