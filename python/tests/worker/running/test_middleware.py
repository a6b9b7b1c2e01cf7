"""Middleware around handlers, and resources for them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from jobforge import BatchItem, JobContext, define_job

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from jobforge.worker import Next, Worker

    from ..conftest import Workers
    from ..support import Jobs

a = define_job("a")
b = define_job("b")


async def test_layers_wrap_every_handler_the_first_one_outermost(workers: Workers, jobs: Jobs) -> None:
    seen: list[str] = []

    def layer(name: str) -> Any:
        async def wrap(item: BatchItem[Any], next: Next) -> Any:
            seen.append(f"{name} before {item.job.type}")
            try:
                return {"by": name, "inner": await next()}
            finally:
                seen.append(f"{name} after")

        return wrap

    @a.handler
    async def handle(input: Any, job: JobContext) -> Any:
        seen.append("handler")
        return input["n"]

    @b.handler
    def fails(input: Any, job: JobContext) -> None:
        raise ValueError("no")

    id, bad = await jobs.one("a", '{"n": 1}'), await jobs.one("b")
    await workers.make(handlers=[handle, fails], concurrency=1, middleware=[layer("x"), layer("y")]).tick()
    assert await jobs.result(id) == {"by": "x", "inner": {"by": "y", "inner": 1}}
    assert seen[:5] == ["x before a", "y before a", "handler", "y after", "x after"]
    assert seen[5:] == ["x before b", "y before b", "y after", "x after"]
    assert (await jobs.job(bad))["last_error"] == "no"


async def test_a_layer_may_decide_one_job_of_a_batch(workers: Workers, jobs: Jobs) -> None:
    sizes: list[int] = []

    async def refuse_even(item: BatchItem[Any], next: Next) -> Any:
        if item.input["n"] % 2 == 0:
            raise ValueError("even")
        return await next()

    @a.batch_handler(10)
    async def handle(items: Sequence[BatchItem[Any]]) -> list[Any]:
        sizes.append(len(items))
        return [item.input["n"] for item in items]

    await jobs.enqueue("a", 6)
    summary = await workers.make(handlers=[handle], middleware=[refuse_even]).tick()
    assert (summary.succeeded, summary.retried) == (3, 3)
    assert sizes == [3]


async def test_a_lifespan_surrounds_the_work_and_its_value_is_there_for_handlers(workers: Workers, jobs: Jobs) -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(worker: Worker) -> AsyncIterator[dict[str, str]]:
        seen.append(f"open {worker.id}")
        yield {"client": "http"}
        seen.append("closed")

    @a.handler
    async def handle(input: Any, job: JobContext[dict[str, str]]) -> str:
        seen.append("handler")
        return job.resources["client"]

    id = await jobs.one("a")
    await workers.make(handlers=[handle], lifespan=lifespan, id="w1").tick()
    assert seen == ["open w1", "handler", "closed"]
    assert await jobs.result(id) == "http"


async def test_handlers_see_the_context_variables_of_their_middleware(workers: Workers, jobs: Jobs) -> None:
    session: ContextVar[str] = ContextVar("session")

    async def with_session(item: BatchItem[Any], next: Next) -> Any:
        token = session.set(f"session of {item.job.type}")
        try:
            return await next()
        finally:
            session.reset(token)

    @a.handler
    async def on_loop(input: Any, job: JobContext) -> str:
        return session.get()

    @b.handler
    def in_thread(input: Any, job: JobContext) -> str:
        return session.get()

    ids = [await jobs.one("a"), await jobs.one("b")]
    await workers.make(handlers=[on_loop, in_thread], middleware=[with_session]).tick()
    assert [await jobs.result(id) for id in ids] == ["session of a", "session of b"]
