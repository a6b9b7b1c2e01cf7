"""The only way to the kernel: call an API function by name with named arguments. Text in, text out.

The rest of the SDK and the workers are built on these two protocols, so a new transport needs only a file of its own.
A transport is blocking or asynchronous. An asynchronous one can make a blocking one with the same settings, which a
thread of its own may use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from ..errors import JobForgeError

ListenState = Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class ListenEvents:
    """What a listener calls. A blocking transport calls from the listener's thread, an asynchronous one on the loop."""

    on_notification: Callable[[str, str], None]
    """Gets the channel and the payload."""
    on_state: Callable[[ListenState, JobForgeError | None], None]
    """The connection is up or was lost. Between `down` and `up`, notifications may have been missed."""


class Listener(Protocol):
    """A subscription of a blocking transport."""

    def close(self) -> None: ...


class AsyncListener(Protocol):
    """A subscription of an asynchronous transport."""

    async def close(self) -> None: ...

    def stop(self) -> None:
        """Ends it, and waits for nothing. It may belong to a loop that has ended."""
        ...


class Transport(Protocol):
    """The blocking way. Threads may share it: each call gets a connection of its own."""

    @property
    def can_listen(self) -> bool:
        """False if there is no session to listen on: over HTTP, with transaction-mode poolers, in a transaction."""
        ...

    @property
    def can_transact(self) -> bool:
        """Whether `transaction()` works. False over HTTP, and in a transaction of the caller."""
        ...

    @property
    def is_transaction(self) -> bool:
        """Whether calls run in a transaction of the caller."""
        ...

    @property
    def max_connections(self) -> int | None:
        """The most connections that calls and transactions share; None if that is not known or does not matter."""
        ...

    def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        """Calls a function of the API schema, such as `jobforge_enqueue_job`, and returns its result as JSON text.

        Arguments have their SQL names. An argument that is `UNSET` is left out, so that the function's default applies;
        None is NULL. JSON arguments are plain values, or `JsonText`, which is passed on as it is. The text is the value
        of a scalar function, an array of objects for a set of rows, and None for no result or null. Raises a
        `JobForgeError`, after `timeout` seconds a `TimeoutError`: the connection is then dropped, and whether the call
        took effect is unknown.
        """
        ...

    def listen(self, channels: Sequence[str], events: ListenEvents) -> Listener:
        """Subscribes to Postgres channels, on a connection of its own that is checked and replaced.

        Returns after the first try to connect: either the connection is up, which `on_state` has reported, or the next
        try follows.
        """
        ...

    def transaction(self) -> AbstractContextManager[Transacting]:
        """A transaction on a connection of its own: committed at the end of the block, rolled back if it raises."""
        ...

    def close(self) -> None:
        """Closes what the transport opened, after the calls under way. Connections that it was given stay open."""
        ...

    def abandon(self) -> None:
        """Drops all connections at once. Calls under way fail with a `ConnectionError`. Any thread may call this."""
        ...


class AsyncTransport(Protocol):
    """The asynchronous way, for one event loop. Everything that is not said here is as for `Transport`."""

    @property
    def can_listen(self) -> bool: ...

    @property
    def can_transact(self) -> bool: ...

    @property
    def is_transaction(self) -> bool: ...

    @property
    def max_connections(self) -> int | None: ...

    async def call(self, name: str, args: Mapping[str, object], *, timeout: float | None = None) -> str | None:
        """As `Transport.call`. A caller that is cancelled stops waiting at once, and the call's connection goes on or
        is dropped without it."""
        ...

    async def listen(self, channels: Sequence[str], events: ListenEvents) -> AsyncListener: ...

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransacting]: ...

    def blocking(self) -> Transport:
        """A blocking transport with the same settings and connections of its own. The caller closes it.

        Raises an `InvalidArgumentError` if this transport was made from a connection of the caller.
        """
        ...

    async def close(self) -> None: ...

    def abandon(self) -> None: ...


@runtime_checkable
class ServerFiles(Protocol):
    """What a blocking transport over HTTP can do in addition: send files to the server, and read them."""

    def upload(self, path: str, content: bytes) -> str:
        """Sends a content and returns the response as JSON text."""
        ...

    def download(self, path: str) -> Iterator[bytes] | None:
        """The content in parts; None if the server has no such file."""
        ...


@runtime_checkable
class AsyncServerFiles(Protocol):
    """The same for the event loop."""

    async def upload(self, path: str, content: bytes) -> str: ...

    async def download(self, path: str) -> AsyncIterator[bytes] | None: ...


@dataclass(frozen=True, slots=True)
class Transacting:
    """A transaction that is open."""

    connection: object
    """The driver's own connection, for the caller's statements."""
    transport: Transport
    """Calls kernel functions in the same transaction."""


@dataclass(frozen=True, slots=True)
class AsyncTransacting:
    """A transaction that is open on an event loop."""

    connection: object
    transport: AsyncTransport
