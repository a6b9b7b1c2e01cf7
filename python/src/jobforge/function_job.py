"""A job from one function: the definition and its handler at once.

The payload is an object with the function's arguments, so that other languages can enqueue it, too.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, make_dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    get_type_hints,
    overload,
)

from .arguments import check_type, refuse
from .definition import JobDefinition, JobHandler, NewJob, RunIn, define_job
from .errors import InvalidArgumentError
from .schema import Schema, schema_of
from .words import UNSET

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from .arguments import Duration
    from .context import JobContext
    from .retry import RetryPolicy
    from .words import DedupeMode, KeepLogs, RetryPreset, Unset

P = ParamSpec("P")
Out = TypeVar("Out")


@dataclass(frozen=True, slots=True, eq=False)
class FunctionJob(Generic[P, Out]):
    """What `@job(type)` makes of a function. `new` takes the function's arguments, without the context."""

    definition: JobDefinition[Any, Out]
    handler: JobHandler[Any, Out]
    function: Callable[..., Any]
    signature: inspect.Signature

    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewJob[Out]:
        """One job to enqueue, with these arguments."""
        return NewJob(self.definition, bound_arguments(self.signature, args, kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function itself, for tests."""
        return self.function(*args, **kwargs)


def job(
    type: str,
    *,
    run_in: RunIn | None = None,
    retry: RetryPreset | RetryPolicy | None = None,
    timeout: Duration | None | Unset = UNSET,
    lease: Duration | None = None,
    priority: int | None = None,
    max_priority: int | None = None,
    audit_action: str | None = None,
    keep_history: bool | None = None,
    keep_logs: KeepLogs | None = None,
    retention_days: int | None = None,
    redact: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    dedupe: Callable[[Mapping[str, Any]], str | None] | None = None,
    dedupe_mode: DedupeMode | None = None,
    subject: Callable[[Mapping[str, Any]], str | None] | None = None,
) -> FunctionDecorator:
    """Makes a job of a function whose first parameter is the context: `@job("report.build", timeout=600)`.

    The options are those of `define_job`. `dedupe` and `subject` get the arguments as a dict.
    """
    if callable(type):
        refuse("type", "is missing: @job needs the name of the type", 'Write @job("report.build") above the function.')
    check_type(type)

    def decorate(function: Callable[..., Any]) -> FunctionJob[..., Any]:
        hints = get_type_hints(function)
        signature = _without_context(function, hints)
        definition: JobDefinition[Any, Any] = define_job(
            type,
            input=ArgumentsSchema(signature, hints),
            output=schema_of(hints.get("return"), "return"),
            retry=retry,
            timeout=timeout,
            lease=lease,
            priority=priority,
            max_priority=max_priority,
            audit_action=audit_action,
            keep_history=keep_history,
            keep_logs=keep_logs,
            retention_days=retention_days,
            redact=redact,
            tags=tags,
            dedupe=dedupe,
            dedupe_mode=dedupe_mode,
            subject=subject,
        )
        handler = definition.handler_in(run_in)(_taking_input(function))
        return FunctionJob(definition, handler, function, signature)

    return cast("FunctionDecorator", decorate)


class FunctionDecorator(Protocol):
    """What `job()` returns. The result of an `async def` is what it returns when it is awaited."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext[Any], P], Coroutine[Any, Any, Out]], /
    ) -> FunctionJob[P, Out]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[JobContext[Any], P], Out], /) -> FunctionJob[P, Out]: ...


@dataclass(frozen=True, slots=True)
class _TakingInput:
    """A handler that calls a function with its arguments. A class, so that it can be sent to another process."""

    function: Callable[..., Any]

    def __call__(self, arguments: Mapping[str, Any], context: JobContext[Any]) -> Any:
        return self.function(context, **arguments)


@dataclass(frozen=True, slots=True)
class _AwaitingInput:
    """The same for an `async def`."""

    function: Callable[..., Any]

    async def __call__(self, arguments: Mapping[str, Any], context: JobContext[Any]) -> Any:
        return await self.function(context, **arguments)


def _taking_input(function: Callable[..., Any]) -> Callable[[Any, JobContext[Any]], Any]:
    return _AwaitingInput(function) if inspect.iscoroutinefunction(function) else _TakingInput(function)


def _without_context(function: Callable[..., object], hints: Mapping[str, Any]) -> inspect.Signature:
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not parameters or parameters[0].kind not in kinds or _is_payload(hints.get(parameters[0].name)):
        refuse("function", "must take the JobContext as its first parameter", "def build(job: JobContext, …): …")
    for each in parameters[1:]:
        if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL, each.VAR_KEYWORD):
            refuse("function", f"must not have the parameter {each}", "The payload has each argument by its name.")
    return signature.replace(parameters=parameters[1:])


def _is_payload(annotation: Any) -> bool:
    """Whether a value of this type is read from JSON, so that it cannot be meant for the context."""
    if annotation in (None, Any, object):
        return False
    try:
        schema_of(annotation, "function")
    except InvalidArgumentError:
        return False
    return True


def bound_arguments(signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name. Raises a TypeError as the call itself would."""
    return dict(signature.bind(*args, **kwargs).arguments)


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """A parameter of a function, as its payload has it."""

    name: str
    annotation: Any
    is_required: bool


class ArgumentsSchema(Schema[dict[str, Any]]):
    """The arguments of a function as a payload."""

    def __init__(self, signature: inspect.Signature, hints: Mapping[str, Any]) -> None:
        self._parameters = [
            FunctionParameter(each.name, hints.get(each.name, Any), each.default is each.empty)
            for each in signature.parameters.values()
        ]
        self._parts = {name: schema_of(hints.get(name), f"input.{name}") for name in signature.parameters}
        required = [each.name for each in signature.parameters.values() if each.default is each.empty]
        optional = [name for name in signature.parameters if name not in required]
        # Reads the object itself, and says which arguments are missing.
        made = make_dataclass(
            "Arguments", [*((name, Any) for name in required), *((name, Any, None) for name in optional)]
        )
        self._object = schema_of(made, "input")

    def parameters(self) -> Sequence[FunctionParameter]:
        """The parameters in their order."""
        return self._parameters

    def load(self, form: object, field: str) -> dict[str, Any]:
        self._object.load(form, field)
        given = form if isinstance(form, dict) else {}
        parts = self._parts.items()
        return {name: part.load(given[name], f"{field}.{name}") for name, part in parts if name in given}
