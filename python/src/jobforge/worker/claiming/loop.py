"""The loop: one call settles the runs that have ended and claims the next jobs; the jobs start; their ends go with a
later call.

Ends that arrive while a call is in flight wait for the next one, so batches grow with the load. Two calls may be in
flight at the same time, so that the database works while handlers run. The loop never fails: it retries.

The loop has four modes:

- "new": it does nothing. `open` changes it to "claiming".
- "claiming": it settles and claims. `stop_claiming` changes it to "settling".
- "settling": it claims nothing more, and settles the ends of the runs that are left. `stop` changes it to "stopped".
- "stopped": it makes no more calls. Ends that are not settled by now are given up, and their leases will run out.

In "claiming" mode a turn of the loop makes a call for one of these reasons:

- A job may be due (`signal.may_be_due`) and there is room for it (`demand`). Jobs may be due at the start, after a
  wake-up, and as long as claims return all they asked for, or as much as one response may have. A claim of all types
  that returns less makes the worker idle: then only `idle` or a notification wakes the loop.
- Ends wait to be settled. They take a claim along if there is room; but not if the worker is notified of every job that
  comes, and the ends are of jobs that were handed to it and make no other job ready: such a claim would find nothing.
  Without a claim they wait for a call in flight, or for `SETTLE_DELAY` while every slot is busy, so that more of them
  share a call.

A turn is taken when a call returns, when a run ends or frees a slot, at a wake-up, and when one of these times is over:

- After a call that failed, no call is made until the retry delay of `outage` is over. Then one call at a time is made
  until one succeeds.
- After a claim that failed, while the settle in the same call succeeded, only claims wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from ...errors import DatabaseError
from ..defaults import PARALLEL_CALLS, SETTLE_DELAY
from ..errors import is_data_error
from .caller import Caller

if TYPE_CHECKING:
    import asyncio

    from ..presence.idle import Idle
    from ..presence.look_again import LookAgain
    from ..presence.outage import Outage
    from ..presence.patience import Patience
    from ..reporting.meter import Meter
    from ..running.run import Run
    from ..running.runner import Runner
    from ..running.slots import Slots
    from ..tasks import Tasks
    from .demand import Demand
    from .intake import Intake
    from .kernel import Kernel
    from .pace import Pace
    from .protocol import ClaimError, ClaimRequest, SettleResponse
    from .settlements import Settlements
    from .signal import LoopSignal


@dataclass(frozen=True, slots=True)
class LoopParts:
    kernel: Kernel
    signal: LoopSignal
    demand: Demand
    pace: Pace
    meter: Meter
    intake: Intake
    runner: Runner
    slots: Slots
    settlements: Settlements
    outage: Outage
    tasks: Tasks
    # Sleeps while no job is due. A tick ends instead.
    idle: Idle | None
    # Lets a tick look again before it ends.
    look_again: LookAgain | None
    # Decides when a tick gives up. A worker that runs until it is stopped never does.
    patience: Patience | None
    # The number of ends in one call, at most.
    batch_size: int


class Loop:
    def __init__(self, loop: asyncio.AbstractEventLoop, parts: LoopParts, budget: float) -> None:
        """`budget` is the number of jobs that the loop may claim in total."""
        self._loop = loop
        self._parts = parts
        self._callers = [Caller() for _ in range(PARALLEL_CALLS)]
        self._mode: Literal["new", "claiming", "settling", "stopped"] = "new"
        # The number of jobs that it may still claim.
        self._budget = budget
        self._claims_in_flight = 0
        # Whether the last claim returned all it asked for.
        self._is_flowing = False
        self._retry_timer: asyncio.TimerHandle | None = None
        self._claim_retry_timer: asyncio.TimerHandle | None = None
        # Runs while ends wait for others to be settled with; `_has_waited` once they have.
        self._settle_timer: asyncio.TimerHandle | None = None
        self._has_waited = False
        self._waiters: list[asyncio.Future[None]] = []

    def open(self) -> None:
        """Begins to claim. Does nothing if the loop was stopped before."""
        if self._mode == "new":
            self._mode = "claiming"
            self._parts.signal.wake()

    def stop_claiming(self) -> None:
        """Claims nothing more."""
        self._mode = "settling"
        self._claim_retry_timer = _stopped(self._claim_retry_timer)

    def stop(self) -> None:
        """Gives up the ends that are not settled."""
        self.stop_claiming()
        self._mode = "stopped"
        self._retry_timer = _stopped(self._retry_timer)
        self._settle_timer = _stopped(self._settle_timer)
        if self._parts.look_again is not None:
            self._parts.look_again.stop()
        self._wake_waiters()

    async def quiet(self) -> None:
        """Returns when no run waits, runs or is being settled, and nothing more will be claimed."""
        if self._is_quiet:
            return
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        await waiter

    def turn(self) -> None:
        """Starts the jobs that may start, and makes the calls for which there is a reason."""
        parts = self._parts
        if not self._may_claim or self._retry_timer is not None or self._is_spent:
            parts.demand.stop_filling()
        parts.runner.start_waiting()
        for caller in self._callers:
            if not caller.is_busy and not self._call(caller):
                break
        if self._waiters and self._is_quiet:
            self._wake_waiters()

    @property
    def _may_claim(self) -> bool:
        return self._mode == "claiming" and self._claim_retry_timer is None

    @property
    def _is_spent(self) -> bool:
        return self._budget <= 0 and self._claims_in_flight == 0

    @property
    def _is_quiet(self) -> bool:
        parts = self._parts
        will_look = parts.signal.may_be_due or (parts.look_again is not None and parts.look_again.is_pending)
        will_claim = self._mode == "claiming" and will_look and self._budget > 0
        is_working = not parts.slots.is_empty or not parts.settlements.is_empty or self._is_calling
        return not will_claim and not is_working

    @property
    def _is_calling(self) -> bool:
        return any(caller.is_busy for caller in self._callers)

    def _wake_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _call(self, caller: Caller) -> bool:
        """Makes the next call, if there is a reason for one."""
        parts = self._parts
        is_calling = self._is_calling
        if self._mode == "stopped" or self._retry_timer is not None:
            return False
        # While the database fails, one call at a time is enough to see whether it has recovered.
        if is_calling and parts.outage.is_failing("work"):
            return False
        request = self._next_claim()
        if request is None and (parts.settlements.unsent == 0 or self._ends_may_wait(is_calling=is_calling)):
            return False
        self._has_waited = False
        runs, alone = parts.settlements.take(parts.batch_size)
        if alone:
            request = None
        caller.is_busy = True
        if request is not None:
            self._reserve(request, 1)
        parts.tasks.spawn(self._settle_and_claim(caller, runs, request))
        return True

    def _ends_may_wait(self, *, is_calling: bool) -> bool:
        """Whether ends without a claim can wait for others: for a call in flight, or while every slot is busy."""
        parts = self._parts
        if parts.settlements.unsent >= parts.batch_size:
            return False
        if is_calling:
            return True
        if parts.slots.available > 0 or self._has_waited or self._mode != "claiming":
            return False
        if self._settle_timer is None:
            self._settle_timer = self._loop.call_later(SETTLE_DELAY, self._waited)
        return True

    def _waited(self) -> None:
        self._settle_timer = None
        self._has_waited = True
        self.turn()

    def _next_claim(self) -> ClaimRequest | None:
        parts = self._parts
        if not self._may_claim or self._budget <= 0:
            return None
        # A settle takes a claim along even when there is no sign that a job is due, unless there would be one.
        is_notified = parts.idle is not None and parts.idle.is_notified
        seeks = parts.settlements.may_free_jobs if is_notified else parts.settlements.unsent > 0
        if not parts.signal.may_be_due and not seeks:
            return None
        if self._claims_in_flight > 0 and not self._is_flowing:
            return None
        return parts.demand.next(self._budget)

    async def _settle_and_claim(self, caller: Caller, runs: list[Run], request: ClaimRequest | None) -> None:
        parts = self._parts
        wake_ups = parts.signal.wake_ups
        sent_at = monotonic()
        try:
            ends = [run.end_json for run in runs]
            hint: Any = None if request is None else caller.hint_for(request)
            response = await parts.kernel.settle(ends, request, hint)
        except Exception as error:  # noqa: BLE001 - whatever happens, the ends are kept and the loop goes on
            if request is not None:
                self._reserve(request, -1)
            self._failed(runs, error, alone=request is None)
        else:
            took = monotonic() - sent_at
            parts.meter.note_call(took, len(runs), has_claimed=request is not None)
            parts.outage.worked("work")
            parts.settlements.confirmed(runs, response["settled"])
            if request is not None:
                self._reserve(request, -1)
                parts.pace.note_round_trip(took)
                caller.keep_hint(request, response["hint"])
                self._claimed(response, request, was_woken=parts.signal.wake_ups != wake_ups)
        finally:
            caller.is_busy = False
            parts.signal.schedule()

    def _claimed(self, response: SettleResponse, request: ClaimRequest, *, was_woken: bool) -> None:
        parts = self._parts
        claim_error = response.get("claim_error")
        if claim_error is not None:
            self._claim_failed(claim_error)
            return
        parts.outage.worked("claim")
        self._is_flowing = _is_full(response, request)
        self._budget -= len(response["jobs"])
        if response["jobs"]:
            if parts.idle is not None:
                parts.idle.found()
            if parts.look_again is not None:
                parts.look_again.found()
            self._take_in(response, request)
        if self._is_flowing:
            parts.signal.note_claim(is_more_due=True)
            if parts.idle is not None:
                parts.idle.flowing()
        elif request.covers_all and not was_woken:
            parts.signal.note_claim(is_more_due=False)
            if self._mode == "claiming":
                self._drained(response)

    def _drained(self, response: SettleResponse) -> None:
        parts = self._parts
        if parts.idle is not None:
            parts.idle.drained(response["now"] if response.get("more") else response["next_due_at"])
        if parts.look_again is not None:
            parts.look_again.drained(response["next_due_at"], response["now"])

    def _take_in(self, response: SettleResponse, request: ClaimRequest) -> None:
        parts = self._parts
        if self._mode == "claiming":
            parts.intake.accept(response["jobs"], request, is_full=_is_full(response, request))
        else:
            parts.intake.hand_back(response["jobs"])
        parts.runner.start_waiting()

    def _reserve(self, request: ClaimRequest, sign: Literal[1, -1]) -> None:
        """Reserves the jobs that a claim may bring (1), or returns what it has reserved (-1)."""
        self._claims_in_flight += sign
        self._budget -= sign * request.limit
        if sign == 1:
            self._parts.demand.expect(request)
        else:
            self._parts.demand.arrived(request)

    def _failed(self, runs: list[Run], error: Exception, *, alone: bool) -> None:
        parts = self._parts
        if runs and is_data_error(error):
            parts.settlements.refused(runs, error, alone=alone)
            return
        parts.settlements.failed(runs)
        if parts.patience is not None:
            parts.patience.failed(error)
        delay = parts.outage.failed("work", error)
        if self._mode != "stopped":
            _stopped(self._retry_timer)
            self._retry_timer = self._loop.call_later(delay, self._retry)

    def _retry(self) -> None:
        self._retry_timer = None
        self.turn()

    def _claim_failed(self, failure: ClaimError) -> None:
        parts = self._parts
        error = DatabaseError(failure["message"], code=failure["code"])
        if parts.patience is not None:
            parts.patience.failed(error)
        delay = parts.outage.failed("claim", error)
        if self._mode == "claiming":
            _stopped(self._claim_retry_timer)
            self._claim_retry_timer = self._loop.call_later(delay, self._retry_claim)

    def _retry_claim(self) -> None:
        self._claim_retry_timer = None
        self.turn()


def _is_full(response: SettleResponse, request: ClaimRequest) -> bool:
    """Whether a claim got all it asked for, or as many bytes as one response may have."""
    jobs = len(response["jobs"])
    return jobs >= request.limit or (bool(response.get("more")) and jobs > 0)


def _stopped(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    """Cancels a timer, and returns what takes its place: none."""
    if timer is not None:
        timer.cancel()
    return None
