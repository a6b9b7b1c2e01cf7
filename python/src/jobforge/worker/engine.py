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
import os
import socket
import uuid
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from ..version import VERSION
from .claiming.demand import Demand
from .claiming.intake import Intake
from .claiming.kernel import Kernel
from .claiming.loop import Loop, LoopParts
from .claiming.pace import Pace
from .claiming.settlements import Settlements
from .claiming.signal import LoopSignal
from .executors.calls import Executors
from .handled_type import HandledType
from .presence.clock import DatabaseClock
from .presence.definitions import Definitions
from .presence.heartbeat import Heartbeat
from .presence.idle import Idle
from .presence.look_again import LookAgain
from .presence.notifications import Notifications
from .presence.outage import Outage
from .presence.patience import Patience
from .presence.watchdog import Watchdog
from .reporting.reporting import Reporting, make_reporting
from .running.held_runs import HeldRuns
from .running.overdue import Overdue
from .running.policies import Policies
from .running.runner import Runner, RunnerParts
from .running.slots import Slots
from .tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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

    def __init__(self, transport: AsyncTransport, settings: Settings, mode: EngineMode) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = Tasks(loop)
        self._reporting = make_reporting(settings, self._tasks)
        self._parts = _make_parts(self, loop, transport, settings, mode)

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

    async def start(self) -> None:
        """Works until `drain`. Returns when the database knows the worker."""
        parts = self._parts
        if parts.notifications is not None:
            parts.notifications.open()
        await parts.heartbeat.start()
        await self.sync_definitions()
        parts.loop.open()

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
        parts.loop.stop()
        parts.overdue.stop()
        if parts.idle is not None:
            parts.idle.stop()
        parts.runner.stop()
        await parts.heartbeat.stop()
        if parts.notifications is not None:
            await parts.notifications.close()
        await self._tasks.cancel()
        parts.kernel.close()


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts that the engine itself uses."""

    kernel: Kernel
    held: HeldRuns
    signal: LoopSignal
    slots: Slots
    runner: Runner
    overdue: Overdue
    heartbeat: Heartbeat
    loop: Loop
    definitions: Definitions | None
    # A worker that runs until it is stopped is idle at times.
    idle: Idle | None
    notifications: Notifications | None
    # A tick gives up on a database that fails.
    patience: Patience | None


def _make_parts(
    engine: Engine,
    event_loop: asyncio.AbstractEventLoop,
    transport: AsyncTransport,
    settings: Settings,
    mode: EngineMode,
) -> _Parts:
    """Creates the parts of a worker, each after those that it works with."""
    reporting, tasks = engine.reporting, engine.tasks
    types = [
        HandledType(handler, settings.max_per_type.get(handler.definition.type), settings.concurrency)
        for handler in settings.handlers
    ]
    clock = DatabaseClock()
    kernel = Kernel(transport, clock, types, worker_id=settings.id, tenant=settings.tenant)
    outage = Outage(reporting.log, reporting.hooks)
    held = HeldRuns()
    is_tick = mode.budget is not None

    signal = LoopSignal(event_loop, lambda: loop.turn())  # noqa: PLW0108 - the loop is made later
    settlements = Settlements(held, reporting.report, reporting.log)
    pace = Pace(types)
    slots = Slots(settings.concurrency, types)
    demand = Demand(slots, types, pace, batch_size=settings.batch_size, prefetch=settings.prefetch)
    process_ends = mode.process_ends
    runner = Runner(
        event_loop,
        RunnerParts(
            kernel=kernel,
            reporting=reporting,
            held=held,
            slots=slots,
            demand=demand,
            pace=pace,
            settlements=settlements,
            signal=signal,
            executors=Executors(event_loop, clock),
            middleware=settings.middleware,
            abort_grace=settings.abort_grace,
            process_ends=None if process_ends is None else lambda runs, error: process_ends(engine, runs, error),
            waits_for_overruns=not is_tick,
        ),
    )
    overdue = Overdue(event_loop, slots, runner)
    policies = Policies(tasks, kernel, reporting.log, runner)
    intake = Intake(
        types, reporting=reporting, runner=runner, slots=slots, overdue=overdue, policies=policies, pace=pace
    )
    heartbeat = Heartbeat(
        event_loop,
        kernel=kernel,
        outage=outage,
        held=held,
        meter=reporting.meter,
        runner=runner,
        watchdog=Watchdog(event_loop, reporting.log, runner.open_runs),
        every=settings.heartbeat,
        about=_about_worker(kernel.types, settings.concurrency),
    )
    idle = (
        None
        if is_tick
        else Idle(event_loop, tasks, heartbeat=heartbeat, clock=clock, signal=signal, poll=settings.poll)
    )
    patience = Patience(event_loop, held) if is_tick else None
    look_again = LookAgain(event_loop, signal) if is_tick else None
    notifications = (
        Notifications(tasks, kernel=kernel, outage=outage, signal=signal, idle=idle, heartbeat=heartbeat, held=held)
        if idle is not None and settings.listen
        else None
    )
    loop = Loop(
        event_loop,
        LoopParts(
            kernel=kernel,
            signal=signal,
            demand=demand,
            pace=pace,
            meter=reporting.meter,
            intake=intake,
            runner=runner,
            slots=slots,
            settlements=settlements,
            outage=outage,
            tasks=tasks,
            idle=idle,
            look_again=look_again,
            patience=patience,
            batch_size=settings.batch_size,
        ),
        inf if mode.budget is None else mode.budget,
    )
    return _Parts(
        kernel=kernel,
        held=held,
        signal=signal,
        slots=slots,
        runner=runner,
        overdue=overdue,
        heartbeat=heartbeat,
        loop=loop,
        definitions=_definitions(transport, settings, reporting.log, tasks) if settings.sync else None,
        idle=idle,
        notifications=notifications,
        patience=patience,
    )


def _definitions(transport: AsyncTransport, settings: Settings, log: WorkerLog, tasks: Tasks) -> Definitions:
    return Definitions(
        transport,
        log,
        tasks,
        definitions=[handler.definition for handler in settings.handlers],
        app_version=settings.app_version,
    )


def _about_worker(types: Sequence[str], concurrency: int) -> dict[str, Any]:
    """What every heartbeat says about the worker."""
    return {
        "instance": str(uuid.uuid4()),
        "types": types,
        "concurrency": concurrency,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "version": f"python {VERSION}",
    }
