"""The calls about one job or many: reading and steering them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..operations import jobs as calls
from ..words import UNSET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from typing_extensions import Unpack

    from ..arguments import Tenant
    from ..operations.filters import JobFilters
    from ..records import BulkResult, CancelResult, Job, JobAttempt, JobLog, JobReason, RescheduleResult
    from .runner import Runner


class ClientJobs:
    """What clients do with jobs that exist."""

    _runner: Runner

    def attempts(self, id: str, *, tenant: Tenant) -> list[JobAttempt]:
        """The attempts of a job, the first one first."""
        return self._runner.do(calls.attempts(id, tenant))

    def logs(self, id: str, *, tenant: Tenant) -> list[JobLog]:
        """What the handler logged in each attempt, if the policy of the type keeps logs (`keep_logs`)."""
        return self._runner.do(calls.logs(id, tenant))

    def explain(self, id: str, *, tenant: Tenant) -> list[JobReason] | None:
        """Why a job is not running now, or how it finished; None if there is no such job.

        Reasons come in the order in which to remove them.
        """
        return self._runner.run(calls.explain(id, tenant))

    def cancel(self, id: str, *, tenant: Tenant) -> CancelResult:
        """Cancels a queued job at once. Asks a running job to stop: it is canceled when its run ends."""
        return self._runner.run(calls.cancel(id, tenant))

    def cancel_many(self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[JobFilters]) -> BulkResult:
        """Cancels the jobs that match the filters. At least one filter is required; `limit` is 1000 per call."""
        return self._runner.run(calls.change_many("cancel", tenant, limit, filters))

    def reschedule(
        self,
        id: str,
        *,
        tenant: Tenant,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
        payload: Any = UNSET,
    ) -> RescheduleResult:
        """Runs a queued, failed or dead job now or at another time.

        A failed or dead job gets a new budget of executions. For a queued job, `max_attempts` is its new total. With
        `payload`, it runs with this one instead of its own.
        """
        return self._runner.run(calls.reschedule(id, tenant, run_at, max_attempts, payload))

    def reschedule_many(self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[JobFilters]) -> BulkResult:
        """Runs the queued, failed and dead jobs that match the filters now."""
        return self._runner.run(calls.change_many("reschedule", tenant, limit, filters))

    def update(
        self,
        id: str,
        *,
        tenant: Tenant,
        job: Any = None,
        payload: Any = UNSET,
        priority: int | None = None,
        tags: Sequence[str] | None = None,
        run_at: datetime | None = None,
    ) -> Job:
        """Changes a queued job. If a definition is given, its schema checks the new payload."""
        changes: Mapping[str, Any] = {"payload": payload, "priority": priority, "tags": tags, "run_at": run_at}
        return self._runner.run(calls.update(id, tenant, job, changes))

    def copy(
        self,
        id: str,
        *,
        tenant: Tenant,
        job: Any = None,
        payload: Any = UNSET,
        priority: int | None = None,
        tags: Sequence[str] | None = None,
        run_at: datetime | None = None,
        max_attempts: int | None = None,
    ) -> Job | None:
        """Enqueues a new job like another one, whatever its status, with changes. None if there is no such job.

        If a definition is given, its schema checks a new payload.
        """
        changes: Mapping[str, Any] = {
            "payload": payload,
            "priority": priority,
            "tags": tags,
            "run_at": run_at,
            "max_attempts": max_attempts,
        }
        return self._runner.run(calls.copy(id, tenant, job, changes))
