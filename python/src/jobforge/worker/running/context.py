"""What a handler is given in addition to its input. Everything except plain facts is created on demand."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from ...arguments import Duration, check_time, refuse
from ...describe_error import clean, describe_error
from ...errors import InvalidArgumentError, JobForgeError
from ...operations.prepare import new_job, prepare_child
from ...schedule_records import RunSchedule
from ...words import UNSET
from ...workflows.builder import AddedSteps, build_steps
from ..errors import RunOver
from ..reporting.log import RunLog, WorkerLog
from ..reporting.trace import plain_traceparent
from .durable import DurableSteps
from .durable_methods import DurableMethods

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from typing_extensions import Unpack

    from ...definition import JobDefinition, JobOptions, NewJob
    from ...errors import JobAborted
    from ..claiming.protocol import Verdict
    from ..presence.clock import DatabaseClock
    from .durable import Store
    from .run import Run

T = TypeVar("T")


class ContextServices(Protocol):
    """What a run's context needs from its worker."""

    @property
    def clock(self) -> DatabaseClock: ...

    @property
    def log(self) -> WorkerLog: ...

    @property
    def resources(self) -> Any: ...

    async def progress(self, run: Run, value: object) -> None: ...

    def progress_sync(self, run: Run, value: object) -> None: ...

    async def hold_key(self, run: Run, until: str, reason: str | None) -> None: ...

    def transaction(self, context: RunContext) -> AbstractAsyncContextManager[Any]: ...

    def transaction_sync(self, context: RunContext) -> AbstractContextManager[Any]: ...

    def store(self, context: RunContext) -> Store: ...

    def wait_on_loop(self, work: Awaitable[T]) -> T: ...

    async def step_in(self, context: RunContext, name: str, work: Callable[[Any], Awaitable[Any]]) -> Any: ...

    def step_in_sync(self, context: RunContext, name: str, work: Callable[[Any], Any]) -> Any: ...


