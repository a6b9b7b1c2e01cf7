"""A worker's options, and the checks of their values."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from datetime import timedelta
from logging import Logger as StandardLogger
from typing import TYPE_CHECKING, Any, Final, TypedDict

from ..arguments import Duration, Tenant, check_bool, check_callable, check_tenant, refuse
from ..suggest import check_known
from .defaults import (
    ABORT_GRACE,
    BATCH_SIZE,
    CONCURRENCY,
    GRACE,
    HEARTBEAT,
    LONGEST_POLL,
    MAX_BATCH_SIZE,
    MAX_GRACE,
    MAX_HEARTBEAT,
    POLL,
    PREFETCH,
)
from .executors.importable import check_process_handler
from .handlers import HandlerSource, handlers_of
from .reporting.hooks import Hooks
from .reporting.sinks import Logger, wants_stacks

if TYPE_CHECKING:
    from ..definition import JobHandler
    from .running.middleware import Middleware
    from .worker import Worker

MAX_ID_BYTES: Final = 1024
MAX_CONCURRENCY: Final = 100_000

Lifespan = Callable[["Worker"], AbstractAsyncContextManager[Any] | AsyncIterator[Any]]


class WorkerOptions(TypedDict, total=False):
    """The options of a worker, except its forge. Times are seconds or a timedelta."""

    handlers: HandlerSource | Iterable[HandlerSource]
    """The handlers, or modules that have them. The worker claims jobs of their types and no others."""
    concurrency: int
    """The number of handler calls at the same time, at most. Default 10."""
    max_per_type: Mapping[str, int]
    """The same for single types: `{"video.encode": 2}`."""
    id: str | None
    """The worker's name, unique among running workers. Default: host, process id and a random part."""
    tenant: Tenant | None
    """Claims jobs of this tenant only."""
    listen: bool
    """False: never LISTEN, only poll, as poolers in transaction mode require. Default True, where it is possible."""
    hand_off: bool
    """False: enqueues hand no jobs to this worker while it is idle. Default True, if it listens and claims the jobs of
    all tenants."""
    poll: Duration
    """The longest sleep of an idle worker before it looks for jobs again. Default 2; if the worker is notified of new
    jobs, two minutes after the first such sleep, because its heartbeats look for jobs as well."""
    heartbeat: Duration
    """The time between heartbeats. After a minute without one, every lease is lost. Default 10."""
    grace: Duration
    """How long a shutdown waits for running handlers. Default 30."""
    abort_grace: Duration
    """How long a handler may continue after it was aborted, before its slot goes to another job. Default 5."""
    batch_size: int
    """The number of jobs in one call to the database, at most: 1 to 1000. Default 500."""
    prefetch: int
    """The number of jobs claimed before there is a slot for them, at most. 0 claims none. Default 1000."""
    logger: Logger | StandardLogger | None
    """Receives the log lines. Default: JSON on standard output, text in a terminal, of level `LOG_LEVEL` or above."""
    log_stacks: bool | None
    """Whether lines about failed runs have the whole traceback. Default: as `LOG_STACKS` says, else in a terminal."""
    handle_crashes: bool | None
    """Whether a handler may end the process by sys.exit(). Then the log names the job, the job fails, and the other
    jobs are released. Otherwise it is an error like any other. Default: True for `run()`, otherwise False."""
    hooks: Hooks
    sync: bool
    """False: do not bring the policies of the handled types in line with their definitions at start. Default True."""
    app_version: str | None
    """The version of the application, such as `1.4.2` or a commit. A worker of an earlier version that restarts
    changes no policies. Default: none, and the worker that starts last decides."""
    middleware: Sequence[Middleware]
    """Functions around every handler, the first one outermost."""
    offload: bool
    """Whether results of more than 512 KiB, up to 64 MiB, go to the artifact store of the client. Default False."""
    lifespan: Lifespan | None
    """An async context manager around the whole work. What it yields is `job.resources`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The options with their defaults."""

    handlers: list[JobHandler[Any, Any]]
    concurrency: int = CONCURRENCY
    max_per_type: Mapping[str, int] = field(default_factory=dict)
    id: str = ""
    tenant: str | None = None
    listen: bool = True
    hand_off: bool = True
    poll: float = POLL
    notified_poll: float = LONGEST_POLL
    heartbeat: float = HEARTBEAT
    grace: float = GRACE
    abort_grace: float = ABORT_GRACE
    batch_size: int = BATCH_SIZE
    prefetch: int = PREFETCH
    logger: Logger | StandardLogger | None = None
    log_stacks: bool = False
    handle_crashes: bool | None = None
    hooks: Hooks = field(default_factory=Hooks)
    sync: bool = True
    app_version: str | None = None
    middleware: Sequence[Middleware] = ()
    offload: bool = False
    lifespan: Lifespan | None = None


# What other libraries call these options.
_ALIASES: Final = {
    "handler": "handlers",
    "tasks": "handlers",
    "jobs": "handlers",
    "maxjobs": "concurrency",
    "threads": "concurrency",
    "parallelism": "concurrency",
    "pollinterval": "poll",
    "polldelay": "poll",
    "graceperiod": "grace",
    "shutdowntimeout": "grace",
    "shutdowngracefultimeout": "grace",
    "name": "id",
    "workerid": "id",
    "tenantid": "tenant",
    "log": "logger",
    "onstartup": "lifespan",
    "onshutdown": "lifespan",
    "types": "A worker claims the types of its handlers, and no others.",
    "queues": "A worker claims the types of its handlers, and no others.",
    "timeout": "The timeout is in the definition: define_job(…, timeout=…).",
    "jobtimeout": "The timeout is in the definition: define_job(…, timeout=…).",
    "retry": "Retries are in the definition: define_job(…, retry=…).",
    "database": "The database is an argument of the forge: Worker(AsyncJobForge(url), handlers=…).",
}


