"""Mistakes that are found before any round trip, each with its field and what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial, wraps
from typing import Any

import pytest

from jobforge import (
    AsyncJobForge,
    InvalidArgumentError,
    InvalidScheduleError,
    JobContext,
    JobForge,
    RetryPolicy,
    TenantRequiredError,
    define_job,
    define_schedule,
    job,
)
from jobforge.words import GLOBAL_TENANT

mail = define_job("mail.send")


@job("report.build")
def build(job: JobContext, month: str) -> None: ...


class NoTransport:
    """A transport that no call may reach."""

    can_listen = can_transact = is_transaction = False
    max_connections = None

    def call(self, name: str, args: object, *, timeout: float | None = None) -> str | None:
        raise AssertionError(f"{name} was called")

    def listen(self, channels: object, events: object) -> Any: ...
    def transaction(self) -> Any: ...
    def close(self) -> None: ...
    def abandon(self) -> None: ...


forge = JobForge(transport=NoTransport())


def refusal(options: dict[str, Any], input: object = None) -> InvalidArgumentError:
    given = {"tenant": GLOBAL_TENANT, **options}
    with pytest.raises(InvalidArgumentError) as refused:
        forge.enqueue(mail, {} if input is None else input, **given)
    return refused.value


@pytest.mark.parametrize(
    ("options", "field", "hint"),
    [
        ({"tenant": "org_123"}, "tenant", 'tenant_id("org_123")'.replace('"', "'")),
        ({"run_at": datetime(2026, 1, 1)}, "run_at", "aware"),  # noqa: DTZ001
        ({"run_at": "tomorrow"}, "run_at", None),
        ({"delay": -1}, "delay", None),
        ({"delay": 1, "run_at": datetime.now(UTC)}, "delay", None),
        ({"expires_at": datetime(2020, 1, 1, tzinfo=UTC), "run_at": datetime.now(UTC)}, "expires_at", None),
        ({"priority": 1.5}, "priority", None),
        ({"priority": True}, "priority", None),
        ({"max_attempts": 0}, "max_attempts", None),
        ({"tags": "news"}, "tags", None),
        ({"tags": ["a"] * 51}, "tags", None),
        ({"tags": ["a", ""]}, "tags[1]", None),
        ({"subject": "x" * 2000}, "subject", None),
        ({"idempotency_key": "a\0b"}, "idempotency_key", None),
        ({"dedupe_mode": "replace"}, "dedupe_mode", "dedupe_key"),
        ({"dedupe_key": "a", "dedupe_mode": "merge"}, "dedupe_mode", None),
        ({"traceparent": "no"}, "traceparent", None),
        ({"max_retries": 3}, "max_retries", "max_attempts"),
        ({"countdown": 3}, "countdown", "delay"),
        ({"eta": 3}, "eta", "run_at"),
        ({"prioritty": 3}, "prioritty", "priority"),
        ({"queue": "fast"}, "queue", "type of their definition"),
    ],
)
def test_options_of_an_enqueue(options: dict[str, Any], field: str, hint: str | None) -> None:
    error = refusal(options)
    assert error.field == field
    assert error.code == "JF002"
    if hint is not None:
        assert hint in (error.hint or "")


def test_a_tenant_is_required() -> None:
    with pytest.raises(TenantRequiredError) as refused:
        forge.enqueue(mail.new({}))
    assert "GLOBAL_TENANT" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("job", "input", "field"),
    [
        ("mail.send", {}, "job"),
        (None, {}, "job"),
        (mail, None, "payload"),
        (mail.new({}), {}, "input"),
        (build, "2026-11", "input"),
    ],
)
def test_the_job_and_its_input(job: Any, input: Any, field: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        forge.enqueue(job, input, tenant=GLOBAL_TENANT)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"type": ""}, "type"),
        ({"type": "*"}, "type"),
        ({"type": "a\n"}, "type"),
        ({"type": "x" * 201}, "type"),
        ({"type": 3}, "type"),
        ({"type": "a", "timeout": 0}, "timeout"),
        ({"type": "a", "timeout": "30s"}, "timeout"),
        ({"type": "a", "lease": 0.5}, "lease"),
        ({"type": "a", "retry": "often"}, "retry"),
        ({"type": "a", "retry": {"max_attempts": 3}}, "retry"),
        ({"type": "a", "retry": RetryPolicy(factor=0.5)}, "retry.factor"),
        ({"type": "a", "keep_history": 1}, "keep_history"),
        ({"type": "a", "subject": "ada"}, "subject"),
        ({"type": "a", "redact": "password"}, "redact"),
    ],
)
def test_a_definition(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        define_job(**arguments)
    assert refused.value.field == field


def test_durations_are_seconds_or_timedeltas() -> None:
    assert define_job("a", timeout=timedelta(minutes=2)).timeout_ms == 120_000
    assert define_job("a", timeout=0.25).timeout_ms == 250
    assert define_job("a", timeout=None).timeout_ms is None


def test_handlers() -> None:
    @mail.handler
    async def on_loop(input: Any, job: JobContext) -> None: ...

    @mail.handler
    def in_thread(input: Any, job: JobContext) -> None: ...

    @mail.handler_in("process")
    def in_process(input: Any, job: JobContext) -> None: ...

    assert [each.run_in for each in (on_loop, in_thread, in_process)] == ["loop", "thread", "process"]
    with pytest.raises(InvalidArgumentError) as refused:
        mail.batch_handler(0)
    assert refused.value.field == "size"


def one(input: Any) -> None: ...
def swapped(job: JobContext[Any], input: Any) -> None: ...
def three(input: Any, job: JobContext, more: int) -> None: ...
def keyword(input: Any, *, job: JobContext) -> None: ...
async def streams(input: Any, job: JobContext) -> Any:
    yield input


class OneArgument:
    def __call__(self, input: Any) -> None: ...


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (one, "two arguments, the input and the JobContext"),
        (OneArgument(), "two arguments"),
        (three, "two arguments"),
        (keyword, "two arguments"),
        (swapped, "the input first, and the JobContext second"),
        (streams, "must not yield"),
    ],
)
def test_a_handler_that_cannot_be_called_is_refused_when_the_program_starts(function: Any, says: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        mail.handler(function)
    assert says in refused.value.message
    assert refused.value.field == "function"
    assert refused.value.hint


def test_a_batch_handler_takes_one_list() -> None:
    with pytest.raises(InvalidArgumentError, match="one list of items"):
        mail.batch_handler(10)(lambda items, job: [])  # type: ignore[arg-type, misc]


def test_handlers_of_other_forms_are_accepted() -> None:
    class Handler:
        def __call__(self, input: Any, job: JobContext) -> None: ...

        def method(self, input: Any, job: JobContext, more: int = 1) -> None: ...

    @wraps(three)
    def with_more(input: Any, job: JobContext) -> None: ...

    for function in (Handler(), Handler().method, lambda *_: None, print, partial(three, more=1), with_more):
        assert mail.handler(function).run_in == "thread"

    async def awaited(input: Any, job: JobContext, more: int) -> None: ...

    assert mail.handler(partial(awaited, more=1)).run_in == "loop"


@pytest.mark.parametrize(
    ("options", "field"),
    [({"every": -1}, "every"), ({"overlap": "maybe"}, "overlap"), ({"evry": 5}, "evry"), ({"anchor": 1}, "anchor")],
)
def test_a_schedule(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        define_schedule(mail, "weekly", **options)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("options", "field", "message", "hint"),
    [
        ({}, "cron", "it has no rhythm", 'cron="0 7 * * *", every="5m", and dynamic=True'),
        ({"dynamic": False, "cron": None}, "cron", "it has no rhythm", "Give one of the options"),
        ({"every": "5m", "cron": "@daily"}, "every", "cron and every exclude each other", "Give one of the options"),
        ({"every": 300, "timezone": "UTC"}, "timezone", "of the kind every", "It belongs to cron."),
        ({"dynamic": True, "jitter": 5}, "jitter", "of the kind dynamic", "It belongs to every."),
    ],
)
def test_a_schedule_needs_one_rhythm(options: dict[str, Any], field: str, message: str, hint: str) -> None:
    with pytest.raises(InvalidScheduleError, match=message) as refused:
        define_schedule(mail, "weekly", **options)
    assert (refused.value.code, refused.value.field) == ("JF009", field)
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "database"),
        ({"database": "postgresql://h/d", "url": "http://h"}, "database"),
        ({"database": ""}, "database"),
        ({"database": "https://h"}, "database"),
        ({"database": "mysql://h/d"}, "database"),
        ({"database": "jdbc:postgresql://h/d"}, "database"),
        ({"database": "postgresql://u:p@ss#word@h/d"}, "database"),
        ({"database": "postgresql://h/d", "max_connections": 0}, "max_connections"),
        ({"database": "postgresql://h/d", "pool_mode": "statement"}, "pool_mode"),
        ({"database": "postgresql://h/d", "timeout": -1}, "timeout"),
        ({"url": "http://h"}, "token"),
        ({"url": "ftp://h", "token": "t"}, "url"),
    ],
)
@pytest.mark.parametrize("client", [JobForge, AsyncJobForge])
def test_how_to_reach_the_kernel(client: Any, arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        client(**arguments)
    assert refused.value.field == field
    assert "p@ss" not in str(refused.value)
