"""The handlers of a Django project: of its tasks, and of definitions of JobForge in the same modules."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db import close_old_connections
from django.utils.module_loading import autodiscover_modules

from ..worker.handlers import module_handlers
from .backend import task_handlers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from ..definition import JobHandler


def project_handlers(modules: Iterable[str] = ()) -> list[JobHandler[Any, Any]]:
    """The handlers in the module `tasks` of each installed application, and in further modules."""
    autodiscover_modules("tasks")
    named = [importlib.import_module(name) for name in modules]
    return [*task_handlers(), *_of_definitions([*_task_modules(), *named])]


def _task_modules() -> list[ModuleType]:
    names = [f"{config.name}.tasks" for config in apps.get_app_configs()]
    return [sys.modules[name] for name in names if name in sys.modules]


def _of_definitions(modules: Iterable[ModuleType]) -> list[JobHandler[Any, Any]]:
    """Each handler once, although several modules may import it."""
    found = {id(handler): handler for module in modules for handler in module_handlers(module)}
    return [
        replace(handler, function=_WithConnections(handler.function)) if handler.run_in == "thread" else handler
        for handler in found.values()
    ]


@dataclass(frozen=True, slots=True)
class _WithConnections:
    """Closes database connections of the thread that have become too old, as Django does around each request."""

    function: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        close_old_connections()
        try:
            return self.function(*args)
        finally:
            close_old_connections()
