"""Calls a handler without a database, with a context that records what the handler does."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
import uuid
from collections.abc import Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from ..definition import JobDefinition, JobHandler
from ..errors import InvalidArgumentError, JobAborted
from ..function_job import FunctionJob
from ..losses import json_form
from ..operations.prepare import check_payload, new_job, prepare_child
from ..operations.workflows import prepare_start
from ..words import GLOBAL_TENANT, UNSET
from ..worker.errors import RunOver
from ..worker.reporting.log import message_of
from ..worker.running.durable import DurableSteps
from ..worker.running.durable_methods import DurableMethods
from ..workflows.builder import build_steps
from ..workflows.start import NewWorkflow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from typing_extensions import Unpack

    from ..arguments import Duration
    from ..context import JobContext
    from ..definition import JobOptions, NewJob
    from ..schedule_records import RunSchedule
    from ..workflows.builder import AddedSteps
    from ..workflows.definition import WorkflowDefinition

T = TypeVar("T")

How = Literal["succeeded", "deferred", "failed", "retried", "suspended"]


class _Over(Exception):  # noqa: N818 - it leaves the handler, and nothing else
    """`defer()`, `fail()` and `retry_after()` end the handler with this."""


@dataclass(frozen=True, slots=True)
class Child:
    """A job that the handler has enqueued, or a workflow that it waits for."""

    job: JobDefinition[Any, Any] | WorkflowDefinition[Any, Any]
    input: Any
    options: Mapping[str, Any]


@dataclass(slots=True)
class HandlerCall:
    """What a handler did."""

    how: How = "succeeded"
    result: Any = None
    """What the handler returned, checked by the output of its definition."""
    when: Any = None
    """The argument of `defer()` or `retry_after()`."""
    message: str | None = None
    """The message of `fail()` or `retry_after()`."""
    details: Mapping[str, object] | None = None
    progress: list[Any] = field(default_factory=list)
    enqueued: list[Child] = field(default_factory=list)
    cost_cents: int = 0
    next_run: Any = None
    held_until: Any = None
    """The time of `hold_key()`."""
    log: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    """Level, message and fields of each line."""
    steps: dict[str, Any] = field(default_factory=dict)
    """What its durable steps saved, by name."""
    added: list[Mapping[str, Any]] = field(default_factory=list)
    """The steps that it added to its workflow, as the kernel reads them."""
    wait: Mapping[str, Any] | None = None
    """What a suspended handler waits for: `name`, and `until`, `signals` or `children`."""


def call_handler(
    handler: JobHandler[Any, Any] | FunctionJob[..., Any],
    input: Any = UNSET,
    *,
    resources: Any = None,
    tenant: str = GLOBAL_TENANT,
    attempt: int = 1,
    max_attempts: int = 5,
    last_progress: Any = None,
    connection: Any = None,
    schedule: RunSchedule | None = None,
    steps: Mapping[str, Any] | None = None,
) -> HandlerCall:
    """Calls a handler with an input, which its definition checks first, and returns what it did.

    An exception of the handler is raised here. `connection` is what `job.transaction()` yields. `steps` are the
    durable steps of earlier executions, by name, each with its value: of a wait `{"signal": …, "payload": …}`, of
    children the list of their results.
    """
    bound = handler.handler if isinstance(handler, FunctionJob) else handler
    if not isinstance(bound, JobHandler) or bound.is_batch:
        raise InvalidArgumentError("Invalid argument: handler must be a handler of single jobs", field="handler")
    _, checked = check_payload(bound.definition, {} if input is UNSET else input, "payload")
    call = HandlerCall(steps=dict(steps or {}))
    context = RecordingContext(call, bound.definition.type, resources, connection)
    context.tenant, context.attempt, context.max_attempts = tenant, attempt, max_attempts
    context.last_progress, context.schedule = last_progress, schedule
    try:
        returned = bound.function(checked, context)
        result = _awaited(returned) if inspect.isawaitable(returned) else returned
    except (_Over, RunOver):
        return call
    if call.result is None:
        definition = bound.definition
        form = definition.output.dump(result, "output")
        call.result = result if form is None else definition.output.load(form, "output")
    return call


def _awaited(work: Any) -> Any:
    """Runs a coroutine: on a loop of its own, in a thread of its own if this thread has one already."""

    async def whole() -> Any:
        return await work

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(whole())
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append((asyncio.run(whole()), None))
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


class MemoryStore:
    """The checkpoints of a call, in its record."""

    def __init__(self, call: HandlerCall, job_id: str) -> None:
        self._call = call
        self.job_id = job_id

    @property
    def runs_again(self) -> bool:
        return self._call.how in ("deferred", "retried")

    @property
    def has_failed(self) -> bool:
        return self._call.how == "failed"

    def require_open(self) -> None:
        if self._call.how == "suspended":
            raise RunOver("The run is over")

    def suspend(self, wait: Mapping[str, Any]) -> NoReturn:
        self.require_open()
        self._call.how, self._call.wait = "suspended", wait
        raise RunOver(f"The run is suspended: {wait['name']}")

    def time_of(self, when: Any) -> Any:
        return when

    def child(self, call: NewJob[Any] | NewWorkflow[Any]) -> Child:
        if isinstance(call, NewWorkflow):
            prepare_start(call.workflow, call.input, GLOBAL_TENANT, call.options)
            return Child(call.workflow, call.input, dict(call.options))
        prepare_child(call.using(tenant=GLOBAL_TENANT), {})
        return Child(call.definition, call.input, dict(call.options))

    async def load(self) -> Mapping[str, Mapping[str, Any]]:
        return {name: {"name": name, "value": value, "done": True} for name, value in self._call.steps.items()}

    async def save(self, checkpoint: Mapping[str, Any]) -> None:
        self._call.steps[checkpoint["name"]] = checkpoint.get("value")

    async def take(self, wait: str) -> Mapping[str, Any]:
        reply: Mapping[str, Any] = self._call.steps[wait]
        return reply

    async def results(self, wait: str) -> Sequence[Mapping[str, Any]]:
        return [{"status": "succeeded", "result": each} for each in self._call.steps[wait]]

    async def results_after(self, step: str, after: int) -> Mapping[str, Any]:
        del after
        found = self._call.steps[step]
        items = [{"index": index, "status": "succeeded", "result": each} for index, each in enumerate(found)]
        return {"items": items, "next": None}

    async def add_steps(self, steps: AddedSteps, *, detached: bool) -> Mapping[str, Any]:
        del detached
        self._call.added.extend(steps.json)
        return {"added": len(steps.json), "existing": 0}


class RecordingContext(DurableMethods):
    """A `JobContext` that writes down what the handler asks for."""

    def __init__(self, call: HandlerCall, type: str, resources: Any, connection: Any) -> None:
        self._call = call
        self._connection = connection
        self.id = str(uuid.uuid4())
        self._steps = DurableSteps(MemoryStore(call, self.id))
        self.type = type
        self.tenant = GLOBAL_TENANT
        self.attempt = 1
        self.max_attempts = 5
        self.trace_id = uuid.uuid4().hex
        self.traceparent = f"00-{self.trace_id}-{uuid.uuid4().hex[:16]}-01"
        self.subject: str | None = None
        self.tags: tuple[str, ...] = ()
        self.run_at = self.created_at = datetime.now(UTC)
        self.scheduled_for: datetime | None = None
        self.schedule: RunSchedule | None = None
        self.resources = resources
        self.log = _RecordingLog(call)
        self.last_progress: Any = None
        self.abort_reason: JobAborted | None = None

    def raise_if_aborted(self) -> None:
        if self.abort_reason is not None:
            raise self.abort_reason

    async def wait_aborted(self) -> JobAborted:
        """Never returns, unless the test has set `abort_reason` before."""
        if self.abort_reason is None:
            await asyncio.Event().wait()
        assert self.abort_reason is not None  # noqa: S101 - narrows the type
        return self.abort_reason

    async def progress(self, value: object) -> None:
        self.progress_sync(value)

    def progress_sync(self, value: object) -> None:
        self.last_progress = json_form(value, "progress")
        self._call.progress.append(self.last_progress)

    def defer(self, when: Duration | datetime, *, counts: bool = True) -> NoReturn:
        del counts
        self._call.how, self._call.when = "deferred", when
        raise _Over

    def fail(self, message: str, details: Mapping[str, object] | None = None) -> NoReturn:
        self._call.how, self._call.message, self._call.details = "failed", message, details
        raise _Over

    def retry_after(
        self, when: Duration | datetime, reason: str | BaseException | None = None, *, at_least: bool = False
    ) -> NoReturn:
        del at_least
        message = None if reason is None else str(reason)
        self._call.how, self._call.when, self._call.message = "retried", when, message
        raise _Over

    async def hold_key(self, until: Duration | datetime, reason: str | None = None) -> None:
        self.hold_key_sync(until, reason)

    def hold_key_sync(self, until: Duration | datetime, reason: str | None = None) -> None:
        del reason
        self._call.held_until = until

    def next_run(self, when: Duration | datetime) -> None:
        self._call.next_run = when

    def cost(self, cents: int) -> None:
        self._call.cost_cents += cents

    def enqueue(self, job: Any, input: Any = None, **options: Unpack[JobOptions]) -> None:
        new = new_job(job, UNSET if input is None else input)
        prepare_child(new, {**options, "tenant": self.tenant})
        self._call.enqueued.append(Child(new.definition, new.input, {**options, **new.options}))

    def add_steps(self, build: Callable[[AddedSteps], object], *, detached: bool = False) -> None:
        del detached
        self._call.added.extend(build_steps(build).json)

    def set_result(self, value: object) -> None:
        self._call.result = value

    def durable(self) -> DurableSteps:
        return self._steps

    def wait_on_loop(self, work: Awaitable[T]) -> T:
        found: T = _awaited(work)
        return found

    async def step_in(self, name: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
        return await self.step(name, lambda: work(self._connection))

    def step_in_sync(self, name: str, work: Callable[[Any], Any]) -> Any:
        return self.step_sync(name, lambda: work(self._connection))

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        yield self._connection

    @contextmanager
    def transaction_sync(self) -> Iterator[Any]:
        yield self._connection


class _RecordingLog:
    def __init__(self, call: HandlerCall) -> None:
        self._call = call

    def debug(self, message: str, /, *args: object, **fields: object) -> None:
        self._add("debug", message, args, fields)

    def info(self, message: str, /, *args: object, **fields: object) -> None:
        self._add("info", message, args, fields)

    def warning(self, message: str, /, *args: object, **fields: object) -> None:
        self._add("warning", message, args, fields)

    def error(self, message: str, /, *args: object, **fields: object) -> None:
        self._add("error", message, args, fields)

    def exception(self, message: str, /, *args: object, **fields: object) -> None:
        self._add("error", message, args, {"err": sys.exception(), **fields})

    def _add(self, level: str, message: str, args: tuple[object, ...], fields: dict[str, object]) -> None:
        self._call.log.append((level, message_of(message, args), fields))


def _is_a_context(made: RecordingContext) -> JobContext[Any]:
    """The type checker compares the two here."""
    return made
