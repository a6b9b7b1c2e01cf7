"""A worker claims, runs and settles the jobs of its types, until it is stopped."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from ..arguments import Duration, refuse
from ..errors import ArtifactStoreRequiredError
from .defaults import MAX_GRACE, TICK_LIMIT
from .engine import Engine, EngineMode
from .options import Settings, WorkerOptions, seconds, settings_of, tick_limit
from .presence.crash import guard_process, leave_process, process_ends
from .presence.shutdown import run_until_signal, shut_down
from .reporting.meter import Meter, Tally, WorkerMetrics

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from typing_extensions import Unpack

    from ..aio.artifacts import AsyncArtifacts
    from ..transport.base import AsyncTransport


@dataclass(slots=True)
class TickSummary(Tally):
    """The result of a tick: how many jobs were run, and how their runs ended."""


class HasTransport(Protocol):
    """An `AsyncJobForge`, or any other object with an asynchronous transport."""

    @property
    def transport(self) -> AsyncTransport: ...


class Worker:
    """`Worker(forge, handlers=[app.tasks], concurrency=50)`. It does nothing until it is started.

    Options are those of `WorkerOptions`. Raises an InvalidArgumentError that names the invalid one.
    """

    def __init__(self, forge: HasTransport, **options: Unpack[WorkerOptions]) -> None:
        transport = getattr(forge, "transport", None)
        if not callable(getattr(transport, "blocking", None)):
            hint = "Write Worker(AsyncJobForge(…), handlers=…). A JobForge blocks its caller."
            refuse("forge", "must be an AsyncJobForge", hint)
        self._transport = cast("AsyncTransport", transport)
        self._settings: Settings = settings_of(options)
        self._artifacts: AsyncArtifacts | None = getattr(forge, "artifacts", None)
        if self._settings.offload and (self._artifacts is None or self._artifacts.store is None):
            raise ArtifactStoreRequiredError("offload needs an artifact store")
        self._engine: Engine | None = None
        # Kept after it has ended, because its metrics can still be read.
        self._last_engine: Engine | None = None
        self._lifespan = AsyncExitStack()
        self._stopping: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._hurried = asyncio.Event()
        # Whether a tick has compared the policies with the definitions.
        self._has_synced = False

    @property
    def id(self) -> str:
        return self._settings.id

    @property
    def running(self) -> int:
        """The number of handler calls in progress."""
        return 0 if self._engine is None else self._engine.running

    @property
    def is_running(self) -> bool:
        """Whether the worker works: from `start()`, `run()` or `tick()` until it has stopped."""
        return self._engine is not None

    def metrics(self) -> WorkerMetrics:
        """What the worker has measured since it was last started. Heartbeats carry the same numbers."""
        return Meter().read() if self._last_engine is None else self._last_engine.metrics()

    async def start(self) -> None:
        """Starts to work. Returns when the database knows the worker; while the database is down, it keeps trying."""
        await self._start(handles_crashes=self._settings.handle_crashes or False)

    async def stop(self, *, grace: Duration | None = None) -> None:
        """Claims nothing more, hands back jobs that have not started, lets handlers finish, and settles their ends.

        Handlers get `grace` seconds before they are aborted; by default the worker's `grace`.
        """
        engine = self._engine
        if engine is None:
            return
        allowed = self._settings.grace if grace is None else seconds("grace", grace, 0, MAX_GRACE)
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_task(self._end(engine, allowed))
        await asyncio.shield(self._stopping)

    async def run(self) -> None:
        """Works until SIGTERM or SIGINT, then stops as `stop` does. A second signal aborts the handlers.

        Also returns when the program calls `stop()`.
        """
        crashes = self._settings.handle_crashes
        self._ended = asyncio.Event()
        await run_until_signal(
            lambda: self._start(handles_crashes=crashes is None or crashes),
            self.stop,
            self._hurry,
            self._ended,
        )

    async def tick(self, *, limit: int = TICK_LIMIT) -> TickSummary:
        """Runs up to `limit` jobs that are due now. Returns when they have ended. For cron and serverless platforms."""
        budget = tick_limit(limit)
        engine = self._begin(budget=budget, handles_crashes=self._settings.handle_crashes or False)
        try:
            await self._enter_lifespan(engine)
            # Once is enough for a process that ticks again and again.
            if not self._has_synced:
                await engine.sync_definitions()
            self._has_synced = True
            await engine.run_due()
            tally = engine.tally
            return TickSummary(**{name: getattr(tally, name) for name in Tally.__slots__})
        finally:
            await engine.close()
            await self._forget(engine)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def _hurry(self) -> None:
        self._hurried.set()

    async def _start(self, *, handles_crashes: bool) -> None:
        engine = self._begin(budget=None, handles_crashes=handles_crashes)
        engine.on_stop_request(lambda: self._asked_to_stop(engine))
        types = [handler.definition.type for handler in self._settings.handlers]
        engine.log.info({"types": types}, "Worker started")
        try:
            await self._enter_lifespan(engine)
        except BaseException:
            await engine.close()
            await self._forget(engine)
            raise
        await engine.start()

    def _asked_to_stop(self, engine: Engine) -> None:
        if self._stopping is not None or self._engine is not engine:
            return
        engine.log.info({}, "An operator has asked the worker to stop")
        self._stopping = asyncio.get_running_loop().create_task(self._end(engine, self._settings.grace))

    def _begin(self, *, budget: int | None, handles_crashes: bool) -> Engine:
        if self._engine is not None:
            raise RuntimeError(f"Worker {self.id} is already running")
        mode = EngineMode(budget, process_ends if handles_crashes else None)
        engine = Engine(self._transport, self._settings, mode, self._artifacts)
        self._engine = self._last_engine = engine
        self._hurried = asyncio.Event()
        guard_process(engine)
        return engine

    async def _enter_lifespan(self, engine: Engine) -> None:
        lifespan = self._settings.lifespan
        if lifespan is None:
            return
        opened = lifespan(self)
        if not hasattr(opened, "__aenter__"):
            # An async generator function without the decorator.
            opened = asynccontextmanager(cast("Any", lifespan))(self)
        engine.use_resources(await self._lifespan.enter_async_context(cast("Any", opened)))

    async def _forget(self, engine: Engine) -> None:
        leave_process(engine)
        self._engine = None
        lifespan, self._lifespan = self._lifespan, AsyncExitStack()
        await lifespan.aclose()

    async def _end(self, engine: Engine, grace: float) -> None:
        try:
            await shut_down(engine, grace=grace, abort_grace=self._settings.abort_grace, hurried=self._hurried)
        finally:
            self._stopping = None
            try:
                await self._forget(engine)
            finally:
                self._ended.set()
