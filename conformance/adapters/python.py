"""The adapter of the Python package.

Reads requests from standard input, one JSON document per line, and replies on standard output. It uses only the public
API. Log lines of workers go to standard output as well. With `--sync`, calls go through the blocking client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from py.calls import call_method, invoke
from py.definitions import definition_of
from py.handlers import Gates, handlers_of
from py.names import to_fields, to_options
from py.spans import record_spans
from py.workflows import start

from jobforge import AsyncJobForge, JobForge, JobForgeError
from jobforge.worker import Hooks, Worker

if TYPE_CHECKING:
    from collections.abc import Callable

    Fields = dict[str, Any]

IS_SYNC = "--sync" in sys.argv


def write(message: Fields) -> None:
    sys.stdout.write(f"{json.dumps(message, default=str)}\n")
    sys.stdout.flush()


def emit(event: str, fields: Fields) -> None:
    write({"event": event, **fields})


def hook(name: str) -> Callable[[Any], None]:
    def report(info: Any) -> None:
        if isinstance(info, (list, tuple)):
            emit("hook", {"name": name, "jobs": len(info)})
        else:
            emit("hook", {"name": name, **to_fields(info)})

    return report


class Adapter:
    def __init__(self) -> None:
        self.forges: dict[str, AsyncJobForge | JobForge] = {}
        self.addresses: dict[str, Fields] = {}
        self.workers: dict[str, Worker] = {}
        self.gates = Gates()
        self.tasks: set[asyncio.Task[None]] = set()
        self.ended = asyncio.Event()

    async def connect(self, on: str, address: Fields) -> None:
        self.addresses[on] = address
        self.forges[on] = (JobForge if IS_SYNC else AsyncJobForge)(**address)

    async def enqueue(self, on: str, args: Fields) -> Fields:
        return await enqueue_on(self.forges[on], args)

    async def enqueue_many(self, on: str, args: Fields) -> list[Fields]:
        definitions = args.pop("definitions", None)
        jobs = [new_job(job, definitions) for job in args.pop("jobs")]
        handles = await invoke(self.forges[on].enqueue_many, jobs, **to_options(args))
        return [{"id": handle.id, "outcome": handle.outcome} for handle in handles]

    async def enqueue_in_transaction(self, on: str, args: Fields) -> Fields:
        import psycopg

        commit = args.pop("commit")
        forge = self.forges[on]
        database = self.addresses[on]["database"]
        if isinstance(forge, JobForge):
            with psycopg.connect(database) as connection:
                enqueued = await enqueue_on(forge.on(connection), args)
                connection.commit() if commit else connection.rollback()
            return enqueued
        async with await psycopg.AsyncConnection.connect(database) as connection:
            enqueued = await enqueue_on(forge.on(connection), args)
            await (connection.commit() if commit else connection.rollback())
        return enqueued

    async def start(self, on: str, args: Fields) -> Fields:
        return await start(self.forges[on], args)

    async def call(self, on: str, args: Fields) -> Any:
        result = await call_method(self.forges[on], args)
        # The result of a job or workflow is the application's own value.
        return result if args["method"].split(".")[-1] == "result" else to_fields(result)

    async def worker(self, on: str, args: Fields) -> Fields:
        until_signal = args.pop("until_signal", False)
        worker = self.make_worker(on, args)
        self.workers[worker.id] = worker
        if until_signal:
            self.spawn(self.run_until_signal(worker))
        else:
            await worker.start()
        return {"id": worker.id}

    async def tick(self, on: str, args: Fields) -> Fields:
        limit = args.pop("limit", None)
        return asdict(await self.make_worker(on, args).tick(**({} if limit is None else {"limit": limit})))

    async def tick_request(self, on: str, args: Fields) -> Fields:
        from py.asgi import request

        from jobforge.worker import tick_app

        method, given = args.pop("method", "POST"), args.pop("given", None)
        secret, limit = args.pop("secret"), args.pop("limit", None)
        options = {**worker_options(args, self.gates), **({} if limit is None else {"limit": limit})}
        app = tick_app(self.asynchronous(on), secret=secret, **options)
        return await request(app, method, given)

    async def stop(self, _: str, args: Fields) -> None:
        chosen = [each for each in self.workers.values() if args.get("id") in (None, each.id)]
        for worker in chosen:
            del self.workers[worker.id]
        await asyncio.gather(*(worker.stop(grace=args.get("grace")) for worker in chosen))
        await asyncio.sleep(0)

    async def metrics(self, _: str, args: Fields) -> Any:
        return to_fields(self.workers[args["id"]].metrics())

    async def release(self, _: str, args: Fields) -> None:
        self.gates.release(args["gate"])

    async def disconnect(self, _: str = "", __: Fields | None = None) -> None:
        self.gates.release_all()
        await asyncio.gather(*(worker.stop(grace=0) for worker in self.workers.values()))
        self.workers.clear()
        for forge in self.forges.values():
            await invoke(forge.close)
        self.forges.clear()
        # The log writes its last lines in the next turn.
        await asyncio.sleep(0)

    def make_worker(self, on: str, args: Fields) -> Worker:
        return Worker(self.asynchronous(on), **worker_options(args, self.gates))

    def asynchronous(self, on: str) -> AsyncJobForge:
        forge = self.forges[on]
        if isinstance(forge, JobForge):
            raise TypeError("a worker needs the asynchronous client")
        return forge

    async def run_until_signal(self, worker: Worker) -> None:
        """As an application does: after the last job, it closes its client and ends."""
        await worker.run()
        self.workers.pop(worker.id, None)
        await self.disconnect()
        self.ended.set()

    def spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def serve(self, line: str) -> None:
        request = json.loads(line)
        try:
            verb = getattr(self, request["do"])
            reply = {"ok": await verb(request.get("on", ""), request.get("with") or {})}
        except Exception as error:  # noqa: BLE001 - the reply reports it
            reply = {"error": describe(error)}
        write({"id": request["id"], **reply})


async def enqueue_on(client: Any, args: Fields) -> Fields:
    definition = definition_of(args.pop("type"), args.pop("definitions", None))
    handle = await invoke(client.enqueue, definition, args.pop("payload", {}), **to_options(args))
    return {"id": handle.id, "outcome": handle.outcome, "job": to_fields(handle.job)}


def new_job(job: Fields, definitions: Fields | None) -> Any:
    made = definition_of(job.pop("type"), definitions).new(job.pop("payload"))
    return made.using(**to_options(job))


def worker_options(args: Fields, gates: Gates) -> Any:
    options = {name: value for name, value in args.items() if name not in ("handlers", "definitions")}
    names = ("claim", "start", "success", "failure", "dead", "stale", "trouble", "trouble_over")
    hooks = Hooks(**{f"on_{name}": hook(f"on_{name}") for name in names})
    return {"abort_grace": 0.5, **to_options(options), "handlers": handlers_of(args, gates, emit), "hooks": hooks}


def describe(error: Exception) -> Fields:
    if not isinstance(error, JobForgeError):
        return {"class": type(error).__name__, "message": str(error)}
    names = ("message", "code", "kind", "field", "hint", "retryable")
    return {"class": type(error).__name__, **{name: getattr(error, name) for name in names}}


async def main() -> None:
    adapter = Adapter()
    record_spans(lambda span: emit("span", span))
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**24)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def read() -> None:
        while line := await reader.readline():
            adapter.spawn(adapter.serve(line.decode()))
        adapter.ended.set()

    reading = loop.create_task(read())
    await adapter.ended.wait()
    reading.cancel()
    await adapter.disconnect()
    sys.stdout.flush()


with contextlib.suppress(KeyboardInterrupt):
    asyncio.run(main())
# A handler that never returns may hold a thread.
sys.stdout.flush()
os._exit(0)
