"""The calls of applications, over any transport. The calls of operators are in groups, such as `gates`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ..arguments import check_timeout
from ..artifacts.stored_value import is_stored_value
from ..definition import NewJob
from ..errors import ArtifactStoreRequiredError, JobForgeError
from ..jsontext import JsonText, dumps
from ..operations import jobs as calls
from ..operations.enqueue import MAX_JOBS, Chunk, cut, prepare_jobs, prepare_next
from ..operations.prepare import definition_of, new_job, prepare_job
from ..operations.sync import sync
from ..records import BulkCounts
from ..words import UNSET
from .artifacts import AsyncArtifacts
from .client_jobs import AsyncClientJobs
from .enqueue_alone import enqueue_alone
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
from .webhooks import AsyncEgress, AsyncWebhooks
from .workflows import AsyncStartedWorkflow, AsyncWorkflows

if TYPE_CHECKING:
    import builtins
    from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence

    from typing_extensions import Unpack

    from ..arguments import Duration, Tenant
    from ..artifacts.forms import AsyncAnyStore
    from ..definition import EnqueueOptions, JobDefinition, JobOptions
    from ..gathering.async_gatherer import AsyncGatherer
    from ..operations.filters import JobFilters
    from ..operations.prepare import PreparedJob
    from ..policies import PolicySync, ScheduleSync
    from ..records import Job
    from ..schedule import ScheduleDefinition
    from ..signals import AsyncDoneSignals
    from ..transport.base import AsyncTransport
    from ..wake import AsyncWaker
    from ..workflows.definition import WorkflowDefinition
    from ..workflows.options import StartOptions
    from ..workflows.records import SentSignal

T = TypeVar("T")
In = TypeVar("In")
Out = TypeVar("Out")


class AsyncClient(AsyncClientJobs):
    """What `AsyncJobForge`, `forge.on(…)` and `forge.within(…)` have in common."""

    workflows: AsyncWorkflows

    def __init__(
        self,
        transport: AsyncTransport,
        signals: AsyncDoneSignals,
        *,
        waker: AsyncWaker | None = None,
        gatherer: AsyncGatherer | None = None,
        root: AsyncClient | None = None,
        timeout: float | None = None,
        artifacts: AsyncAnyStore | None = None,
    ) -> None:
        """A transaction has no `waker`: its commit sends the notification. `root` is the client of handles."""
        self.transport = transport
        """The way to the kernel, for functions that have no method here."""
        self._runner = runner = AsyncRunner(transport, timeout)
        self._signals = signals
        self._waker = waker
        self._gatherer = gatherer
        self._root = root
        # In a transaction, a note about an artifact could be rolled back.
        outside = root._runner if root is not None and transport.is_transaction else runner  # noqa: SLF001
        self.artifacts = AsyncArtifacts(outside, artifacts)
        self.schedules = AsyncSchedules(runner)
        self.runs = AsyncRuns(runner)
        self.workflows = AsyncWorkflows(
            runner, signals, (root or self).transport, None if root is None else root.workflows
        )
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
        self.egress = AsyncEgress(runner)
        self.webhooks = AsyncWebhooks(runner)
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
        if prepared.offload:
            return await self._enqueue_offloaded(prepared)
        if self._gatherer is None:
            found = await enqueue_alone(self._runner, self._waker, prepared)
        else:
            found = await self._gatherer.enqueue(prepared)
        root = self._root or self
        return AsyncEnqueuedJob(root, prepared.definition, found.id, prepared.tenant, found.outcome, found.job)

    async def _enqueue_offloaded(self, prepared: PreparedJob) -> AsyncEnqueuedJob[Any]:
        """The call for many jobs binds a stored payload to its job."""
        [found] = await self._enqueue_all([prepared], partial=False)
        assert found is not None  # noqa: S101 - narrows the type: only fitting jobs can be rejected
        return found

    async def _offloaded(self, job: PreparedJob) -> PreparedJob:
        """The job with a reference instead of a large payload.

        It is stored first and enqueued afterwards, so that no worker sees a job without its payload. The payload of a
        job that is not enqueued after all is deleted after a day.
        """
        if job.offload and not self.artifacts.can_offload:
            raise ArtifactStoreRequiredError
        if not job.is_large:
            return job
        stored = await self.artifacts.offload_payload(job.payload.text, tenant=job.tenant)
        return replace(job, payload=JsonText(dumps(stored)))

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
            part.append(await self._offloaded(prepare_next(job, counts.enqueued + len(part), shared)))
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
        prepared = [await self._offloaded(job) for job in prepared]
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

    async def start(
        self, workflow: WorkflowDefinition[In, Out], input: In | Any, *, tenant: Tenant, **options: Unpack[StartOptions]
    ) -> AsyncStartedWorkflow[Out]:
        """Starts a workflow, and returns a handle with its outcome. See `workflows.start`."""
        return await self.workflows.start(workflow, input, tenant=tenant, **options)

    async def signal(
        self, id: str, name: str, payload: Any = UNSET, *, tenant: Tenant, key: str | None = None
    ) -> SentSignal:
        """Sends a signal to a workflow, or to a job that waits for one. See `workflows.signal`."""
        return await self.workflows.signal(id, name, payload, tenant=tenant, key=key)

    def handle(self, id: str, *, tenant: Tenant, job: JobDefinition[Any, Out] | None = None) -> AsyncJobHandle[Out]:
        """A handle for a known job id. It makes no call."""
        names = calls.reference(id, tenant)
        return AsyncJobHandle(self._root or self, job, str(names["p_job_id"]), str(names["p_tenant_id"]))

    async def get(self, id: str, *, tenant: Tenant, job: Any = None) -> Job | None:
        """The job as it is now; None if the tenant has no job with this id.

        With a definition, a payload that was offloaded is read from the artifact store.
        """
        found = await self._runner.run(calls.get(id, tenant, job))
        if found is None or job is None or not is_stored_value(found.payload):
            return found
        return replace(found, payload=await self.artifacts.resolve(found.payload, tenant=tenant))

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
        wait = AsyncWait(transport, self._signals, args, definition, check_timeout(timeout))
        return await wait.result(self.artifacts)

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
        store = None if root is None else root.artifacts.store
        super().__init__(transport, signals, root=root, artifacts=store)
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
