"""Notices that a loaded module has changed, by the times of its file. No package is needed for it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The exit code of a worker that ends because a file has changed.
CHANGED: Final = 64
_EVERY: Final = 0.3
_SKIPPED: Final = frozenset(("site-packages", "dist-packages", "node_modules", "__pycache__"))


def loaded_files() -> set[str]:
    """The files of the application's own modules: those below the working directory."""
    root = os.getcwd() + os.sep
    found: set[str] = set()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(root) and not _SKIPPED.intersection(Path(file).parts):
            found.add(file)
    return found


def files_below(folder: str) -> set[str]:
    """The Python files of a folder, for a worker that could not be loaded."""
    found: set[str] = set()
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        found.update(os.path.join(path, name) for name in files if name.endswith(".py"))
    return found


def times_of(files: Iterable[str]) -> dict[str, int]:
    """When each file was changed last; 0 for a file that is gone."""
    times: dict[str, int] = {}
    for file in files:
        try:
            times[file] = os.stat(file).st_mtime_ns
        except OSError:
            times[file] = 0
    return times


def changed_file(before: Mapping[str, int]) -> str | None:
    """The first file that has changed since."""
    now = times_of(before)
    return next((file for file, changed_at in before.items() if now[file] != changed_at), None)


async def until_changed() -> str:
    """Waits until a loaded file has changed, and returns its name. Modules may be loaded meanwhile."""
    times: dict[str, int] = {}
    while True:
        times.update(times_of(loaded_files() - times.keys()))
        found = changed_file(times)
        if found is not None:
            return found
        await asyncio.sleep(_EVERY)


def wait_for_change(folder: str, is_over: list[bool]) -> None:
    """Waits until a file below the folder has changed, or was added, or until the list is not empty."""
    before = times_of(files_below(folder))
    while not is_over:
        time.sleep(_EVERY)
        now = times_of(files_below(folder))
        if now != before:
            return
