"""Runs operations over a transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..operations.call import Call, Steps
    from ..transport.base import AsyncTransport

T = TypeVar("T")


class AsyncRunner:
    """Makes the calls of operations."""

    def __init__(self, transport: AsyncTransport, timeout: float | None = None) -> None:
        self.transport = transport
        self.timeout = timeout
        """How long each call may take; None: as long as the transport allows."""

    async def run(self, call: Call[T]) -> T:
        """Makes one call."""
        return call.result(await self.transport.call(call.name, call.args, timeout=self.timeout))

    async def do(self, steps: Steps[T]) -> T:
        """Makes several calls, one after the other."""
        try:
            call = next(steps)
            while True:
                call = steps.send(await self.run(call))
        except StopIteration as end:
            value: T = end.value
            return value
