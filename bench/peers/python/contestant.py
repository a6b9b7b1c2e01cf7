"""Implements the requests of the benchmark driver for a queue."""

import importlib.metadata
import json
from typing import Any

import sending
from measures import Measures
from queues import Order, Queue, Stop, Unsupported


class Contestant:
    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.measures = Measures()
        self.stops: list[Stop] = []
        self.senders = 0

    async def prepare(self, _: dict[str, Any]) -> dict[str, Any]:
        await self.queue.prepare()
        return {
            "version": importlib.metadata.version(self.queue.package),
            "keeps": self.queue.keeps,
            "settings": self.queue.settings,
        }

    async def enqueue(self, asked: dict[str, Any]) -> dict[str, Any]:
        await self.open(sending.calls_at_once(asked))
        return await sending.enqueue(sending.Maker(self.queue, asked), asked)

    async def produce(self, asked: dict[str, Any]) -> dict[str, Any]:
        await self.open(sending.PRODUCERS)
        return await sending.produce(sending.Maker(self.queue, asked), asked)

    async def work(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked.get("limit") is not None:
            raise Unsupported("it has no limit over several processes, or none that is measured here")
        workers = asked.get("workers") or 1
        order = Order((asked.get("sleepMs") or 0) / 1000, asked.get("concurrency"), self.measures)
        for _ in range(workers):
            self.stops.append(await self.queue.work(order))
        return {"workers": workers}

    async def count(self, _: dict[str, Any]) -> dict[str, Any]:
        return self.measures.count()

    async def waits(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self.measures.take_waits(asked.get("tenantFrom"), asked.get("tenantTo"))

    async def stop(self, _: dict[str, Any]) -> dict[str, Any]:
        stopping, self.stops = self.stops, []
        for stop in stopping:
            await stop()
        return {}

    async def open(self, calls: int) -> None:
        if self.senders >= calls:
            return
        if self.senders > 0:
            await self.queue.close()
        await self.queue.open(calls)
        self.senders = calls

    async def close(self) -> None:
        await self.stop({})
        if self.senders > 0:
            await self.queue.close()

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
