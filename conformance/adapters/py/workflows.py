"""Workflows from a scenario's data."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from jobforge import Ref, Step, Steps, compensate, define_workflow, run, wait

from .calls import invoke
from .definitions import definition_of
from .names import to_options

if TYPE_CHECKING:
    from jobforge import AsyncJobForge, JobForge, WorkflowDefinition

_POLICIES = {"run": run, "wait": wait, "compensate": compensate}


async def start(forge: AsyncJobForge | JobForge, args: dict[str, Any]) -> dict[str, Any]:
    definition = workflow_of(args.pop("workflow"), args.pop("definitions", None))
    args.pop("handlers", None)
    handle = await invoke(forge.start, definition, args.pop("input"), **to_options(args))
    return {"id": handle.id, "outcome": handle.outcome, "status": handle.status, "step_ids": dict(handle.step_ids)}


def workflow_of(data: dict[str, Any], definitions: dict[str, Any] | None) -> WorkflowDefinition[Any, Any]:
    @define_workflow(data["name"])
    def workflow(w: Steps, input: Ref[Any]) -> Any:
        return add_all(w, data["steps"], input, definitions).get(data.get("output", ""))

    return workflow


def add_all(
    w: Steps, steps: list[dict[str, Any]], input: Any, definitions: dict[str, Any] | None
) -> dict[str, Step[Any]]:
    """Adds steps to a list, and returns them by name."""
    made: dict[str, Step[Any]] = {}
    for step in steps:
        made[step["name"]] = _add_step(w, step, made, input, definitions)
    return made


def _add_step(
    w: Steps, step: dict[str, Any], made: dict[str, Step[Any]], input: Any, definitions: dict[str, Any] | None
) -> Step[Any]:
    needs = [
        made[need] if isinstance(need, str) else _POLICIES[need["policy"]](made[need["step"]])
        for need in step.get("needs", ())
    ]
    scope: dict[str, Any] = {"input": input, **{name: each.result for name, each in made.items()}}
    if "signal" in step:
        return w.signal(step["name"], needs=needs, **to_options(step["signal"]))
    job = definition_of(step["type"], definitions)
    if "map" not in step:
        return w.step(step["name"], job, _filled(step["input"], scope), needs=needs)
    each = partial(_item_input, step["input"], scope)
    return w.map(step["name"], job, _filled(step["map"], scope), each, needs=needs)


def _item_input(input: Any, scope: dict[str, Any], item: Ref[Any], index: Ref[int]) -> Any:
    return _filled(input, {**scope, "item": item, "index": index})


def _filled(value: Any, scope: dict[str, Any]) -> Any:
    """Replaces texts such as `result:a.n`, `input:doc`, `item` and `index` by references."""
    if isinstance(value, dict):
        return {key: _filled(each, scope) for key, each in value.items()}
    if not isinstance(value, str):
        return value
    if value in ("item", "index"):
        return scope[value]
    found = re.fullmatch(r"(result|input):(.*)", value)
    if found is None:
        return value
    keys = found[2].split(".")
    at = scope["input"] if found[1] == "input" else scope[keys.pop(0)]
    for key in keys:
        at = at[key]
    return at
