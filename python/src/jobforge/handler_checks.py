"""Checks that a handler can be called as the worker calls it, so that a mistake is found when the program starts."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, get_origin

from .arguments import refuse

if TYPE_CHECKING:
    from collections.abc import Callable

_HANDLER = "Write async def send(input, job: JobContext), or the same with def."
_BATCH = "Write async def send(items): each item has its input and its context, item.input and item.job."


def check_handler(function: Callable[..., Any], *, is_batch: bool) -> None:
    """Refuses a function whose parameters do not fit, and one that yields instead of returning."""
    routine = function if inspect.isroutine(function) else type(function).__call__
    if inspect.isasyncgenfunction(routine) or inspect.isgeneratorfunction(routine):
        refuse("function", "must not yield: a handler returns its result", "Return a list, or report with progress().")
    parameters = _parameters(function)
    if parameters is None:
        return
    if parameters and not is_batch and names_context(parameters[0].annotation):
        hint = "The context is the first parameter in functions of @job(type) only."
        refuse("function", "must take the input first, and the JobContext second", hint)
    if not _fit(parameters, 1 if is_batch else 2):
        what = "one list of items" if is_batch else "two arguments, the input and the JobContext"
        refuse("function", f"must take {what}", _BATCH if is_batch else _HANDLER)


def names_context(annotation: object) -> bool:
    """Whether an annotation is the JobContext, also as the text that `from __future__ import annotations` leaves."""
    if isinstance(annotation, str):
        name = annotation.partition("[")[0].rpartition(".")[2]
    else:
        name = getattr(get_origin(annotation) or annotation, "__name__", "")
    return name.strip() == "JobContext"


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """None for a function that does not tell, such as one that is written in C.

    A decorator may pass more arguments to what it wraps, so only its own parameters count.
    """
    try:
        return list(inspect.signature(function, follow_wrapped=False).parameters.values())
    except (TypeError, ValueError):
        return None


def _fit(parameters: list[inspect.Parameter], count: int) -> bool:
    try:
        inspect.Signature(parameters).bind(*range(count))
    except TypeError:
        return False
    return True
