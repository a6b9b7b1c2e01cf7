"""Runs operations over a transport."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from ..operations.call import Call, Steps
    from ..transport.base import Transport

T = TypeVar("T")


class Runner:
    """Makes the calls of operations."""

    def __init__(self, transport: Transport, timeout: float | None = None) -> None:
        self.transport = transport
        self.timeout = timeout
        """How long each call may take; None: as long as the transport allows."""

    def run(self, call: Call[T]) -> T:
        """Makes one call."""
        return call.result(self.transport.call(call.name, call.args, timeout=self.timeout))

    def do(self, steps: Steps[T]) -> T:
        """Makes several calls, one after the other."""
        try:
            call = next(steps)
            while True:
                call = steps.send(self.run(call))
        except StopIteration as end:
            value: T = end.value
            return value
