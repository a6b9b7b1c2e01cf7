"""Runs jobs inside a test, without a worker in the background and without waiting."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ..worker import TickSummary, Worker

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..aio.forge import AsyncJobForge
    from ..arguments import Tenant
    from ..definition import JobDefinition, JobOptions, NewJob

_MAX_JOBS: Final = 100_000
"""The number of jobs after which `drain` assumes that there is no end."""
In = TypeVar("In")
Out = TypeVar("Out")


class _Quiet:
    """Drops all lines. A test that wants to see the log passes `logger`."""

    def debug(self, message: str, /, **fields: object) -> None: ...
    def info(self, message: str, /, **fields: object) -> None: ...
    def warning(self, message: str, /, **fields: object) -> None: ...
    def error(self, message: str, /, **fields: object) -> None: ...


async def drain(forge: AsyncJobForge, handlers: Any, **options: Any) -> TickSummary:
    """Runs all due jobs, and the jobs that these enqueue, until none is left. Returns how the runs ended.

    It does not run jobs of types without a handler here, nor jobs that are due later: travel in time for those. It logs
    nothing unless `logger` is given. The other options are those of `Worker`.
    """
    options.setdefault("logger", _Quiet())
    worker = Worker(forge, handlers=handlers, **options)
    total = last = await worker.tick()
    while last.claimed > 0:
        last = await worker.tick()
        total = _sum(total, last)
        if total.claimed > _MAX_JOBS:
            message = f"{_MAX_JOBS} jobs have run and there are still more: does a handler enqueue jobs without end?"
            raise AssertionError(message)
    return total


def _sum(total: TickSummary, more: TickSummary) -> TickSummary:
    names = [each.name for each in fields(total)]
    return TickSummary(**{name: getattr(total, name) + getattr(more, name) for name in names})


async def run_job(
    forge: AsyncJobForge,
    job: JobDefinition[Any, Out] | NewJob[Out],
    input: Any = None,
    *,
    handlers: Any,
    tenant: Tenant,
    **options: Unpack[JobOptions],
) -> Out:
    """Enqueues one job, and runs it and all other due jobs at once. Returns its output.

    Raises as `result()` does when the job failed, and an AssertionError when the job is still queued because it waits
    for a retry or for its time.
    """
    from ..definition import NewJob as Made

    new = job if isinstance(job, Made) else job.new({} if input is None else input)
    handle = await forge.enqueue(new, tenant=tenant, **options)
    await drain(forge, handlers)
    found = await handle.get()
    if found is not None and found.status == "queued":
        why = "" if found.last_error is None else f" Its last run failed: {found.last_error}"
        raise AssertionError(f"The job is queued until {found.run_at.isoformat()}.{why}")
    return await handle.result()
