"""Durable steps: what a handler saves, waits for and calls, so that it goes on where it was.

A handler that waits is not running: its slot is free, and waiting costs no attempt. Afterwards it runs from the top,
and its steps return what they returned before. Code between steps runs again each time. A wait leaves the handler with
an exception that is no `Exception`: `except Exception` lets it pass, and `finally` runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from datetime import datetime

    from typing_extensions import Unpack

    from .arguments import Duration
    from .definition import JobDefinition, JobOptions, NewJob
    from .workflows.builder import AddedSteps
    from .workflows.definition import WorkflowDefinition
    from .workflows.options import StartOptions
    from .workflows.records import AddedStepCount
    from .workflows.start import NewWorkflow

T = TypeVar("T")
Out = TypeVar("Out")
In = TypeVar("In")


@dataclass(frozen=True, slots=True)
class StepFacts:
    """What the function of a step is given, if it takes an argument."""

    key: str
    """The same in every execution of this step: an idempotency key for other systems."""


@dataclass(frozen=True, slots=True)
class SignalReply:
    """The signal that came first, or that none came in time."""

    timed_out: bool
    signal: str | None = None
    payload: Any = None


@dataclass(frozen=True, slots=True)
class SettledChild:
    """How a child ended."""

    status: Literal["succeeded", "failed", "dead", "canceled"]
    value: Any = None
    error: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """How a step of the workflow ended, or one item of a map."""

    index: int
    """Its place in the list."""
    status: Literal["succeeded", "failed", "dead", "canceled", "skipped"]
    value: Any = None
    error: Mapping[str, Any] | None = None


class ChildFailedError(Exception):
    """A child of `job.run()` or `job.all()` ended badly."""

    def __init__(
        self,
        type: str,
        index: int,
        job_id: str | None,
        failure: Mapping[str, Any] | None,
        workflow_id: str | None = None,
    ) -> None:
        super().__init__(f"The child {index} ({type}) ended badly: {(failure or {}).get('message', 'it was canceled')}")
        self.type = type
        """The type of the job, or the name of the workflow."""
        self.index = index
        """Its place in the list of children."""
        self.job_id = job_id
        self.workflow_id = workflow_id
        self.failure = failure


class StepFailedError(Exception):
    """A step has used up its `retries`. Every later execution raises the same error, so it is safe to catch."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        super().__init__(description.get("message", ""))
        self.name: str = description.get("name", "Error")
        """The class of the error that the step raised."""
        self.description = description


class Saga(Protocol):
    """Steps with a way back."""

    async def step(
        self,
        name: str,
        work: Callable[..., Awaitable[Any] | Any],
        *,
        undo: Callable[..., Awaitable[Any] | Any] | None = None,
        retries: int = 0,
        backoff: Duration = 1,
    ) -> Any:
        """A step as `job.step`. `undo` is called with its result if the saga fails later."""
        ...


class SyncSaga(Protocol):
    """`Saga` for handlers that run in threads."""

    def step(
        self,
        name: str,
        work: Callable[..., Any],
        *,
        undo: Callable[..., Any] | None = None,
        retries: int = 0,
        backoff: Duration = 1,
    ) -> Any:
        """A step as `job.step_sync`. `undo` is called with its result if the saga fails later."""
        ...


