"""Workflow definitions: `define_workflow`, and `build_workflow` for graphs that are made at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar, cast, overload

from ..arguments import check_callable, check_one_of, check_range, check_text
from ..errors import InvalidArgumentError
from ..jsontext import JsonText, dumps
from ..schema import AnySchema, Schema, schema_of
from ..words import BOUNDS, FailureAction
from .builder import Steps
from .reference import Ref, Target, target_of
from .shape import UNKNOWN, annotation_of
from .start import NewWorkflow
from .step import Step
from .template import read_template

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultedTypeVar

    In = DefaultedTypeVar("In", default=Any)
    Out = DefaultedTypeVar("Out", default=Any)
else:
    In = TypeVar("In")
    Out = TypeVar("Out")

OutputTemplate: TypeAlias = Step[Any] | Ref[Any] | Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class WorkflowGraph:
    """The steps of a workflow and the template of its output, as the kernel reads them."""

    steps: Sequence[Mapping[str, Any]]
    output: Any = None


@dataclass(frozen=True, eq=False)
class WorkflowDefinition(Generic[In, Out]):
    """What `define_workflow` makes of a function."""

    name: str
    input: Schema[In]
    output: Schema[Out]
    graph: WorkflowGraph
    version: str | None = None
    """For people; each run keeps the graph with which it was started."""
    on_failure: FailureAction | None = None
    retention_days: int | None = None

    @cached_property
    def steps_json(self) -> JsonText:
        """The steps as text, which is made once."""
        return JsonText(dumps(self.graph.steps))

    def new(self, input: In) -> NewWorkflow[Out]:
        """One workflow to start, for `forge.workflows.start_many`."""
        return NewWorkflow(self, input)

    def __repr__(self) -> str:
        return f"<WorkflowDefinition {self.name}>"


class WorkflowDecorator(Protocol[In]):
    """What `define_workflow()` returns. The workflow's output is that of the step which the function returns."""

    @overload
    def __call__(self, steps: Callable[[Steps, Ref[In]], Step[Out]], /) -> WorkflowDefinition[In, Out]: ...

    @overload
    def __call__(self, steps: Callable[[Steps, Ref[In]], Ref[Out]], /) -> WorkflowDefinition[In, Out]: ...

    @overload
    def __call__(
        self, steps: Callable[[Steps, Ref[In]], Mapping[str, Any]], /
    ) -> WorkflowDefinition[In, dict[str, Any]]: ...

    @overload
    def __call__(self, steps: Callable[[Steps, Ref[In]], None], /) -> WorkflowDefinition[In, None]: ...


def define_workflow(
    name: str,
    *,
    input: type[In] | Schema[In] | None = None,
    version: str | None = None,
    on_failure: FailureAction | None = None,
    retention_days: int | None = None,
) -> WorkflowDecorator[In]:
    """Makes a workflow of the function below: steps that need each other.

    The function gets the list of steps `w` and a reference to the input. It is called once, when the workflow is
    defined, and returns the output of the workflow: a step, a reference, a dict of references, or None. A misspelled
    field, a missing input or a step of another workflow raises an InvalidArgumentError then.

    - `name`: the name of the workflow, such as `call.process`.
    - `input`: a Pydantic model, a dataclass or another type. Without one, any JSON.
    - `version`: for people; each run keeps the graph with which it was started.
    - `on_failure`: `finish` (default): after a failure the other steps go on. `cancel`: nothing more starts.
    """
    check_text(name, "name", BOUNDS["workflow_name_bytes"])
    schema = schema_of(input, "input")
    if version is not None:
        check_text(version, "version", BOUNDS["app_bytes"])
    if on_failure is not None:
        check_one_of(on_failure, "on_failure", FailureAction)
    if retention_days is not None:
        check_range(retention_days, "retention_days", BOUNDS["retention_days"])

    def decorate(steps: Callable[[Steps, Ref[Any]], OutputTemplate]) -> WorkflowDefinition[Any, Any]:
        check_callable(steps, "steps", "Write @define_workflow(name) above a function (w, input).")
        if iscoroutinefunction(steps):
            raise InvalidArgumentError("Invalid argument: steps must not be an async function", field="steps")
        w = Steps()
        returned = steps(w, Ref(Target("$input", w, (), annotation_of(schema))))
        graph = _graph_of(w, returned)
        output = _output_schema(returned)
        return WorkflowDefinition(name, schema, output, graph, version, on_failure, retention_days)

    return cast("WorkflowDecorator[In]", decorate)


def build_workflow(
    name: str,
    steps: Callable[[Steps], OutputTemplate],
    *,
    version: str | None = None,
    on_failure: FailureAction | None = None,
    retention_days: int | None = None,
) -> WorkflowDefinition[Any, Any]:
    """Builds a workflow whose steps are computed, such as one for each file of a list.

    It is started like a definition, with an empty input: `forge.start(build_workflow("import", steps), {}, tenant=…)`.
    """
    check_callable(steps, "steps", "Pass a function that makes the steps: def steps(w): …")
    decorate: Any = define_workflow(name, version=version, on_failure=on_failure, retention_days=retention_days)
    made: WorkflowDefinition[Any, Any] = decorate(lambda w, _input: steps(w))
    return made


def _graph_of(w: Steps, returned: OutputTemplate) -> WorkflowGraph:
    if not w.json:
        hint = 'Add steps: w.step("name", job, input).'
        raise InvalidArgumentError("Invalid argument: a workflow needs at least one step", field="steps", hint=hint)
    if returned is None:
        return WorkflowGraph(w.json)
    template = returned.result if isinstance(returned, Step) else returned
    return WorkflowGraph(w.json, read_template(template, w, "output").json)


def _output_schema(returned: OutputTemplate) -> Schema[Any]:
    """Reads the output as the type of what it refers to, if that is known."""
    target = target_of(returned.result if isinstance(returned, Step) else returned)
    if target is None or target.annotation is UNKNOWN or isinstance(target.annotation, Schema):
        return AnySchema()
    return schema_of(target.annotation, "output")
