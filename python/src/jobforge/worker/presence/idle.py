"""What a worker does while no job is due.

It sleeps until a notification comes, until the next job that it knows of is due, or until it is time to poll, whichever
is first. The poll is the guarantee: everything works with it alone. The heartbeat of a worker that is notified is such
a poll: its response says whether a job may be claimed.

A worker is in one of these modes:

- Flowing: claims return all they ask for. No timer is set. Once the worker has been in this mode for `BUSY_AFTER`, it
  withdraws its request to be notified, so that other transactions need not send notifications.
- Sleeping, not marked: a claim has shown that no job is due (`drained`). A timer wakes the loop at the next due time or
  poll. Polls begin after `FIRST_POLL` and become less frequent, up to `poll`. A worker that cannot listen (it polls
  only, or its connection is being replaced) stays in this mode.
- Marking: notifications arrive, so a heartbeat asks the database to notify this worker. The timer of the mode before is
  still set. When the heartbeat has returned, the loop looks for jobs once more, because a job may have come before the
  database saw the mark. If that claim finds nothing either, the worker sleeps as marked.
- Sleeping, marked: like the other sleep, but a notification wakes the loop at once. It polls once after `poll`, and
  then every `notified_poll`, because heartbeats look for jobs as well. A notification or a heartbeat that names a later
  time only moves the timer forward.
- Stopped: no timer is set.

A failed heartbeat removes the mark, and the next empty claim asks for it again.
"""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from ..defaults import BUSY_AFTER, FIRST_DUE_RETRY, FIRST_POLL
from ..jitter import jitter

if TYPE_CHECKING:
    import asyncio

    from ..claiming.signal import LoopSignal
    from ..tasks import Tasks
    from .clock import DatabaseClock
    from .heartbeat import Heartbeat


class Idle:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        tasks: Tasks,
        *,
        heartbeat: Heartbeat,
        clock: DatabaseClock,
        signal: LoopSignal,
        poll: float,
        notified_poll: float,
    ) -> None:
        """`poll` is the longest sleep, `notified_poll` that while notifications and heartbeats wake the worker."""
        self._loop = loop
        self._tasks = tasks
        self._heartbeat = heartbeat
        self._clock = clock
        self._signal = signal
        self._poll = poll
        self._notified_poll = notified_poll
        heartbeat.on_due = self._heard_of
        self._is_stopped = False
        self._is_listening = False
        self._is_marking = False
        self._timer: asyncio.TimerHandle | None = None
        # When the timer fires.
        self._wakes_at = inf
        self._empty_claims = 0
        self._last_due: str | None = None
        self._same_due = 0
        self._drained_at = monotonic()

    @property
    def is_notified(self) -> bool:
        """Whether the database notifies this worker of every job that comes."""
        return self._is_listening and self._heartbeat.is_marked

    def set_listening(self, is_listening: bool) -> None:
        """Notifications arrive from now on, or no longer. When they begin to arrive, earlier ones may be missing."""
        was_listening = self._is_listening
        self._is_listening = is_listening
        if is_listening and not was_listening:
            self._signal.wake()

    def drained(self, next_due_at: str | None) -> None:
        """A claim has shown that no job is due."""
        self._drained_at = monotonic()
        self._sleep(min(self._until_poll(), self._until_due(next_due_at)))
        self._empty_claims += 1
        if self._is_listening and not self._heartbeat.is_marked and not self._is_marking:
            self._is_marking = True
            self._tasks.spawn(self._mark())

    def flowing(self) -> None:
        """A claim has returned all it asked for, so more jobs are due."""
        self._empty_claims = 0
        self._cancel_timer()
        is_busy = monotonic() - self._drained_at > BUSY_AFTER
        if is_busy and self._heartbeat.is_marked and not self._is_marking:
            self._is_marking = True
            self._tasks.spawn(self._unmark())

    def found(self) -> None:
        """A claim has returned jobs."""
        self._empty_claims = 0

    def comes_at(self, stamp: str) -> None:
        """A job becomes due at a time that may be earlier than the end of the sleep."""
        try:
            seconds = self._clock.until(stamp)
        except ValueError:
            return
        if monotonic() + seconds < self._wakes_at:
            self._sleep(max(seconds + 0.001, 0.001))

    def _heard_of(self, stamp: str) -> None:
        """A heartbeat names a due time. It concerns a worker that sleeps."""
        if self._wakes_at != inf:
            self.comes_at(stamp)

    def stop(self) -> None:
        self._cancel_timer()
        self._is_listening = False
        self._is_stopped = True

    async def _mark(self) -> None:
        """Asks to be notified. A job may have come before the database saw the mark, so the loop looks once more."""
        is_marked = await self._heartbeat.mark(wants_notifications=True)
        self._is_marking = False
        if is_marked:
            self._signal.wake()

    async def _unmark(self) -> None:
        await self._heartbeat.mark(wants_notifications=False)
        self._is_marking = False

    def _sleep(self, seconds: float) -> None:
        if self._is_stopped:
            return
        self._cancel_timer()
        # A notification may name a time years away.
        seconds = min(seconds, self._notified_poll)
        self._wakes_at = monotonic() + seconds
        self._timer = self._loop.call_later(seconds, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._wakes_at = inf
        self._signal.wake()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wakes_at = inf

    def _until_poll(self) -> float:
        """The time until the next poll. It is short after work, and grows."""
        if not self.is_notified:
            return min(self._poll, FIRST_POLL * (1 << min(self._empty_claims, 20))) * jitter(0.9, 1)
        is_covered = self._heartbeat.sees_jobs and self._empty_claims > 1
        return (self._notified_poll if is_covered else self._poll) * jitter(0.9, 1)

    def _until_due(self, next_due_at: str | None) -> float:
        """The time until the next job is due.

        A job that should be due and was not claimed is locked by another transaction, or the clocks differ: then the
        time grows with each claim.
        """
        if next_due_at is None:
            return inf
        self._same_due = self._same_due + 1 if next_due_at == self._last_due else 0
        self._last_due = next_due_at
        seconds = self._clock.until(next_due_at) + 0.001
        return seconds if seconds > FIRST_DUE_RETRY else FIRST_DUE_RETRY * (1 << min(self._same_due, 20))
