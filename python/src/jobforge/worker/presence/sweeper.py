"""Deletes the artifacts of jobs that are forgotten, if the worker has an artifact store.

Every minute it looks at a bounded number. The database hands out each only once, so any number of workers may do this.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Final

from ...errors import ForbiddenError
from ..defaults import SWEEP

if TYPE_CHECKING:
    from ...aio.artifacts import AsyncArtifacts
    from ..reporting.log import WorkerLog
    from ..tasks import Tasks

_PER_CALL: Final = 100
"""The number of jobs of one call."""
_MOST_CALLS: Final = 20
"""The number of calls in one minute."""


class Sweeper:
    def __init__(self, tasks: Tasks, artifacts: AsyncArtifacts, log: WorkerLog) -> None:
        self._tasks = tasks
        self._artifacts = artifacts
        self._log = log
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Sweeps every minute until `stop`."""
        self._task = self._tasks.spawn(self._every_minute())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def sweep(self) -> None:
        """Sweeps now, until nothing is left or the limit is reached. Never raises."""
        try:
            for _ in range(_MOST_CALLS):
                found = await self._artifacts.sweep(limit=_PER_CALL)
                if found.deleted > 0:
                    self._log.info({"artifacts": found.deleted}, "Artifacts of forgotten jobs were deleted")
                if found.looked < _PER_CALL:
                    return
        except ForbiddenError:
            return
        except Exception as error:  # noqa: BLE001 - a store may raise anything
            message = "Artifacts of forgotten jobs could not be deleted; trying again later"
            self._log.warning({"err": error}, message)

    async def _every_minute(self) -> None:
        while True:
            # Workers that were started together do not sweep together.
            await asyncio.sleep(SWEEP * (0.5 + random.random()))  # noqa: S311 - jitter
            await self.sweep()
