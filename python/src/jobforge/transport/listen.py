"""LISTEN on a connection of its own, in a thread of its own.

A NOTIFY that must arrive proves that it works. The connection is checked regularly and replaced when it is lost, with
growing and jittered waits. Between `down` and `up`, notifications may have been missed.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import threading
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import psycopg

from ..error_mapping import from_driver_error
from ..errors import ConnectionError, JobForgeError
from .base import ListenEvents
from .sockets import shut_down

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .base import AsyncListener, ListenState
    from .driver import PostgresOptions

_LONGEST_WAIT: Final = 10.0


@dataclass(frozen=True, slots=True)
class ListenTiming:
    """How often an idle connection is checked, and how long the server may take to respond, in seconds."""

    check_every: float = 60.0
    respond_within: float = 10.0


def listen(
    options: PostgresOptions, channels: Sequence[str], events: ListenEvents, timing: ListenTiming | None = None
) -> ThreadListener:
    """Starts to listen, and returns after the first try to connect."""
    listener = ThreadListener(options, channels, events, timing or ListenTiming())
    listener.start()
    return listener


class ThreadListener:
    """A subscription. Its events are called from its thread."""

    def __init__(
        self, options: PostgresOptions, channels: Sequence[str], events: ListenEvents, timing: ListenTiming
    ) -> None:
        self._options = options
        self._channels = list(channels)
        self._events = events
        self._timing = timing
        self._tried = threading.Event()
        self._closing = threading.Event()
        self._connection: psycopg.Connection[Any] | None = None
        self._failures = 0
        self._thread = threading.Thread(target=self._keep_listening, name="jobforge-listen", daemon=True)

    def start(self) -> None:
        """Starts the thread, and waits for its first try."""
        self._thread.start()
        self._tried.wait()

    def close(self) -> None:
        """Ends the subscription."""
        self.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=self._timing.respond_within)

    def stop(self) -> None:
        """Tells the thread to end, and does not wait for it."""
        self._closing.set()
        connection = self._connection
        if connection is not None:
            with suppress(psycopg.Error):
                shut_down(connection.fileno())

    def _keep_listening(self) -> None:
        while not self._closing.is_set():
            error = self._listen_once()
            if self._closing.is_set():
                break
            # Only the first failure of an outage is reported.
            if self._failures == 0:
                self._events.on_state("down", error)
            self._tried.set()
            longest = min(_LONGEST_WAIT, 0.1 * 2**self._failures)
            self._failures += 1
            self._closing.wait(longest * (0.5 + random.random() / 2))  # noqa: S311 - jitter
        self._tried.set()

    def _listen_once(self) -> JobForgeError:
        """Uses one connection, from the attempt to connect until its loss. Returns why it was lost."""
        try:
            with psycopg.Connection.connect(**self._options.arguments()) as connection:
                self._connection = connection
                self._prove(connection)
                self._failures = 0
                self._events.on_state("up", None)
                self._tried.set()
                while not self._closing.is_set():
                    for notify in connection.notifies(timeout=self._timing.check_every):
                        self._events.on_notification(notify.channel, notify.payload)
                    self._check(connection)
            return ConnectionError("closed")
        except (psycopg.Error, JobForgeError) as error:
            return from_driver_error(error)
        finally:
            self._connection = None

    def _prove(self, connection: psycopg.Connection[Any]) -> None:
        proof = f"jobforge_proof_{secrets.token_hex(8)}"
        for channel in (*self._channels, proof):
            connection.execute(f"listen {_quoted(channel)}".encode())
        self._notify_from_elsewhere(proof)
        end = monotonic() + self._timing.respond_within
        while monotonic() < end and not self._closing.is_set():
            # The generator holds the connection's lock, so nothing else is executed inside of the loop.
            received = list(connection.notifies(timeout=max(0.0, end - monotonic()), stop_after=1))
            for notify in received:
                if notify.channel != proof:
                    self._events.on_notification(notify.channel, notify.payload)
            if any(notify.channel == proof for notify in received):
                connection.execute(f"unlisten {_quoted(proof)}".encode())
                return
        raise ConnectionError("NOTIFY did not arrive: it needs a session and no transaction-mode pooler")

    def _notify_from_elsewhere(self, channel: str) -> None:
        """Behind a pooler that shares sessions, LISTEN works, and so does a NOTIFY from the same connection, but
        notifications from other connections never arrive."""
        with psycopg.Connection.connect(**self._options.arguments()) as another:
            another.execute(f"notify {_quoted(channel)}".encode())

    def _check(self, connection: psycopg.Connection[Any]) -> None:
        timer = threading.Timer(self._timing.respond_within, lambda: shut_down(connection.fileno()))
        timer.daemon = True
        timer.start()
        try:
            connection.execute(b"select")
        finally:
            timer.cancel()


async def listen_on_loop(
    options: PostgresOptions, channels: Sequence[str], events: ListenEvents, timing: ListenTiming | None = None
) -> AsyncListener:
    """A listener whose events are called on the running loop. It listens in a thread."""
    loop = asyncio.get_running_loop()

    def post(function: Any, *args: object) -> None:
        if not loop.is_closed():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(function, *args)

    def on_state(state: ListenState, error: JobForgeError | None) -> None:
        post(events.on_state, state, error)

    posted = ListenEvents(lambda channel, payload: post(events.on_notification, channel, payload), on_state)
    listener = ThreadListener(options, channels, posted, timing or ListenTiming())
    try:
        await asyncio.to_thread(listener.start)
    except asyncio.CancelledError:
        listener.stop()
        raise
    return _LoopListener(listener)


class _LoopListener:
    def __init__(self, listener: ThreadListener) -> None:
        self._listener = listener

    async def close(self) -> None:
        await asyncio.to_thread(self._listener.close)

    def stop(self) -> None:
        self._listener.stop()


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))
