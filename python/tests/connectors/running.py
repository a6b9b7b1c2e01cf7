"""Connector jobs, run by a worker of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from jobforge import AsyncJobForge, Job
from jobforge.connectors import LOOPBACK_EGRESS, connectors
from jobforge.worker import Worker


class Runner:
    """Runs connector jobs through the kernel: enqueued, claimed by a worker, settled."""

    def __init__(
        self, forge: AsyncJobForge, tenant: str, priorities: Iterator[int], options: Mapping[str, Any]
    ) -> None:
        self._forge = forge
        self._tenant = tenant
        handlers = connectors(forge, **{"egress": LOOPBACK_EGRESS, **options})
        self._worker = Worker(forge, handlers=handlers, sync=False)
        self._priorities = priorities

    async def run(
        self, job: Any, input: Mapping[str, Any], tenant: str | None = None, *, expects_error: bool = True
    ) -> tuple[Job, dict[str, Any]]:
        """The job after one run, and its result, or the details of its error."""
        owner = tenant or self._tenant
        # The newest job is the first: an earlier one may be due for a retry.
        handle = await self._forge.enqueue(job, input, tenant=owner, priority=next(self._priorities))
        await self._worker.tick(limit=1)
        found = await self._forge.get(handle.id, tenant=owner)
        assert found is not None
        if found.status == "succeeded":
            return found, await handle.result()
        if not expects_error:
            return found, {}
        assert found.error is not None
        details: Any = found.error.get("details", {})
        return found, details

    async def tick(self) -> int:
        """Runs one due job. Returns how many were claimed."""
        return (await self._worker.tick(limit=1)).claimed


Run = Callable[..., Runner]
