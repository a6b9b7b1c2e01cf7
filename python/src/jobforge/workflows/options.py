"""The options of steps and of starts, and their checks before any round trip, with the bounds of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict

from ..arguments import (
    check_bool,
    check_one_of,
    check_range,
    check_tags,
    check_text,
    check_time,
    check_traceparent,
    milliseconds,
    refuse,
)
from ..suggest import check_known
from ..words import BOUNDS, FailureAction, TimeoutAction
from .step import Need, Step

if TYPE_CHECKING:
    from ..arguments import Duration
    from .template import Template


class StepOptions(TypedDict, total=False):
    """The options of any step. None counts as not given."""

    needs: Sequence[Step[Any] | Need] | None
    """Steps that must be done before, in addition to those to which the input refers."""
    optional: bool | None
    """If true, a bad end of the step does not fail the workflow."""
    cleanup: bool | None
    """If true, the step runs also after a cancel, a deadline or a failure that ends the workflow early."""


class JobStepOptions(StepOptions, total=False):
    """The options of a step that runs a job. Its name is its key, so it has no idempotency key."""

    delay: Duration | None
    """The job starts this long after its needs are done."""
    max_attempts: int | None
    priority: int | None
    tags: Sequence[str] | None
    subject: str | None
    concurrency_key: str | None
    expires_at: datetime | None


class SignalOptions(StepOptions, total=False):
    """The options of a step that waits for a signal."""

    signal: str | None
    """The name of the signal. Default: the name of the step."""
    timeout: Duration | None
    """How long the step waits, counted from when its needs are done. Default: for ever."""
    on_timeout: TimeoutAction | None
    """`fail` (default): the step fails. `continue`: it succeeds with the result `{"timed_out": true}`."""


class StartOptions(TypedDict, total=False):
    """The options of a start, except its tenant. None counts as not given."""

    idempotency_key: str | None
    """There is one workflow per tenant, name and key, until the workflow is forgotten."""
    dedupe_key: str | None
    """There is one running workflow per tenant, name and key."""
    run_at: datetime | None
    """The first steps do not start before this time."""
    deadline: datetime | None
    """A workflow that is not over by then ends as failed, with the reason `deadline`."""
    timeout: Duration | None
    """The deadline as a time span from the start."""
    expires_at: datetime | None
    """Steps without needs do not start after this time."""
    priority: int | None
    """The priority of steps that do not set their own."""
    tags: Sequence[str] | None
    subject: str | None
    on_failure: FailureAction | None
    retention_days: int | None
    traceparent: str | None
    """A W3C trace context header. Default: the active span, if the process has OpenTelemetry."""


_Check = Callable[[object, str], object]


def _iso(value: object, field: str) -> str:
    return check_time(value, field).isoformat()


def _within(name: str) -> _Check:
    return lambda value, field: check_range(value, field, BOUNDS[name])


def _duration(name: str) -> _Check:
    return lambda value, field: milliseconds(value, field, BOUNDS[name])


def _one_of(words: Any) -> _Check:
    return lambda value, field: check_one_of(value, field, words)


_STEP: Final[Mapping[str, tuple[str, _Check]]] = {
    "optional": ("optional", check_bool),
    "cleanup": ("cleanup", check_bool),
}
_JOB_STEP: Final[Mapping[str, tuple[str, _Check]]] = {
    **_STEP,
    "delay": ("delay_ms", _duration("delay_ms")),
    "max_attempts": ("max_attempts", _within("max_attempts")),
    "priority": ("priority", _within("priority")),
    "tags": ("tags", check_tags),
    "subject": ("subject", check_text),
    "concurrency_key": ("concurrency_key", check_text),
    "expires_at": ("expires_at", _iso),
}
_SIGNAL: Final[Mapping[str, tuple[str, _Check]]] = {
    **_STEP,
    "signal": ("name", check_text),
    "timeout": ("timeout_ms", _duration("timeout_ms")),
    "on_timeout": ("on_timeout", _one_of(TimeoutAction)),
}
_START: Final[Mapping[str, tuple[str, _Check]]] = {
    "idempotency_key": ("idempotency_key", check_text),
    "dedupe_key": ("dedupe_key", check_text),
    "run_at": ("run_at", _iso),
    "deadline": ("deadline", _iso),
    "timeout": ("timeout_ms", _duration("timeout_ms")),
    "expires_at": ("expires_at", _iso),
    "priority": ("priority", _within("priority")),
    "tags": ("tags", check_tags),
    "subject": ("subject", check_text),
    "on_failure": ("on_failure", _one_of(FailureAction)),
    "retention_days": ("retention_days", _within("retention_days")),
    "traceparent": ("traceparent", check_traceparent),
}

_NO_KEYS: Final = "The name of a step is its key. Give the key to the workflow: forge.start(workflow, input, …)."
_STEP_ALIASES: Final = {
    "after": "needs",
    "dependson": "needs",
    "delayms": "Did you mean delay? It counts seconds.",
    "timeoutms": "Did you mean timeout? It counts seconds.",
    "retries": "Did you mean max_attempts? It counts all executions: the first one and the retries.",
    "idempotencykey": _NO_KEYS,
    "dedupekey": _NO_KEYS,
}
_START_ALIASES: Final = {
    "tenantid": "tenant",
    "timeoutms": "Did you mean timeout? It counts seconds.",
    "delay": "Did you mean run_at?",
    "retention": "retention_days",
    "maxattempts": "It is an option of a step: w.step(name, job, input, max_attempts=…).",
}


def step_keys(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The options of a sub-workflow under the kernel's keys."""
    return _checked(options, _STEP, f"steps.{name}.", _STEP_ALIASES)