class RunContext(DurableMethods):
    __slots__ = ("_durable", "_log", "_progress", "_services", "_traceparent", "held_run")

    def __init__(self, run: Run, services: ContextServices, traceparent: str | None = None) -> None:
        self.held_run = run
        self._services = services
        self._log: RunLog | None = None
        self._traceparent = traceparent
        self._progress: Any = None
        self._durable: DurableSteps | None = None

    def __repr__(self) -> str:
        return f"<JobContext {self.type} {self.id} attempt {self.attempt}>"

    @property
    def id(self) -> str:
        return self.held_run.id

    @property
    def type(self) -> str:
        return self.held_run.job["type"]

    @property
    def tenant(self) -> str:
        return self.held_run.job["tenant_id"]

    @property
    def attempt(self) -> int:
        return self.held_run.attempt

    @property
    def max_attempts(self) -> int:
        return self.held_run.job["max_attempts"]

    @property
    def trace_id(self) -> str:
        return self.held_run.job["trace_id"]

    @property
    def traceparent(self) -> str:
        if self._traceparent is None:
            trace = self.held_run.trace
            self._traceparent = plain_traceparent(self.trace_id) if trace is None else trace.traceparent
        return self._traceparent

    @property
    def subject(self) -> str | None:
        return self.held_run.job.get("subject")

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(self.held_run.job.get("tags") or ())

    @property
    def run_at(self) -> datetime:
        return datetime.fromisoformat(self.held_run.job["run_at"])

    @property
    def created_at(self) -> datetime:
        return datetime.fromisoformat(self.held_run.job["created_at"])

    @property
    def scheduled_for(self) -> datetime | None:
        stamp = self.held_run.job.get("scheduled_for")
        return None if stamp is None else datetime.fromisoformat(stamp)

    @property
    def schedule(self) -> RunSchedule | None:
        return RunSchedule.from_row(self.held_run.job)

    @property
    def resources(self) -> Any:
        return self._services.resources

    @property
    def log(self) -> RunLog:
        if self._log is None:
            self._log = RunLog(self._services.log, self.held_run)
        return self._log

    @property
    def last_progress(self) -> Any:
        return self.held_run.job.get("progress") if self._progress is None else self._progress

    @property
    def abort_reason(self) -> JobAborted | None:
        return self.held_run.aborted

    def raise_if_aborted(self) -> None:
        if self.held_run.aborted is not None:
            raise self.held_run.aborted

    async def wait_aborted(self) -> JobAborted:
        """Returns when the run is aborted. Meanwhile the worker does not cancel the handler's task."""
        run = self.held_run
        while run.aborted is None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            if run.abort_waiters is None:
                run.abort_waiters = []
            run.abort_waiters.append(waiter)
            try:
                await waiter
            finally:
                if run.abort_waiters is not None and waiter in run.abort_waiters:
                    run.abort_waiters.remove(waiter)
        return run.aborted

    async def progress(self, value: object) -> None:
        await self._services.progress(self.running("progress()"), value)
        self._progress = value

    def progress_sync(self, value: object) -> None:
        self._services.progress_sync(self.running("progress_sync()"), value)
        self._progress = value

    def defer(self, when: Duration | datetime, *, counts: bool = True) -> NoReturn:
        verdict: Verdict = {"status": "deferred", "run_at": self.time_of(when)}
        self.leave(verdict if counts else {**verdict, "counts": False}, "defer()")

    def fail(self, message: str, details: Mapping[str, object] | None = None) -> NoReturn:
        error: dict[str, Any] = {"name": "JobFailed", "message": clean(str(message))}
        if details is not None:
            error["details"] = details
        self.leave({"status": "failed", "retry": False, "error": error}, "fail()")

    def retry_after(
        self, when: Duration | datetime, reason: str | BaseException | None = None, *, at_least: bool = False
    ) -> NoReturn:
        time = self.time_of(when)
        # This time replaces one that next_run() has set before.
        self.held_run.next_run_at = None
        if isinstance(reason, BaseException):
            error = describe_error(reason)
        else:
            text = "The handler asked for a retry" if reason is None else clean(str(reason))
            error = {"name": "RetryAfter", "message": text}
        key = "not_before" if at_least else "retry_at"
        self.leave({"status": "failed", key: time, "error": error}, "retry_after()")

    async def hold_key(self, until: Duration | datetime, reason: str | None = None) -> None:
        await self._services.hold_key(self.running("hold_key()"), self.time_of(until), reason)

    def hold_key_sync(self, until: Duration | datetime, reason: str | None = None) -> None:
        run = self.running("hold_key_sync()")
        self.wait_on_loop(self._services.hold_key(run, self.time_of(until), reason))

    def next_run(self, when: Duration | datetime) -> None:
        run = self.running("next_run()")
        run.next_run_at = self.time_of(when)

    def cost(self, cents: int) -> None:
        if type(cents) is not int or cents < 0:
            refuse("cents", "must be whole cents, 0 or more")
        run = self.running("cost()")
        run.cost_cents = (run.cost_cents or 0) + cents

    def set_result(self, value: object) -> None:
        """Sets the result of the run, for a `transaction()` that ends the job before its handler returns."""
        self.running("set_result()").result = value

    def enqueue(
        self,
        job: JobDefinition[Any, Any] | NewJob[Any],
        input: Any = None,
        **options: Unpack[JobOptions],
    ) -> None:
        run = self.running("enqueue()")
        shared = {"traceparent": self.traceparent, **options}
        try:
            new = new_job(job, UNSET if input is None else input)
            child = prepare_child(new.using(tenant=self.tenant), shared)
        except JobForgeError as error:
            run.refused = error
            raise
        if run.children is None:
            run.children = []
        run.children.append(child.json())

    def add_steps(self, build: Callable[[AddedSteps], object], *, detached: bool = False) -> None:
        run = self.running("add_steps()")
        # Not for handlers that cannot have durable steps.
        self.durable()
        if run.added is not None and run.added[1] != detached:
            raise InvalidArgumentError(
                "Invalid argument: one run adds steps that are detached, and others",
                field="detached",
                hint="Use add_steps_now() for one of the two.",
            )
        run.added = (build_steps(build, None if run.added is None else run.added[0]), detached)

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        return self._services.transaction(self)

    def transaction_sync(self) -> AbstractContextManager[Any]:
        return self._services.transaction_sync(self)

    def durable(self) -> DurableSteps:
        if self._durable is None:
            if self.held_run.type.handler.is_batch:
                raise RuntimeError("Durable steps are not supported in handlers of batches: handle one job at a time")
            self._durable = DurableSteps(self._services.store(self))
        return self._durable

    def wait_on_loop(self, work: Awaitable[T]) -> T:
        return self._services.wait_on_loop(work)

    async def step_in(self, name: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
        return await self._services.step_in(self, name, work)

    def step_in_sync(self, name: str, work: Callable[[Any], Any]) -> Any:
        return self._services.step_in_sync(self, name, work)

    def running(self, method: str) -> Run:
        """The run, which must not have ended."""
        if self.held_run.state != "running":
            raise RuntimeError(f"{method} was called too late: this run has ended")
        return self.held_run

    def leave(self, verdict: Verdict, method: str) -> NoReturn:
        """Ends the run as the verdict says."""
        self.running(method).verdict = verdict
        error = verdict.get("error")
        raise RunOver(f"The run has ended: {verdict['status'] if error is None else error['message']}")

    def time_of(self, when: Duration | datetime) -> str:
        """A time, given as such or as seconds from now on the database's clock."""
        if isinstance(when, datetime):
            return check_time(when, "when").isoformat()
        if isinstance(when, timedelta):
            return self._services.clock.after(when.total_seconds())
        if isinstance(when, bool) or not isinstance(when, int | float):
            refuse("when", "must be seconds, a timedelta or an aware datetime")
        return self._services.clock.after(when)
