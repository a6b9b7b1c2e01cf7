"""Ticks: the jobs that are due now, by a call, over ASGI and over WSGI."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import AsyncJobForge, InvalidArgumentError, JobContext, define_job
from jobforge.worker import TickWsgiApp, tick_app

from .support import TENANT

if TYPE_CHECKING:
    from .conftest import Workers
    from .support import Jobs

a = define_job("a")


@a.handler
async def quick(input: Any, job: JobContext) -> None: ...


async def test_a_tick_runs_at_most_its_limit_and_does_not_wait_for_later_jobs(workers: Workers, jobs: Jobs) -> None:
    await jobs.enqueue("a", 30)
    await jobs.rows("select jobforge_enqueue_job(%s, 'a', p_run_at => now() + interval '1 hour')", TENANT)
    worker = workers.make(handlers=[quick])
    first = await worker.tick(limit=20)
    assert (first.claimed, first.succeeded) == (20, 20)
    second = await worker.tick()
    assert (second.claimed, second.succeeded) == (10, 10)
    assert (await worker.tick()).claimed == 0
    assert not worker.is_running


async def test_a_worker_does_one_thing_at_a_time(workers: Workers, jobs: Jobs) -> None:
    worker = await workers.start(handlers=[quick])
    with pytest.raises(RuntimeError, match="already running"):
        await worker.tick()


def test_an_endpoint_needs_a_secret_and_valid_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBFORGE_TICK_SECRET", raising=False)
    monkeypatch.delenv("CRON_SECRET", raising=False)
    forge = AsyncJobForge("postgresql://localhost/none")
    with pytest.raises(InvalidArgumentError, match="secret must be set"):
        tick_app(forge, handlers=[quick])
    with pytest.raises(InvalidArgumentError, match="limit must be"):
        tick_app(forge, handlers=[quick], secret="s", limit=0)
    with pytest.raises(InvalidArgumentError, match="concurrency must be"):
        tick_app(forge, handlers=[quick], secret="s", concurrency=0)


async def _ask(app: Any, method: str, headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
    sent: list[Any] = []
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "http", "method": method, "path": "/", "headers": raw}, receive, send)
    assert dict(sent[0]["headers"])[b"cache-control"] == b"no-store"
    return sent[0]["status"], json.loads(sent[1]["body"])


async def test_the_asgi_application_runs_jobs_for_callers_with_the_secret(workers: Workers, jobs: Jobs) -> None:
    await jobs.enqueue("a", 25)
    app = tick_app(workers.forge, handlers=[quick], secret="s3cret", logger=workers.log)
    assert (await _ask(app, "DELETE", {}))[0] == 405
    for headers in ({}, {"authorization": "Bearer wrong"}, {"x-jobforge-secret": "s3cre"}):
        assert (await _ask(app, "POST", headers))[0] == 401
    status, body = await _ask(app, "POST", {"authorization": "Bearer s3cret"})
    assert status == 200
    assert (body["ok"], body["claimed"], body["succeeded"]) == (True, 20, 20)
    status, body = await _ask(app, "GET", {"x-jobforge-secret": "s3cret"})
    assert (status, body["claimed"]) == (200, 5)


async def test_the_application_responds_503_without_details_when_the_database_is_down() -> None:
    async with AsyncJobForge("postgresql://postgres@127.0.0.1:9/none") as forge:
        app = tick_app(forge, handlers=[quick], secret="s", sync=False, logger=_Silent())
        status, body = await _ask(app, "POST", {"authorization": "Bearer s"})
    assert status == 503
    assert body == {"ok": False, "error": "The jobs could not be run"}


class _Silent:
    def debug(self, message: str, /, **fields: Any) -> None: ...
    def info(self, message: str, /, **fields: Any) -> None: ...
    def warning(self, message: str, /, **fields: Any) -> None: ...
    def error(self, message: str, /, **fields: Any) -> None: ...


async def test_the_wsgi_application_runs_jobs_too(jobs: Jobs) -> None:
    await jobs.enqueue("a", 3)
    app = TickWsgiApp(AsyncJobForge(jobs.db.url), handlers=[quick], secret="s3cret", logger=_Silent())
    started: list[Any] = []

    def ask(environ: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        body = b"".join(app(environ, lambda status, headers: started.append((status, headers))))
        return started[-1][0], json.loads(body)

    refused = await asyncio.to_thread(ask, {"REQUEST_METHOD": "POST"})
    assert refused[0] == "401 Unauthorized"
    status, body = await asyncio.to_thread(
        ask, {"REQUEST_METHOD": "POST", "HTTP_AUTHORIZATION": "Bearer s3cret", "CONTENT_LENGTH": ""}
    )
    assert status == "200 OK"
    assert (body["ok"], body["claimed"], body["succeeded"]) == (True, 3, 3)
    await asyncio.to_thread(app.close)
