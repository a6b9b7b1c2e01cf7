"""What a process inherits by a fork and must not use: its parent's connections, and locks that other threads held.

Servers such as gunicorn with `--preload` may open a client and fork afterwards. Parent and child would read each
other's responses if both used the same connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final, Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something with connections, threads or locks."""

    def begin_anew(self) -> None:
        """Forgets everything that belongs to the parent. Called in the child."""
        ...


_all: Final[WeakSet[Forkable]] = WeakSet()
_kept: Final[list[object]] = []


def renew_after_fork(each: Forkable) -> None:
    """Has it begin anew in every child of this process."""
    _all.add(each)


def keep_unused(connections: Iterable[object]) -> None:
    """Keeps connections of the parent as they are. To close one would tell the server to end the parent's session."""
    _kept.extend(connections)


def _in_child() -> None:
    for each in list(_all):
        each.begin_anew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
