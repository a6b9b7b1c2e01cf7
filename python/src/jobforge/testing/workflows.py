"""Runs a workflow to its end inside a test, and travels in time where it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from .jobs import drain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from ..arguments import Tenant
    from ..worker import Logger
    from ..workflows.definition import WorkflowDefinition
    from ..workflows.options import StartOptions
    from ..workflows.records import WorkflowDetails
    from .database import TestDatabase

Out = TypeVar("Out")

_MAX_TRAVELS: Final = 10_000
"""The number of travels after which a workflow is assumed to have no end."""
_MAX_LOOKS: Final = 100
"""How often a test looks at one time again, because steps are to be started that no claim has started yet."""

# One millisecond more, because the database reads its clock a moment later.
_AGENDA: Final = """
    select json_build_object(
      'unfinished', exists (select from jobforge.wakeups w where w.due_at <= t.now),
      'next_ms', 1 + ceil(extract(epoch from least(
        (select min(q.run_at) from jobforge.queue q where q.run_at > t.now),
        (select min(w.due_at) from jobforge.wakeups w where w.due_at > t.now)
      ) - clock_timestamp()) * 1000)::bigint)
    from (select clock_timestamp() + %s * interval '1 millisecond' as now) t"""


async def run_workflow(
    database: TestDatabase,
    workflow: WorkflowDefinition[Any, Out],
    input: Any = None,
    *,
    handlers: Any,
    tenant: Tenant,
    signals: Sequence[tuple[str, Any]] = (),
    logger: Logger | None = None,
    **options: Unpack[StartOptions],
) -> Out:
    """Starts a workflow and runs its steps until it has ended. Returns its output.

    Where nothing is due, the clock of the runs moves to what comes next: a delay, a retry, the timeout of a signal, a
    deadline. `signals` are pairs of a name and a payload. They are sent at the start, and the workflow keeps each until
    a step takes it.

    Raises as `result()` does if the workflow fails, and an AssertionError if it waits for something that no time
    brings: a signal, or a handler. The clock is that of the whole database, so run one workflow at a time.
    """
    from ..aio.forge import AsyncJobForge

    quietly: dict[str, Any] = {} if logger is None else {"logger": logger}
    async with AsyncJobForge(database.url) as forge:
        started = await forge.start(workflow, {} if input is None else input, tenant=tenant, **options)
        for name, payload in signals:
            await started.signal(name, payload)
        offset_ms = looks = 0
        for _ in range(_MAX_TRAVELS):
            async with AsyncJobForge(database.url_at(f"{offset_ms} milliseconds")) as moved:
                await drain(moved, handlers, **quietly)
            now = await started.get()
            if now is None or now.status != "running":
                return await started.result()
            agenda = database.value(_AGENDA, [offset_ms])
            # A claim does a part of what is to do, so this time may need several.
            looks = looks + 1 if agenda["unfinished"] else 0
            if 0 < looks < _MAX_LOOKS:
                continue
            if agenda["next_ms"] is None:
                raise AssertionError(_standstill(now))
            offset_ms, looks = agenda["next_ms"], 0
    message = f"The workflow has not ended after {_MAX_TRAVELS} travels in time: does a handler defer itself?"
    raise AssertionError(message)


def _standstill(workflow: WorkflowDetails) -> str:
    if workflow.waits:
        signal = workflow.waits[0].signal
        return f'{workflow.name} waits for the signal {signal}. Pass it: signals=[("{signal}", …)]'
    steps = ", ".join(f"{count} {status}" for status, count in workflow.counts.items())
    return f"{workflow.name} stands still ({steps}). Does each of its steps have a handler?"
