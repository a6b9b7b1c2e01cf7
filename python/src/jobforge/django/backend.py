"""A backend for `django.tasks`: retries, priorities, delays and results, in the transaction of the caller.

    TASKS = {"default": {"BACKEND": "jobforge.django.JobForgeBackend", "OPTIONS": {"tenant": "app.current_tenant"}}}

Options: `tenant` is a UUID or the path of a function that returns one (default: the global tenant), `database` the
alias of a database (default: `default`), `schema` the API schema, `retry` a preset. With `migrate`, `manage.py migrate`
installs and upgrades JobForge.
"""

from __future__ import annotations

import builtins
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.core import checks
from django.db import close_old_connections, connections
from django.tasks.backends.base import BaseTaskBackend
from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
from django.tasks.signals import task_enqueued, task_finished, task_started
from django.utils import timezone
from django.utils.json import normalize_json
from django.utils.module_loading import import_string

from ..definition import JobDefinition, JobHandler, define_job
from ..words import GLOBAL_TENANT
from .connection import DjangoForge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..context import JobContext
    from ..records import Job, JobAttempt

_STATUSES: Final = {
    "queued": TaskResultStatus.READY,
    "running": TaskResultStatus.RUNNING,
    "succeeded": TaskResultStatus.SUCCESSFUL,
    "failed": TaskResultStatus.FAILED,
    "dead": TaskResultStatus.FAILED,
    "canceled": TaskResultStatus.FAILED,
}
_tasks: Final[dict[str, Task]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobForgeTask(Task):
    """A task that the worker knows as soon as its module is imported."""

    type: str | None = None
    """The type of its jobs, `@task(type="image.resize")`. Default: the path of its function. Needs Django 6.1."""

    def __post_init__(self) -> None:
        # A dataclass with slots is another class than the one that `super()` would see here.
        Task.__post_init__(self)
        # `using()` makes variants of the same task. The first one is what the decorator made.
        known = _tasks.setdefault(_type_of(self), self)
        if known.func is not self.func:
            message = f"{self.module_path} and {known.module_path} have the same type, {_type_of(self)!r}."
            raise InvalidTask(message)


class JobForgeBackend(BaseTaskBackend):
    """Enqueues tasks as jobs. Their type is the path of the function, unless the task names another one."""

    task_class = JobForgeTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: dict[str, Any]) -> None:
        super().__init__(alias, params)
        self.database: str = self.options.get("database", "default")
        self.schema: str = self.options.get("schema", "public")
        self.migrates: bool = self.options.get("migrate", False) is True
        self.forge = DjangoForge(self.database, self.schema)

    def tenant(self) -> str:
        """The tenant of the current request or job."""
        found = self.options.get("tenant", GLOBAL_TENANT)
        if isinstance(found, str) and "." in found:
            found = import_string(found)
        return str(found() if callable(found) else found)

    def definition(self, task: Task) -> JobDefinition[Any, Any]:
        """The definition of a task's jobs."""
        return define_job(_type_of(task), retry=self.options.get("retry"))

    def enqueue(self, task: Task, args: Sequence[Any], kwargs: dict[str, Any]) -> TaskResult:
        self.validate_task(task)
        payload = {"args": normalize_json(list(args)), "kwargs": normalize_json(dict(kwargs))}
        run_at = task.run_after
        if run_at is not None and timezone.is_naive(run_at):
            run_at = timezone.make_aware(run_at)
        handle = self.forge.enqueue(
            self.definition(task),
            payload,
            tenant=self.tenant(),
            priority=task.priority,
            run_at=run_at,
            tags=[f"queue:{task.queue_name}"],
        )
        result = self._result(task, handle.id, handle.job, payload, [])
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> TaskResult:
        tenant = self.tenant()
        job = self.forge.get(result_id, tenant=tenant)
        if job is None:
            raise TaskResultDoesNotExist(result_id)
        task = _tasks.get(job.type) or import_string(job.type)
        result = self._result(task, job.id, job, job.payload, self.forge.attempts(job.id, tenant=tenant))
        if job.status == "succeeded":
            object.__setattr__(result, "_return_value", self.forge.result(job.id, tenant=tenant))
        return result

    def _result(
        self, task: Task, id: str, job: Job | None, payload: dict[str, Any], attempts: Sequence[JobAttempt]
    ) -> TaskResult:
        return TaskResult(
            task=task,
            id=id,
            status=TaskResultStatus.READY if job is None else _STATUSES[job.status],
            enqueued_at=None if job is None else job.created_at,
            started_at=attempts[0].started_at if attempts else None,
            finished_at=None if job is None else job.finished_at,
            last_attempted_at=attempts[-1].started_at if attempts else None,
            args=payload["args"],
            kwargs=payload["kwargs"],
            backend=self.alias,
            errors=[_error(each) for each in attempts if each.error is not None],
            worker_ids=[each.worker_id or "" for each in attempts],
        )

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        found = list(super().check(**kwargs))
        if connections[self.database].vendor != "postgresql":
            message = f"The database {self.database!r} of the task backend {self.alias!r} is not Postgres."
            found.append(checks.Error(message, id="jobforge.E001"))
        return found

    def handler(self, task: Task) -> JobHandler[Any, Any]:
        """The handler that runs a task: on the event loop if it is an `async def`, in a thread otherwise."""
        definition = self.definition(task)
        run: Any = _Asynchronous(self, task) if inspect.iscoroutinefunction(task.func) else _Blocking(self, task)
        return definition.handler(run)

    def context_of(self, task: Task, payload: dict[str, Any], job: JobContext[Any]) -> TaskContext:
        """What a task with `takes_context` gets."""
        result = TaskResult(
            task=task,
            id=job.id,
            status=TaskResultStatus.RUNNING,
            enqueued_at=job.created_at,
            started_at=timezone.now(),
            finished_at=None,
            last_attempted_at=timezone.now(),
            args=payload["args"],
            kwargs=payload["kwargs"],
            backend=self.alias,
            errors=[],
            worker_ids=[""] * job.attempt,
        )
        return TaskContext(task_result=result)


