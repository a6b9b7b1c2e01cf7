"""The durable steps of a context: flows, played on the event loop or in a thread."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ...operations.prepare import new_job
from ...words import UNSET
from ...workflows.builder import AddedSteps, build_steps
from ...workflows.definition import WorkflowDefinition
from ...workflows.start import NewWorkflow
from ..errors import RunOver
from .durable import Ask, DurableSteps, Flow, Pause, Work, undo_call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
    from datetime import datetime

    from ...arguments import Duration
    from ...definition import NewJob
    from ...durable import SignalReply, StepResult
    from ...workflows.records import AddedStepCount

T = TypeVar("T")


class DurableMethods(ABC):
    """What a context has for durable steps."""

    __slots__ = ()

    @abstractmethod
    def durable(self) -> DurableSteps:
        """The durable steps of this run. Raises if its handler cannot have any."""

    @abstractmethod
    def wait_on_loop(self, work: Awaitable[T]) -> T:
        """Waits in a thread for what happens on the event loop."""

    @abstractmethod
    def add_steps(self, build: Callable[[AddedSteps], object], *, detached: bool = False) -> None: ...

    @abstractmethod
    async def step_in(self, name: str, work: Callable[[Any], Awaitable[Any]]) -> Any: ...

    @abstractmethod
    def step_in_sync(self, name: str, work: Callable[[Any], Any]) -> Any: ...

    async def play(self, flow: Flow[T]) -> T:
        """Plays a flow on the event loop."""
        advance: Callable[[], Ask | Work | Pause] = partial(next, flow)
        while True:
            try:
                action = advance()
            except StopIteration as end:
                found: T = end.value
                return found
            try:
                value = await _perform(action)
            except GeneratorExit:
                raise
            except BaseException as error:  # noqa: BLE001 - the flow decides what an error means
                advance = partial(flow.throw, error)
            else:
                advance = partial(flow.send, value)

    def play_sync(self, flow: Flow[T]) -> T:
        """Plays a flow in a thread. The application's function runs in this thread."""
        advance: Callable[[], Ask | Work | Pause] = partial(next, flow)
        while True:
            try:
                action = advance()
            except StopIteration as end:
                found: T = end.value
                return found
            try:
                if isinstance(action, Work):
                    value = _plain(action.call())
                else:
                    value = self.wait_on_loop(_perform(action))
            except BaseException as error:  # noqa: BLE001 - the flow decides what an error means
                advance = partial(flow.throw, error)
            else:
                advance = partial(flow.send, value)

    async def step(
        self, name: str, work: Any, *, output: Any = None, retries: int | None = None, backoff: Duration = 1
    ) -> Any:
        return await self.play(self.durable().step(name, work, output, retries, backoff))

    def step_sync(
        self, name: str, work: Any, *, output: Any = None, retries: int | None = None, backoff: Duration = 1
    ) -> Any:
        return self.play_sync(self.durable().step(name, work, output, retries, backoff))

    async def sleep(self, when: Duration | datetime) -> None:
        await self.play(self.durable().sleep(when))

    def sleep_sync(self, when: Duration | datetime) -> None:
        self.play_sync(self.durable().sleep(when))

    async def wait_for(
        self, signals: str | Sequence[str], payload: Any = None, *, timeout: Duration | None = None
    ) -> SignalReply:
        return await self.play(self.durable().wait_for(signals, payload, timeout))

    def wait_for_sync(
        self, signals: str | Sequence[str], payload: Any = None, *, timeout: Duration | None = None
    ) -> SignalReply:
        return self.play_sync(self.durable().wait_for(signals, payload, timeout))

    def call(self, job: Any, input: Any = None, **options: Any) -> Any:
        if isinstance(job, WorkflowDefinition):
            return job.new(input).using(**options)
        if isinstance(job, NewWorkflow):
            return job.using(**options)
        made = new_job(job, UNSET if input is None else input)
        return made.using(**options) if options else made

    async def run(self, job: Any, input: Any = None, *, abandon: bool = False, **options: Any) -> Any:
        return (await self.all([self.call(job, input, **options)], abandon=abandon))[0]

    def run_sync(self, job: Any, input: Any = None, *, abandon: bool = False, **options: Any) -> Any:
        return self.all_sync([self.call(job, input, **options)], abandon=abandon)[0]

    async def all(
        self, calls: Sequence[NewJob[Any] | NewWorkflow[Any]], *, settled: bool = False, abandon: bool = False
    ) -> list[Any]:
        return await self.play(self.durable().all(calls, settled=settled, abandon=abandon))

    def all_sync(
        self, calls: Sequence[NewJob[Any] | NewWorkflow[Any]], *, settled: bool = False, abandon: bool = False
    ) -> list[Any]:
        return self.play_sync(self.durable().all(calls, settled=settled, abandon=abandon))

    async def results(self, job: Any, step: str) -> AsyncIterator[StepResult]:
        after: int | None = -1
        while after is not None:
            items, after = await self.play(self.durable().results(job, step, after))
            for item in items:
                yield item

    def results_sync(self, job: Any, step: str) -> Iterator[StepResult]:
        after: int | None = -1
        while after is not None:
            items, after = self.play_sync(self.durable().results(job, step, after))
            yield from items

    async def add_steps_now(self, build: Callable[[AddedSteps], object], *, detached: bool = False) -> AddedStepCount:
        return await self.play(self.durable().add_steps(build_steps(build), detached=detached))

    def add_steps_now_sync(self, build: Callable[[AddedSteps], object], *, detached: bool = False) -> AddedStepCount:
        return self.play_sync(self.durable().add_steps(build_steps(build), detached=detached))

    async def version(self, name: str) -> bool:
        return await self.play(self.durable().version(name))

    def version_sync(self, name: str) -> bool:
        return self.play_sync(self.durable().version(name))

    @asynccontextmanager
    async def saga(self) -> AsyncIterator[RunSaga]:
        saga = RunSaga(self)
        try:
            yield saga
        except (Exception, RunOver) as error:
            if not self._undoes(error):
                raise
            for flow in saga.undos():
                await self.play(flow)
            raise

    @contextmanager
    def saga_sync(self) -> Iterator[RunSyncSaga]:
        saga = RunSyncSaga(self)
        try:
            yield saga
        except (Exception, RunOver) as error:
            if not self._undoes(error):
                raise
            for flow in saga.undos():
                self.play_sync(flow)
            raise

    def _undoes(self, error: BaseException) -> bool:
        """Whether a saga goes back: not at a wait, an abort, or when the handler has asked for another run."""
        steps = self.durable()
        return steps.has_failed if isinstance(error, RunOver) else not steps.runs_again


