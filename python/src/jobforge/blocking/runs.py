"""Runs that a program claims and ends itself, without a worker: for scripts, tests and own runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operations import runs as calls
from .groups import Group

if TYPE_CHECKING:
    from datetime import datetime

    from ..arguments import Tenant
    from ..operations.runs import Claimed
    from ..records import RunHeartbeat, RunOutcome
    from .runner import Runner


class ClaimedRun:
    """A run that this program holds. Calls raise a JobNotHeldError if its lease is lost."""

    def __init__(self, runner: Runner, claimed: Claimed) -> None:
        self._runner = runner
        self._claimed = claimed
        self.id = claimed.id
        self.attempt = claimed.attempt
        self.tenant = claimed.tenant
        self.type = claimed.type
        self.payload: Any = claimed.payload
        self.run_at = claimed.run_at
        self.schedule_id = claimed.schedule_id
        self.scheduled_for = claimed.scheduled_for
        self.schedule = claimed.schedule
        self.worker_id = claimed.worker_id

    def complete(
        self, result: Any = None, *, next_run_at: datetime | None = None, cost_cents: int | None = None
    ) -> RunOutcome:
        """Ends the run as succeeded. `next_run_at` is the next run of its schedule."""
        ending = {"next_run_at": next_run_at, "cost_cents": cost_cents}
        return self._runner.run(calls.complete(self._claimed, result, ending))

    def fail(
        self,
        error: BaseException | str,
        *,
        retry: bool | None = None,
        retry_at: datetime | None = None,
        next_run_at: datetime | None = None,
        cost_cents: int | None = None,
    ) -> RunOutcome:
        """Ends the run as failed. The job is retried by its policy, and a schedule continues."""
        ending = {"retry_at": retry_at, "next_run_at": next_run_at, "cost_cents": cost_cents}
        return self._runner.run(calls.fail(self._claimed, error, retry, ending))

    def defer(self, until: datetime, *, counts: bool = True) -> RunOutcome:
        """Puts the job off. It costs an attempt, unless `counts` is False."""
        return self._runner.run(calls.defer(self._claimed, until, counts=counts))

    def heartbeat(self) -> RunHeartbeat:
        """Renews the lease. Returns when, and whether a cancellation was requested."""
        return self._runner.run(calls.heartbeat(self._claimed))


class Runs(Group):
    """For workers and operators."""

    def claim(
        self, worker_id: str, *, job: Any = None, limit: int = 1, tenant: Tenant | None = None
    ) -> list[ClaimedRun]:
        """Claims jobs that are due, and returns their runs.

        A run that is neither ended nor renewed with `heartbeat()` is lost after five minutes, and its job runs again.
        """
        found = self._runner.run(calls.claim(worker_id, job, limit, tenant))
        return [ClaimedRun(self._runner, each) for each in found]
