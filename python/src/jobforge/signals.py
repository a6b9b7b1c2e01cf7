"""Notifications that jobs have finished. One LISTEN serves all waiters of a client.

It is opened for the first waiter and closed a little after the last. Notifications are best effort; waiters also poll.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from .errors import JobForgeError
from .forked import renew_after_fork
from .loop_bound import LoopBound
from .transport.base import ListenEvents

if TYPE_CHECKING:
    from .transport.base import AsyncListener, AsyncTransport, Listener, ListenState, Transport

_CHANNEL: Final = "jobforge_done"
_LINGER: Final = 5.0


class DoneSignals:
    """For blocking clients. Threads may share it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.begin_anew()
        renew_after_fork(self)

    def begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, set[Subscription]] = {}
        self._listener: Listener | None = None
        self._opening = threading.Lock()
        self._lingering: threading.Timer | None = None
        self.is_listening = False

    def subscribe(self, job_id: str) -> Subscription:
        """Starts to watch for a job. Close the subscription."""
        subscription = Subscription(self, job_id)
        with self._lock:
            self._waiting.setdefault(job_id, set()).add(subscription)
            if self._lingering is not None:
                self._lingering.cancel()
        with self._opening:
            if self._listener is None and self._transport.can_listen:
                self._listener = self._transport.listen([_CHANNEL], ListenEvents(self._on_done, self._on_state))
        return subscription

    def _on_done(self, channel: str, job_id: str) -> None:
        del channel
        with self._lock:
            waiting = list(self._waiting.get(job_id, ()))
        for each in waiting:
            each.woken.set()

    def _on_state(self, state: ListenState, error: JobForgeError | None) -> None:
        del error
        self.is_listening = state == "up"
        # Notifications may have been missed, so every waiter checks again.
        with self._lock:
            waiting = [each for some in self._waiting.values() for each in some]
        for each in waiting:
            each.woken.set()

    def leave(self, subscription: Subscription, job_id: str) -> None:
        """Ends a subscription."""
        with self._lock:
            some = self._waiting.get(job_id, set())
            some.discard(subscription)
            if not some:
                self._waiting.pop(job_id, None)
            if not self._waiting and self._listener is not None:
                self._lingering = threading.Timer(_LINGER, self._close_if_unused)
                self._lingering.daemon = True
                self._lingering.start()

    def _close_if_unused(self) -> None:
        with self._lock:
            if self._waiting:
                return
        self.close()

    def close(self) -> None:
        """Stops listening."""
        with self._lock:
            if self._lingering is not None:
                self._lingering.cancel()
        with self._opening:
            listener, self._listener, self.is_listening = self._listener, None, False
        if listener is not None:
            listener.close()


class Subscription:
    """What one waiter waits for."""

    def __init__(self, signals: DoneSignals, job_id: str) -> None:
        self._signals = signals
        self._job_id = job_id
        self.woken = threading.Event()

    def wait(self, seconds: float) -> None:
        """Returns after a notification, or after `seconds`."""
        self.woken.wait(seconds)
        self.woken.clear()

    def close(self) -> None:
        """Ends the subscription."""
        self._signals.leave(self, self._job_id)


class AsyncDoneSignals(LoopBound):
    """For asynchronous clients."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._listener: asyncio.Task[AsyncListener] | None = None
        self._forget_loop()

    def _forget_loop(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None and listener.done() and not listener.cancelled() and listener.exception() is None:
            listener.result().stop()
        self._waiting: dict[str, set[AsyncSubscription]] = {}
        self._lingering: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self.is_listening = False

    async def subscribe(self, job_id: str) -> AsyncSubscription:
        """Starts to watch for a job. Close the subscription."""
        self._enter_loop()
        subscription = AsyncSubscription(self, job_id)
        self._waiting.setdefault(job_id, set()).add(subscription)
        if self._lingering is not None:
            self._lingering.cancel()
        if self._transport.can_listen:
            if self._listener is None:
                events = ListenEvents(self._on_done, self._on_state)
                self._listener = asyncio.create_task(self._listen(events))
            try:
                # One waiter that is cancelled does not end the listener of the others.
                await asyncio.shield(self._listener)
            except BaseException:
                await self.leave(subscription, job_id)
                raise
        return subscription

    async def _listen(self, events: ListenEvents) -> AsyncListener:
        return await self._transport.listen([_CHANNEL], events)

    def _on_done(self, channel: str, job_id: str) -> None:
        del channel
        for each in self._waiting.get(job_id, ()):
            each.woken.set()

    def _on_state(self, state: ListenState, error: JobForgeError | None) -> None:
        del error
        self.is_listening = state == "up"
        for some in self._waiting.values():
            for each in some:
                each.woken.set()

    async def leave(self, subscription: AsyncSubscription, job_id: str) -> None:
        """Ends a subscription."""
        some = self._waiting.get(job_id, set())
        some.discard(subscription)
        if not some:
            self._waiting.pop(job_id, None)
        if not self._waiting and self._listener is not None:
            self._lingering = asyncio.get_running_loop().call_later(_LINGER, self._close_later)

    def _close_later(self) -> None:
        if not self._waiting:
            task = asyncio.get_running_loop().create_task(self.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Stops listening."""
        self._enter_loop()
        if self._lingering is not None:
            self._lingering.cancel()
        listener, self._listener, self.is_listening = self._listener, None, False
        if listener is not None:
            with suppress(JobForgeError):
                await (await listener).close()


class AsyncSubscription:
    """What one waiter waits for."""

    def __init__(self, signals: AsyncDoneSignals, job_id: str) -> None:
        self._signals = signals
        self._job_id = job_id
        self.woken = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Returns after a notification, or after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        self.woken.clear()

    async def close(self) -> None:
        """Ends the subscription."""
        await self._signals.leave(self, self._job_id)
