"""Finds handlers: in modules, in lists, and in the functions that `@job` has made jobs of."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any, TypeAlias

from ..arguments import refuse
from ..definition import JobDefinition, JobHandler
from ..function_job import FunctionJob

HandlerSource: TypeAlias = JobHandler[Any, Any] | FunctionJob[Any, Any] | ModuleType
"""A handler, a function that `@job` has made a job of, or a module that has them."""

_HINT = "Pass a module with handlers, what @definition.handler returns, or what @job(…) returns."


def handlers_of(sources: HandlerSource | Iterable[HandlerSource]) -> list[JobHandler[Any, Any]]:
    """The handlers, each once. Raises an InvalidArgumentError that names what is not a handler."""
    if isinstance(sources, JobHandler | FunctionJob | ModuleType):
        sources = [sources]
    if isinstance(sources, str | bytes) or not isinstance(sources, Iterable):
        refuse("handlers", "must be a list of handlers or modules", _HINT)
    found: dict[int, JobHandler[Any, Any]] = {}
    for place, source in enumerate(sources):
        for handler in _handlers_in(source, f"handlers[{place}]"):
            found[id(handler)] = handler
    handlers = list(found.values())
    _refuse_doubles(handlers)
    return handlers


def _handlers_in(source: object, field: str) -> list[JobHandler[Any, Any]]:
    if isinstance(source, JobHandler):
        return [source]
    if isinstance(source, FunctionJob):
        return [source.handler]
    if isinstance(source, ModuleType):
        handlers = module_handlers(source)
        if not handlers:
            refuse(field, f"has no handlers: the module {source.__name__} defines none", _HINT)
        return handlers
    if isinstance(source, JobDefinition):
        hint = f"Bind a function to it: write @….handler above the handler of {source.type}."
        refuse(field, "is a definition without a handler", hint)
    if callable(source):
        refuse(field, "is a function without a definition", "Write @definition.handler or @job(type) above it.")
    return refuse(field, "must be a handler or a module with handlers", _HINT)


def module_handlers(module: ModuleType) -> list[JobHandler[Any, Any]]:
    """The handlers among the names of a module, also those that it imports."""
    found: dict[int, JobHandler[Any, Any]] = {}
    for value in list(vars(module).values()):
        if isinstance(value, JobHandler | FunctionJob):
            handler = value.handler if isinstance(value, FunctionJob) else value
            found[id(handler)] = handler
    return list(found.values())


def _refuse_doubles(handlers: Iterable[JobHandler[Any, Any]]) -> None:
    seen: set[str] = set()
    for handler in handlers:
        type = handler.definition.type
        if type in seen:
            refuse("handlers", f'has two handlers of the type "{type}"')
        seen.add(type)
