"""A job definition: its type, input and output, and how it is retried. Handlers are bound to it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypedDict, cast

from .arguments import check_callable, check_one_of, check_range, refuse
from .definition_checks import DefinitionOptions, checked_definition
from .handler_checks import check_handler
from .schema import AnySchema, Schema, schema_of
from .words import BOUNDS, UNSET, DedupeMode, KeepLogs, RetryPreset, Unset

if TYPE_CHECKING:
    from datetime import datetime

    from typing_extensions import TypeVar, Unpack

    from .arguments import Duration, Tenant
    from .context import JobContext
    from .retry import RetryPolicy
    from .webhook import NotifyOptions

    In = TypeVar("In", default=Any)
    Out = TypeVar("Out", default=Any)
    OutCo = TypeVar("OutCo", default=Any, covariant=True)
else:
    from typing import TypeVar

    In = TypeVar("In")
    Out = TypeVar("Out")
    OutCo = TypeVar("OutCo", covariant=True)

RunIn: TypeAlias = Literal["loop", "thread", "process"]
"""Where a handler runs: on the event loop, in a thread, or in a process of its own."""


class JobOptions(TypedDict, total=False):
    """The options of one job, except its tenant. None counts as not given."""

    idempotency_key: str | None
    """There is one job per tenant, type and key, until the job is forgotten."""
    dedupe_key: str | None
    """There is one queued or running job per tenant, type and key. Default: what the definition's `dedupe` returns."""
    dedupe_mode: DedupeMode | None
    run_at: datetime | None
    """The job does not start before this time."""
    delay: Duration | None
    """The job does not start before this time has passed on the database's clock."""
    expires_at: datetime | None
    max_attempts: int | None
    priority: int | None
    tags: Sequence[str] | None
    subject: str | None
    concurrency_key: str | None
    offload: bool | None
    """True: stores a payload of more than 512 KiB, up to 64 MiB, in the artifact store."""
    notify: NotifyOptions | None
    """Whom a webhook tells about the end of the job, if this call creates it."""
    traceparent: str | None
    """A W3C trace context header, stored with the job. Default: the active span, if the process has OpenTelemetry."""


class EnqueueOptions(JobOptions, total=False):
    """The options of one job, with its tenant."""

    tenant: Tenant | None


@dataclass(frozen=True, slots=True, eq=False)
class JobDefinition(Generic[In, Out]):
    """What `define_job` returns. It types everything else: enqueue, handler, result and list."""

    type: str
    input: Schema[In]
    output: Schema[Out]
    retry: RetryPolicy | None = None
    timeout_ms: int | None | Unset = UNSET
    """The longest time that a run may take; None: no limit; UNSET: the default, one hour."""
    lease_ms: int | None = None
    priority: int | None = None
    max_priority: int | None = None
    audit_action: str | None = None
    keep_history: bool | None = None
    keep_logs: KeepLogs | None = None
    retention_days: int | None = None
    redact: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    dedupe: Callable[[In], str | None] | None = None
    dedupe_mode: DedupeMode | None = None
    subject: Callable[[In], str | None] | None = None

    def new(self, input: In) -> NewJob[Out]:
        """One job to enqueue, for `enqueue`, `enqueue_many` and `job.enqueue`."""
        return NewJob(self, input)

    def handler(self, function: Callable[[In, JobContext[Any]], Awaitable[Out] | Out]) -> JobHandler[In, Out]:
        """Binds a handler, for a worker: `async def` runs on the event loop, `def` in a thread."""
        return self.handler_in(None)(function)

    def handler_in(
        self, run_in: RunIn | None
    ) -> Callable[[Callable[[In, JobContext[Any]], Awaitable[Out] | Out]], JobHandler[In, Out]]:
        """Binds a handler that runs where it says: `@send_mail.handler_in("process")`."""

        def bind(function: Callable[[In, JobContext[Any]], Awaitable[Out] | Out]) -> JobHandler[In, Out]:
            check_callable(function, "function", "Write @definition.handler above the handler.")
            check_handler(function, is_batch=False)
            return JobHandler(self, function, 1, _where(function, run_in))

        return bind

    def batch_handler(
        self, size: int, *, run_in: RunIn | None = None
    ) -> Callable[
        [Callable[[Sequence[BatchItem[In]]], Awaitable[Sequence[Out | Exception]] | Sequence[Out | Exception]]],
        JobHandler[In, Out],
    ]:
        """Binds a handler that is called once for up to `size` jobs. It returns one result per job, in order; an
        exception in the list fails only that job."""
        check_range(size, "size", BOUNDS["batch_size"])

        def bind(
            function: Callable[
                [Sequence[BatchItem[In]]], Awaitable[Sequence[Out | Exception]] | Sequence[Out | Exception]
            ],
        ) -> JobHandler[In, Out]:
            check_callable(function, "function", "Write @definition.batch_handler(size) above the handler.")
            check_handler(function, is_batch=True)
            return JobHandler(self, function, size, _where(function, run_in), is_batch=True)

        return bind

    def __repr__(self) -> str:
        return f"<JobDefinition {self.type}>"


