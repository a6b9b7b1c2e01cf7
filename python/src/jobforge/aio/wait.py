"""Waiting until a job has finished. A notification ends the wait at once; the guarantee is polling."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgumentError, JobForgeError, JobNotFoundError, TimeoutError
from ..operations.call import Call, nothing, whole
from ..operations.jobs import get
from ..waiting import WATCH_AGAIN, Countdown, Patience, failure_of, has_ended, output_of, sleep_before
from .runner import AsyncRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..definition import JobDefinition
    from ..signals import AsyncDoneSignals
    from ..transport.base import AsyncTransport


class AsyncWait:
    """One waiter for one job."""

    def __init__(
        self,
        transport: AsyncTransport,
        signals: AsyncDoneSignals,
        job_args: Mapping[str, object],
        definition: JobDefinition[Any, Any] | None,
        timeout: float | None,
    ) -> None:
        self._transport = transport
        self._signals = signals
        self._args = job_args
        self._id = str(job_args["p_job_id"])
        self._definition = definition
        self._countdown = Countdown(self._id, timeout)
        self._patience = Patience()

    async def result(self) -> Any:
        """The output of the job if it succeeds. Otherwise raises a JobFailedError or a JobCanceledError."""
        outcome = await self._end()
        if outcome["status"] == "succeeded":
            return output_of(self._definition, outcome.get("result"))
        raise failure_of(self._id, await self._ask(get(self._id, self._args["p_tenant_id"], None)))

    async def _end(self) -> Mapping[str, Any]:
        outcome = await self._look()
        if outcome is not None:
            return outcome
        subscription = await self._signals.subscribe(self._id)
        try:
            watched_at = -WATCH_AGAIN
            looks = 0
            while True:
                if self._signals.is_listening and monotonic() - watched_at >= WATCH_AGAIN and await self._watch():
                    watched_at = monotonic()
                # After the watch: there is no notification for a job that finished before the watch was committed.
                outcome = await self._look()
                if outcome is not None:
                    return outcome
                pause = sleep_before(looks, is_listening=self._signals.is_listening)
                await subscription.wait(self._countdown.limit(pause))
                looks += 1
        finally:
            await subscription.close()

    async def _look(self) -> Mapping[str, Any] | None:
        """How the job has ended; None if it has not, or if the database cannot be reached now."""
        try:
            outcome: Mapping[str, Any] | None = await self._ask(Call("jobforge_get_result", self._args, whole))
        except JobForgeError as error:
            self._patience.tolerate(error)
            return None
        self._patience.reset()
        if outcome is None:
            raise JobNotFoundError(self._id)
        return outcome if has_ended(outcome) else None

    async def _watch(self) -> bool:
        """Asks for a notification. Returns whether the database has heard it."""
        try:
            await self._ask(Call("jobforge_watch_job", self._args, nothing))
        except InvalidArgumentError as error:
            # The job was forgotten since the last look.
            if error.field == "job_id":
                raise JobNotFoundError(self._id) from error
            raise
        except JobForgeError as error:
            self._patience.tolerate(error)
            return False
        return True

    async def _ask(self, call: Call[Any]) -> Any:
        try:
            return await AsyncRunner(self._transport, self._countdown.call_limit()).run(call)
        except TimeoutError:
            if self._countdown.is_over():
                raise self._countdown.error() from None
            raise
