"""The second argument of a handler. The worker implements it; it is declared here so that definitions can name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from .durable import DurableContext

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager, AbstractContextManager
    from datetime import datetime

    from typing_extensions import TypeVar, Unpack

    from .arguments import Duration
    from .definition import JobDefinition, JobOptions, NewJob
    from .errors import JobAborted
    from .schedule_records import RunSchedule

    In = TypeVar("In")
    Resources = TypeVar("Resources", covariant=True, default=Any)
else:
    from typing import TypeVar

    Resources = TypeVar("Resources", covariant=True)


class JobLogger(Protocol):
    """Writes log lines that have the fields of the run. `fields` are added to them and cannot replace them.

    As in `logging`, `args` replace `%s` in the message, and `exception` adds the exception that is handled, as `err`.
    """

    def debug(self, message: str, /, *args: object, **fields: object) -> None: ...
    def info(self, message: str, /, *args: object, **fields: object) -> None: ...
    def warning(self, message: str, /, *args: object, **fields: object) -> None: ...
    def error(self, message: str, /, *args: object, **fields: object) -> None: ...
    def exception(self, message: str, /, *args: object, **fields: object) -> None: ...


class JobContext(DurableContext, Protocol[Resources]):
    """One run of a job, as its handler sees it."""

    @property
    def id(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def tenant(self) -> str: ...

    @property
    def attempt(self) -> int:
        """The number of this run, 1 for the first. It is part of the fence of every write."""
        ...

    @property
    def max_attempts(self) -> int: ...

    @property
    def trace_id(self) -> str: ...

    @property
    def traceparent(self) -> str:
        """The W3C trace context header that links an outbound call to this run."""
        ...

    @property
    def subject(self) -> str | None: ...

    @property
    def tags(self) -> tuple[str, ...]: ...

    @property
    def run_at(self) -> datetime: ...

    @property
    def created_at(self) -> datetime: ...

    @property
    def scheduled_for(self) -> datetime | None:
        """When the run of a schedule was due; None for other jobs."""
        ...

    @property
    def schedule(self) -> RunSchedule | None:
        """The schedule that created this job; None for other jobs."""
        ...

    @property
    def resources(self) -> Resources:
        """What the worker's `lifespan` has yielded."""
        ...

    @property
    def log(self) -> JobLogger: ...

    @property
    def last_progress(self) -> Any:
        """What an earlier attempt reported last, or this one; None if nothing was reported."""
        ...

    @property
    def abort_reason(self) -> JobAborted | None:
        """Why the run was aborted: timeout, cancel, lost lease or shutdown; None while it may go on."""
        ...

    def raise_if_aborted(self) -> None:
        """Raises the `JobAborted` of this run, if there is one. For handlers that run in threads."""
        ...

    async def wait_aborted(self) -> JobAborted:
        """Returns when the run is aborted."""
        ...

    async def progress(self, value: object) -> None:
        """Reports the progress of the run, as any JSON value."""
        ...

    def progress_sync(self, value: object) -> None:
        """`progress` for handlers that run in threads."""
        ...

    def defer(self, when: Duration | datetime, *, counts: bool = True) -> NoReturn:
        """Ends this run and runs the job again after a number of seconds, or at a time.

        It counts as an execution unless `counts` is False. Never returns.
        """
        ...

    def fail(self, message: str, details: Mapping[str, object] | None = None) -> NoReturn:
        """Ends the job as failed, without retries. Never returns."""
        ...

    def retry_after(
        self, when: Duration | datetime, reason: str | BaseException | None = None, *, at_least: bool = False
    ) -> NoReturn:
        """Fails this run and retries the job at the given time instead of the time that the policy says.

        `reason` is the error of the run, or its message. With `at_least`, the policy's wait counts if it is longer.

        If the job is a run of a schedule that does not retry its runs, it fails, and the next run is due at that time.
        Never returns.
        """
        ...

    async def hold_key(self, until: Duration | datetime, reason: str | None = None) -> None:
        """Lets no other job with the concurrency key of this job start before a time, at most a day ahead.

        For a server that asks all its callers to wait. Running jobs continue. For a job without a key, the call does
        nothing.
        """
        ...

    def hold_key_sync(self, until: Duration | datetime, reason: str | None = None) -> None:
        """`hold_key` for handlers that run in threads."""
        ...

    def next_run(self, when: Duration | datetime) -> None:
        """Sets when the schedule runs next, however this run ends. The last call counts.

        A dynamic schedule has no next run if its handler succeeds without calling this. For a job without a schedule,
        the call does nothing.
        """
        ...

    def cost(self, cents: int) -> None:
        """Adds to the cost of this run."""
        ...

    def enqueue(
        self, job: JobDefinition[In, Any] | NewJob[Any], input: In | None = None, **options: Unpack[JobOptions]
    ) -> None:
        """Adds a child job of the same tenant. It is enqueued only if this run succeeds, in the same commit."""
        ...

    def set_result(self, value: object) -> None:
        """Sets the result of the run, for a `transaction()` that ends the job before its handler returns."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Any]:
        """`async with job.transaction() as connection`: the handler's own writes and the successful end of the job in
        one transaction. The job has succeeded when the block ends. `connection` is one of psycopg."""
        ...

    def transaction_sync(self) -> AbstractContextManager[Any]:
        """`transaction` for handlers that run in threads."""
        ...
