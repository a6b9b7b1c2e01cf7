"""Listens to the database's notifications: a job may be due, or a job of this worker was canceled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...errors import ConnectionError, JobForgeError
from ...transport.base import AsyncListener, ListenEvents, ListenState

if TYPE_CHECKING:
    from ..claiming.hand_over import HandOver
    from ..claiming.kernel import Kernel
    from ..claiming.signal import LoopSignal
    from ..running.held_runs import HeldRuns
    from ..tasks import Tasks
    from .heartbeat import Heartbeat
    from .idle import Idle
    from .outage import Outage

WAKE_CHANNEL: Final = "jobforge_wake"
CANCEL_CHANNEL: Final = "jobforge_cancel"
# The database cuts ids to this length, because the payload of a notification is short.
MAX_ID: Final = 1000


class Notifications:
    def __init__(
        self,
        tasks: Tasks,
        *,
        kernel: Kernel,
        outage: Outage,
        signal: LoopSignal,
        idle: Idle,
        heartbeat: Heartbeat,
        held: HeldRuns,
        hand_over: HandOver | None,
    ) -> None:
        self._tasks = tasks
        self._kernel = kernel
        self._outage = outage
        self._signal = signal
        self._idle = idle
        self._heartbeat = heartbeat
        self._held = held
        self._hand_over = hand_over
        self._types = frozenset(kernel.types)
        self._worker_id = kernel.worker_id[:MAX_ID]
        self._listener: AsyncListener | None = None
        self._is_closed = False

    def open(self) -> None:
        """Listens from now on. The transport replaces its connection when that is lost."""
        if self._kernel.transport.can_listen:
            self._tasks.spawn(self._listen())

    async def close(self) -> None:
        self._is_closed = True
        self._outage.forget("listen")
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()

    async def _listen(self) -> None:
        events = ListenEvents(on_notification=self._receive, on_state=self._changed)
        channels = [WAKE_CHANNEL, CANCEL_CHANNEL]
        if self._hand_over is not None:
            channels.append(self._hand_over.channel)
        listener = await self._kernel.transport.listen(channels, events)
        if self._is_closed:
            await listener.close()
        else:
            self._listener = listener

    def _changed(self, state: ListenState, error: JobForgeError | None) -> None:
        if self._is_closed:
            return
        if state == "up":
            self._outage.worked("listen")
        else:
            self._outage.failed("listen", error or ConnectionError("The connection that listens was lost"))
        self._idle.set_listening(state == "up")
        if self._hand_over is not None:
            self._hand_over.set_listening(state == "up")
        # Notifications may have been missed meanwhile: the response to a heartbeat names canceled jobs, and jobs that
        # were handed over. A worker that does not listen offers nothing.
        if (state == "up" and len(self._held) > 0) or self._heartbeat.is_marked:
            self._heartbeat.request()

    def _receive(self, channel: str, payload: str) -> None:
        if channel == CANCEL_CHANNEL:
            if payload == self._worker_id:
                self._heartbeat.request()
            return
        if self._hand_over is not None and channel == self._hand_over.channel:
            self._hand_over.arrived([payload])
            return
        type, _, stamp = payload.partition("\n")
        if channel != WAKE_CHANNEL or (type != "*" and type not in self._types):
            return
        if stamp == "":
            self._signal.wake()
        else:
            self._idle.comes_at(stamp)
