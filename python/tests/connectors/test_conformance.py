"""The cases that workers of all languages share: how runs end, and what receivers of webhooks get."""

from __future__ import annotations

import asyncio
import json
import socket
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from jobforge import AsyncJobForge, Job
from jobforge.connectors import LOOPBACK_EGRESS, EnvironmentSecrets, http_request, webhook_deliver
from jobforge.connectors.errors import FinalCode, RetriedCode
from jobforge.connectors.retries import policy_delay, retry_after_of
from jobforge.connectors.verify import verify_legacy_webhook, verify_webhook
from jobforge.connectors.webhooks.definition import WEBHOOK_RETRY

from .running import Run
from .servers import Servers

CASES: dict[str, Any] = json.loads(
    (Path(__file__).resolve().parents[3] / "conformance" / "connectors.json").read_text(encoding="utf-8")
)


def _name(case: Any) -> str:
    return str(case["name"]) if isinstance(case, dict) else ""


def _closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


async def _target(case: dict[str, Any], servers: Servers) -> str:
    if "url" in case:
        return str(case["url"])
    kind = case.get("server")
    if kind is None:
        response = (case["status"], case.get("headers", {}), b"x" * case.get("body_bytes", 0))
        return (await servers.http(lambda _: response)).url

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if kind == "garbage":
            writer.write(b"nonsense\r\n\r\n")
            await writer.drain()
        elif kind == "silent":
            await reader.read()

    return f"http://127.0.0.1:{_closed_port() if kind == 'closed' else await servers.raw(talk)}"


def _end(job: Job) -> str:
    return {"queued": "retry", "failed": "final"}.get(job.status, job.status)


def test_the_codes_are_the_same() -> None:
    assert list(get_args(FinalCode)) == CASES["codes"]["final"]
    assert list(get_args(RetriedCode)) == CASES["codes"]["retried"]


@pytest.mark.parametrize("case", CASES["outcomes"], ids=_name)
async def test_an_outcome(
    case: dict[str, Any], runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    for kind in ("http.request", "webhook.deliver"):
        await async_forge.connectors.set(kind, case.get("config"), tenant=tenant)
    run = runner(secrets=EnvironmentSecrets({})).run
    url = await _target(case, servers)
    brief = {"timeout_ms": 500} if case.get("server") == "silent" else {}
    job, details = await run(http_request, {"url": url, **brief, **case.get("payload", {})})
    assert _end(job) == case["http"], job.error
    if case["http"] != "succeeded":
        assert details["code"] == case["code"]
    payload = {"url": url, "event": {"type": "a"}, **brief, **case.get("webhook_payload", {})}
    job, details = await run(webhook_deliver, payload)
    assert _end(job) == case["webhook"], job.error
    # A redirect is a status like others for a webhook.
    if case["webhook"] != "succeeded" and case["code"] != "redirect_refused":
        assert details["code"] == case["code"]


@pytest.mark.parametrize(("status", "header", "seconds"), CASES["retry_after"]["cases"])
def test_retry_after(status: int, header: str, seconds: int | None) -> None:
    now = datetime.fromisoformat(CASES["retry_after"]["now"]).timestamp()
    assert retry_after_of(status, header, now) == seconds


def test_the_waits_of_webhooks_are_the_same() -> None:
    waits = CASES["webhook_waits"]
    assert [policy_delay(WEBHOOK_RETRY, attempt) for attempt in waits["attempts"]] == waits["seconds"]


def _contains(actual: Any, expected: Any) -> bool:
    """Whether a value is what a case expects. An object may have more keys."""
    if expected == "$ANY":
        return isinstance(actual, str)
    if isinstance(expected, dict):
        return all(name in actual and _contains(actual[name], value) for name, value in expected.items())
    return bool(actual == expected)


@pytest.mark.parametrize("case", CASES["deliveries"], ids=_name)
async def test_a_delivery(case: dict[str, Any], runner: Run, servers: Servers, tenant: str) -> None:
    server = await servers.http(lambda _: (200, {}, b"thanks"))

    def filled(value: Any, job: str = "") -> Any:
        text = json.dumps(value).replace("$SERVER", server.url).replace("$TENANT", tenant).replace("$JOB", job)
        return json.loads(text)

    prefix = f"JOBFORGE_SECRET_{tenant.replace('-', '').upper()}_"
    secrets = EnvironmentSecrets({prefix + name: value for name, value in case["secrets"].items()})
    egress = {**LOOPBACK_EGRESS, "secrets": {name: {"hosts": ["127.0.0.1"]} for name in case["secrets"]}}
    job, result = await runner(egress=egress, secrets=secrets).run(webhook_deliver, filled(case["payload"]))
    assert job.status == "succeeded", job.error
    assert _contains(result, filled(case["result"], job.id)), result
    [request] = server.received
    assert _contains(request.headers, filled(case["headers"], job.id)), request.headers
    assert not set(case["absent"]) & set(request.headers)
    body = json.loads(request.body)
    assert list(body) == list(case["body"])
    assert _contains(body, filled(case["body"], job.id)), body
    for name in case.get("verify", []):
        verify_webhook(request.body, request.headers, case["secrets"][name])
    for name in case.get("verify_legacy", []):
        verify_legacy_webhook(request.body, request.headers, case["secrets"][name])


async def test_a_second_attempt_has_the_same_id_and_a_time_of_its_own(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(lambda _: (503 if len(server.received) == 1 else 200, {}, b""))
    run = runner()
    job, _ = await run.run(webhook_deliver, {"url": server.url, "event": {"type": "a"}})
    assert _end(job) == "retry"
    await async_forge.reschedule(job.id, tenant=tenant)
    assert await run.tick() == 1
    assert [each.headers["webhook-id"] for each in server.received] == [job.id, job.id]
    assert server.received[1].body == server.received[0].body
