"""Checks that another process can find a handler."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...arguments import refuse
from ..handlers import module_handlers

if TYPE_CHECKING:
    from ...definition import JobHandler


def module_of(handler: JobHandler[Any, Any]) -> str:
    """The name of the module in which another process finds the handler. `@job` wraps the application's function."""
    function = handler.function
    name: str = getattr(function, "function", function).__module__
    return name


def check_process_handler(handler: JobHandler[Any, Any], field: str) -> None:
    """Refuses a handler that another process could not find."""
    name = module_of(handler)
    module = sys.modules.get(name)
    is_found = module is not None and any(each is handler for each in module_handlers(module))
    if name == "__main__" or not is_found:
        hint = "Write the handler at the top level of a module that can be imported, not in the script itself."
        refuse(field, f"is run in a process, which cannot import it from {name}", hint)
