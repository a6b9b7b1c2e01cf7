"""What the contexts of runs need from their worker, on the event loop and in threads."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from threading import BoundedSemaphore, Lock, get_ident
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...errors import JobForgeError
from ..defaults import RESERVED_CONNECTIONS
from ..errors import is_not_held
from .run_store import RunStore
from .step_in import run_step_in, run_step_in_sync
from .transaction import run_transaction, run_transaction_sync

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from ..claiming.kernel import Kernel
    from ..claiming.protocol import SettleResponse
    from ..presence.clock import DatabaseClock
    from ..reporting.log import WorkerLog
    from .context import RunContext
    from .offloading import Offloading
    from .run import Run
    from .runner import Runner

T = TypeVar("T")

# How often a thread that waits for a connection checks whether its run was aborted.
_CHECK_EVERY: Final = 0.1


class RunServices:
    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        kernel: Kernel,
        log: WorkerLog,
        runner: Runner,
        offloading: Offloading,
    ) -> None:
        """Must be made on the thread of the event loop."""
        self.kernel = kernel
        self.offloading = offloading
        self.log: WorkerLog = log
        self.clock: DatabaseClock = kernel.clock
        # What the worker's lifespan has yielded.
        self.resources: Any = None
        self._loop = loop
        self._loop_thread = get_ident()
        self._runner = runner
        self._lock = Lock()
        self._connections: BoundedSemaphore | None = None

    async def progress(self, run: Run, value: object) -> None:
        try:
            is_canceled = await self.kernel.progress(run, value)
        except JobForgeError as error:
            if is_not_held(error):
                self._runner.lost(run)
            raise
        if is_canceled:
            self._runner.cancel(run)

    def progress_sync(self, run: Run, value: object) -> None:
        if get_ident() == self._loop_thread:
            raise RuntimeError("progress_sync() would block the event loop: use await job.progress(value)")
        asyncio.run_coroutine_threadsafe(self.progress(run, value), self._loop).result()

    async def hold_key(self, run: Run, until: str, reason: str | None) -> None:
        try:
            await self.kernel.hold_key(run, until, reason)
        except JobForgeError as error:
            if is_not_held(error):
                self._runner.lost(run)
            raise

    def transaction(self, context: RunContext) -> AbstractAsyncContextManager[Any]:
        return run_transaction(self, context)

    def transaction_sync(self, context: RunContext) -> AbstractContextManager[Any]:
        return run_transaction_sync(self, context)

    def store(self, context: RunContext) -> RunStore:
        return RunStore(context, self)

    async def step_in(self, context: RunContext, name: str, work: Callable[[Any], Awaitable[Any]]) -> Any:
        return await run_step_in(self, context, name, work)

    def step_in_sync(self, context: RunContext, name: str, work: Callable[[Any], Any]) -> Any:
        return run_step_in_sync(self, context, name, work)

    def wait_on_loop(self, work: Awaitable[T]) -> T:
        """Waits in a thread for what happens on the event loop."""

        async def there() -> T:
            return await work

        if get_ident() == self._loop_thread:
            if inspect.iscoroutine(work):
                work.close()
            raise RuntimeError("This would block the event loop: await the method whose name does not end with _sync")
        return asyncio.run_coroutine_threadsafe(there(), self._loop).result()

    def cancel(self, run: Run) -> None:
        """The job was canceled."""
        self._runner.cancel(run)

    def lost(self, run: Run) -> None:
        """The worker no longer holds the job."""
        self._runner.lost(run)

    def settled(self, run: Run, response: SettleResponse) -> None:
        """The run's end was committed together with the handler's writes."""
        self._runner.settled(run, response)

    def rolled_back(self, run: Run, *, has_begun: bool, is_lost: bool) -> None:
        """The transaction that should have ended the run was rolled back, or its fate is unknown."""
        if has_begun:
            run.continue_running()
        if is_lost:
            self._runner.lost(run)

    def on_loop(self, work: Callable[[], T]) -> T:
        """Does something on the event loop, and waits for it."""
        if get_ident() == self._loop_thread:
            return work()

        async def there() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(there(), self._loop).result()

    @contextmanager
    def thread_connection(self, run: Run) -> Iterator[None]:
        """One of the connections that transactions in threads may take. Waits for it until the run is aborted."""
        connections = self._thread_connections()
        while not connections.acquire(timeout=_CHECK_EVERY):
            if run.aborted is not None:
                raise run.aborted
        try:
            yield
        finally:
            connections.release()

    def _thread_connections(self) -> BoundedSemaphore:
        with self._lock:
            if self._connections is None:
                most = self.kernel.blocking().max_connections
                # Nothing else takes connections of this transport, but a server has few.
                self._connections = BoundedSemaphore(1_000 if most is None else max(1, most - RESERVED_CONNECTIONS))
            return self._connections
