"""PgQueuer, with asyncpg, which is its faster driver."""

import asyncio
import contextlib
import datetime
import json
from typing import Any

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.errors import RetryRequested
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from queues import Order, Queue, Stop

ENTRYPOINT = "bench"


class PgQueuerQueue(Queue):
    package = "pgqueuer"
    keeps = "a row of its log for each change, aggregated into statistics; the job itself is deleted"

    def __init__(self, *, best: bool) -> None:
        super().__init__(best=best)
        self.batch = 100 if best else 10
        self.settings = (
            f"asyncpg, batches of {self.batch}, dequeue_timeout {1 if best else 30} s; bulk by enqueue of 1000"
        )
        self.pool: asyncpg.Pool | None = None

    async def prepare(self) -> None:
        connection = await asyncpg.connect(self.url)
        try:
            queries = Queries.from_asyncpg_connection(connection)
            if not await queries.schema_is_installed():
                await queries.install()
        finally:
            await connection.close()

    async def open(self, calls: int) -> None:
        self.pool = await asyncpg.create_pool(self.url, min_size=calls, max_size=calls)

    def queries(self) -> Queries:
        assert self.pool is not None
        return Queries.from_asyncpg_pool(self.pool)

    async def send(self, job: dict[str, Any], delay: float) -> None:
        after = datetime.timedelta(seconds=delay)
        await self.queries().enqueue(ENTRYPOINT, json.dumps(job).encode(), execute_after=after)

    async def send_many(self, jobs: list[dict[str, Any]], delay: float) -> None:
        after = datetime.timedelta(seconds=delay)
        await self.queries().enqueue(
            [ENTRYPOINT] * len(jobs),
            [json.dumps(job).encode() for job in jobs],
            [0] * len(jobs),
            [after] * len(jobs),
        )

    async def work(self, order: Order) -> Stop:
        connection = await asyncpg.connect(self.url)
        pgq = PgQueuer.from_asyncpg_connection(connection)

        @pgq.entrypoint(ENTRYPOINT, concurrency_limit=order.concurrency or 0)
        async def bench(job: Job) -> None:
            try:
                await order.run(json.loads(job.payload or b"{}"), job.attempts + 1)
            except Exception as error:
                raise RetryRequested(delay=datetime.timedelta(0)) from error

        timeout = datetime.timedelta(seconds=1 if self.best else 30)
        worker = asyncio.create_task(pgq.qm.run(dequeue_timeout=timeout, batch_size=self.batch))
        # It listens before it fetches its first jobs.
        while not worker.done() and not connection._listeners:
            await asyncio.sleep(0.01)
        if worker.done():
            await worker

        async def stop() -> None:
            pgq.shutdown.set()
            with contextlib.suppress(asyncio.CancelledError):
                await worker
            await connection.close()

        return stop

    async def close(self) -> None:
        if self.pool is not None:
            await self.pool.close()


def make(_: str, *, best: bool) -> Queue:
    return PgQueuerQueue(best=best)
