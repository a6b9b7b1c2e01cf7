"""Loads the modules with handlers that a command names."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from ..arguments import refuse
from ..errors import InvalidArgumentError
from ..worker.handlers import handlers_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from ..definition import JobHandler


def load_handlers(modules: Sequence[str]) -> list[JobHandler[Any, Any]]:
    """Imports modules such as `app.tasks`, from the working directory too, and returns their handlers."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return handlers_of([_module(name) for name in modules])


def of_types(handlers: list[JobHandler[Any, Any]], types: Sequence[str] | None) -> list[JobHandler[Any, Any]]:
    """The handlers of these types; None: all."""
    if types is None:
        return handlers
    known = {handler.definition.type for handler in handlers}
    for type in types:
        if type not in known:
            refuse("--types", f"names {type}, which has no handler", f"There are: {', '.join(sorted(known))}.")
    return [handler for handler in handlers if handler.definition.type in types]


def _module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        plain = name.partition(":")[0].removesuffix(".py").replace(os.sep, "/").strip("./").replace("/", ".")
        hint = f"Write {plain}." if all(part.isidentifier() for part in plain.split(".")) else None
        refuse("MODULE", f"must be the name of a module, such as app.tasks, not {name!r}", hint)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # What the module itself does not find is reported with its traceback.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        package = name.split(".", maxsplit=1)[0]
        hint = f"Run the command in the folder that contains {package}. This one is {os.getcwd()}."
        raise InvalidArgumentError(f"There is no module {error.name}", field="MODULE", hint=hint) from None