def _where(function: Callable[..., object], run_in: RunIn | None) -> RunIn:
    called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    is_async = inspect.iscoroutinefunction(called) or inspect.iscoroutinefunction(function)
    if run_in is None:
        return "loop" if is_async else "thread"
    check_one_of(run_in, "run_in", RunIn)
    if is_async and run_in == "thread":
        refuse("run_in", "must not be thread for an async def", "Leave it out, or write the handler with def.")
    return run_in


@dataclass(frozen=True, slots=True)
class BatchItem(Generic[In]):
    """One job of a batch."""

    input: In
    job: JobContext[Any]


@dataclass(frozen=True, slots=True, eq=False)
class JobHandler(Generic[In, Out]):
    """A definition with its handler, as the worker runs it."""

    definition: JobDefinition[In, Out]
    function: Callable[..., Any]
    """Takes the input and the context; for a batch, a list of `BatchItem`. Returns a value or an awaitable."""
    batch_size: int
    """The most jobs of one call; 1 for a handler of single jobs."""
    run_in: RunIn
    is_batch: bool = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function itself, for tests. See also `jobforge.testing.call_handler`."""
        return self.function(*args, **kwargs)


@dataclass(frozen=True, slots=True, eq=False)
class NewJob(Generic[OutCo]):
    """One job to enqueue: its definition and input, and options of its own."""

    definition: JobDefinition[Any, OutCo]
    input: Any
    options: EnqueueOptions = field(default_factory=EnqueueOptions)

    def using(self, **options: Unpack[EnqueueOptions]) -> NewJob[OutCo]:
        """The same job with these options, which count more than those of the call that enqueues it."""
        return replace(self, options=cast("EnqueueOptions", {**self.options, **options}))


_ANY: Final = AnySchema()


def define_job(
    type: str,
    *,
    input: type[In] | Schema[In] | None = None,
    output: type[Out] | Schema[Out] | None = None,
    retry: RetryPreset | RetryPolicy | None = None,
    timeout: Duration | None | Unset = UNSET,
    lease: Duration | None = None,
    priority: int | None = None,
    max_priority: int | None = None,
    audit_action: str | None = None,
    keep_history: bool | None = None,
    keep_logs: KeepLogs | None = None,
    retention_days: int | None = None,
    redact: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    dedupe: Callable[[In], str | None] | None = None,
    dedupe_mode: DedupeMode | None = None,
    subject: Callable[[In], str | None] | None = None,
) -> JobDefinition[In, Out]:
    """Defines a job. Raises an InvalidArgumentError if an option is invalid.

    - `type`: the name of the job, such as `mail.send`.
    - `input`, `output`: a Pydantic model, a dataclass or another type. Without one, any JSON.
    - `retry`: a preset or a `RetryPolicy`.
    - `timeout`: the longest time that a run may take, in seconds. Default: one hour. None: no limit.
    - `priority`, `tags`: of jobs that do not set their own. Tags are added to those of the job.
    - `keep_logs`: the runs whose logs are kept with their attempts: `off`, `failed` or `all`.
    - `redact`: the names of payload keys that clients must not show or log.
    - `dedupe`: returns the dedupe key of an input. While a job with this key is queued or running, no second one is
      created. `dedupe_mode` says what an enqueue does then. Default: `skip`.
    - `subject`: returns the subject of a job with this input.
    """
    options: DefinitionOptions = {
        "retry": retry,
        "timeout": timeout,
        "lease": lease,
        "priority": priority,
        "max_priority": max_priority,
        "audit_action": audit_action,
        "keep_history": keep_history,
        "keep_logs": keep_logs,
        "retention_days": retention_days,
        "redact": redact,
        "tags": tags,
        "dedupe": dedupe,
        "dedupe_mode": dedupe_mode,
        "subject": subject,
    }
    return JobDefinition(
        input=schema_of(input, "input"), output=schema_of(output, "output"), **checked_definition(type, options)
    )
