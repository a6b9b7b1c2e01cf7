"""The options of a worker."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import pytest

from jobforge import AsyncJobForge, InvalidArgumentError, JobContext, define_job, job
from jobforge.worker import Hooks, Worker, handlers_of
from jobforge.worker.options import settings_of

from . import child_handlers

a = define_job("a")


@a.handler
async def handle(input: Any, job: JobContext) -> None: ...


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"handlers": []}, "handlers must contain at least one handler"),
        ({"handlers": [handle, a.handler(print)]}, 'two handlers of the type "a"'),
        ({"handlers": [a]}, "handlers[0] is a definition without a handler"),
        ({"handlers": [print]}, "handlers[0] is a function without a definition"),
        ({"handlers": [sys]}, "handlers[0] has no handlers"),
        ({"handlers": "app.tasks"}, "handlers must be a list"),
        ({"concurrency": 0}, "concurrency must be a whole number from 1 to 100000"),
        ({"concurrency": 1.5}, "concurrency must be a whole number"),
        ({"max_per_type": {"b": 1}}, 'has the type "b", which has no handler'),
        ({"max_per_type": {"a": 0}}, 'max_per_type["a"] must be'),
        ({"id": " "}, "id must be a text"),
        ({"id": "x\0"}, "id must be a text"),
        ({"id": "x" * 1025}, "id must not be longer"),
        ({"tenant": "org_1"}, "tenant"),
        ({"poll": 0}, "poll must be 0.01 to 60 seconds"),
        ({"heartbeat": 31}, "heartbeat must be 0.1 to 30 seconds"),
        ({"grace": -1}, "grace must be 0 to 86400 seconds"),
        ({"batch_size": 1001}, "batch_size must be a whole number from 1 to 1000"),
        ({"prefetch": -1}, "prefetch must be"),
        ({"listen": "no"}, "listen must be True or False"),
        ({"logger": object()}, "logger must have a method debug()"),
        ({"hooks": {"on_dead": print}}, "hooks must be Hooks"),
        ({"hooks": Hooks(on_dead="x")}, "hooks.on_dead must be a function"),  # type: ignore[arg-type]
        ({"middleware": [1]}, "middleware[0] must be a function"),
        ({"lifespan": 1}, "lifespan must be a function"),
        ({"app_version": ""}, "app_version must be a text"),
        ({"parallelism": 3}, "parallelism is not a known option"),
        ({"timeout": 3}, "timeout is not a known option"),
    ],
)
def test_an_invalid_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        settings_of({"handlers": [handle], **options})  # type: ignore[typeddict-item]
    assert message in str(caught.value)


def test_options_have_defaults_and_durations_may_be_timedeltas() -> None:
    settings = settings_of({"handlers": child_handlers, "poll": timedelta(milliseconds=500), "grace": 0})
    assert {each.definition.type for each in settings.handlers} == {"a", "thread"}
    assert (settings.concurrency, settings.poll, settings.grace, settings.heartbeat) == (10, 0.5, 0, 10)
    assert (settings.batch_size, settings.prefetch, settings.abort_grace) == (500, 1000, 5)
    assert len(settings.id) > 10


def test_handlers_are_found_in_modules_and_among_decorated_functions() -> None:
    @job("b")
    def build(job: JobContext, month: str) -> None: ...

    found = handlers_of([child_handlers, build])
    assert [each.definition.type for each in found] == ["a", "thread", "b"]
    assert handlers_of(build)[0].definition.type == "b"


def test_a_worker_needs_an_asynchronous_client() -> None:
    with pytest.raises(InvalidArgumentError, match="must be an AsyncJobForge"):
        Worker(object(), handlers=[handle])  # type: ignore[arg-type]
    worker = Worker(AsyncJobForge("postgresql://localhost/none"), handlers=[handle], id="w1")
    assert (worker.id, worker.running, worker.is_running) == ("w1", 0, False)
    assert worker.metrics().runs.claimed == 0
