"""Workflows: starting, reading and steering them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..arguments import check_timeout
from ..operations import workflows as calls
from ..words import UNSET
from .groups import AsyncGroup
from .listing import AsyncList
from .wait import AsyncWorkflowWaiter

if TYPE_CHECKING:
    import builtins
    from collections.abc import Callable, Sequence

    from typing_extensions import Unpack

    from ..arguments import Duration, Tenant
    from ..operations.workflows import WorkflowFilters
    from ..records import JobReason
    from ..signals import AsyncDoneSignals
    from ..transport.base import AsyncTransport
    from ..words import Resolution, StepKind, StepStatus
    from ..workflows.builder import AddedSteps
    from ..workflows.definition import WorkflowDefinition
    from ..workflows.options import StartOptions
    from ..workflows.records import (
        AddedStepCount,
        SentSignal,
        StartResult,
        Workflow,
        WorkflowBulkResult,
        WorkflowCancelResult,
        WorkflowDetails,
        WorkflowRetryResult,
        WorkflowStep,
    )
    from ..workflows.start import NewWorkflow
    from .runner import AsyncRunner

In = TypeVar("In")
Out = TypeVar("Out")


class AsyncWorkflows(AsyncGroup):
    """A workflow is named by its id and its tenant.

    Calls that need a running workflow raise a WorkflowNotRunningError if the workflow has ended.
    """

    def __init__(
        self,
        runner: AsyncRunner,
        signals: AsyncDoneSignals,
        transport: AsyncTransport,
        root: AsyncWorkflows | None = None,
    ) -> None:
        """Waits use `transport`, and handles use `root`: this group may end with its transaction."""
        super().__init__(runner)
        self._signals = signals
        self._transport = transport
        self._root = root

    async def start(
        self, workflow: WorkflowDefinition[In, Out], input: In | Any, *, tenant: Tenant, **options: Unpack[StartOptions]
    ) -> AsyncStartedWorkflow[Out]:
        """Starts a workflow and returns a handle with its outcome.

        The outcome is `created`, or `existing` if another workflow has the key. The definition's schema checks the
        input first. All steps are created, or none.
        """
        prepared = calls.prepare_start(workflow, input, tenant, options)
        found = await self._runner.run(calls.start(prepared))
        return AsyncStartedWorkflow(self._root or self, workflow, prepared.tenant, found)

    async def start_many(
        self, workflows: Sequence[NewWorkflow[Out]], *, tenant: Tenant
    ) -> builtins.list[AsyncStartedWorkflow[Out]]:
        """Starts up to 1,000 workflows of a tenant in one commit: all of them or none. Returns a handle for each."""
        prepared = calls.prepare_starts(workflows, tenant)
        found = await self._runner.run(calls.start_many(prepared))
        return [
            AsyncStartedWorkflow(self._root or self, each.definition, each.tenant, row)
            for each, row in zip(prepared, found, strict=True)
        ]

    def handle(
        self, id: str, *, tenant: Tenant, workflow: WorkflowDefinition[Any, Out] | None = None
    ) -> AsyncWorkflowHandle[Out]:
        """A handle for a known workflow id. It makes no call."""
        names = calls.reference(id, tenant)
        return AsyncWorkflowHandle(self._root or self, workflow, str(names["p_workflow_id"]), str(names["p_tenant_id"]))

    async def get(self, id: str, *, tenant: Tenant) -> WorkflowDetails | None:
        """The workflow as it is now, with counts of its steps; None if the tenant has no workflow with this id."""
        return await self._runner.run(calls.get(id, tenant))

    async def explain(self, id: str, *, tenant: Tenant) -> builtins.list[JobReason] | None:
        """What the workflow waits for, or how it ended, the most important reason first.

        None if the tenant has no workflow with this id.
        """
        return await self._runner.run(calls.explain(id, tenant))

    def list(
        self, *, tenant: Tenant, page_size: int | None = None, **filters: Unpack[WorkflowFilters]
    ) -> AsyncList[Workflow]:
        """The workflows of a tenant, newest first."""
        return AsyncList(self._runner, calls.list_workflows(tenant, page_size, filters))

    def steps(
        self,
        id: str,
        *,
        tenant: Tenant,
        status: StepStatus | Sequence[StepStatus] | None = None,
        kind: StepKind | Sequence[StepKind] | None = None,
        group: str | None = None,
        page_size: int | None = None,
    ) -> AsyncList[WorkflowStep]:
        """The steps of a workflow, in the order in which they were made.

        `group` is the path of a map or a sub-workflow: only the steps in it.
        """
        filters = {"status": status, "kind": kind, "group": group}
        return AsyncList(self._runner, calls.list_steps(id, tenant, page_size, filters))

    async def result(
        self,
        id: str,
        *,
        tenant: Tenant,
        workflow: WorkflowDefinition[Any, Any] | None = None,
        timeout: Duration | None = None,
    ) -> Any:
        """Waits until a workflow has ended and returns its output. See `WorkflowHandle.result`."""
        names = calls.reference(id, tenant)
        # Not in the transaction: no worker sees the workflow before the commit.
        seconds = check_timeout(timeout)
        waiting = AsyncWorkflowWaiter(
            self._transport, self._signals, str(names["p_workflow_id"]), names["p_tenant_id"], seconds
        )
        return await waiting.output(workflow)

    async def cancel(self, id: str, *, tenant: Tenant, reason: str | None = None) -> WorkflowCancelResult:
        """Cancels the workflow.

        Queued jobs are canceled at once, running ones are asked to stop, and nothing new starts except steps for
        cleanup. The workflow has ended when its last job has.
        """
        return await self._runner.run(calls.cancel(id, tenant, reason))

    async def retry(
        self,
        id: str,
        *,
        tenant: Tenant,
        steps: Sequence[str] | None = None,
        downstream: bool | None = None,
        reset: bool | None = None,
    ) -> WorkflowRetryResult:
        """Runs the steps that ended badly again, and what was canceled because of them.

        Steps that succeeded keep their results. `steps` are the paths of the steps to retry. With `downstream`,
        everything that followed the retried steps runs again as well. With `reset`, handlers with durable steps begin
        anew, without their checkpoints and ended children. Raises a WorkflowNotRetryableError if nothing
        ended badly, or if the workflow was canceled.
        """
        return await self._runner.run(calls.retry(id, tenant, steps, downstream, reset))

    async def cancel_many(
        self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[WorkflowFilters]
    ) -> WorkflowBulkResult:
        """Cancels the running workflows that match all given filters, up to `limit` (100), the newest first."""
        return await self._runner.run(calls.change_many("cancel", tenant, limit, filters))

    async def retry_many(
        self, *, tenant: Tenant, limit: int | None = None, **filters: Unpack[WorkflowFilters]
    ) -> WorkflowBulkResult:
        """Retries the failed workflows that match all given filters, up to `limit` (100), the newest first."""
        return await self._runner.run(calls.change_many("retry", tenant, limit, filters))

    async def update(
        self, id: str, *, tenant: Tenant, deadline: Any = UNSET, priority: Any = UNSET, tags: Any = UNSET
    ) -> Workflow:
        """Changes the deadline, the priority or the tags of a workflow that runs: only what is given.

        A deadline of None removes it. Priority and tags are those of the steps that have none of their own and do not
        run yet.
        """
        return await self._runner.run(calls.update(id, tenant, deadline, priority, tags))

    async def add_steps(self, id: str, build: Callable[[AddedSteps], object], *, tenant: Tenant) -> AddedStepCount:
        """Adds steps to a workflow that runs. They may need its steps: `w.existing("extract")`.

        A step that exists with the same definition is not added again. A handler adds steps with `job.add_steps()`.
        """
        return await self._runner.run(calls.add_steps(id, tenant, build))

    async def resolve(self, id: str, step: str, *, tenant: Tenant, status: Resolution, result: Any = UNSET) -> None:
        """Ends a step that ended badly in another way, by hand. `step` is its path, such as `each[17]`."""
        await self._runner.run(calls.resolve(id, tenant, step, status, result))

    async def signal(
        self, id: str, name: str, payload: Any = UNSET, *, tenant: Tenant, key: str | None = None
    ) -> SentSignal:
        """Sends a signal to a workflow, or to a job that waits for one.

        It is kept until a step takes it. Each is taken once, the oldest first. A signal with the same target, name and
        `key` is sent only once.
        """
        return await self._runner.run(calls.signal(id, tenant, name, payload, key))


class AsyncWorkflowHandle(Generic[Out]):
    """An object for one workflow. Its calls go through the client that created it, never through a transaction."""

    def __init__(
        self, workflows: AsyncWorkflows, definition: WorkflowDefinition[Any, Out] | None, id: str, tenant: str
    ) -> None:
        self._workflows = workflows
        self._definition = definition
        self.id = id
        self.tenant = tenant

    async def get(self) -> WorkflowDetails | None:
        """The workflow as it is now; None if there is no such workflow."""
        return await self._workflows.get(self.id, tenant=self.tenant)

    async def explain(self) -> list[JobReason] | None:
        """What the workflow waits for, or how it ended. See `workflows.explain`."""
        return await self._workflows.explain(self.id, tenant=self.tenant)

    async def result(self, timeout: Duration | None = None) -> Out:
        """Waits until the workflow has ended, and returns its output.

        Raises a WorkflowFailedError or a WorkflowCanceledError if it did not succeed, and a WaitTimeoutError after
        `timeout` seconds.
        """
        found: Out = await self._workflows.result(
            self.id, tenant=self.tenant, workflow=self._definition, timeout=timeout
        )
        return found

    def steps(
        self,
        *,
        status: StepStatus | Sequence[StepStatus] | None = None,
        kind: StepKind | Sequence[StepKind] | None = None,
        group: str | None = None,
        page_size: int | None = None,
    ) -> AsyncList[WorkflowStep]:
        """Its steps, in the order in which they were made."""
        return self._workflows.steps(
            self.id, tenant=self.tenant, status=status, kind=kind, group=group, page_size=page_size
        )

    async def signal(self, name: str, payload: Any = UNSET, *, key: str | None = None) -> SentSignal:
        """Sends a signal to the workflow. See `workflows.signal`."""
        return await self._workflows.signal(self.id, name, payload, tenant=self.tenant, key=key)

    async def cancel(self, *, reason: str | None = None) -> WorkflowCancelResult:
        """Cancels the workflow. See `workflows.cancel`."""
        return await self._workflows.cancel(self.id, tenant=self.tenant, reason=reason)

    async def retry(
        self, *, steps: Sequence[str] | None = None, downstream: bool | None = None, reset: bool | None = None
    ) -> WorkflowRetryResult:
        """Runs what ended badly again. See `workflows.retry`."""
        return await self._workflows.retry(self.id, tenant=self.tenant, steps=steps, downstream=downstream, reset=reset)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class AsyncStartedWorkflow(AsyncWorkflowHandle[Out]):
    """The handle of a workflow that was just started, or of the existing workflow that has its key."""

    def __init__(
        self,
        workflows: AsyncWorkflows,
        definition: WorkflowDefinition[Any, Out],
        tenant: str,
        found: StartResult,
    ) -> None:
        super().__init__(workflows, definition, found.id, tenant)
        self.outcome = found.outcome
        self.status = found.status
        """The status at the time of the start."""
        self.step_ids = found.steps
        """The ids of its steps, by name."""
