"""Jobs that enqueues hand to this worker, without a claim.

While the worker is idle and listens, its heartbeats offer its free slots. A notification names the job, and the worker
receives it and lets it start. If the notification is lost, the response to the next heartbeat names the job. Until a
job is received, heartbeats list it as held, so that the database does not take it back meanwhile.
"""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..handled_type import HandledType
    from ..presence.outage import Outage
    from ..reporting.meter import Meter
    from ..running.held_runs import HeldRuns
    from ..running.runner import Runner
    from ..tasks import Tasks
    from .intake import Intake
    from .kernel import Kernel
    from .protocol import ClaimedJob, RunKey


class HandOver:
    def __init__(
        self,
        tasks: Tasks,
        types: Iterable[HandledType],
        *,
        kernel: Kernel,
        instance: str,
        held: HeldRuns,
        intake: Intake,
        runner: Runner,
        meter: Meter,
        outage: Outage,
    ) -> None:
        self._tasks = tasks
        # A free slot may be useless to a type with a cap, and batches are filled by claims.
        self._types = [type.name for type in types if not type.is_capped and type.batch_size == 1]
        self._kernel = kernel
        self._held = held
        self._intake = intake
        self._runner = runner
        self._meter = meter
        self._outage = outage
        self._arriving: dict[str, None] = {}
        self._unasked: list[str] = []
        self._receiving: set[asyncio.Task[None]] = set()
        self._is_listening = False
        self._mode: Literal["taking", "handing back", "closed"] = "taking"
        # The channel on which the database names jobs that are handed to this instance of the worker.
        digest = sha256(f"{kernel.worker_id}/{instance}".encode()).hexdigest()
        self.channel = f"jobforge_hand_{digest[:32]}"

    @property
    def offered(self) -> list[str] | None:
        """The types that an idle worker takes; None if it takes none. Any thread may read it."""
        return self._types if self._is_listening and self._mode == "taking" and self._types else None

    def keys(self) -> list[RunKey]:
        """The runs that are being received. A job is handed over in its first attempt. Any thread may call it."""
        return [{"id": id, "attempt": 1} for id in self._arriving.copy()]

    def set_listening(self, is_listening: bool) -> None:
        """Notifications arrive from now on, or no longer."""
        self._is_listening = is_listening

    async def stop(self) -> None:
        """The worker offers nothing more, and hands back what still comes. Returns when no job is being received."""
        self._mode = "handing back"
        if self._receiving:
            await asyncio.wait(self._receiving)

    def close(self) -> None:
        """The last heartbeat gives back what was handed to the worker."""
        self._mode = "closed"

    def arrived(self, ids: Iterable[str]) -> None:
        """Jobs were handed to this worker. One call receives those that arrive together."""
        if self._mode == "closed":
            return
        for id in ids:
            if id in self._arriving or self._held.of_job(id) is not None:
                continue
            self._arriving[id] = None
            self._unasked.append(id)
            if len(self._unasked) == 1:
                task = self._tasks.spawn(self._receive())
                self._receiving.add(task)
                task.add_done_callback(self._receiving.discard)

    async def _receive(self) -> None:
        ids, self._unasked = self._unasked, []
        try:
            self._take(await self._kernel.receive(ids))
            self._outage.worked("claim")
        except Exception as error:  # noqa: BLE001 - the next notification or heartbeat that names them asks again
            await asyncio.sleep(self._outage.failed("claim", error))
        finally:
            for id in ids:
                self._arriving.pop(id, None)

    def _take(self, jobs: Sequence[ClaimedJob]) -> None:
        if self._mode != "taking":
            self._intake.hand_back(jobs)
            return
        self._meter.note_handed(len(jobs))
        self._intake.receive(jobs)
        self._runner.start_waiting()
