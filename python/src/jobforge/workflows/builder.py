"""Builds a list of steps: of a workflow, or of a sub-workflow."""

from __future__ import annotations

import re
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from ..arguments import check_callable, refuse
from ..errors import InvalidArgumentError
from ..jsontext import form_to_json
from ..losses import json_form
from ..operations.prepare import check_payload, definition_of
from ..schema import schema_of
from ..words import BOUNDS
from .options import job_step_keys, needs_json, signal_keys, step_keys
from .reference import Ref, Target, target_of
from .shape import UNKNOWN, annotation_of, item_of
from .step import MapStep, Step
from .template import Template, check_fields, read_template

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from typing_extensions import Unpack

    from ..definition import JobDefinition
    from ..function_job import FunctionJob
    from .definition import WorkflowDefinition
    from .options import JobStepOptions, SignalOptions, StepOptions

In = TypeVar("In")
Out = TypeVar("Out")

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:@-]*")


class Steps:
    """The argument `w` of the function that defines a workflow.

    A step may need steps that were made before it, so a workflow has no cycles.
    """

    def __init__(self) -> None:
        self._steps: list[dict[str, Any]] = []
        self._names: set[str] = set()

    @property
    def json(self) -> Sequence[Mapping[str, Any]]:
        """The steps so far, as the kernel reads them."""
        return self._steps

    def step(
        self,
        name: str,
        job: JobDefinition[Any, Out] | FunctionJob[..., Out],
        input: object,
        **options: Unpack[JobStepOptions],
    ) -> Step[Out]:
        """A step that runs a job.

        Its input is the input of the job, in which any part may be a reference, such as `audio.result.path`. The step
        needs the steps to which its input refers, and those in `needs`.
        """
        definition = definition_of(job, f"steps.{name}.")
        template = self._job_template(name, definition, input)
        self._add(name, _job_keys(definition, input, template, options, name), [template], options)
        return Step(self, name, annotation_of(definition.output))

    @overload
    def map(
        self,
        name: str,
        job: JobDefinition[In, Out],
        over: Ref[Sequence[In]] | Sequence[In] | Ref[Any],
        each: None = None,
        **options: Unpack[JobStepOptions],
    ) -> MapStep[Out]: ...

    @overload
    def map(
        self,
        name: str,
        job: JobDefinition[Any, Out] | FunctionJob[..., Out],
        over: Ref[Any] | Sequence[Any],
        each: Callable[[Ref[Any], Ref[int]], object],
        **options: Unpack[JobStepOptions],
    ) -> MapStep[Out]: ...

    def map(
        self,
        name: str,
        job: Any,
        over: Any,
        each: Callable[[Ref[Any], Ref[int]], object] | None = None,
        **options: Unpack[JobStepOptions],
    ) -> MapStep[Any]:
        """A step with one job for each item of a list, in the order of the list.

        The list is one of Python, or a reference to one, such as the result of a step. `each` makes the input of a job
        from its item and its index; without it, the item is the input.
        """
        definition = definition_of(job, f"steps.{name}.")
        if each is not None:
            check_callable(each, f"steps.{name}.each", "Pass a function: lambda item, index: {…}.")
        listed = target_of(over)
        item: Ref[Any] = Ref(Target("$item", self, (), UNKNOWN if listed is None else item_of(listed.annotation)))
        index: Ref[int] = Ref(Target("$index", self, (), int))
        input = item if each is None else each(item, index)
        template = self._job_template(name, definition, input)
        items = self._list_template(name, over)
        keys = _job_keys(definition, input, template, options, name)
        self._add(name, {**keys, "map": {"over": items.json}}, [template, items], options)
        return MapStep(self, name)

    def signal(self, name: str, payload: type[Out] | None = None, **options: Unpack[SignalOptions]) -> Step[Out]:
        """A step that waits for a signal, such as an approval.

        `payload` is the type of the signal's payload, which is the result of the step. The time for `timeout` begins
        when the needs of the step are done.
        """
        schema = schema_of(payload, f"steps.{name}.payload")
        self._add(name, signal_keys(options, name), [], options)
        # A signal that did not arrive in time leaves another result.
        annotation = UNKNOWN if options.get("on_timeout") == "continue" else annotation_of(schema)
        return Step(self, name, annotation)

    def workflow(
        self, name: str, workflow: WorkflowDefinition[Any, Out], input: object, **options: Unpack[StepOptions]
    ) -> Step[Out]:
        """A step that runs the steps of another workflow as a part of this one. Its result is that one's output."""
        graph = getattr(workflow, "graph", None)
        if graph is None:
            refuse(f"steps.{name}.workflow", "must be a workflow", "Pass what @define_workflow() made.")
        keys = step_keys(options, name)
        template = read_template(input, self, f"steps.{name}.input")
        if not template.targets:
            workflow.input.load(workflow.input.dump(input, f"steps.{name}.input"), f"steps.{name}.input")
        else:
            check_fields(input, annotation_of(workflow.input), f"steps.{name}.input")
        output = {} if graph.output is None else {"output": graph.output}
        self._add(name, {"payload": template.json, "steps": graph.steps, **output, **keys}, [template], options)
        return Step(self, name, annotation_of(workflow.output))

    def _job_template(self, name: str, definition: JobDefinition[Any, Any], input: object) -> Template:
        field = f"steps.{name}.input"
        template = read_template(input, self, field)
        if not template.targets:
            check_payload(definition, input, field)
            # As the definition writes it, with keys that look like references marked.
            return read_template(definition.input.dump(input, field), self, field)
        check_fields(input, annotation_of(definition.input), field)
        form_to_json(template.json, field)
        return template

    def _list_template(self, name: str, over: object) -> Template:
        field = f"steps.{name}.over"
        if target_of(over) is not None:
            return read_template(over, self, field)
        if not isinstance(over, list | tuple):
            refuse(field, "must be a list, or a reference to one")
        if read_template(over, self, field).targets:
            refuse(field, "must not have references in a list", "Map over the result of a step that returns the list.")
        return Template(json_form(over, field), ())

    def _add(
        self, name: str, keys: Mapping[str, Any], templates: Sequence[Template], options: Mapping[str, Any]
    ) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > BOUNDS["step_name_bytes"].max:
            rule = "must have 1 to 200 letters, digits and _ : @ -, and begin with a letter, a digit or _"
            refuse(f"steps.{name}.name", rule)
        if name in self._names:
            raise InvalidArgumentError(
                f"Invalid argument: there are two steps with the name {name}",
                field=f"steps.{name}",
                hint="Give each step of a list its own name.",
            )
        needs = needs_json(self, name, options.get("needs") or (), templates)
        self._names.add(name)
        self._steps.append({"name": name, **keys, **({"needs": needs} if needs else {})})