class _Running:
    """Calls a task's function for a job, with Django's signals around it."""

    def __init__(self, backend: JobForgeBackend, task: Task) -> None:
        self.backend = backend
        self.task = task

    def begin(self, payload: dict[str, Any], job: JobContext[Any]) -> tuple[TaskContext, list[Any]]:
        context = self.backend.context_of(self.task, payload, job)
        task_started.send(type(self.backend), task_result=context.task_result)
        return context, [context, *payload["args"]] if self.task.takes_context else payload["args"]

    def end(self, context: TaskContext, status: TaskResultStatus) -> None:
        result = context.task_result
        object.__setattr__(result, "status", status)
        object.__setattr__(result, "finished_at", timezone.now())
        task_finished.send(type(self.backend), task_result=result)


class _Blocking(_Running):
    def __call__(self, payload: dict[str, Any], job: JobContext[Any]) -> Any:
        close_old_connections()
        context, args = self.begin(payload, job)
        status = TaskResultStatus.FAILED
        try:
            returned = normalize_json(self.task.func(*args, **payload["kwargs"]))
            status = TaskResultStatus.SUCCESSFUL
        finally:
            self.end(context, status)
            close_old_connections()
        return returned


class _Asynchronous(_Running):
    async def __call__(self, payload: dict[str, Any], job: JobContext[Any]) -> Any:
        context, args = self.begin(payload, job)
        status = TaskResultStatus.FAILED
        try:
            returned = normalize_json(await self.task.func(*args, **payload["kwargs"]))
            status = TaskResultStatus.SUCCESSFUL
        finally:
            self.end(context, status)
        return returned


def _type_of(task: Task) -> str:
    return getattr(task, "type", None) or task.module_path


def _error(attempt: JobAttempt) -> TaskError:
    error = attempt.error or {}
    name = str(error.get("name", "Exception"))
    path = error.get("class_path")
    if not isinstance(path, str):
        known = isinstance(getattr(builtins, name, None), type)
        path = f"builtins.{name if known else 'Exception'}"
    return TaskError(exception_class_path=path, traceback=str(error.get("stack") or error.get("message") or name))


def task_handlers() -> list[JobHandler[Any, Any]]:
    """The handlers of all tasks whose modules are imported, for a worker."""
    return [task.get_backend().handler(task) for task in _tasks.values()]
