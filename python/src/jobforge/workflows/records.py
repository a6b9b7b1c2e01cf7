"""What calls about workflows return. Fields have the names of the kernel's columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from ..rows import Record, from_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..words import FailureAction, StartOutcome, StepKind, StepStatus, WorkflowStatus


@dataclass(frozen=True, slots=True)
class Workflow(Record):
    """A workflow as it is now."""

    id: str
    tenant: str
    name: str
    version: str | None
    status: WorkflowStatus
    reason: str | None
    """Why it ended: `done`, `failed`, `canceled`, `deadline` or `output_too_large`; None while it runs."""
    input: Any
    output: Any
    """What the workflow returned, as JSON; None until it has succeeded."""
    idempotency_key: str | None
    dedupe_key: str | None
    subject: str | None
    tags: list[str]
    priority: int
    created_at: datetime
    finished_at: datetime | None
    deadline: datetime | None
    on_failure: FailureAction
    cancel_at: datetime | None
    cancel_by: str | None
    """Which login canceled it."""
    cancel_reason: str | None
    retention_days: int
    traceparent: str | None
    step_count: int
    tenant_label: str | None
    parent_id: str | None
    """The job whose handler started it with `job.run()` or `job.all()`, and waits for it."""


@dataclass(frozen=True, slots=True)
class WorkflowWait(Record):
    """A signal that a workflow waits for."""

    step: str
    signal: str
    since: datetime
    until: datetime | None


@dataclass(frozen=True, slots=True)
class FailedStep(Record):
    """A step that ended badly."""

    step: str
    status: StepStatus
    reason: str | None
    error: Mapping[str, Any] | None
    job_id: str | None


@dataclass(frozen=True, slots=True)
class WorkflowDetails(Workflow):
    """A workflow with the state of its steps."""

    counts: Mapping[StepStatus, int]
    """How many steps have each status."""
    waits: Sequence[WorkflowWait]
    """The signals that it waits for."""
    failed: Sequence[FailedStep]
    """Up to ten steps that ended badly."""
    estimated: bool | None
    """True if there are more than 10,000 steps: then `counts` has only that many."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        waits = from_rows(WorkflowWait, row.get("waits") or ())
        failed = from_rows(FailedStep, row.get("failed") or ())
        # Without arguments, super() does not find the class that slots have replaced.
        return super(WorkflowDetails, cls).from_row({**row, "waits": waits, "failed": failed})


@dataclass(frozen=True, slots=True)
class WorkflowStep(Record):
    """A step of a workflow that was started."""

    id: str
    workflow_id: str
    group_id: str | None
    tenant: str
    path: str
    """Its name in the whole workflow, such as `each[17]` or `sub/x`."""
    name: str | None
    """Its name in its list of steps; None for an item of a map."""
    index: int
    """Its place in its list of steps, from 1; of an item of a map: its index, from 0."""
    kind: StepKind
    type: str | None
    status: StepStatus
    reason: str | None
    needs: Sequence[Mapping[str, str]]
    """Each with `step` and `policy`."""
    job_id: str | None
    """Its current job."""
    opened_at: datetime | None
    decided_at: datetime | None
    ended_at: datetime | None
    payload: Any
    """With its references."""
    result: Any
    error: Mapping[str, Any] | None
    cost_cents: int | None
    optional: bool
    cleanup: bool


@dataclass(frozen=True, slots=True)
class StartResult(Record):
    """What a start returned."""

    id: str
    outcome: StartOutcome
    status: WorkflowStatus
    steps: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkflowCancelResult(Record):
    """What a cancel has done so far."""

    id: str
    status: WorkflowStatus
    canceled: int
    """Queued jobs that were canceled at once."""
    requested: int
    """Running jobs that were asked to stop."""


@dataclass(frozen=True, slots=True)
class WorkflowRetryResult(Record):
    """What a retry has done."""

    id: str
    retried: int
    """Steps that have started again."""
    blocked: int
    """Steps that wait for these."""


@dataclass(frozen=True, slots=True)
class WorkflowBulkResult(Record):
    """What a change of many workflows has done."""

    matched: int
    changed: int
    """Fewer than `matched` if other transactions hold some of them, or if they need no change."""


@dataclass(frozen=True, slots=True)
class AddedStepCount(Record):
    """What adding steps has done."""

    added: int
    existing: int
    """Steps that were there before, with the same definition."""


@dataclass(frozen=True, slots=True)
class SentSignal(Record):
    """A signal that was sent."""

    outcome: StartOutcome
    taken: bool
    """Whether a step that waited for it has taken it already. If not, it is kept until one does."""
