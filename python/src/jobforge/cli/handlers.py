"""Loads the modules with handlers that a command names."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from ..arguments import refuse
from ..worker.handlers import handlers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..definition import JobHandler


def load_handlers(modules: Sequence[str], types: Sequence[str] | None) -> list[JobHandler[Any, Any]]:
    """Imports modules such as `app.tasks`, from the working directory too, and returns their handlers."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    handlers = handlers_of([importlib.import_module(name) for name in modules])
    if types is None:
        return handlers
    known = {handler.definition.type for handler in handlers}
    for type in types:
        if type not in known:
            refuse("--types", f"names {type}, which has no handler", f"There are: {', '.join(sorted(known))}.")
    return [handler for handler in handlers if handler.definition.type in types]
