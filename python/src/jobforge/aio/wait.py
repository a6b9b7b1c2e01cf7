"""Waiting until a job or workflow has ended. A notification ends the wait at once; the guarantee is polling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import (
    InvalidArgumentError,
    JobForgeError,
    JobNotFoundError,
    TimeoutError,
    WorkflowCanceledError,
    WorkflowFailedError,
    WorkflowNotFoundError,
)
from ..operations.call import Call, nothing, whole
from ..operations.jobs import get
from ..operations.workflows import get as get_workflow
from ..waiting import WATCH_AGAIN, Countdown, Patience, failure_of, has_ended, output_of, sleep_before
from ..workflows.records import WorkflowDetails
from .runner import AsyncRunner

if TYPE_CHECKING:
    from ..definition import JobDefinition
    from ..signals import AsyncDoneSignals
    from ..transport.base import AsyncTransport
    from ..workflows.definition import WorkflowDefinition
    from .artifacts import AsyncArtifacts

T = TypeVar("T")
End = TypeVar("End")


class AsyncWaiting(ABC, Generic[End]):
    """One waiter for one job or workflow."""

    what = "Job"

    def __init__(
        self, transport: AsyncTransport, signals: AsyncDoneSignals, id: str, tenant: object, timeout: float | None
    ) -> None:
        self._transport = transport
        self._signals = signals
        self._id = id
        self._args = {"p_job_id": id, "p_tenant_id": tenant}
        self._countdown = Countdown(id, timeout, self.what)
        self._patience = Patience()

    @abstractmethod
    def _question(self) -> Call[End | None]:
        """Asks for the state; None if there is nothing with this id."""

    @abstractmethod
    def _has_ended(self, found: End) -> bool: ...

    @abstractmethod
    def _not_found(self) -> JobForgeError: ...

    async def end(self) -> End:
        """Waits for the end, and returns it."""
        ended = await self._look()
        if ended is not None:
            return ended
        self._countdown.require_time()
        subscription = await self._signals.subscribe(self._id)
        try:
            watched_at = -WATCH_AGAIN
            looks = 0
            while True:
                if self._signals.is_listening and monotonic() - watched_at >= WATCH_AGAIN and await self._watch():
                    watched_at = monotonic()
                # After the watch: there is no notification for a job that finished before the watch was committed.
                ended = await self._look()
                if ended is not None:
                    return ended
                pause = sleep_before(looks, is_listening=self._signals.is_listening)
                await subscription.wait(self._countdown.limit(pause))
                looks += 1
        finally:
            await subscription.close()

    async def _look(self) -> End | None:
        """How it has ended; None if it has not, or if the database cannot be reached now."""
        try:
            found = await self._ask(self._question())
        except JobForgeError as error:
            self._patience.tolerate(error)
            return None
        self._patience.reset()
        if found is None:
            raise self._not_found()
        return found if self._has_ended(found) else None

    async def _watch(self) -> bool:
        """Asks for a notification. Returns whether the database has heard it."""
        try:
            await self._ask(Call("jobforge_watch_job", self._args, nothing))
        except InvalidArgumentError as error:
            # It was forgotten since the last look.
            if error.field == "job_id":
                raise self._not_found() from error
            raise
        except JobForgeError as error:
            self._patience.tolerate(error)
            return False
        return True

    async def _ask(self, call: Call[T]) -> T:
        try:
            return await AsyncRunner(self._transport, self._countdown.call_limit()).run(call)
        except TimeoutError:
            if self._countdown.is_over():
                raise self._countdown.error() from None
            raise


class AsyncWait(AsyncWaiting[Mapping[str, Any]]):
    """One waiter for one job."""

    def __init__(
        self,
        transport: AsyncTransport,
        signals: AsyncDoneSignals,
        job_args: Mapping[str, object],
        definition: JobDefinition[Any, Any] | None,
        timeout: float | None,
    ) -> None:
        super().__init__(transport, signals, str(job_args["p_job_id"]), job_args["p_tenant_id"], timeout)
        self._definition = definition

    async def result(self, artifacts: AsyncArtifacts) -> Any:
        """The output of the job if it succeeds. Otherwise raises a JobFailedError or a JobCanceledError."""
        outcome = await self.end()
        if outcome["status"] == "succeeded":
            result = await artifacts.resolve(outcome.get("result"), tenant=str(self._args["p_tenant_id"]))
            return output_of(self._definition, result)
        raise failure_of(self._id, await self._ask(get(self._id, self._args["p_tenant_id"], None)))

    def _question(self) -> Call[Mapping[str, Any] | None]:
        return Call("jobforge_get_result", self._args, whole)

    def _has_ended(self, found: Mapping[str, Any]) -> bool:
        return has_ended(found)

    def _not_found(self) -> JobForgeError:
        return JobNotFoundError(self._id)


class AsyncWorkflowWaiter(AsyncWaiting[WorkflowDetails]):
    """One waiter for one workflow."""

    what = "Workflow"

    async def output(self, definition: WorkflowDefinition[Any, Any] | None) -> Any:
        """The output of the workflow if it succeeds.

        Otherwise raises a WorkflowFailedError or a WorkflowCanceledError.
        """
        ended = await self.end()
        if ended.status == "succeeded":
            return ended.output if definition is None else definition.output.load(ended.output, "output")
        raise WorkflowCanceledError(ended) if ended.status == "canceled" else WorkflowFailedError(ended)

    def _question(self) -> Call[WorkflowDetails | None]:
        return get_workflow(self._id, self._args["p_tenant_id"])

    def _has_ended(self, found: WorkflowDetails) -> bool:
        return found.status != "running"

    def _not_found(self) -> JobForgeError:
        return WorkflowNotFoundError(self._id)