class DurableContext(Protocol):
    """Not in handlers of batches, nor in processes. A name that is used again in the same run becomes `name#2`.

    Each method has a form for handlers that run in threads, whose name ends with `_sync`.
    """

    @overload
    async def step(
        self,
        name: str,
        work: Callable[..., Awaitable[object] | object],
        *,
        output: type[T],
        retries: int | None = None,
        backoff: Duration = 1,
    ) -> T: ...

    @overload
    async def step(
        self,
        name: str,
        work: Callable[..., Awaitable[object] | object],
        *,
        retries: int | None = None,
        backoff: Duration = 1,
    ) -> Any: ...

    async def step(self, name: str, work: Any, **options: Any) -> Any:
        """Runs `work` once and saves what it returned. Later executions return the saved value, as JSON.

        `work` takes no argument, or a `StepFacts`. With `output`, the value is read as this type. `retries` says how
        often a step that raises is tried again by itself, after `backoff` seconds and then twice as long each time.
        When that is used up, a StepFailedError is saved: every later execution raises it again, so it is safe to
        catch. Without `retries` the error is not saved, and fails the run.
        """
        ...

    def step_sync(
        self,
        name: str,
        work: Callable[..., Any],
        *,
        output: type[T] | None = None,
        retries: int | None = None,
        backoff: Duration = 1,
    ) -> Any: ...

    async def step_in(self, name: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
        """A step whose own writes and checkpoint are one transaction: for effects in this database exactly once.

        `work` gets a connection of psycopg.
        """
        ...

    def step_in_sync(self, name: str, work: Callable[[Any], Any]) -> Any: ...

    async def sleep(self, when: Duration | datetime) -> None:
        """Waits, without a worker, for a number of seconds or until a time."""
        ...

    def sleep_sync(self, when: Duration | datetime) -> None: ...

    async def wait_for(
        self, signals: str | Sequence[str], payload: Any = None, *, timeout: Duration | None = None
    ) -> SignalReply:
        """Waits, without a worker, for the first of these signals, which are sent with `forge.signal(job.id, …)`.

        `payload` is the type of their payload. After `timeout`, the reply says `timed_out`. Default: for ever.
        """
        ...

    def wait_for_sync(
        self, signals: str | Sequence[str], payload: Any = None, *, timeout: Duration | None = None
    ) -> SignalReply: ...

    @overload
    def call(
        self, job: JobDefinition[In, Out] | NewJob[Out], input: In | None = None, **options: Unpack[JobOptions]
    ) -> NewJob[Out]: ...

    @overload
    def call(
        self,
        job: WorkflowDefinition[In, Out] | NewWorkflow[Out],
        input: In | Any = None,
        **options: Unpack[StartOptions],
    ) -> NewWorkflow[Out]: ...

    def call(self, job: Any, input: Any = None, **options: Any) -> Any:
        """Describes a child for `job.all`: a job or a workflow. It has no keys: the wait makes it unique."""
        ...

    @overload
    async def run(
        self,
        job: JobDefinition[In, Out] | NewJob[Out],
        input: In | None = None,
        *,
        abandon: bool = False,
        **options: Unpack[JobOptions],
    ) -> Out: ...

    @overload
    async def run(
        self,
        job: WorkflowDefinition[In, Out] | NewWorkflow[Out],
        input: In | Any = None,
        *,
        abandon: bool = False,
        **options: Unpack[StartOptions],
    ) -> Out: ...

    async def run(self, job: Any, input: Any = None, *, abandon: bool = False, **options: Any) -> Any:
        """Starts a job or a workflow, waits for it without a worker, and returns its output.

        Raises a ChildFailedError. If this job is canceled or ends badly meanwhile, the child is canceled, unless
        `abandon` is true.
        """
        ...

    @overload
    def run_sync(
        self,
        job: JobDefinition[In, Out] | NewJob[Out],
        input: In | None = None,
        *,
        abandon: bool = False,
        **options: Unpack[JobOptions],
    ) -> Out: ...

    @overload
    def run_sync(
        self,
        job: WorkflowDefinition[In, Out] | NewWorkflow[Out],
        input: In | Any = None,
        *,
        abandon: bool = False,
        **options: Unpack[StartOptions],
    ) -> Out: ...

    def run_sync(self, job: Any, input: Any = None, *, abandon: bool = False, **options: Any) -> Any: ...

    async def all(
        self, calls: Sequence[NewJob[Any] | NewWorkflow[Any]], *, settled: bool = False, abandon: bool = False
    ) -> list[Any]:
        """Starts children, waits for all of them without a worker, and returns their outputs in order.

        Raises a ChildFailedError if one ended badly. With `settled`, returns a `SettledChild` for each instead. With
        `abandon`, the children are left alone if this job is canceled or ends badly meanwhile.
        """
        ...

    def all_sync(
        self, calls: Sequence[NewJob[Any] | NewWorkflow[Any]], *, settled: bool = False, abandon: bool = False
    ) -> list[Any]: ...

    def results(self, job: JobDefinition[Any, Any], step: str) -> AsyncIterator[StepResult]:
        """How the steps ended that a step of a workflow needs: `async for item in job.results(measure, "size")`.

        Of a map, one result for each item, in the order of the list, read in pages of 1,000; of another step, one.
        `step` is the name of a step in the same list of steps.
        """
        ...

    def results_sync(self, job: JobDefinition[Any, Any], step: str) -> Iterator[StepResult]: ...

    async def version(self, name: str) -> bool:
        """Whether this execution may take a new way through the code.

        False in a job that went past this place before the name was introduced. The answer is saved.
        """
        ...

    def version_sync(self, name: str) -> bool: ...

    def add_steps(self, build: Callable[[AddedSteps], object], *, detached: bool = False) -> None:
        """Adds steps to the workflow of which this job is a step, if this run succeeds, in the same commit.

        What needs this step waits for them as well; with `detached`, only the workflow does. Several calls in a run
        make one list.
        """
        ...

    async def add_steps_now(self, build: Callable[[AddedSteps], object], *, detached: bool = False) -> AddedStepCount:
        """Adds steps to the workflow at once, however this run ends.

        A step that an earlier attempt has added with the same definition is not added again.
        """
        ...

    def add_steps_now_sync(
        self, build: Callable[[AddedSteps], object], *, detached: bool = False
    ) -> AddedStepCount: ...

    def saga(self) -> AbstractAsyncContextManager[Saga]:
        """`async with job.saga() as saga`: steps with a way back.

        If the block raises an `Exception`, or calls `job.fail()`, the steps that have succeeded are undone in reverse
        order, and the error is raised again. A wait undoes nothing.
        """
        ...

    def saga_sync(self) -> AbstractContextManager[SyncSaga]: ...
