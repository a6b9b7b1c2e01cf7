"""The worker's heartbeat, which keeps the leases of all runs that it holds.

The response names runs to abort, because their jobs were canceled or because they were lost. A heartbeat also says
whether the worker wants to be notified, and its response whether a job may be claimed.

Heartbeats are sent by a thread of their own over a connection of its own, so that a handler which blocks the event loop
costs no leases. The thread copies the list of held runs, and passes responses on to the event loop. All other state
belongs to the event loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from threading import Condition, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from ..jitter import jitter
from .outage import Outage, backoff

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from ..claiming.hand_over import HandOver
    from ..claiming.kernel import Heard, Kernel
    from ..claiming.protocol import HeartbeatResponse
    from ..reporting.meter import Meter
    from ..running.held_runs import HeldRuns
    from ..running.runner import Runner
    from .watchdog import Watchdog


@dataclass(slots=True)
class _Sent:
    """A heartbeat in flight: what it says, and who waits for its response."""

    wants_notifications: bool
    waiters: list[asyncio.Future[bool]]


class Heartbeat:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        kernel: Kernel,
        outage: Outage,
        held: HeldRuns,
        meter: Meter,
        runner: Runner,
        watchdog: Watchdog,
        hand_over: HandOver | None,
        every: float,
        about: Mapping[str, Any],
    ) -> None:
        """`every` is the time between two heartbeats, `about` what each of them says about the worker.

        Without `hand_over`, no job is handed to the worker.
        """
        self._loop = loop
        self._kernel = kernel
        self._outage = outage
        self._held = held
        self._meter = meter
        self._runner = runner
        self._watchdog = watchdog
        self._hand_over = hand_over
        self._every = every
        self._about = about
        # Whether the database notifies this worker when a job comes.
        self.is_marked = False
        # Whether heartbeats also say if a job may be claimed, so that they replace most polls.
        self.sees_jobs = False
        # Called when a heartbeat has learned that a job is due, or when one will be.
        self.on_due: Callable[[str], None] = _ignore
        # Called when an operator has asked the worker to stop, with each heartbeat until it has.
        self.on_stop_request: Callable[[], None] = lambda: None
        # Whether the database counts this worker as alive.
        self._is_known = False
        self._first_response: asyncio.Future[None] = loop.create_future()
        self._later: asyncio.TimerHandle | None = None
        self._thread: Thread | None = None
        self._ended: asyncio.Future[None] = loop.create_future()
        # What the thread and the event loop share, guarded by the condition.
        self._changed = Condition()
        self._waiters: list[asyncio.Future[bool]] = []
        self._is_requested = False
        self._is_leaving = False
        self._is_over = False
        self._wants_notifications = False

    async def start(self) -> None:
        """Beats from now on. Returns when the database has responded for the first time, or `stop` was called."""
        self._start_thread()
        await self._first_response

    def start_later(self) -> None:
        """Beats from now on, but not at once: a tick is mostly shorter than the time between two heartbeats."""
        self._later = self._loop.call_later(self._every, self._start_thread)

    async def mark(self, *, wants_notifications: bool) -> bool:
        """Asks to be notified when a job comes, or withdraws that. Returns whether the database has received it."""
        self._wants_notifications = wants_notifications
        return await self.beat()

    async def beat(self) -> bool:
        """Beats now, or after the heartbeat in flight. Returns whether the database has received it."""
        if self._thread is None or self._ended.done():
            return False
        waiter: asyncio.Future[bool] = self._loop.create_future()
        self._request(waiter)
        return await waiter

    def request(self) -> None:
        """Beats now, or after the heartbeat in flight, and does not wait for it."""
        self._request(None)

    async def stop(self) -> None:
        """Stops, after a last heartbeat which says that this worker stops, so that it no longer counts as alive."""
        if self._later is not None:
            self._later.cancel()
        if not self._first_response.done():
            self._first_response.set_result(None)
        if self._thread is None:
            return
        if self._is_known and not self._outage.is_failing("heartbeat"):
            self._is_leaving = True
            self._wants_notifications = False
            await self.beat()
        with self._changed:
            self._is_over = True
            self._changed.notify()
        await self._ended

    def _request(self, waiter: asyncio.Future[bool] | None) -> None:
        with self._changed:
            if waiter is not None:
                self._waiters.append(waiter)
            self._is_requested = True
            self._changed.notify()

    def _start_thread(self) -> None:
        self._later = None
        self._thread = Thread(target=self._work, name="jobforge-heartbeat", daemon=True)
        self._thread.start()

    # In the thread.

    def _work(self) -> None:
        failures = 0
        due = 0.0
        try:
            while self._wait_until(due):
                try:
                    self._send()
                    failures = 0
                    due = monotonic() + self._every * jitter(0.9, 1)
                except Exception as error:  # noqa: BLE001 - whatever happens, the next heartbeat must follow
                    self._post(self._failed, error, self._sent)
                    due = monotonic() + backoff(failures)
                    failures += 1
        finally:
            self._kernel.close_heartbeat()
            self._post(self._over)

    def _wait_until(self, due: float) -> bool:
        """Waits for the next heartbeat. Returns False when there will be none."""
        while True:
            with self._changed:
                if self._is_over:
                    return False
                now = monotonic()
                if self._is_requested or (now >= due and not self._watchdog.is_wedged(now)):
                    self._is_requested = False
                    self._sent = _Sent(self._wants_notifications, self._waiters)
                    self._waiters = []
                    return True
                wait = min(due - now if due > now else inf, self._watchdog.every)
                self._changed.wait(wait)
            self._watchdog.look(monotonic())

    def _send(self) -> None:
        sent = self._sent
        hand_over = self._hand_over
        offered = hand_over.offered if hand_over is not None and sent.wants_notifications else None
        # A job that arrives is listed before it is held, so no moment exists at which it is in neither list.
        arriving = [] if hand_over is None else hand_over.keys()
        info = {
            **self._about,
            **({"stopped": True} if self._is_leaving else {}),
            **({} if offered is None else {"hand_off": offered}),
            "idle": sent.wants_notifications,
            "held": [*arriving, *self._held.keys()],
            "metrics": self._meter.report(),
        }
        heard = self._kernel.heartbeat(info)
        self._post(self._heard, heard, sent)

    def _post(self, callback: Callable[..., None], *args: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *args)
        except RuntimeError:
            # The event loop has been closed, and the worker with it.
            self._is_over = True

    # On the event loop.

    def _heard(self, heard: Heard, sent: _Sent) -> None:
        self.is_marked = sent.wants_notifications
        self._is_known = True
        if not self._first_response.done():
            self._first_response.set_result(None)
        self._kernel.learn(heard)
        self._outage.worked("heartbeat")
        self._meter.note_heartbeat()
        self._runner.heed(heard.response)
        if self._hand_over is not None:
            self._hand_over.arrived(heard.response.get("handed") or ())
        self._tell_due(heard.response)
        if heard.response.get("stop"):
            self.on_stop_request()
        _resolve(sent.waiters, received=True)

    def _tell_due(self, response: HeartbeatResponse) -> None:
        ready = response.get("ready")
        self.sees_jobs = ready is not None
        stamp = response["now"] if ready else response["next_due_at"]
        if stamp is not None:
            self.on_due(stamp)

    def _failed(self, error: Exception, sent: _Sent) -> None:
        self.is_marked = False
        self.sees_jobs = False
        self._outage.failed("heartbeat", error)
        _resolve(sent.waiters, received=False)

    def _over(self) -> None:
        with self._changed:
            waiters, self._waiters = self._waiters, []
        _resolve(waiters, received=False)
        if not self._ended.done():
            self._ended.set_result(None)


def _ignore(_: str) -> None:
    """A tick does not sleep, so no due time concerns it."""


def _resolve(waiters: list[asyncio.Future[bool]], *, received: bool) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(received)
