"""A worker that dies in the middle of a delivery."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jobforge import AsyncJobForge
from jobforge.connectors import webhook_deliver
from jobforge.testing.database import TestDatabase

from .servers import Servers

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0


@asynccontextmanager
async def _worker(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process, which is killed in the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.connectors.worker_process"),
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "DATABASE_URL": url, "LOG_LEVEL": "silent"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_a_worker_that_is_killed_in_a_delivery_delivers_again_with_the_same_id(
    db: TestDatabase, async_forge: AsyncJobForge, servers: Servers, tenant: str
) -> None:
    arrived = asyncio.Event()
    ids: list[str] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        found = re.search(r"webhook-id: (\S+)", head)
        assert found is not None
        ids.append(found[1])
        arrived.set()
        if len(ids) > 1:
            writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
        # The first request gets no response.
        await reader.read()

    url = f"http://127.0.0.1:{await servers.raw(talk)}/"
    payload: Any = {"url": url, "event": {"type": "a"}}
    handle = await async_forge.enqueue(webhook_deliver, payload, tenant=tenant)
    async with _worker(db.url):
        await asyncio.wait_for(arrived.wait(), PATIENCE)
    # A new instance under the same name tells the database that the first one is gone.
    async with _worker(db.url):
        result = await handle.result(timeout=PATIENCE)
    assert ids == [handle.id, handle.id]
    assert (result["delivered"], result["attempt"]) == (True, 2)
