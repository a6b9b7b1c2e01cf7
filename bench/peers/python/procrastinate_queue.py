"""Procrastinate."""

import asyncio
import contextlib
import datetime
from typing import Any

import procrastinate

from queues import Order, Queue, Stop

TASK = "bench"


class Connector(procrastinate.PsycopgConnector):
    """Sets an event when the worker listens. From then on, a new job wakes it."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(conninfo=url, **options)
        self.listening = asyncio.Event()

    async def _loop_notify(self, *args: Any, **options: Any) -> None:
        self.listening.set()
        await super()._loop_notify(*args, **options)


class Procrastinate(Queue):
    package = "procrastinate"

    def __init__(self, *, best: bool) -> None:
        super().__init__(best=best)
        self.keeps = (
            "nothing of jobs that succeeded"
            if best
            else "finished jobs in the same table, and an event for every change, forever"
        )
        self.settings = (
            "concurrency 30, fetch_job_polling_interval 0.5 s, pool 20, delete_jobs successful; "
            "bulk by batch_defer of 1000"
            if best
            else "concurrency 1, fetch_job_polling_interval 5 s, psycopg's own pool size, delete_jobs never; "
            "bulk by batch_defer of 1000"
        )
        self.sender: procrastinate.App | None = None

    async def prepare(self) -> None:
        app = procrastinate.App(connector=Connector(self.url))
        async with app.open_async():
            if not await app.check_connection_async():
                await app.schema_manager.apply_schema_async()

    async def open(self, calls: int) -> None:
        # At best settings, each concurrent call has a connection, which is open before the measurement starts.
        pool = {"min_size": calls, "max_size": calls} if self.best else {}
        self.sender = procrastinate.App(connector=Connector(self.url, **pool))
        await self.sender.open_async()

    def deferrer(self, delay: float) -> Any:
        assert self.sender is not None
        at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=delay)
        return self.sender.configure_task(TASK, **({"schedule_at": at} if delay else {}))

    async def send(self, job: dict[str, Any], delay: float) -> None:
        await self.deferrer(delay).defer_async(**job)

    async def send_many(self, jobs: list[dict[str, Any]], delay: float) -> None:
        await self.deferrer(delay).batch_defer_async(*jobs)

    async def work(self, order: Order) -> Stop:
        connector = Connector(self.url, **({"min_size": 20, "max_size": 20} if self.best else {}))
        app = procrastinate.App(connector=connector)

        # `retry=True` retries immediately and without end.
        @app.task(name=TASK, retry=True, pass_context=True)
        async def bench(context: procrastinate.JobContext, **job: Any) -> None:
            await order.run(job, context.job.attempts + 1)

        options: dict[str, Any] = {}
        if self.best:
            options = {"concurrency": 30, "fetch_job_polling_interval": 0.5, "delete_jobs": "successful"}
        if order.concurrency is not None:
            options["concurrency"] = order.concurrency
        await app.open_async()
        worker = asyncio.create_task(app.run_worker_async(install_signal_handlers=False, **options))
        ready = asyncio.create_task(connector.listening.wait())
        await asyncio.wait([ready, worker], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await worker
            raise RuntimeError("the worker stopped before it was ready")

        async def stop() -> None:
            """A canceled worker first finishes its jobs and writes their ends."""
            worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await worker
            await app.close_async()

        return stop

    async def close(self) -> None:
        if self.sender is not None:
            await self.sender.close_async()


def make(_: str, *, best: bool) -> Queue:
    return Procrastinate(best=best)