class AddedSteps(Steps):
    """Steps that are added to a workflow that runs. They may need steps that it has."""

    def existing(self, name: str) -> Step[Any]:
        """A step that exists: of the same workflow or, in a handler, one that its step has added before."""
        return Step(self, name)


def build_steps(build: Callable[[AddedSteps], object], w: AddedSteps | None = None) -> AddedSteps:
    """The steps that a function adds. Raises an InvalidArgumentError if it adds none."""
    check_callable(build, "steps", "Pass a function that makes the steps: def steps(w): …")
    w = AddedSteps() if w is None else w
    before = len(w.json)
    if iscoroutinefunction(build):
        refuse("steps", "must not be an async function")
    build(w)
    if len(w.json) == before:
        refuse("steps", "must add at least one step", 'Write w.step("name", job, input).')
    return w


def _job_keys(
    definition: JobDefinition[Any, Any], input: object, template: Template, options: Mapping[str, Any], name: str
) -> dict[str, Any]:
    """The keys of a step that runs a job, with what its definition says."""
    keys = job_step_keys(options, name)
    if definition.tags is not None:
        keys["tags"] = list(dict.fromkeys((*definition.tags, *keys.get("tags", ()))))
    if definition.retry is not None and definition.retry.max_attempts is not None:
        keys.setdefault("max_attempts", definition.retry.max_attempts)
    if definition.priority is not None:
        keys.setdefault("priority", definition.priority)
    # The subject of an input that has references is not known yet.
    if definition.subject is not None and not template.targets and "subject" not in keys:
        _, checked = check_payload(definition, input, f"steps.{name}.input")
        subject = definition.subject(checked)
        if subject is not None:
            keys["subject"] = subject
    return {"type": definition.type, "payload": template.json, **keys}
