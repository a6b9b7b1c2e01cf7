"""Finds where an error comes from: the last frame of its traceback in the application's own code."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .claiming.protocol import RunError

# The number of errors that are looked at: the error, its causes and members.
MAX_ERRORS: Final = 20

_FRAME: Final = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<caller>.+))?$', re.MULTILINE)
_FOREIGN: Final = re.compile(r"[\\/](?:site|dist)-packages[\\/]")
_PACKAGE: Final = str(Path(__file__).resolve().parent.parent) + os.sep
_LIBRARIES: Final = tuple(
    path.rstrip(os.sep) + os.sep for path in {sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"]}
)


def own_frame(error: RunError) -> str | None:
    """The last frame that is neither Python's, nor a dependency's, nor JobForge's, as in `send (tasks/mail.py:12)`.

    Looks into the causes and members if the error itself has no such frame. None if no frame is found.
    """
    found: list[Any] = [error]
    for current in found:
        if not isinstance(current, dict):
            continue
        stack = current.get("stack")
        frame = last_own_frame(stack) if isinstance(stack, str) else None
        if frame is not None:
            return frame
        members = current.get("errors")
        if len(found) < MAX_ERRORS:
            found.extend([current.get("cause"), *(members[:MAX_ERRORS] if isinstance(members, list) else [])])
    return None


def last_own_frame(stack: str) -> str | None:
    """The frame of the application's code that is nearest to the error."""
    for match in reversed(list(_FRAME.finditer(stack))):
        file = match["file"]
        if file.startswith(("<", _PACKAGE, *_LIBRARIES)) or _FOREIGN.search(file):
            continue
        place = f"{_shortened(file)}:{match['line']}"
        return f"{match['caller']} ({place})" if match["caller"] else place
    return None


def _shortened(file: str) -> str:
    """Relative to the working directory if the file is in it, as editors and terminals understand."""
    try:
        relative = os.path.relpath(file)
    except (OSError, ValueError):
        return file
    return file if relative.startswith("..") else relative