class _Undos:
    """What a saga has done."""

    def __init__(self, context: DurableMethods) -> None:
        self._context = context
        self._done: list[tuple[str, Callable[..., Any]]] = []

    def note(self, name: str, undo: Callable[..., Any] | None, result: object) -> None:
        if undo is not None:
            self._done.append((f"undo {name}", undo_call(undo, result)))

    def undos(self) -> Iterator[Flow[Any]]:
        """The flows that undo it, the last step first."""
        steps = self._context.durable()
        return (steps.step(name, _discarding(undo), None, None, 1) for name, undo in reversed(self._done))


class RunSaga(_Undos):
    async def step(
        self,
        name: str,
        work: Callable[..., Any],
        *,
        undo: Callable[..., Any] | None = None,
        retries: int = 0,
        backoff: Duration = 1,
    ) -> Any:
        result = await self._context.step(name, work, retries=retries, backoff=backoff)
        self.note(name, undo, result)
        return result


class RunSyncSaga(_Undos):
    def step(
        self,
        name: str,
        work: Callable[..., Any],
        *,
        undo: Callable[..., Any] | None = None,
        retries: int = 0,
        backoff: Duration = 1,
    ) -> Any:
        result = self._context.step_sync(name, work, retries=retries, backoff=backoff)
        self.note(name, undo, result)
        return result


def _discarding(undo: Callable[..., Any]) -> Callable[..., Any]:
    """What an undo returns is of no use, and may be no JSON."""

    def call(facts: object) -> Any:
        found = undo(facts)
        return _discarded(found) if inspect.isawaitable(found) else None

    return call


async def _discarded(found: Awaitable[Any]) -> None:
    await found


async def _perform(action: Ask | Work | Pause) -> Any:
    if isinstance(action, Ask):
        return await action.make()
    if isinstance(action, Pause):
        return await asyncio.sleep(action.seconds)
    found = action.call()
    return await found if inspect.isawaitable(found) else found


def _plain(found: Any) -> Any:
    if inspect.iscoroutine(found):
        found.close()
        raise TypeError("A step in a thread must not be an async def: write the handler with async def, too")
    return found
