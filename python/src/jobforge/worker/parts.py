"""The parts of a worker, put together. The drawing is in `engine.py`."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from ..version import VERSION
from .claiming.demand import Demand
from .claiming.hand_over import HandOver
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
from .presence.sweeper import Sweeper
from .presence.watchdog import Watchdog
from .running.held_runs import HeldRuns
from .running.offloading import Offloading
from .running.overdue import Overdue
from .running.policies import Policies
from .running.runner import Runner, RunnerParts
from .running.slots import Slots

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from ..aio.artifacts import AsyncArtifacts
    from ..transport.base import AsyncTransport
    from .options import Settings
    from .reporting.log import WorkerLog
    from .reporting.reporting import Reporting
    from .running.calling import ProcessEnds
    from .tasks import Tasks


@dataclass(frozen=True, slots=True)
class Parts:
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
    # Takes jobs from enqueues while the worker is idle.
    hand_over: HandOver | None
    notifications: Notifications | None
    # A tick gives up on a database that fails.
    patience: Patience | None
    # Deletes artifacts of forgotten jobs, if the client has a store.
    sweeper: Sweeper | None


def make_parts(
    event_loop: asyncio.AbstractEventLoop,
    transport: AsyncTransport,
    settings: Settings,
    *,
    reporting: Reporting,
    tasks: Tasks,
    artifacts: AsyncArtifacts | None,
    budget: int | None,
    process_ends: ProcessEnds | None,
) -> Parts:
    """Creates the parts of a worker, each after those that it works with."""
    types = [
        HandledType(handler, settings.max_per_type.get(handler.definition.type), settings.concurrency)
        for handler in settings.handlers
    ]
    clock = DatabaseClock()
    kernel = Kernel(transport, clock, types, worker_id=settings.id, tenant=settings.tenant)
    outage = Outage(reporting.log, reporting.hooks)
    held = HeldRuns()
    is_tick = budget is not None

    signal = LoopSignal(event_loop, lambda: loop.turn())  # noqa: PLW0108 - the loop is made later
    settlements = Settlements(held, reporting.report, reporting.log)
    pace = Pace(types)
    slots = Slots(settings.concurrency, types)
    demand = Demand(slots, types, pace, batch_size=settings.batch_size, prefetch=settings.prefetch)
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
            offloading=Offloading(artifacts, stores_results=settings.offload),
            abort_grace=settings.abort_grace,
            process_ends=process_ends,
            waits_for_overruns=not is_tick,
        ),
    )
    overdue = Overdue(event_loop, slots, runner)
    policies = Policies(tasks, kernel, reporting.log, runner)
    intake = Intake(
        types, reporting=reporting, runner=runner, slots=slots, overdue=overdue, policies=policies, pace=pace
    )
    instance = str(uuid.uuid4())
    hand_over = (
        HandOver(
            tasks,
            types,
            kernel=kernel,
            instance=instance,
            held=held,
            intake=intake,
            runner=runner,
            meter=reporting.meter,
            outage=outage,
        )
        if settings.listen and settings.hand_off and settings.tenant is None and transport.can_listen and not is_tick
        else None
    )
    heartbeat = Heartbeat(
        event_loop,
        kernel=kernel,
        outage=outage,
        held=held,
        meter=reporting.meter,
        runner=runner,
        watchdog=Watchdog(event_loop, reporting.log, runner.open_runs),
        hand_over=hand_over,
        every=settings.heartbeat,
        about=_about_worker(instance, kernel.types, settings.concurrency),
    )
    idle = (
        None
        if is_tick
        else Idle(
            event_loop,
            tasks,
            heartbeat=heartbeat,
            clock=clock,
            signal=signal,
            poll=settings.poll,
            notified_poll=settings.notified_poll,
        )
    )
    patience = Patience(event_loop, held) if is_tick else None
    look_again = LookAgain(event_loop, signal) if is_tick else None
    notifications = (
        Notifications(
            tasks,
            kernel=kernel,
            outage=outage,
            signal=signal,
            idle=idle,
            heartbeat=heartbeat,
            held=held,
            hand_over=hand_over,
        )
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
        inf if budget is None else budget,
    )
    return Parts(
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
        hand_over=hand_over,
        notifications=notifications,
        patience=patience,
        sweeper=None if artifacts is None or artifacts.store is None else Sweeper(tasks, artifacts, reporting.log),
    )


def _definitions(transport: AsyncTransport, settings: Settings, log: WorkerLog, tasks: Tasks) -> Definitions:
    return Definitions(
        transport,
        log,
        tasks,
        definitions=[handler.definition for handler in settings.handlers],
        app_version=settings.app_version,
    )


def _about_worker(instance: str, types: Sequence[str], concurrency: int) -> dict[str, Any]:
    """What every heartbeat says about the worker."""
    return {
        "instance": instance,
        "types": types,
        "concurrency": concurrency,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "version": f"python {VERSION}",
    }