def job_step_keys(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The options of a step that runs a job under the kernel's keys."""
    return _checked(options, _JOB_STEP, f"steps.{name}.", _STEP_ALIASES)


def signal_keys(options: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The options of a signal step under the kernel's keys."""
    keys = _checked(options, _SIGNAL, f"steps.{name}.", _STEP_ALIASES)
    if "on_timeout" in keys and "timeout_ms" not in keys:
        refuse(f"steps.{name}.on_timeout", "has no effect without timeout")
    own = {key: keys.pop(key) for key in ("name", "timeout_ms", "on_timeout") if key in keys}
    return {"signal": own, **keys}


def start_keys(options: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """The options of a start under the kernel's keys. `at` is a prefix for the names of fields in errors."""
    keys = _checked(options, _START, at, _START_ALIASES)
    if "deadline" in keys and "timeout_ms" in keys:
        refuse(f"{at}timeout", "must not be given together with deadline", "Pass one of the two.")
    return keys


def _checked(
    options: Mapping[str, Any], checks: Mapping[str, tuple[str, _Check]], at: str, aliases: Mapping[str, str]
) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value is not None and name != "needs"}
    check_known(given, [*checks, "needs"] if "optional" in checks else checks, aliases, at=at)
    return {checks[name][0]: checks[name][1](value, f"{at}{name}") for name, value in given.items()}


def needs_json(owner: object, name: str, named: object, templates: Sequence[Template]) -> list[Any]:
    """The needs of a step: those that are named, with their policies, and those to which its input refers."""
    field = f"steps.{name}.needs"
    if not isinstance(named, list | tuple):
        refuse(field, "must be a list of steps")
    needs: dict[str, Any] = {}
    for index, each in enumerate(named):
        place = f"{field}[{index}]"
        step = each.step if isinstance(each, Need) else each
        if not isinstance(step, Step):
            refuse(place, "must be a step", "Pass what w.step() returned, or a policy such as run(step).")
        if not step.belongs_to(owner):
            refuse(place, f"must be a step of this list, and {step.name} is not")
        if step.name in needs:
            refuse(place, f"must not repeat {step.name}")
        needs[step.name] = {"step": step.name, "policy": each.policy} if isinstance(each, Need) else step.name
    for target in (each for template in templates for each in template.targets):
        if target.kind == "$result":
            needs.setdefault(target.path[0], target.path[0])
    return list(needs.values())
