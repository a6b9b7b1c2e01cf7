"""Enqueues jobs as an application would: one by one, in bulk, and at a steady rate."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from measures import epoch_ms
from queues import Queue

# The maximum number of concurrent calls of `produce`.
PRODUCERS = 20

# The size limit of one bulk call.
BULK_BYTES = 8 << 20


class Maker:
    """Makes the jobs of one request. Decides the tenant of the n-th job and whether the job is meant to fail."""

    def __init__(self, queue: Queue, asked: dict[str, Any]) -> None:
        self.queue = queue
        self.pad = "x" * (asked.get("payloadBytes") or 0)
        self.tenants = asked.get("tenants") or 0
        self.tenant_from = asked.get("tenantFrom") or 0
        self.fail_share = asked.get("failShare") or 0
        self.delay: float = asked.get("delaySeconds") or 0

    def job(self, n: int) -> dict[str, Any]:
        tenant = self.tenant_from + (n % self.tenants if self.tenants else 0)
        made: dict[str, Any] = {"t": epoch_ms(), "tenant": tenant}
        # Failures are spread evenly, so the share is exact and the same in every run.
        if math.floor((n + 1) * self.fail_share) > math.floor(n * self.fail_share):
            made["fail"] = True
        if self.pad:
            made["pad"] = self.pad
        return made

    async def one(self, n: int) -> None:
        await self.queue.send(self.job(n), self.delay)

    async def bulk(self, first: int, end: int) -> None:
        await self.queue.send_many([self.job(n) for n in range(first, end)], self.delay)


def calls_at_once(asked: dict[str, Any]) -> int:
    """Returns the number of concurrent calls. Bulk calls are made one after the other."""
    if asked["how"] not in ("one", "bulk"):
        raise ValueError(f"how is {asked['how']!r}; it must be one or bulk")
    return (asked.get("concurrency") or 1) if asked["how"] == "one" else 1


async def enqueue(maker: Maker, asked: dict[str, Any]) -> dict[str, Any]:
    jobs: int = asked["jobs"]
    batch = 1
    if asked["how"] == "bulk":
        batch = max(1, min(maker.queue.bulk, BULK_BYTES // ((asked.get("payloadBytes") or 0) + 100)))
    start = time.monotonic()
    deadline = start + (asked.get("seconds") or math.inf)
    starts = iter(range(0, jobs, batch))
    done = 0

    async def loop() -> None:
        nonlocal done
        while time.monotonic() < deadline:
            first = next(starts, None)
            if first is None:
                return
            end = min(first + batch, jobs)
            if batch == 1:
                await maker.one(first)
            else:
                await maker.bulk(first, end)
            done += end - first

    await together(calls_at_once(asked), loop)
    return {"jobs": done, "seconds": time.monotonic() - start}


async def produce(maker: Maker, asked: dict[str, Any]) -> dict[str, Any]:
    """An open loop: a slow call does not delay the next ones, as long as a sender is free."""
    rate: float = asked["rate"]
    numbers = iter(range(round(rate * asked["seconds"])))
    start = time.monotonic()
    done = 0

    async def loop() -> None:
        nonlocal done
        for n in numbers:
            await asyncio.sleep(max(0, start + n / rate - time.monotonic()))
            await maker.one(n)
            done += 1

    await together(PRODUCERS, loop)
    return {"jobs": done, "seconds": time.monotonic() - start}


async def together(times: int, loop: Callable[[], Awaitable[None]]) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(times):
            group.create_task(loop())
