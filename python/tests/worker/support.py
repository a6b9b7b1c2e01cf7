"""What tests of the worker share: jobs in a test's database, kept logs, and waiting for what happens."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import psycopg

from jobforge import define_job
from jobforge.worker.handled_type import HandledType
from jobforge.worker.running.run import Run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import LiteralString

    from jobforge.testing.database import TestDatabase

T = TypeVar("T")

TENANT = "11111111-1111-4111-8111-111111111111"
PATIENCE = 60
"""Seconds after which a test gives up on what it waits for. Only a failure takes so long."""


class Happening(Generic[T]):
    """Something that happens once or several times, and can be awaited. Threads may report it, too."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._loop = asyncio.get_running_loop()
        self._waiters: list[asyncio.Event] = []

    def now(self, value: T) -> None:
        """It happens."""
        self.values.append(value)
        self._loop.call_soon_threadsafe(self._tell)

    async def times(self, count: int) -> list[T]:
        """Waits until it has happened so often, and returns the values so far."""
        async with asyncio.timeout(PATIENCE):
            while len(self.values) < count:
                waiter = asyncio.Event()
                self._waiters.append(waiter)
                await waiter.wait()
        return self.values

    async def once(self) -> T:
        """The first value."""
        return (await self.times(1))[0]

    def _tell(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.set()


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits for a condition without an event."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 - the database has no event for it
            await asyncio.sleep(0.01)


class Crowd:
    """Counts how many are inside at the same time, and the most there were."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    def __enter__(self) -> None:
        self.now += 1
        self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        self.now -= 1


class KeptLog:
    """A logger that keeps its lines instead of writing them."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def debug(self, message: str, /, **fields: Any) -> None:
        self._keep("debug", message, fields)

    def info(self, message: str, /, **fields: Any) -> None:
        self._keep("info", message, fields)

    def warning(self, message: str, /, **fields: Any) -> None:
        self._keep("warning", message, fields)

    def error(self, message: str, /, **fields: Any) -> None:
        self._keep("error", message, fields)

    def messages(self, level: str | None = None) -> list[str]:
        return [line["message"] for line in self.lines if level in (None, line["level"])]

    def find(self, message: str) -> dict[str, Any]:
        """The first line whose message begins like this."""
        for line in self.lines:
            if line["message"].startswith(message):
                return line
        raise AssertionError(f"No line begins with {message!r}. There are: {self.messages()}")

    def _keep(self, level: str, message: str, fields: dict[str, Any]) -> None:
        self.lines.append({**fields, "level": level, "message": message})


class Jobs:
    """The jobs in a test's database. Its statements run in threads, because they must not block the worker."""

    def __init__(self, db: TestDatabase) -> None:
        self.db = db

    async def rows(self, statement: LiteralString, *values: Any) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self.db.query, statement, values)

    async def value(self, statement: LiteralString, *values: Any) -> Any:
        return await asyncio.to_thread(self.db.value, statement, values)

    async def enqueue(self, type: str, count: int, tenants: int = 1) -> None:
        """Enqueues jobs, numbered from 1, of one tenant or of up to ten tenants in turn."""
        await self.rows(
            """select jobforge_enqueue_jobs(('11111111-1111-4111-8111-11111111111' || t %% 10)::uuid,
                 (select jsonb_agg(jsonb_build_object('type', %s::text, 'payload', jsonb_build_object('n', i)))
                  from generate_series(1, %s::integer) i where i %% %s::integer = (t - 1) %% %s::integer))
               from generate_series(1, %s::integer) t""",
            type,
            count,
            tenants,
            tenants,
            tenants,
        )

    async def one(self, type: str, payload: str = "{}") -> str:
        """Enqueues one job and returns its id."""
        statement: LiteralString = "select jobforge_enqueue_job(%s, %s, %s::jsonb) ->> 'id' as id"
        return str(await self.value(statement, TENANT, type, payload))

    async def statuses(self) -> dict[str, int]:
        """The number of jobs of each status."""
        rows = await self.rows("select status, count(*)::int as jobs from jobforge_jobs group by status")
        return {row["status"]: row["jobs"] for row in rows}

    async def finished(self, count: int) -> None:
        """Waits until so many jobs are finished, in whatever status, and no other job exists."""

        async def are_finished() -> bool:
            found = await self.statuses()
            live = found.pop("queued", 0) + found.pop("running", 0)
            return live == 0 and sum(found.values()) == count

        await until(are_finished)

    async def job(self, id: str) -> dict[str, Any]:
        """The job's row in the view."""
        return (await self.rows("select * from jobforge_jobs where id = %s", id))[0]

    async def attempts(self, id: str) -> list[str]:
        """How each attempt of a job ended, in order."""
        statement: LiteralString = "select status from jobforge_job_attempts where job_id = %s order by attempt_no"
        return [row["status"] for row in await self.rows(statement, id)]

    async def error(self, id: str) -> dict[str, Any]:
        """The error of a job's last attempt."""
        statement: LiteralString = (
            "select error from jobforge_job_attempts where job_id = %s order by attempt_no desc limit 1"
        )
        found: dict[str, Any] = await self.value(statement, id)
        return found

    async def result(self, id: str) -> Any:
        rows = await self.rows("select result from jobforge_job_results where job_id = %s", id)
        return rows[0]["result"] if rows else None

    async def cancel(self, id: str) -> None:
        await self.rows("select jobforge_cancel_job(%s, %s)", id, TENANT)

    async def lose_leases(self) -> None:
        """Takes every lease away, as if all workers had been silent for ten minutes."""

        def lose() -> None:
            with psycopg.connect(self.db.url_at("10 minutes"), autocommit=True) as connection:
                connection.execute("select jobforge_maintain()")

        await asyncio.to_thread(lose)

    async def marked(self, workers: int) -> None:
        """Waits until so many workers have asked to be notified."""

        async def are_marked() -> bool:
            return bool(await self.value("select count(*)::int from jobforge.idle_workers") == workers)

        await until(are_marked)


def type_called(name: str, **options: Any) -> HandledType:
    """A type with a handler that does nothing, for tests of single parts."""
    definition = define_job(name)
    size = options.pop("batch_size", 1)

    async def nothing(*_: Any) -> None: ...

    handler = definition.batch_handler(size)(nothing) if size > 1 else definition.handler(nothing)  # type: ignore[arg-type]
    return HandledType(handler, options.pop("cap", None), options.pop("concurrency", 10))


def run_of(type: HandledType, id: str, *, tenant: str = "t", priority: int = 0, at: float = 0) -> Run:
    """A run of that type. `at` is when its job was claimed."""
    return Run(
        {
            "id": id,
            "tenant_id": tenant,
            "type": type.name,
            "payload": {},
            "priority": priority,
            "attempts": 1,
            "max_attempts": 5,
            "run_at": "",
            "created_at": "",
            "trace_id": "",
        },
        type,
        at,
    )
