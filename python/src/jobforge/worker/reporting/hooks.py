"""Hooks: callbacks of the application for what happens to runs. A hook that fails is logged and changes nothing."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ...failure import failure_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..claiming.protocol import EndStatus, RunError
    from ..running.run import Run
    from ..tasks import Tasks
    from .log import WorkerLog


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """The facts of a run, without its payload."""

    id: str
    type: str
    tenant: str
    attempt: int
    max_attempts: int
    trace_id: str
    worker_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(RunInfo):
    duration: float
    """Seconds that the handler took."""
    status: EndStatus
    """The status of the job after this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFailed(RunEnded):
    error: RunError
    """What the handler raised, with its traceback and its causes."""
    full_message: str
    """The error's message followed by the messages of the causes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSuspended(RunEnded):
    """A handler with durable steps waits."""

    wait: str
    """The name of the wait, such as `sleep` or `all#2`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Trouble with the database."""

    worker_id: str
    activity: Literal["work", "claim", "heartbeat", "listen"]
    """What failed: settling and claiming, claiming alone, a heartbeat, or listening for notifications."""
    code: str | None
    """The SQLSTATE, if the database reported one."""
    error: BaseException


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleOver:
    worker_id: str
    duration: float
    """Seconds that the trouble lasted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The hooks of a worker. Each is a function or a coroutine function."""

    on_claim: Callable[[Sequence[RunInfo]], object] | None = None
    """Jobs were claimed. They start within milliseconds."""
    on_start: Callable[[RunInfo], object] | None = None
    """A handler is about to be called."""
    on_success: Callable[[RunEnded], object] | None = None
    """A run succeeded, and the database has confirmed it."""
    on_failure: Callable[[RunFailed], object] | None = None
    """A run failed, and the database has confirmed it. `status` is `queued` if the job will be retried."""
    on_dead: Callable[[RunFailed], object] | None = None
    """Called after `on_failure`, when that was the job's last attempt."""
    on_suspend: Callable[[RunSuspended], object] | None = None
    """A handler with durable steps waits, and the database has confirmed it: the job goes on in another run."""
    on_stale: Callable[[RunInfo], object] | None = None
    """The lease was lost, or the database refused the run's end. The result was dropped."""
    on_trouble: Callable[[Trouble], object] | None = None
    """A call to the database failed. The worker retries until it succeeds. Called once, when the trouble begins."""
    on_trouble_over: Callable[[TroubleOver], object] | None = None
    """Everything works again."""


class HookCaller:
    """Calls the hooks. Whatever they raise is logged."""

    def __init__(self, hooks: Hooks, log: WorkerLog, worker_id: str, tasks: Tasks) -> None:
        self._hooks = hooks
        self._log = log
        self._worker_id = worker_id
        self._tasks = tasks

    def claimed(self, runs: Sequence[Run]) -> None:
        if self._hooks.on_claim is not None:
            self._call("on_claim", self._hooks.on_claim, [RunInfo(**self._facts(run)) for run in runs])

    def started(self, run: Run) -> None:
        if self._hooks.on_start is not None:
            self._call("on_start", self._hooks.on_start, RunInfo(**self._facts(run)))

    def succeeded(self, run: Run, status: EndStatus) -> None:
        if self._hooks.on_success is not None:
            ended = RunEnded(**self._facts(run), duration=run.duration_ms / 1000, status=status)
            self._call("on_success", self._hooks.on_success, ended)

    def failed(self, run: Run, status: EndStatus) -> None:
        if self._hooks.on_failure is None and self._hooks.on_dead is None:
            return
        error = run.error or {"name": "Error", "message": ""}
        failed = RunFailed(
            **self._facts(run),
            duration=run.duration_ms / 1000,
            status=status,
            error=error,
            full_message=failure_line(error),
        )
        if self._hooks.on_failure is not None:
            self._call("on_failure", self._hooks.on_failure, failed)
        if status == "dead" and self._hooks.on_dead is not None:
            self._call("on_dead", self._hooks.on_dead, failed)

    def suspended(self, run: Run, status: EndStatus, wait: str) -> None:
        if self._hooks.on_suspend is not None:
            suspended = RunSuspended(**self._facts(run), duration=run.duration_ms / 1000, status=status, wait=wait)
            self._call("on_suspend", self._hooks.on_suspend, suspended)

    def stale(self, run: Run) -> None:
        if self._hooks.on_stale is not None:
            self._call("on_stale", self._hooks.on_stale, RunInfo(**self._facts(run)))

    def trouble(
        self,
        error: BaseException,
        activity: Literal["work", "claim", "heartbeat", "listen"],
        code: str | None,
    ) -> None:
        if self._hooks.on_trouble is not None:
            trouble = Trouble(worker_id=self._worker_id, activity=activity, code=code, error=error)
            self._call("on_trouble", self._hooks.on_trouble, trouble)

    def trouble_over(self, duration: float) -> None:
        if self._hooks.on_trouble_over is not None:
            over = TroubleOver(worker_id=self._worker_id, duration=duration)
            self._call("on_trouble_over", self._hooks.on_trouble_over, over)

    def _call(self, name: str, hook: Callable[[Any], object], event: object) -> None:
        try:
            result = hook(event)
        except Exception as error:  # noqa: BLE001 - a hook is the application's code
            self._report(name, error)
            return
        if inspect.iscoroutine(result):
            self._tasks.spawn(self._await(name, result))

    async def _await(self, name: str, result: Any) -> None:
        try:
            await result
        except Exception as error:  # noqa: BLE001 - a hook is the application's code
            self._report(name, error)

    def _report(self, name: str, error: Exception) -> None:
        self._log.error({"hook": name, "err": error}, f"The hook {name} failed; the job is not affected")

    def _facts(self, run: Run) -> dict[str, Any]:
        job = run.job
        return {
            "id": job["id"],
            "type": job["type"],
            "tenant": job["tenant_id"],
            "attempt": job["attempts"],
            "max_attempts": job["max_attempts"],
            "trace_id": job["trace_id"],
            "worker_id": self._worker_id,
        }
