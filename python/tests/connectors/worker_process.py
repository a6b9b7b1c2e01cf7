"""A worker process with the connectors, for tests that kill it."""

from __future__ import annotations

import asyncio
import os

from jobforge import AsyncJobForge
from jobforge.connectors import LOOPBACK_EGRESS, connectors
from jobforge.worker import Worker


async def main() -> None:
    """Runs until the process ends."""
    async with AsyncJobForge(os.environ["DATABASE_URL"]) as forge:
        await Worker(forge, handlers=connectors(forge, egress=LOOPBACK_EGRESS), id="connectors").run()


if __name__ == "__main__":
    asyncio.run(main())
