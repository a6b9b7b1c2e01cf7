"""Implements the requests of the benchmark driver for Procrastinate."""

import asyncio
import contextlib
import importlib.metadata
import json
import os
from typing import Any

import procrastinate

import enqueue
import settings
from measures import Measures, epoch_ms


class Unsupported(Exception):
    """A feature that Procrastinate does not have. Contains the reason."""


class FailsFirst(Exception):
    pass


class Connector(procrastinate.PsycopgConnector):
    """Sets an event when the worker listens. From then on, a new job wakes it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(conninfo=os.environ["DATABASE_URL"], **options)
        self.listening = asyncio.Event()

    async def _loop_notify(self, *args: Any, **options: Any) -> None:
        self.listening.set()
        await super()._loop_notify(*args, **options)


class Contestant:
    def __init__(self) -> None:
        self.settings = settings.chosen()
        self.measures = Measures()
        self.workers: list[tuple[procrastinate.App, asyncio.Task[None]]] = []
        self.sender: procrastinate.App | None = None
        self.senders = 0

    async def prepare(self, _: dict[str, Any]) -> dict[str, Any]:
        app = procrastinate.App(connector=Connector())
        async with app.open_async():
            if not await app.check_connection_async():
                await app.schema_manager.apply_schema_async()
        return {
            "version": importlib.metadata.version("procrastinate"),
            "keeps": self.settings.keeps,
            "settings": self.settings.text,
        }

    async def enqueue(self, asked: dict[str, Any]) -> dict[str, Any]:
        app = await self.open_sender(enqueue.calls_at_once(asked))
        return await enqueue.enqueue(enqueue.Maker(app, asked), asked, self.settings.bulk_batch)

    async def produce(self, asked: dict[str, Any]) -> dict[str, Any]:
        app = await self.open_sender(enqueue.PRODUCERS)
        return await enqueue.produce(enqueue.Maker(app, asked), asked)

    async def work(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked.get("limit") is not None:
            raise Unsupported("a lock lets one job run at a time; it has no limit above one")
        workers = asked.get("workers") or 1
        for _ in range(workers):
            await self.start_worker(asked)
        return {"workers": workers}

    async def start_worker(self, asked: dict[str, Any]) -> None:
        connector = Connector(**self.settings.pool)
        app = procrastinate.App(connector=connector)
        self.register(app, (asked.get("sleepMs") or 0) / 1000)
        options = dict(self.settings.worker)
        if asked.get("concurrency") is not None:
            options["concurrency"] = asked["concurrency"]
        await app.open_async()
        worker = asyncio.create_task(app.run_worker_async(install_signal_handlers=False, **options))
        self.workers.append((app, worker))
        ready = asyncio.create_task(connector.listening.wait())
        await asyncio.wait([ready, worker], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            ready.cancel()
            await worker
            raise RuntimeError("the worker stopped before it was ready")

    def register(self, app: procrastinate.App, sleep: float) -> None:
        measures = self.measures

        # `retry=True` retries immediately and without end.
        @app.task(name=enqueue.TASK, retry=True, pass_context=True)
        async def bench(
            context: procrastinate.JobContext, t: float, tenant: int = 0, fail: bool = False, pad: str = ""
        ) -> None:
            began = epoch_ms()
            if context.job.attempts == 0:
                measures.wait(tenant, began - t)
                if fail:
                    raise FailsFirst
            if sleep > 0:
                await asyncio.sleep(sleep)
            measures.ended(began)

    async def count(self, _: dict[str, Any]) -> dict[str, Any]:
        return self.measures.count()

    async def waits(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self.measures.take_waits(asked.get("tenantFrom"), asked.get("tenantTo"))

    async def stop(self, _: dict[str, Any]) -> dict[str, Any]:
        """Cancels the workers. A canceled worker first finishes its jobs and writes their ends."""
        stopping, self.workers = self.workers, []
        for _, worker in stopping:
            worker.cancel()
        for app, worker in stopping:
            with contextlib.suppress(asyncio.CancelledError):
                await worker
            await app.close_async()
        return {}

    async def open_sender(self, calls: int) -> procrastinate.App:
        if self.sender is None or self.senders < calls:
            await self.close_sender()
            self.sender = procrastinate.App(connector=Connector(**self.settings.sender_pool(calls)))
            self.senders = calls
            await self.sender.open_async()
        return self.sender

    async def close_sender(self) -> None:
        if self.sender is not None:
            await self.sender.close_async()

    async def reply(self, line: bytes) -> dict[str, Any]:
        requests = {
            "prepare": self.prepare,
            "enqueue": self.enqueue,
            "produce": self.produce,
            "work": self.work,
            "count": self.count,
            "waits": self.waits,
            "stop": self.stop,
        }
        try:
            asked = json.loads(line)
            if asked["do"] not in requests:
                raise ValueError(f"unknown request: {asked['do']!r}")
            return await requests[asked["do"]](asked)
        except Unsupported as reason:
            return {"unsupported": str(reason)}
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
