"""Servers and guarded requests for tests of what is reached."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from jobforge import AsyncJobForge
from jobforge.connectors import LOOPBACK_EGRESS
from jobforge.connectors.egress.body import read_up_to
from jobforge.connectors.egress.check_url import UrlRules
from jobforge.connectors.egress.connect import Waits
from jobforge.connectors.egress.exchange import Exchange, OutboundRequest, send
from jobforge.connectors.egress.policy import egress_policy

from .running import Run, Runner
from .servers import Servers

Guarded = Callable[..., Awaitable[tuple[str, Exchange]]]


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    """Servers on loopback."""
    async with AsyncExitStack() as stack:
        yield Servers(stack)


@pytest.fixture
def get() -> Guarded:
    """Sends a guarded request, and reads its body: `await get(url, policy=…, method="POST")`."""

    async def sent(
        url: str, *, policy: Mapping[str, Any] = LOOPBACK_EGRESS, max_bytes: int = 1_000_000, **more: Any
    ) -> tuple[str, Exchange]:
        given: dict[str, Any] = {"waits": Waits(20, 20), "timeout_ms": 60_000, "redirects": 3, **more}
        async with send(OutboundRequest(url=url, rules=UrlRules(egress_policy(policy)), **given)) as exchange:
            read = await read_up_to(exchange.body, max_bytes)
            return read.content.decode(), exchange

    return sent


@pytest.fixture
def runner(async_forge: AsyncJobForge, tenant: str) -> Run:
    """A worker with all connectors, whose policy allows loopback: `runner(secrets=…)`."""
    priorities = itertools.count(1)
    return lambda **options: Runner(async_forge, tenant, priorities, options)
