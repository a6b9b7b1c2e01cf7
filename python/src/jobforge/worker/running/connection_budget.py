"""Limits how many transactions of handlers are open at the same time.

Each transaction keeps a connection until it ends, and settling, claiming and `progress()` take theirs from the same
pool. If transactions could take all of them, the worker could settle nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from ..defaults import RESERVED_CONNECTIONS

if TYPE_CHECKING:
    from ...transport.base import AsyncTransport


class ConnectionBudget:
    """First come, first served. A handler that is canceled while it waits stops waiting."""

    def __init__(self, connections: int | None) -> None:
        """Without a limit where the transport does not know how many connections it has."""
        self._semaphore = None if connections is None else asyncio.Semaphore(connections)

    async def __aenter__(self) -> None:
        if self._semaphore is not None:
            await self._semaphore.acquire()

    async def __aexit__(self, *_: object) -> None:
        if self._semaphore is not None:
            self._semaphore.release()


# All workers on a transport share its connections.
_budgets: WeakKeyDictionary[AsyncTransport, ConnectionBudget] = WeakKeyDictionary()


def connection_budget_of(transport: AsyncTransport) -> ConnectionBudget:
    """The budget of a transport's connections."""
    budget = _budgets.get(transport)
    if budget is None:
        most = transport.max_connections
        budget = ConnectionBudget(None if most is None else max(1, most - RESERVED_CONNECTIONS))
        _budgets[transport] = budget
    return budget
