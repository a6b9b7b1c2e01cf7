"""Runs the handler's own writes and the successful end of the job in one transaction.

If the block raises, if the run was aborted by its timeout, or if the lease is lost, everything is rolled back, and the
run goes on. When the fate of the commit is unknown, the run goes on as well: if its end was committed after all, the
database says so when the run is settled.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from ...errors import JobNotHeldError
from ..errors import is_not_held
from .ending import conclude_success, end_run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from ..claiming.protocol import SettleResponse, Verdict
    from .context import RunContext
    from .run import Run
    from .services import RunServices

_NO_TRANSACTION: Final = "transaction() needs a worker that is connected to Postgres itself, not over HTTP"


@asynccontextmanager
async def run_transaction(services: RunServices, context: RunContext) -> AsyncIterator[Any]:
    """`async with job.transaction() as connection`."""
    run = context.running("transaction()")
    kernel = services.kernel
    if not kernel.transport.can_transact:
        raise RuntimeError(_NO_TRANSACTION)
    has_begun = False
    try:
        async with kernel.connections, kernel.transport.transaction() as opened:
            # The run may have ended while it waited for a connection.
            _require_open(context)
            yield opened.connection
            verdict = conclude_success(run, run.result)
            if services.offloading.wants(verdict):
                verdict = await services.offloading.store(run, verdict)
            _begin_end(context, verdict)
            has_begun = True
            response = await kernel.settle_in(opened.transport, run.end_json)
            _check_reply(run, response)
    except BaseException as error:
        services.rolled_back(run, has_begun=has_begun, is_lost=is_not_held(error))
        raise
    services.settled(run, response)


@contextmanager
def run_transaction_sync(services: RunServices, context: RunContext) -> Iterator[Any]:
    """`with job.transaction_sync() as connection`, in a thread. What belongs to the event loop happens there."""
    run = context.running("transaction_sync()")
    if not services.kernel.transport.can_transact:
        raise RuntimeError(_NO_TRANSACTION)
    has_begun = False
    try:
        with services.thread_connection(run), services.kernel.blocking().transaction() as opened:
            _require_open(context)
            yield opened.connection
            verdict = conclude_success(run, run.result)
            if services.offloading.wants(verdict):
                verdict = services.wait_on_loop(services.offloading.store(run, verdict))
            services.on_loop(lambda: _begin_end(context, verdict))
            has_begun = True
            response = services.kernel.settle_in_sync(opened.transport, run.end_json)
            _check_reply(run, response)
    except BaseException as error:
        is_lost = is_not_held(error)
        services.on_loop(lambda: services.rolled_back(run, has_begun=has_begun, is_lost=is_lost))
        raise
    services.on_loop(lambda: services.settled(run, response))


def _begin_end(context: RunContext, verdict: Verdict) -> None:
    """The end of the run is on its way, unless it can no longer succeed: then it raises."""
    run = context.held_run
    _require_open(context)
    if verdict["status"] != "succeeded":
        context.leave(verdict, "transaction()")
    end_run(run, verdict)
    if run.end is not None and run.end["status"] != "succeeded":
        refused = {key: value for key, value in run.end.items() if key not in ("id", "attempt")}
        context.leave(refused, "transaction()")
    # From now on, heartbeats may report that this worker no longer holds the run.
    run.begin_ending()


def _check_reply(run: Run, response: SettleResponse) -> None:
    _require_unended(run)
    reply = response["settled"][0]
    if reply["outcome"] != "ok":
        raise JobNotHeldError("Job not found or not locked by worker")
    if reply["status"] not in ("succeeded", "canceled"):
        raise RuntimeError(f"The result of transaction() was refused: the job would be {reply['status']}")


def _require_open(context: RunContext) -> None:
    """Raises when the run can no longer succeed."""
    _require_unended(context.held_run)
    context.running("transaction()")


def _require_unended(run: Run) -> None:
    """A run that timed out has failed, and a run that lost its lease may belong to another worker."""
    if run.aborted is not None and run.aborted.kind in ("timeout", "lost"):
        raise run.aborted
