"""Wakes workers for single enqueues.

The first enqueue of a type notifies in its own commit. Enqueues that follow within a few milliseconds do not, because
every NOTIFY makes commits wait for each other and wakes every listener. One call notifies for all of them a moment
later.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .errors import JobForgeError
from .forked import renew_after_fork
from .loop_bound import LoopBound

if TYPE_CHECKING:
    from datetime import datetime

    from .transport.base import AsyncTransport, Transport

_TOGETHER: Final = 0.005


class _Followers:
    """Types that were notified a moment ago, with the earliest due time of the enqueues that followed."""

    def __init__(self) -> None:
        self._leaders: set[str] = set()
        self._times: dict[str, datetime | None] = {}

    def leads(self, type: str) -> bool:
        if type in self._leaders:
            return False
        self._leaders.add(type)
        return True

    def follow(self, type: str, run_at: datetime | None) -> None:
        self._leaders.add(type)
        if type not in self._times:
            self._times[type] = run_at
            return
        known = self._times[type]
        self._times[type] = None if known is None or run_at is None else min(known, run_at)

    def take(self) -> dict[str, str | None]:
        found = {type: None if time is None else time.isoformat() for type, time in self._times.items()}
        self._leaders.clear()
        self._times.clear()
        return found

    def begin_anew(self) -> None:
        """No type was notified a moment ago."""
        self._leaders.clear()


class Waker:
    """For blocking clients. Threads may share it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.begin_anew()
        renew_after_fork(self)

    def begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._followers = _Followers()
        self._timer: threading.Timer | None = None

    def leads(self, type: str) -> bool:
        """Whether an enqueue of the type notifies by itself. If not, call `follow` after its commit."""
        with self._lock:
            leads = self._followers.leads(type)
            self._schedule()
            return leads

    def follow(self, type: str, run_at: datetime | None) -> None:
        """An enqueue that did not notify has been committed; None: the job is due now."""
        with self._lock:
            self._followers.follow(type, run_at)
            self._schedule()

    def _schedule(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(_TOGETHER, self.flush)
            self._timer.daemon = True
            self._timer.start()

    def flush(self) -> None:
        """Sends pending wake-ups. Best effort: workers also poll, so failures are not reported."""
        with self._lock:
            timer, self._timer = self._timer, None
            wakes = self._followers.take()
        if timer is not None:
            timer.cancel()
        if wakes:
            with suppress(JobForgeError):
                self._transport.call("jobforge_wake_workers", {"p_wakes": wakes})


class AsyncWaker(LoopBound):
    """For asynchronous clients."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._followers = _Followers()
        self._timer: asyncio.TimerHandle | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def leads(self, type: str) -> bool:
        """Whether an enqueue of the type notifies by itself. If not, call `follow` after its commit."""
        self._enter_loop()
        leads = self._followers.leads(type)
        self._schedule()
        return leads

    def follow(self, type: str, run_at: datetime | None) -> None:
        """An enqueue that did not notify has been committed; None: the job is due now."""
        self._enter_loop()
        self._followers.follow(type, run_at)
        self._schedule()

    def _forget_loop(self) -> None:
        # What it has not sent is sent by the next loop.
        self._followers.begin_anew()
        self._timer = None
        self._sending = set()

    def _schedule(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_TOGETHER, self._send)

    def _send(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        wakes = self._followers.take()
        if wakes:
            task = asyncio.get_running_loop().create_task(self._call(wakes))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _call(self, wakes: dict[str, str | None]) -> None:
        with suppress(JobForgeError):
            await self._transport.call("jobforge_wake_workers", {"p_wakes": wakes})

    async def flush(self) -> None:
        """Sends pending wake-ups. Best effort: workers also poll, so failures are not reported."""
        self._enter_loop()
        self._send()
        if self._sending:
            await asyncio.wait(self._sending)
