"""Sockets of connections that belong to a driver or to http.client."""

from __future__ import annotations

import contextlib
import os
import select
import socket


def shut_down(descriptor: int) -> None:
    """Ends both directions of a connection, so that a wait on it fails at once. Any thread may call this."""
    with contextlib.suppress(OSError):
        duplicate = socket.socket(fileno=os.dup(descriptor))
        with contextlib.closing(duplicate), contextlib.suppress(OSError):
            duplicate.shutdown(socket.SHUT_RDWR)


def has_input(descriptor: int) -> bool:
    """Whether an idle connection has something to read, which means that the other side has ended it."""
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):
        return True
