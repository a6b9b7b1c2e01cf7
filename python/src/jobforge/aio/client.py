"""The calls of applications, over any transport. The calls of operators are in groups, such as `gates`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..arguments import check_timeout
from ..definition import NewJob
from ..errors import JobForgeError
from ..operations import jobs as calls
from ..operations.enqueue import MAX_JOBS, Chunk, cut, enqueue, prepare_jobs, prepare_next
from ..operations.prepare import definition_of, new_job, prepare_job
from ..operations.sync import sync
from ..records import BulkCounts
from ..words import UNSET
from .groups import (
    AsyncAllJobs,
    AsyncAuditLog,
    AsyncConnectors,
    AsyncGates,
    AsyncInstallation,
    AsyncJobTypes,
    AsyncLimits,
    AsyncPolicies,
    AsyncTenants,
    AsyncUsageReports,
    AsyncWorkers,
)
from .handle import AsyncEnqueuedJob, AsyncJobHandle
from .listing import AsyncList
from .runner import AsyncRunner
from .runs import AsyncRuns
from .schedules import AsyncSchedules, AsyncTransactionSchedules
from .wait import AsyncWait

if TYPE_CHECKING:
    import builtins
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
    from datetime import datetime

    from typing_extensions import Unpack

    from ..arguments import Duration, Tenant
    from ..definition import EnqueueOptions, JobDefinition, JobOptions
    from ..operating import PolicySync, ScheduleSync
    from ..operations.filters import JobFilters
    from ..operations.prepare import PreparedJob
    from ..records import BulkResult, CancelResult, Job, JobAttempt, JobLog, JobReason, RescheduleResult
    from ..schedule import ScheduleDefinition
    from ..signals import AsyncDoneSignals
    from ..transport.base import AsyncTransport
    from ..wake import AsyncWaker

T = TypeVar("T")
In = TypeVar("In")
Out = TypeVar("Out")


class AsyncClient:
    """What `AsyncJobForge`, `forge.on(…)` and `forge.within(…)` have in common."""

    def __init__(
        self,
        transport: AsyncTransport,
        signals: AsyncDoneSignals,
        *,
        waker: AsyncWaker | None = None,
        root: AsyncClient | None = None,
        timeout: float | None = None,
    ) -> None:
        """A transaction has no `waker`: its commit sends the notification. `root` is the client of handles."""
        self.transport = transport
        """The way to the kernel, for functions that have no method here."""
        self._runner = runner = AsyncRunner(transport, timeout)
        self._signals = signals
        self._waker = waker
        self._root = root
        self.schedules = AsyncSchedules(runner)
        self.runs = AsyncRuns(runner)
        self.jobs = AsyncAllJobs(runner)
        self.gates = AsyncGates(runner)
        self.limits = AsyncLimits(runner)
        self.policies = AsyncPolicies(runner)
        self.tenants = AsyncTenants(runner)
        self.workers = AsyncWorkers(runner)
        self.types = AsyncJobTypes(runner)
        self.usage = AsyncUsageReports(runner)
        self.audit = AsyncAuditLog(runner)
        self.connectors = AsyncConnectors(runner)
        self.installation = AsyncInstallation(runner)

    @overload
    async def enqueue(
        self, job: NewJob[Out], *, tenant: Tenant | None = None, **options: Unpack[JobOptions]
    ) -> AsyncEnqueuedJob[Out]: ...

    @overload
    async def enqueue(
        self, job: JobDefinition[In, Out], input: In, *, tenant: Tenant, **options: Unpack[JobOptions]
    ) -> AsyncEnqueuedJob[Out]: ...

    async def enqueue(
        self, job: Any, input: Any = UNSET, *, tenant: Tenant | None = None, **options: Unpack[JobOptions]
    ) -> AsyncEnqueuedJob[Any]:
        """Enqueues one job and returns a handle with its outcome. The definition's schema checks the input first.

        The outcome is `created`, `existing` (another job has the key and is returned unchanged) or `replaced` (that
        job was changed).
        """
        prepared = prepare_job(new_job(job, input), {**options, "tenant": tenant})
        definition = prepared.definition
        leads = self._waker is None or self._waker.leads(definition.type)
        found = await self._runner.run(enqueue(prepared, notify=leads))
        if self._waker is not None and not leads:
            is_later = "run_at" in prepared.keys or "delay_ms" in prepared.keys
            self._waker.follow(definition.type, found.run_at if is_later else None)
        root = self._root or self
        return AsyncEnqueuedJob(root, definition, found.id, prepared.tenant, found.outcome, found.job)

    async def enqueue_many(
        self, jobs: Sequence[NewJob[Out]], **shared: Unpack[EnqueueOptions]
    ) -> list[AsyncEnqueuedJob[Out]]:
        """Enqueues any number of jobs, of one or several definitions and tenants. Returns a handle for each, in order.

        `shared` are the options of jobs that do not set their own. All jobs are checked before the first is sent, and
        the error names the job, such as `jobs[3].payload`. Over Postgres, all jobs are enqueued or none. Over HTTP,
        more than 5,000 jobs or 7 MiB are several commits, so give the jobs idempotency keys to be able to repeat the
        call.
        """
        prepared = prepare_jobs(jobs, shared)
        found = await self._enqueue_all(prepared, partial=False)
        return [each for each in found if each is not None]

    async def enqueue_fitting(
        self, jobs: Sequence[NewJob[Out]], **shared: Unpack[EnqueueOptions]
    ) -> list[AsyncEnqueuedJob[Out] | None]:
        """Enqueues as many of the jobs as the quotas of their tenants allow, in order; None for a rejected job.

        Otherwise it is like `enqueue_many`, which enqueues all jobs or none.
        """
        return await self._enqueue_all(prepare_jobs(jobs, shared), partial=True)

    async def enqueue_stream(
        self,
        jobs: Iterable[NewJob[Any]] | AsyncIterable[NewJob[Any]],
        *,
        on_progress: Callable[[BulkCounts], None] | None = None,
        **shared: Unpack[EnqueueOptions],
    ) -> BulkCounts:
        """Enqueues any number of jobs of an iterable, such as the rows of a large file, with little memory.

        Jobs are read, checked and sent in parts of up to 5,000. Each part is a commit of its own, or several of less
        than 7 MiB and of one tenant each. At an error it stops, and the parts before stay enqueued, so give the jobs
        idempotency keys to be able to repeat the call. `on_progress` gets the numbers so far after each part.
        """
        counts = BulkCounts()
        part: list[PreparedJob] = []
        async for job in _each(jobs):
            part.append(prepare_next(job, counts.enqueued + len(part), shared))
            if len(part) == MAX_JOBS:
                counts = await self._send_part(part, counts)
                part = []
                if on_progress is not None:
                    on_progress(counts)
        if part:
            counts = await self._send_part(part, counts)
            if on_progress is not None:
                on_progress(counts)
        return counts

    async def _send_part(self, part: Sequence[PreparedJob], counts: BulkCounts) -> BulkCounts:
        for chunk in cut(part, counts.enqueued):
            found = await _rows_of(self._runner, chunk, partial=False)
            counts = counts.and_of([row["outcome"] for row in found])
        return counts

    async def _enqueue_all(
        self, prepared: Sequence[PreparedJob], *, partial: bool
    ) -> list[AsyncEnqueuedJob[Any] | None]:
        chunks = cut(prepared)
        rows: list[dict[str, Any]] = [{}] * len(prepared)
        if len(chunks) > 1 and self.transport.can_transact:
            async with self.transport.transaction() as inside:
                runner = AsyncRunner(inside.transport, self._runner.timeout)
                for chunk in chunks:
                    await _send(runner, chunk, rows, partial=partial)
        else:
            for chunk in chunks:
                await _send(self._runner, chunk, rows, partial=partial)
        root = self._root or self
        return [
            None
            if row["outcome"] == "rejected"
            else AsyncEnqueuedJob(root, job.definition, row["id"], job.tenant, row["outcome"])
            for row, job in zip(rows, prepared, strict=True)
        ]

    def handle(self, id: str, *, tenant: Tenant, job: JobDefinition[Any, Out] | None = None) -> AsyncJobHandle[Out]:
        """A handle for a known job id. It makes no call."""
        names = calls.reference(id, tenant)
        return AsyncJobHandle(self._root or self, job, str(names["p_job_id"]), str(names["p_tenant_id"]))

    async def get(self, id: str, *, tenant: Tenant, job: Any = None) -> Job | None:
        """The job as it is now; None if the tenant has no job with this id."""
        return await self._runner.run(calls.get(id, tenant, job))

    def list(
        self, *, tenant: Tenant, job: Any = None, page_size: int | None = None, **filters: Unpack[JobFilters]
    ) -> AsyncList[Job]:
        """The jobs of a tenant, newest first: as a stream, or page by page. `job` is a definition, or several."""
        return AsyncList(self._runner, calls.list_jobs(tenant, job, page_size, filters))

    async def result(self, id: str, *, tenant: Tenant, job: Any = None, timeout: Duration | None = None) -> Any:
        """Waits until a job has finished and returns its output. See `JobHandle.result`."""
        definition = None if job is None else definition_of(job)
        # Not in the transaction: no worker sees the job before the commit.
        transport = (self._root or self).transport
        args = calls.reference(id, tenant)
        return await AsyncWait(transport, self._signals, args, definition, check_timeout(timeout)).result()

    async def attempts(self, id: str, *, tenant: Tenant) -> builtins.list[JobAttempt]:
        """The attempts of a job, the first one first."""
        return await self._runner.do(calls.attempts(id, tenant))

    async def logs(self, id: str, *, tenant: Tenant) -> builtins.list[JobLog]:
        """What the handler logged in each attempt, if the policy of the type keeps logs (`keep_logs`)."""
        return await self._runner.do(calls.logs(id, tenant))

    async def explain(self, id: str, *, tenant: Tenant) -> builtins.list[JobReason] | None:
        """Why a job is not running now, or how it finished; None if there is no such job.

        Reasons come in the order in which to remove them.
        """
        return await self._runner.run(calls.explain(id, tenant))

    async def cancel(self, id: str, *, tenant: Tenant) -> CancelResult:
        """Cancels a queued job at once. Asks a running job to stop: it is canceled when its run ends."""
        return await self._runner.run(calls.cancel(id, tenant))

    async def cancel_many(
        self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[JobFilters]
    ) -> BulkResult:
        """Cancels the jobs that match the filters. At least one filter is required; `limit` is 1000 per call."""
        return await self._runner.run(calls.change_many("cancel", tenant, limit, filters))

    async def reschedule(
        self, id: str, *, tenant: Tenant, run_at: datetime | None = None, max_attempts: int | None = None
    ) -> RescheduleResult:
        """Runs a queued, failed or dead job now or at another time.

        A failed or dead job gets a new budget of executions. For a queued job, `max_attempts` is its new total.
        """
        return await self._runner.run(calls.reschedule(id, tenant, run_at, max_attempts))

    async def reschedule_many(
        self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[JobFilters]
    ) -> BulkResult:
        """Runs the queued, failed and dead jobs that match the filters now."""
        return await self._runner.run(calls.change_many("reschedule", tenant, limit, filters))

    async def update(
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
        return await self._runner.run(calls.update(id, tenant, job, changes))

    async def sync(
        self,
        definitions: Sequence[JobDefinition[Any, Any] | ScheduleDefinition | Any],
        *,
        app: str | None = None,
        app_version: str | None = None,
        tenant: Tenant | None = None,
        dry_run: bool = False,
        force: bool = False,
    ) -> builtins.list[PolicySync | ScheduleSync]:
        """Brings the database in line with definitions.

        For jobs it writes the policies: retries, timeout, lease, audit action, retention. With `app` it also creates
        and changes the declared schedules, and disables those that the application declared before and no longer
        declares. It writes only differences and returns them, policies first. Settings that operators have set by hand
        stay until the definition itself changes, and an older `app_version` changes nothing, unless `force` is true.
        """
        return await self._runner.do(
            sync(definitions, app=app, app_version=app_version, tenant=tenant, dry_run=dry_run, force=force)
        )


class AsyncTransactionClient(AsyncClient):
    """A client whose calls run in the transaction of the caller."""

    schedules: AsyncTransactionSchedules

    def __init__(self, transport: AsyncTransport, signals: AsyncDoneSignals, root: AsyncClient | None = None) -> None:
        super().__init__(transport, signals, root=root)
        self.schedules = AsyncTransactionSchedules(self._runner)


async def _send(runner: AsyncRunner, chunk: Chunk, rows: list[dict[str, Any]], *, partial: bool) -> None:
    found = await _rows_of(runner, chunk, partial=partial)
    for place, row in zip(chunk.places, found, strict=True):
        rows[place] = row


async def _rows_of(runner: AsyncRunner, chunk: Chunk, *, partial: bool) -> list[dict[str, Any]]:
    try:
        return await runner.run(chunk.call(partial=partial))
    except JobForgeError as error:
        raise chunk.renumber(error) from error.__cause__


async def _each(jobs: Iterable[T] | AsyncIterable[T]) -> AsyncIterator[T]:
    if isinstance(jobs, Iterable):
        for job in jobs:
            yield job
        return
    async for job in jobs:
        yield job
