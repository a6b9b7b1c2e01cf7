"""Reads what the database's policies say about the handled types: their timeouts, and the keys that must not be logged.

A policy is read when the first job of its type is claimed, and again after a minute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..defaults import POLICY_MAX_AGE

if TYPE_CHECKING:
    from ..claiming.kernel import Kernel
    from ..handled_type import HandledType
    from ..reporting.log import WorkerLog
    from ..tasks import Tasks
    from .runner import Runner


class Policies:
    def __init__(self, tasks: Tasks, kernel: Kernel, log: WorkerLog, runner: Runner) -> None:
        self._tasks = tasks
        self._kernel = kernel
        self._log = log
        self._runner = runner
        self._read_at: dict[HandledType, float] = {}

    def refresh(self, type: HandledType, now: float) -> None:
        """Reads the type's policy unless it is fresh. Jobs do not wait for it: their timeout is set when it comes."""
        read_at = self._read_at.get(type)
        if read_at is not None and now - read_at < POLICY_MAX_AGE:
            return
        self._read_at[type] = now
        self._tasks.spawn(self._read(type))

    async def _read(self, type: HandledType) -> None:
        try:
            policy = await self._kernel.policy(type.name)
        except Exception as error:  # noqa: BLE001 - jobs run without it
            fields = {"err": error, "job_type": type.name}
            self._log.debug(fields, "The type's policy could not be read")
            return
        if type.apply(policy):
            self._runner.update_timeouts(type)
