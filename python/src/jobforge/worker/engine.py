"""The engine puts the parts of a worker together, for a worker that runs until it is stopped or for one tick.

             jobs              runs              turns             call
  +------+ --------> +--------+ ------> +-------+ ------> +--------+ ------> handler, on the event loop,
  | loop |           | intake |         | slots |         | runner |         in a thread or in a process
  +------+ <------+  +--------+         +-------+         +--------+
    |  ^          |                                         |  |  ^
    |  |          +----- signal: run ended, slot free ------+  |  | abort
    |  |                                                  end  |  |
    |  |           ends to settle     +-------------+          |  |
    |  +----------------------------- | settlements | <--------+  |
    |                                 +-------------+ --> report  |   (log, hooks, metrics)
    | settle and claim:                     ^                     |
    | one call, one commit                  | replies             |
    v                                       |                     |
  +-----------------------------------------------+               |
  |                   database                    |               |
  +-----------------------------------------------+               |
    |                       ^            |  canceled, lost        |
    | NOTIFY                | held runs  |                        |
    v                       |            v                        |
  +---------------+       +----------------+                      |
  | notifications |       |   heartbeat    | ---------------------+
  +---------------+       |  (its thread)  | <---- watchdog
    |                     +----------------+
    |                       ^
    | wake-up               | mark: "notify me"
    v                       |
  signal <---- timer ---- +------+
  (to the loop)           | idle | <---- loop: no job is due
                          +------+

Claim, run, settle: the loop asks `demand` what to claim, and calls the database. The intake makes a run of each job and
puts it into `slots`, where it waits for its turn. The runner takes runs out of the slots and calls their handlers. The
end of a run goes to `settlements` and signals the loop, whose next call settles it. The database's reply goes to
`report`. The worker holds a run (`HeldRuns`) from its claim until that reply.

Heartbeat: every ten seconds a thread lists the held runs, which keeps their leases. The response names runs that were
canceled or lost, and the runner aborts them. The thread has a connection of its own, so a handler that blocks the event
loop costs no leases, and the watchdog names it.

Wake-ups: when a claim finds nothing, `idle` sets a timer for the next due time or poll, and asks the database by a
heartbeat to be notified. A timer or a notification signals the loop to claim again. A tick ends instead.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from .parts import make_parts
from .reporting.reporting import Reporting, make_reporting
from .tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..aio.artifacts import AsyncArtifacts
    from ..transport.base import AsyncTransport
    from .options import Settings
    from .reporting.log import WorkerLog
    from .reporting.meter import Tally, WorkerMetrics
    from .running.run import Run


@dataclass(frozen=True, slots=True)
class EngineMode:
    # The number of jobs that a tick claims at most. A worker that runs until it is stopped has none.
    budget: int | None = None
    # Called when a handler called sys.exit(); None if that is an error like any other.
    process_ends: Callable[[Engine, Sequence[Run], BaseException], None] | None = None


class Engine:
    """Must be made on its event loop."""

    def __init__(
        self,
        transport: AsyncTransport,
        settings: Settings,
        mode: EngineMode,
        artifacts: AsyncArtifacts | None = None,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = Tasks(loop)
        self._reporting = make_reporting(settings, self._tasks)
        ends = mode.process_ends
        self._parts = make_parts(
            loop,
            transport,
            settings,
            reporting=self._reporting,
            tasks=self._tasks,
            artifacts=artifacts,
            budget=mode.budget,
            process_ends=None if ends is None else partial(ends, self),
        )

    @property
    def reporting(self) -> Reporting:
        return self._reporting

    @property
    def tasks(self) -> Tasks:
        return self._tasks

    @property
    def log(self) -> WorkerLog:
        return self._reporting.log

    @property
    def tally(self) -> Tally:
        """The number of runs so far, by how they ended."""
        return self._reporting.meter.runs

    def metrics(self) -> WorkerMetrics:
        """What the worker has measured so far."""
        return self._reporting.meter.read()

    @property
    def running(self) -> int:
        """The number of handler calls in progress."""
        return self._parts.slots.busy

    def open_runs(self) -> list[Run]:
        """The runs whose handlers are in progress."""
        return self._parts.runner.open_runs()

    def use_resources(self, resources: object) -> None:
        """What the worker's lifespan has yielded, for the contexts of runs."""
        self._parts.runner.services.resources = resources

    def on_stop_request(self, listener: Callable[[], None]) -> None:
        """Calls the function when an operator has asked the worker to stop, with each heartbeat until it has."""
        self._parts.heartbeat.on_stop_request = listener

    async def start(self) -> None:
        """Works until `drain`. Returns when the database knows the worker."""
        parts = self._parts
        if parts.notifications is not None:
            parts.notifications.open()
        await parts.heartbeat.start()
        await self.sync_definitions()
        parts.loop.open()
        if parts.sweeper is not None:
            parts.sweeper.start()

    async def sync_definitions(self) -> None:
        """Brings the policies of the handled types in line with their definitions, unless an option says not to."""
        if self._parts.definitions is not None:
            await self._parts.definitions.sync()

    async def run_due(self) -> None:
        """Works until no job is due or the budget is spent. Raises when the database fails, after a last try."""
        parts = self._parts
        parts.heartbeat.start_later()
        parts.loop.open()
        quiet = asyncio.ensure_future(parts.loop.quiet())
        waiting: set[asyncio.Future[Any]] = {quiet}
        if parts.patience is not None:
            waiting.add(parts.patience.exhausted)
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            quiet.cancel()
        if quiet not in done and parts.patience is not None:
            parts.patience.exhausted.result()

    async def drain(self) -> None:
        """Claims nothing more, and hands back the jobs that have not started. Returns when all other runs ended."""
        parts = self._parts
        parts.loop.stop_claiming()
        if parts.idle is not None:
            parts.idle.stop()
        if parts.definitions is not None:
            parts.definitions.stop()
        for run in parts.slots.take_unstarted():
            parts.runner.hand_back(run)
        parts.signal.schedule()
        if parts.hand_over is not None:
            await parts.hand_over.stop()
            if parts.heartbeat.is_marked:
                parts.heartbeat.request()
        await parts.loop.quiet()
        parts.runner.end_overruns()
        await parts.loop.quiet()

    def abort(self, grace: float) -> None:
        """Aborts the handlers that still run. They get `grace` seconds to return."""
        self._parts.runner.abort_all(grace)

    async def crash(self, culprits: Sequence[Run], error: BaseException) -> None:
        """Ends all runs because the process dies: those that caused it fail with the error, all others are released.

        Returns when the database has confirmed it.
        """
        drained = asyncio.ensure_future(self.drain())
        await asyncio.sleep(0)
        self._parts.runner.crash(culprits, error)
        await drained
        await self.close()

    async def close(self) -> None:
        """Ends the engine, whatever is left."""
        parts = self._parts
        if len(parts.held) > 0:
            self.log.warning({"jobs": len(parts.held)}, "Leaving jobs behind: their leases will run out")
        if parts.definitions is not None:
            parts.definitions.stop()
        if parts.sweeper is not None:
            parts.sweeper.stop()
        parts.loop.stop()
        parts.overdue.stop()
        if parts.idle is not None:
            parts.idle.stop()
        if parts.hand_over is not None:
            parts.hand_over.close()
        parts.runner.stop()
        await parts.heartbeat.stop()
        if parts.notifications is not None:
            await parts.notifications.close()
        await self._tasks.cancel()
        parts.kernel.close()
