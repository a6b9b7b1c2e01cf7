"""Handles: an object for one job, with the calls about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from ..arguments import Duration
    from ..definition import JobDefinition
    from ..records import CancelResult, Job, JobAttempt, JobLog, JobReason, RescheduleResult
    from ..words import EnqueueOutcome
    from .client import Client

from ..words import UNSET

Out = TypeVar("Out", covariant=True)


class JobHandle(Generic[Out]):
    """The calls of a handle go through the client that created it, never through a transaction."""

    def __init__(self, client: Client, definition: JobDefinition[Any, Out] | None, id: str, tenant: str) -> None:
        self._client = client
        self._definition = definition
        self.id = id
        self.tenant = tenant

    def get(self) -> Job | None:
        """The job as it is now; None if there is no such job."""
        return self._client.get(self.id, tenant=self.tenant, job=self._definition)

    def result(self, timeout: Duration | None = None) -> Out:
        """Waits until the job has finished, and returns what its handler returned.

        Raises a JobFailedError or a JobCanceledError if the job did not succeed, and a WaitTimeoutError after
        `timeout` seconds. With 0, it looks once.
        """
        result: Out = self._client.result(self.id, tenant=self.tenant, job=self._definition, timeout=timeout)
        return result

    def attempts(self) -> list[JobAttempt]:
        """The attempts of the job, the first one first."""
        return self._client.attempts(self.id, tenant=self.tenant)

    def logs(self) -> list[JobLog]:
        """What the handler logged in each attempt, if the policy of the type keeps logs."""
        return self._client.logs(self.id, tenant=self.tenant)

    def explain(self) -> list[JobReason] | None:
        """Why the job is not running now, or how it finished; None if there is no such job."""
        return self._client.explain(self.id, tenant=self.tenant)

    def cancel(self) -> CancelResult:
        """Cancels a queued job at once. Asks a running job to stop: it is canceled when its run ends."""
        return self._client.cancel(self.id, tenant=self.tenant)

    def reschedule(
        self, *, run_at: datetime | None = None, max_attempts: int | None = None, payload: Any = UNSET
    ) -> RescheduleResult:
        """Runs a queued, failed or dead job now or at another time."""
        return self._client.reschedule(
            self.id, tenant=self.tenant, run_at=run_at, max_attempts=max_attempts, payload=payload
        )

    def update(
        self,
        *,
        payload: Any = UNSET,
        priority: int | None = None,
        tags: Sequence[str] | None = None,
        run_at: datetime | None = None,
    ) -> Job:
        """Changes a queued job."""
        return self._client.update(
            self.id,
            tenant=self.tenant,
            job=self._definition,
            payload=payload,
            priority=priority,
            tags=tags,
            run_at=run_at,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class EnqueuedJob(JobHandle[Out]):
    """The handle of a job that was just enqueued, or of the existing job that has its key."""

    def __init__(
        self,
        client: Client,
        definition: JobDefinition[Any, Out],
        id: str,
        tenant: str,
        outcome: EnqueueOutcome,
        job: Job | None = None,
    ) -> None:
        super().__init__(client, definition, id, tenant)
        self.outcome = outcome
        """`created`, `existing` (the job that has the key, unchanged) or `replaced` (that job was changed)."""
        self.job = job
        """The job as it was then. None after `enqueue_many`, and if its type keeps no history and it is gone."""