def settings_of(options: WorkerOptions) -> Settings:
    """Checks the options. Raises an InvalidArgumentError that names the invalid one."""
    names = [each.name for each in fields(Settings)]
    check_known(options, names, _ALIASES)
    handlers = handlers_of(options.get("handlers") or ())
    if not handlers:
        refuse("handlers", "must contain at least one handler", "A worker runs nothing else.")
    for handler in handlers:
        if handler.run_in == "process":
            check_process_handler(handler, f"the handler of {handler.definition.type}")
    logger = _logger(options.get("logger"))
    stacks = options.get("log_stacks")
    crashes = options.get("handle_crashes")
    return Settings(
        handlers=handlers,
        concurrency=whole("concurrency", options.get("concurrency", CONCURRENCY), 1, MAX_CONCURRENCY),
        max_per_type=_max_per_type(options.get("max_per_type") or {}, handlers),
        id=_id(options.get("id")),
        tenant=None if options.get("tenant") is None else check_tenant(options.get("tenant")),
        listen=check_bool(options.get("listen", True), "listen"),
        hand_off=check_bool(options.get("hand_off", True), "hand_off"),
        offload=check_bool(options.get("offload", False), "offload"),
        poll=seconds("poll", options.get("poll", POLL), 0.01, 60),
        notified_poll=seconds("poll", options["poll"], 0.01, 60) if "poll" in options else LONGEST_POLL,
        heartbeat=seconds("heartbeat", options.get("heartbeat", HEARTBEAT), 0.1, MAX_HEARTBEAT),
        grace=seconds("grace", options.get("grace", GRACE), 0, MAX_GRACE),
        abort_grace=seconds("abort_grace", options.get("abort_grace", ABORT_GRACE), 0, MAX_GRACE),
        batch_size=whole("batch_size", options.get("batch_size", BATCH_SIZE), 1, MAX_BATCH_SIZE),
        prefetch=whole("prefetch", options.get("prefetch", PREFETCH), 0, 100_000),
        logger=logger,
        log_stacks=wants_stacks(logger) if stacks is None else check_bool(stacks, "log_stacks"),
        handle_crashes=None if crashes is None else check_bool(crashes, "handle_crashes"),
        hooks=_hooks(options.get("hooks")),
        sync=check_bool(options.get("sync", True), "sync"),
        app_version=_version(options.get("app_version")),
        middleware=_middleware(options.get("middleware") or ()),
        lifespan=_lifespan(options.get("lifespan")),
    )


def whole(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        refuse(name, f"must be a whole number from {least} to {most}, not {value!r}")
    return value


def seconds(name: str, value: object, least: float, most: float) -> float:
    """A duration in seconds."""
    given = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        refuse(name, f"must be {least:g} to {most:g} seconds, or such a timedelta, not {value!r}")
    return float(given)


def tick_limit(value: object) -> int:
    """Checks the number of jobs that one tick may run."""
    return whole("limit", value, 1, 1_000_000)


def _max_per_type(caps: object, handlers: Sequence[JobHandler[Any, Any]]) -> Mapping[str, int]:
    if not isinstance(caps, Mapping):
        refuse("max_per_type", 'must be a dict such as {"video.encode": 2}')
    types = {handler.definition.type for handler in handlers}
    for type, cap in caps.items():
        whole(f'max_per_type["{type}"]', cap, 1, MAX_CONCURRENCY)
        if type not in types:
            refuse("max_per_type", f'has the type "{type}", which has no handler')
    return dict(caps)


def _id(id: object) -> str:
    if id is None:
        return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
    if not isinstance(id, str) or id.strip() == "" or "\0" in id:
        refuse("id", "must be a text that is not empty and contains no NUL character")
    if len(id.encode(errors="replace")) > MAX_ID_BYTES:
        refuse("id", f"must not be longer than {MAX_ID_BYTES} bytes")
    return id


def _version(version: object) -> str | None:
    if version is None:
        return None
    if not isinstance(version, str) or not 1 <= len(version) <= 200:
        refuse("app_version", "must be a text of 1 to 200 characters")
    return version


def _logger(logger: Any) -> Logger | StandardLogger | None:
    if logger is None or isinstance(logger, StandardLogger):
        return logger
    for level in ("debug", "info", "warning", "error"):
        if not callable(getattr(logger, level, None)):
            refuse("logger", f"must have a method {level}()", "Pass a logger of logging or structlog.")
    checked: Logger = logger
    return checked


def _hooks(hooks: object) -> Hooks:
    if hooks is None:
        return Hooks()
    if not isinstance(hooks, Hooks):
        refuse("hooks", "must be Hooks", "Write hooks=Hooks(on_failure=…).")
    for each in fields(Hooks):
        hook = getattr(hooks, each.name)
        if hook is not None:
            check_callable(hook, f"hooks.{each.name}")
    return hooks


def _middleware(middleware: object) -> Sequence[Middleware]:
    if isinstance(middleware, str | bytes) or not isinstance(middleware, Iterable):
        refuse("middleware", "must be a list of functions")
    layers = tuple(middleware)
    for place, layer in enumerate(layers):
        check_callable(layer, f"middleware[{place}]", "Pass async functions that take the item and next.")
    return layers


def _lifespan(lifespan: Any) -> Lifespan | None:
    if lifespan is not None:
        check_callable(lifespan, "lifespan", "Write @asynccontextmanager above an async generator function.")
    checked: Lifespan | None = lifespan
    return checked
