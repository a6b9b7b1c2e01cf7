"""Starting, reading and steering workflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from ..arguments import (
    check_bool,
    check_one_of,
    check_range,
    check_tags,
    check_tenant,
    check_text,
    check_time,
    check_uuid,
    describe,
    refuse,
)
from ..jsontext import JsonText, dumps, form_to_json, to_json
from ..records import JobReason
from ..rows import from_rows
from ..suggest import check_known
from ..telemetry import active_traceparent
from ..words import BOUNDS, UNSET, Bounds, Resolution, StepKind, StepStatus, WorkflowStatus
from ..workflows.builder import AddedSteps, build_steps
from ..workflows.definition import WorkflowDefinition
from ..workflows.options import start_keys
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
from .call import Call, given, nothing, whole
from .filters import checked_page_size
from .listing import ReadPage, pages_by_id

if TYPE_CHECKING:
    from ..workflows.start import NewWorkflow

_BULK_LIMIT: Final = Bounds(1, 1000)


class WorkflowFilters(TypedDict, total=False):
    """Selects workflows. A workflow must match all given filters; None counts as not given."""

    status: WorkflowStatus | Sequence[WorkflowStatus] | None
    name: str | Sequence[str] | None
    tags: str | Sequence[str] | None
    subject: str | None
    created_after: datetime | None
    created_before: datetime | None


@dataclass(frozen=True, slots=True)
class PreparedStart:
    """A start whose input and options have been checked."""

    tenant: str
    definition: WorkflowDefinition[Any, Any]
    input: JsonText
    options: Mapping[str, object]

    def arguments(self) -> dict[str, object]:
        """The arguments of jobforge_start_workflow."""
        return {
            "p_tenant_id": self.tenant,
            "p_name": self.definition.name,
            "p_steps": self.definition.steps_json,
            "p_input": self.input,
            "p_options": self.options,
        }

    def json(self) -> str:
        """An element of `p_workflows` of jobforge_start_workflows."""
        keys = dumps({"name": self.definition.name, "options": self.options})
        return f'{keys[:-1]},"steps":{self.definition.steps_json.text},"input":{self.input.text}}}'


def prepare_start(
    workflow: object, input: object, tenant: object, options: Mapping[str, object], at: str = ""
) -> PreparedStart:
    """Checks a start. `at` is a prefix for the names of fields in errors."""
    if not isinstance(workflow, WorkflowDefinition):
        refuse(f"{at}workflow", f"must be a workflow, not {describe(workflow)}", "Pass what @define_workflow() made.")
    own = start_keys(options, at)
    form = workflow.input.dump(input, f"{at}input")
    workflow.input.load(form, f"{at}input")
    traceparent = own.get("traceparent") or active_traceparent()
    keys: dict[str, object] = {
        "version": workflow.version,
        "output": workflow.graph.output,
        "on_failure": workflow.on_failure,
        "retention_days": workflow.retention_days,
        "traceparent": traceparent,
        **own,
    }
    known = {key: value for key, value in keys.items() if value is not None}
    return PreparedStart(check_tenant(tenant, f"{at}tenant"), workflow, form_to_json(form, f"{at}input"), known)


def start(prepared: PreparedStart) -> Call[StartResult]:
    """Starts one workflow."""
    return Call("jobforge_start_workflow", prepared.arguments(), StartResult.from_row)


def prepare_starts(workflows: Sequence[NewWorkflow[Any]], tenant: object) -> list[PreparedStart]:
    """Checks all starts before the first is sent."""
    if isinstance(workflows, str | bytes) or not isinstance(workflows, Sequence):
        refuse("workflows", f"must be a list, not {describe(workflows)}", "Pass [workflow.new(input), …].")
    check_range(len(workflows), "workflows", BOUNDS["start_many"])
    return [
        prepare_start(each.workflow, each.input, tenant, each.options, f"workflows[{index}].")
        for index, each in enumerate(workflows)
    ]


def start_many(prepared: Sequence[PreparedStart]) -> Call[list[StartResult]]:
    """Starts workflows of one tenant in one commit."""
    args = {
        "p_tenant_id": prepared[0].tenant,
        "p_workflows": JsonText(f"[{','.join(each.json() for each in prepared)}]"),
    }
    return Call("jobforge_start_workflows", args, lambda rows: from_rows(StartResult, rows))


def reference(id: object, tenant: object) -> dict[str, object]:
    """The arguments that name a workflow."""
    return {"p_workflow_id": check_uuid(id, "id"), "p_tenant_id": check_tenant(tenant)}


def get(id: object, tenant: object) -> Call[WorkflowDetails | None]:
    """The workflow as it is now, with counts of its steps."""
    return Call("jobforge_get_workflow", reference(id, tenant), _details)


def _details(row: Mapping[str, Any] | None) -> WorkflowDetails | None:
    return None if row is None else WorkflowDetails.from_row(row)


def explain(id: object, tenant: object) -> Call[list[JobReason] | None]:
    """What a workflow waits for, or how it ended."""
    return Call("jobforge_explain_workflow", reference(id, tenant), _reasons)


def _reasons(rows: Sequence[Mapping[str, Any]] | None) -> list[JobReason] | None:
    return None if rows is None else from_rows(JobReason, rows)


def list_workflows(tenant: object, page_size: int | None, filters: Mapping[str, Any]) -> ReadPage[Workflow]:
    """The workflows of a tenant."""
    tenant_id, keys = check_tenant(tenant), _filter_keys(filters)

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_workflows", {"p_tenant_id": tenant_id, "p_filters": {**keys, **page}}, whole)

    return pages_by_id(Workflow, checked_page_size(page_size), read)


def list_steps(
    id: object, tenant: object, page_size: int | None, filters: Mapping[str, object]
) -> ReadPage[WorkflowStep]:
    """The steps of a workflow. `filters` has `status`, `kind` and `group`."""
    args = reference(id, tenant)
    keys = {
        **_words("status", filters.get("status"), StepStatus),
        **_words("kind", filters.get("kind"), StepKind),
    }
    if filters.get("group") is not None:
        keys["group"] = check_text(filters["group"], "group", BOUNDS["step_path_bytes"])

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_steps", {**args, "p_filters": {**keys, **page}}, whole)

    return pages_by_id(WorkflowStep, checked_page_size(page_size), read)


def cancel(id: object, tenant: object, reason: str | None) -> Call[WorkflowCancelResult]:
    """Cancels a workflow."""
    args = {**reference(id, tenant), "p_reason": given(reason, "reason", check_text, BOUNDS["reason_bytes"])}
    return Call("jobforge_cancel_workflow", args, WorkflowCancelResult.from_row)


def retry(
    id: object, tenant: object, steps: Sequence[str] | None, downstream: bool | None, reset: bool | None
) -> Call[WorkflowRetryResult]:
    """Runs the steps that ended badly again."""
    if steps is not None and (isinstance(steps, str) or not isinstance(steps, Sequence)):
        refuse("steps", f"must be a list of paths, not {describe(steps)}")
    paths = [check_text(each, f"steps[{n}]", BOUNDS["step_path_bytes"]) for n, each in enumerate(steps or ())]
    args = {
        **reference(id, tenant),
        "p_steps": UNSET if steps is None else paths,
        "p_downstream": given(downstream, "downstream", check_bool),
        "p_reset": given(reset, "reset", check_bool),
    }
    return Call("jobforge_retry_workflow", args, WorkflowRetryResult.from_row)


def change_many(
    change: Literal["cancel", "retry"], tenant: object, limit: int | None, filters: Mapping[str, Any]
) -> Call[WorkflowBulkResult]:
    """Cancels or retries the workflows that match all filters."""
    args = {
        "p_tenant_id": check_tenant(tenant),
        "p_filters": _filter_keys(filters),
        "p_limit": given(limit, "limit", check_range, _BULK_LIMIT),
    }
    return Call(f"jobforge_{change}_workflows", args, WorkflowBulkResult.from_row)


def update(id: object, tenant: object, deadline: object, priority: object, tags: object) -> Call[Workflow]:
    """Changes a workflow that runs. UNSET leaves a column as it is."""
    changes: dict[str, object] = {}
    if deadline is not UNSET:
        changes["deadline"] = None if deadline is None else check_time(deadline, "deadline").isoformat()
    if priority is not UNSET:
        changes["priority"] = check_range(priority, "priority", BOUNDS["priority"])
    if tags is not UNSET:
        changes["tags"] = check_tags(tags, "tags")
    args = {**reference(id, tenant), "p_changes": form_to_json(changes, "changes")}
    return Call("jobforge_update_workflow", args, Workflow.from_row)


def add_steps(id: object, tenant: object, build: Callable[[AddedSteps], object]) -> Call[AddedStepCount]:
    """Adds steps to a workflow that runs."""
    args = {**reference(id, tenant), "p_steps": JsonText(dumps(build_steps(build).json))}
    return Call("jobforge_add_steps", args, AddedStepCount.from_row)


def resolve(id: object, tenant: object, step: object, status: object, result: object) -> Call[None]:
    """Ends a step that ended badly in another way, by hand."""
    args = {
        **reference(id, tenant),
        "p_step": check_text(step, "step", BOUNDS["step_path_bytes"]),
        "p_status": check_one_of(status, "status", Resolution),
        "p_result": UNSET if result is UNSET else to_json(result, "result"),
    }
    return Call("jobforge_resolve_step", args, nothing)


def signal(id: object, tenant: object, name: object, payload: object, key: str | None) -> Call[SentSignal]:
    """Sends a signal to a workflow or a job."""
    args = {
        "p_tenant_id": check_tenant(tenant),
        "p_target_id": check_uuid(id, "id"),
        "p_name": check_text(name, "name"),
        "p_payload": UNSET if payload is UNSET else to_json(payload, "payload"),
        "p_key": given(key, "key", check_text),
    }
    return Call("jobforge_send_signal", args, SentSignal.from_row)


def _filter_keys(filters: Mapping[str, Any]) -> dict[str, object]:
    found = {name: value for name, value in filters.items() if value is not None}
    check_known(found, WorkflowFilters.__annotations__, {"limit": "page_size", "tenantid": "tenant"})
    keys: dict[str, object] = _words("status", found.get("status"), WorkflowStatus)
    for name in ("name", "tags"):
        if name in found:
            keys[name] = found[name] if isinstance(found[name], str) else list(found[name])
    if "subject" in found:
        keys["subject"] = check_text(found["subject"], "subject")
    for name in ("created_after", "created_before"):
        if name in found:
            keys[name] = check_time(found[name], name).isoformat()
    return keys


def _words(name: str, value: object, words: Any) -> dict[str, object]:
    """A filter that is one of some words, or several."""
    if value is None:
        return {}
    several = [value] if isinstance(value, str) or not isinstance(value, Sequence) else list(value)
    return {name: [check_one_of(each, name, words) for each in several]}
