"""Oban for Python, its open edition."""

import datetime
import itertools
from typing import Any

import psycopg
from oban import Job, Oban, worker
from oban.schema import install_sql
from psycopg_pool import AsyncConnectionPool

from queues import Order, Queue, Stop

# The instances of one process need names of their own.
numbers = itertools.count()
# The jobs of a process are run by one class, and all its workers have the same order.
orders: list[Order] = []


@worker(queue="default", max_attempts=20)
class Bench:
    async def process(self, job: Job) -> None:
        await orders[-1].run(job.args, job.attempt)

    def backoff(self, _: Job) -> int:
        return 0


class ObanQueue(Queue):
    package = "oban"
    keeps = "finished jobs in the same table, for a day"

    def __init__(self, *, best: bool) -> None:
        super().__init__(best=best)
        self.limit = 100 if best else 10
        self.settings = f"queue limit {self.limit}, pool {20 if best else 10}; bulk by enqueue_many of 1000"
        self.pool: AsyncConnectionPool | None = None
        self.sender: Oban | None = None

    async def prepare(self) -> None:
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            found = await connection.execute("select to_regclass('oban_jobs')")
            if (await found.fetchone()) == (None,):
                await connection.execute(install_sql())

    async def open(self, calls: int) -> None:
        self.pool = await open_pool(self.url, calls if self.best else 10)
        self.sender = Oban(pool=self.pool, name=f"sender-{next(numbers)}", node=f"node-{next(numbers)}")

    def job(self, job: dict[str, Any], delay: float) -> Job:
        at = {"scheduled_at": datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=delay)} if delay else {}
        return Bench.new(job, **at)

    async def send(self, job: dict[str, Any], delay: float) -> None:
        assert self.sender is not None
        await self.sender.enqueue(self.job(job, delay))

    async def send_many(self, jobs: list[dict[str, Any]], delay: float) -> None:
        assert self.sender is not None
        await self.sender.enqueue_many([self.job(job, delay) for job in jobs])

    async def work(self, order: Order) -> Stop:
        orders.append(order)
        pool = await open_pool(self.url, 20 if self.best else 10)
        queues = {"default": order.concurrency or self.limit}
        number = next(numbers)
        oban = Oban(pool=pool, queues=queues, name=f"worker-{number}", node=f"node-{number}", stager={"interval": 0.5})
        await oban.start()

        async def stop() -> None:
            await oban.stop()
            await pool.close()

        return stop

    async def close(self) -> None:
        if self.pool is not None:
            await self.pool.close()


async def open_pool(url: str, size: int) -> AsyncConnectionPool:
    pool = AsyncConnectionPool(url, min_size=size, max_size=size, open=False)
    await pool.open(wait=True)
    return pool


def make(_: str, *, best: bool) -> Queue:
    return ObanQueue(best=best)
