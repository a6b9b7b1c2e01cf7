"""Runs jobs: calls their handlers, enforces their timeouts, and passes their ends on to be settled.

It also decides about a handler that does not return after it was aborted: the run is given up and its slot becomes
free. A handler's task ends with its run: nothing is awaited after the handler, so a cancel cannot hit the worker's own
code.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, cast

from . import ending
from .calling import Calling, ProcessEnds
from .current import HandlerCall, enter_call
from .deadlines import Deadlines
from .ending import RELEASED, Outcome, Raised, Returned, no_outcome
from .overruns import Overruns
from .services import RunServices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...errors import JobAborted
    from ..claiming.demand import Demand
    from ..claiming.kernel import Kernel
    from ..claiming.pace import Pace
    from ..claiming.protocol import HeartbeatResponse, SettleResponse, Verdict
    from ..claiming.settlements import Settlements
    from ..claiming.signal import LoopSignal
    from ..executors.calls import Executors
    from ..handled_type import HandledType
    from ..reporting.reporting import Reporting
    from .held_runs import HeldRuns
    from .middleware import Middleware
    from .offloading import Offloading
    from .run import Run
    from .slots import Slots

# Starting jobs goes on for this long, before other callbacks of the event loop have their turn.
_MAX_STARTING: Final = 0.02
_HAS_EAGER_TASKS: Final = sys.version_info >= (3, 12)


@dataclass(frozen=True, slots=True)
class RunnerParts:
    kernel: Kernel
    reporting: Reporting
    held: HeldRuns
    slots: Slots
    demand: Demand
    pace: Pace
    settlements: Settlements
    signal: LoopSignal
    executors: Executors
    middleware: Sequence[Middleware]
    offloading: Offloading
    # The time that a handler may continue after it was aborted.
    abort_grace: float
    # Called when a handler called sys.exit(). Without it, that is an error like any other.
    process_ends: ProcessEnds | None
    # Whether the schedule of a run that ignores its timeout waits for the handler. A tick ends before that.
    waits_for_overruns: bool


class Runner:
    def __init__(self, loop: asyncio.AbstractEventLoop, parts: RunnerParts) -> None:
        self._loop = loop
        self._parts = parts
        self._log = parts.reporting.log
        self.services = RunServices(loop, parts.kernel, self._log, self, parts.offloading)
        self._calling = Calling(parts.executors, parts.middleware, self.services, parts.process_ends)
        self._deadlines = Deadlines(loop)
        # The runs whose handler call takes a slot, with that call.
        self._open: dict[Run, HandlerCall] = {}
        self._overruns = Overruns(parts.waits_for_overruns)
        # The event loop itself keeps no reference to its tasks.
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_starting = False

    def hold(self, run: Run) -> None:
        """Takes over a claimed job. If the worker holds an earlier attempt of the job, that attempt is lost."""
        held = self._parts.held
        earlier = held.of_job(run.id)
        if earlier is not None:
            self.lost(earlier)
        held.add(run)

    def start_waiting(self) -> None:
        """Starts the jobs that wait and may start. A handler may end while it is started, and free its slot."""
        if self._is_starting:
            return
        self._is_starting = True
        slots = self._parts.slots
        until = monotonic() + _MAX_STARTING
        try:
            while (runs := slots.take_next()) is not None:
                self._start(runs)
                if monotonic() > until:
                    self._parts.signal.schedule()
                    break
        finally:
            self._is_starting = False

    def hand_back(self, run: Run) -> None:
        """Hands back a job that has not started."""
        self._settle(run, RELEASED)

    def update_timeouts(self, type: HandledType) -> None:
        """The type's timeout has changed: it also holds for runs that have started."""
        now = monotonic()
        for run in list(self._open):
            if run.type is type and run.aborted is None:
                self._limit_time(run, now - run.started_at)

    def note_still_running(self) -> None:
        """Tells the pace how long the open runs have taken so far."""
        now = monotonic()
        for run in self._open:
            self._parts.pace.note_still_running(run.type, now - run.started_at)

    # What the database says about runs.

    def heed(self, response: HeartbeatResponse) -> None:
        """Aborts the runs that a heartbeat's response names.

        Runs that are ending are left alone: the reply to their end decides.
        """
        held = self._parts.held
        for key in response["cancel"]:
            run = held.find(key)
            if run is not None:
                self.cancel(run)
        for key in response["lost"]:
            run = held.find(key)
            if run is not None:
                self.lost(run)

    def cancel(self, run: Run) -> None:
        """The job was canceled."""
        if run.state in ("running", "waiting"):
            self._abort(run, ending.canceled_reason())

    def lost(self, run: Run) -> None:
        """The worker no longer holds the job: the handler is aborted and its result is dropped."""
        if run.state not in ("running", "waiting"):
            return
        self._parts.held.let_go(run)
        self._parts.reporting.report.stale(run)
        self._abort(run, ending.lost_reason())

    def settled(self, run: Run, response: SettleResponse) -> None:
        """The run's end was committed with the handler's own writes."""
        run.stop_clock()
        self._parts.held.let_go(run)
        self._parts.reporting.report.settled(run, response["settled"][0])

    # Shutdown.

    def abort_all(self, grace: float) -> None:
        """Aborts every open run because the worker shuts down. Handlers get `grace` seconds to return."""
        for run in list(self._open):
            self._abort(run, ending.shutdown_reason(), grace)

    def end_overruns(self) -> None:
        """Ends the runs whose handlers ignore their timeout: nothing will keep their leases."""
        for run in self._overruns.all():
            self._end_aborted(run)

    def stop(self) -> None:
        self._deadlines.stop()
        self._parts.executors.stop()

    def open_runs(self) -> list[Run]:
        """The runs whose handlers are in progress. Any thread may call it."""
        return list(self._open.copy())

    def crash(self, culprits: Sequence[Run], error: BaseException) -> None:
        """The process dies: the runs that caused it fail with the error, and the others are released."""
        for run in self.open_runs():
            run.abort(ending.shutdown_reason())
            self._end(run, ending.failure(error) if run in culprits else RELEASED)

    # From the start of a handler call to the end of its runs.

    def _start(self, runs: list[Run]) -> None:
        """Calls the handler for one run, or for a batch of runs of one type."""
        now = monotonic()
        call = HandlerCall(runs, self._log)
        call.begin = partial(self._begin_again, runs)
        for run in runs:
            self._open[run] = call
            run.start(now)
            # A run that was lost or canceled while it waited ends without its handler.
            if run.aborted is None:
                self._announce(run)
        work = self._call(call)
        if _HAS_EAGER_TASKS:
            # Most handlers that never wait end right here, without another turn of the event loop.
            task = cast("Any", asyncio.Task)(work, loop=self._loop, eager_start=True)
        else:
            task = self._loop.create_task(work)
        if not task.done():
            self._keep(task)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _begin_again(self, runs: Sequence[Run]) -> None:
        """The handler begins only now, because its process had to be started. Its time counts from here."""
        now = monotonic()
        for run in runs:
            if run in self._open and run.aborted is None:
                run.start(now)
                self._limit_time(run, 0)

    def _announce(self, run: Run) -> None:
        reporting = self._parts.reporting
        if self._log.is_enabled("debug"):
            self._log.job("debug", run, None, "Job started")
        reporting.hooks.started(run)
        # The time of a handler in a process counts from when the process is ready.
        if run.type.handler.run_in != "process":
            self._limit_time(run, 0)
        reporting.spans.start(run)

    async def _call(self, call: HandlerCall) -> None:
        """The task of a handler call. Whatever happens, its runs end."""
        runs = call.runs
        try:
            enter_call(call)
            items, called = await self._calling.items(call, self._end)
            if not called:
                return
            self._parts.reporting.spans.activate(called[0])
            outcomes = await self._calling.outcomes(call, items)
            if self._calling.ends_process(called, outcomes):
                return
            for place, run in enumerate(called):
                self._returned(run, outcomes[place] if place < len(outcomes) else no_outcome(), len(runs))
        except GeneratorExit:
            # The event loop was closed while the handler ran.
            raise
        except BaseException as error:
            self._rescue(runs, error)
            if not isinstance(error, Exception):
                raise

    def _returned(self, run: Run, outcome: Outcome, jobs: int) -> None:
        """The handler has returned or raised. Nothing happens if the run was given up before."""
        if run not in self._open:
            return
        self._parts.pace.note_call(run.type, monotonic() - run.started_at, jobs)
        if run.state == "ended":
            self._warn_of_lost_result(run, outcome)
        verdict = ending.conclude(run, outcome)
        if run.state == "running" and self._parts.offloading.wants(verdict):
            # In a task of its own, which no abort cancels. A run that is given up meanwhile has ended before.
            self._keep(self._loop.create_task(self._offload(run, verdict)))
        else:
            self._end(run, verdict)

    async def _offload(self, run: Run, verdict: Verdict) -> None:
        self._end(run, await self._parts.offloading.store(run, verdict))

    def _warn_of_lost_result(self, run: Run, outcome: Outcome) -> None:
        is_ended = run.end is not None and run.end["status"] == "succeeded"
        if is_ended and run.result is None and isinstance(outcome, Returned) and outcome.value is not None:
            message = "The handler returned a value after transaction() had ended the job: use job.set_result(value)"
            self._log.job("warning", run, None, message)

    def _rescue(self, runs: Sequence[Run], error: BaseException) -> None:
        """The last resort: after an error outside of the handler, the runs of the call fail and free their slot."""
        for run in runs:
            if run not in self._open:
                continue
            message = "The run could not be ended as usual; it has failed"
            self._log.job("error", run, {"err": error}, message)
            self._end(run, ending.conclude(run, Raised(error)))

    def _end(self, run: Run, verdict: Verdict) -> None:
        """Ends the run, unless it has ended already. The last run of a handler call frees its slot."""
        call = self._open.pop(run, None)
        if call is None:
            return
        self._overruns.discard(run)
        self._deadlines.clear(run)
        try:
            if run.state == "running":
                run.stop_clock()
                self._settle(run, verdict)
            self._parts.reporting.spans.end(run)
        finally:
            self._leave(call, run)

    def _settle(self, run: Run, verdict: Verdict) -> None:
        """Passes the run's end on to be settled."""
        run.begin_ending()
        ending.end_run(run, verdict)
        self._parts.settlements.add(run)
        self._parts.signal.schedule()

    def _leave(self, call: HandlerCall, run: Run) -> None:
        """The run no longer takes part in the slot of its call."""
        call.left -= 1
        if call.left != 0:
            return
        parts = self._parts
        parts.slots.free(run.type)
        self.start_waiting()
        # A type that was left out of claims has room again, and jobs of it may be due.
        if parts.demand.take_left_out(run.type):
            parts.signal.note_due()
        parts.signal.schedule()

    # Aborts.

    def _limit_time(self, run: Run, elapsed: float) -> None:
        timeout = run.type.timeout
        if timeout is None:
            self._deadlines.clear(run)
        else:
            self._deadlines.set(run, timeout - elapsed, self._timed_out)

    def _timed_out(self, run: Run) -> None:
        timeout = run.type.timeout or 0
        self._abort(run, ending.timeout_reason(timeout, is_default=run.type.has_default_timeout))

    def _abort(self, run: Run, reason: JobAborted, grace: float | None = None) -> None:
        must_tell = run.abort(reason)
        call = self._open.get(run)
        if call is None:
            return
        self._wait_for(run, self._parts.abort_grace if grace is None else grace)
        # The handler of a batch serves other jobs, too. It is canceled when all of them are aborted.
        if must_tell and call.cancel is not None and all(each.aborted is not None for each in call.runs):
            call.cancel()

    def _wait_for(self, run: Run, grace: float) -> None:
        self._deadlines.set(run, grace, self._give_up)

    def _give_up(self, run: Run) -> None:
        """The handler ignores its abort. If it cannot be stopped, the worker no longer waits for it."""
        if run.state == "ending":
            self._wait_for(run, self._parts.abort_grace)
            return
        call = self._open.get(run)
        kill = None if call is None else call.kill
        if kill is not None:
            kill()
            self._report_deaf(run, "The handler ignores its aborted signal; its process was killed")
        elif self._overruns.accepts(run):
            self._wait_for_handler(run)
            return
        elif run not in self._overruns:
            message = "The handler ignores its aborted signal; its slot becomes free while it continues"
            self._report_deaf(run, message)
        self._end_aborted(run)

    def _report_deaf(self, run: Run, message: str) -> None:
        self._log.job("error", run, {"reason": None if run.aborted is None else run.aborted.kind}, message)

    def _end_aborted(self, run: Run) -> None:
        reason = run.aborted or ending.shutdown_reason()
        self._end(run, ending.conclude(run, Raised(reason)))

    def _wait_for_handler(self, run: Run) -> None:
        """Frees the slot of a run that has run into its timeout, and ends it when its handler returns, or at the
        latest."""
        call = self._open.get(run)
        if call is None:
            return
        message = "The handler ignores its timeout; its slot becomes free, and its schedule waits for it"
        self._log.job("error", run, {"reason": "timeout"}, message)
        # The run no longer takes part in the slot of its call.
        alone = HandlerCall([run], self._log)
        alone.left = 0
        self._open[run] = alone
        self._deadlines.set(run, self._overruns.add(run), self._give_up)
        self._leave(call, run)
