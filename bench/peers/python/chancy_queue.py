"""Chancy, with its executor for asyncio."""

import dataclasses
import datetime
import logging
from typing import Any

from chancy import Chancy, Job, QueuedJob, Worker
from chancy import Queue as ChancyQueue

from queues import Order, Queue, Stop

# The jobs of a process are run by one function, and all its workers have the same order.
orders: list[Order] = []


async def bench(*, context: QueuedJob, **job: Any) -> None:
    await orders[-1].run(job, context.attempts + 1)


class ChancyContestant(Queue):
    package = "chancy"
    keeps = "finished jobs in the same table, until its pruner deletes them"

    def __init__(self, *, best: bool) -> None:
        super().__init__(best=best)
        self.queue = ChancyQueue(
            "bench",
            executor=Chancy.Executor.Async,
            polling_interval=1 if best else 5,
            eager_polling=best,
        )
        eager = ", eager_polling" if best else ""
        self.settings = f"async executor, concurrency 100, polling every {self.queue.polling_interval} s{eager}, pool {20 if best else 10}; bulk by push_many of 1000"
        self.sender: Chancy | None = None

    def chancy(self, size: int) -> Chancy:
        quiet = logging.getLogger("chancy")
        quiet.setLevel(logging.ERROR)
        return Chancy(self.url, min_connection_pool_size=size, max_connection_pool_size=size, log=quiet)

    async def prepare(self) -> None:
        async with self.chancy(1) as chancy:
            if not await chancy.is_up_to_date():
                await chancy.migrate()
            await chancy.declare(self.queue, upsert=True)

    async def open(self, calls: int) -> None:
        self.sender = self.chancy(calls if self.best else 10)
        await self.sender.__aenter__()

    def job(self, job: dict[str, Any], delay: float) -> Job:
        at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=delay)
        return Job.from_func(bench, queue="bench", kwargs=job, max_attempts=20, scheduled_at=at)

    async def send(self, job: dict[str, Any], delay: float) -> None:
        assert self.sender is not None
        await self.sender.push(self.job(job, delay))

    async def send_many(self, jobs: list[dict[str, Any]], delay: float) -> None:
        assert self.sender is not None
        async for _ in self.sender.push_many([self.job(job, delay) for job in jobs]):
            pass

    async def work(self, order: Order) -> Stop:
        orders.append(order)
        chancy = self.chancy(20 if self.best else 10)
        await chancy.__aenter__()
        if order.concurrency is not None:
            await chancy.declare(dataclasses.replace(self.queue, concurrency=order.concurrency), upsert=True)
        worker = Worker(chancy, register_signal_handlers=False)
        await worker.start()

        async def stop() -> None:
            await worker.stop()
            await chancy.__aexit__(None, None, None)

        return stop

    async def close(self) -> None:
        if self.sender is not None:
            await self.sender.__aexit__(None, None, None)


def make(_: str, *, best: bool) -> Queue:
    return ChancyContestant(best=best)
