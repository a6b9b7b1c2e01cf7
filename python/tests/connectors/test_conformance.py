"""The cases that workers of all languages share: how runs end, and what receivers of webhooks get."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import socket
import struct
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest

from jobforge import AsyncJobForge, Job, JobDefinition, define_job
from jobforge.connectors import LOOPBACK_EGRESS, EnvironmentSecrets, http_request, webhook_deliver
from jobforge.connectors.errors import FinalCode, RetriedCode
from jobforge.connectors.retries import retry_after_of
from jobforge.connectors.verify import verify_legacy_webhook, verify_webhook
from jobforge.connectors.webhooks.definition import WEBHOOK_RETRY
from jobforge.testing.database import TestDatabase

from .certificates import certificates
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


NAME = "api.test.example"
RAW = ("closing", "reset", "garbage", "breaking", "dripping", "silent")
"""Servers of bytes."""


async def _raw(kind: str, servers: Servers) -> int:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if kind == "garbage":
            writer.write(b"nonsense\r\n\r\n")
        elif kind == "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif kind == "breaking":
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 99\r\n\r\nx")
        elif kind == "dripping":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.005)
        elif kind == "silent":
            await reader.read()

    return await servers.raw(talk)


async def _scene(case: dict[str, Any], servers: Servers, folder: Path) -> tuple[str, Any]:
    """The URL of a case, and the policy of the worker."""
    policy = case.get("egress", LOOPBACK_EGRESS)
    kind = case.get("server", "http")
    if "url" in case:
        return str(case["url"]), policy
    if kind in RAW:
        return f"http://127.0.0.1:{await _raw(kind, servers)}", policy
    closed = f"http://127.0.0.1:{_closed_port()}"
    if kind == "closed":
        return closed, policy
    if kind == "proxy_down":
        return f"http://{NAME}/", {"proxy": closed, "allow_http": True}
    if kind in ("nameless", "untrusted"):
        dns = await servers.dns()
        context, _ = certificates(folder, NAME)
        if kind == "untrusted":
            dns.set(NAME, ["127.0.0.1"])
        server = await servers.http(lambda _: (200, {}, b""), context)
        return f"https://{NAME}:{server.port}/", {**LOOPBACK_EGRESS, "dns_servers": [dns.address]}
    response = (case.get("status", 200), case.get("headers", {}), b"x" * case.get("body_bytes", 0))
    responding = await servers.http(lambda _: response)

    def unreadable(owner: str) -> Any:
        raise RuntimeError(f"the policy of {owner} is out of reach")

    return responding.url, policy if kind == "http" else unreadable


def _unchecked(job: JobDefinition[Any, Any]) -> JobDefinition[Any, Any]:
    """A program of another version may enqueue what this one does not understand."""
    return define_job(job.type)


def _secrets(tenant: str, values: dict[str, str]) -> EnvironmentSecrets:
    prefix = f"JOBFORGE_SECRET_{tenant.replace('-', '').upper()}_"
    return EnvironmentSecrets({prefix + name: value for name, value in values.items()})


def _end(job: Job) -> str:
    if job.status == "queued":
        return "deferred" if job.uncounted else "retry"
    return {"failed": "final"}.get(job.status, job.status)


def test_the_codes_are_the_same() -> None:
    assert list(get_args(FinalCode)) == CASES["codes"]["final"]
    assert list(get_args(RetriedCode)) == CASES["codes"]["retried"]


@pytest.mark.parametrize("case", CASES["outcomes"], ids=_name)
async def test_an_outcome(
    case: dict[str, Any], runner: Run, servers: Servers, db: TestDatabase, tenant: str, tmp_path: Path
) -> None:
    # Another version may have stored what `forge.connectors.set` would refuse.
    for kind in ("http.request", "webhook.deliver") if "config" in case else ():
        row = (tenant, kind, json.dumps(case["config"]))
        db.query("insert into jobforge.connector_configs values (%s, %s, %s, now(), now()) returning 1", row)
    url, egress = await _scene(case, servers, tmp_path)
    run = runner(egress=egress, secrets=_secrets(tenant, case.get("secrets", {}))).run
    brief = {"timeout_ms": 500} if case.get("server") in ("silent", "dripping") else {}

    async def outcome(definition: Any, payload: dict[str, Any]) -> tuple[str, Any]:
        job, _ = await run(_unchecked(definition), {"url": url, **brief, **payload}, expects_error=False)
        details: Any = (job.error or {}).get("details", {})
        return _end(job), details.get("code")

    def expected(end: str, code: str | None) -> tuple[str, str | None]:
        return end, None if end == "succeeded" else code

    code = case.get("code")
    assert await outcome(http_request, case.get("payload", {})) == expected(case["http"], code)
    delivery = await outcome(webhook_deliver, {"event": {"type": "a"}, **case.get("webhook_payload", {})})
    assert delivery == expected(case["webhook"], case.get("webhook_code", code))


@pytest.mark.parametrize(("status", "header", "seconds"), CASES["retry_after"]["cases"])
def test_retry_after(status: int, header: str, seconds: int | None) -> None:
    now = datetime.fromisoformat(CASES["retry_after"]["now"]).timestamp()
    assert retry_after_of(status, header, now) == seconds


def test_the_waits_of_webhooks_are_the_same() -> None:
    waits = CASES["webhook_waits"]
    base, factor, cap = WEBHOOK_RETRY.base, WEBHOOK_RETRY.factor, WEBHOOK_RETRY.cap
    assert isinstance(base, int)
    assert factor is not None
    assert isinstance(cap, int)
    assert [min(cap, base * factor ** (attempt - 1)) for attempt in waits["attempts"]] == waits["seconds"]


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

    secrets = _secrets(tenant, case["secrets"])
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


@pytest.mark.parametrize("algorithm", ["sha256", "sha512"])
async def test_a_receiver_of_the_older_form_computes_its_signature_in_each_attempt(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str, algorithm: str
) -> None:
    server = await servers.http(lambda _: (500 if len(server.received) == 1 else 200, {}, b""))
    run = runner(
        egress={**LOOPBACK_EGRESS, "secrets": {"HOOK": {"hosts": ["127.0.0.1"]}}},
        secrets=_secrets(tenant, {"HOOK": "a plain secret"}),
    )
    payload = {"target_url": server.url, "event_type": "done", "event_id": "evt_7", "data": {"ok": True}}
    job, _ = await run.run(webhook_deliver, {**payload, "secret_ref": "HOOK", "signature_algo": algorithm})
    assert _end(job) == "retry"
    await async_forge.reschedule(job.id, tenant=tenant)
    assert await run.tick() == 1
    for attempt, each in enumerate(server.received, 1):
        expected = hmac.new(b"a plain secret", each.body, algorithm).hexdigest()
        assert each.headers["x-jobforge-signature"] == f"{algorithm}={expected}"
        assert each.headers["x-jobforge-event-id"] == "evt_7"
        assert each.headers["x-jobforge-delivery-attempt"] == str(attempt)
        assert each.headers["x-jobforge-timestamp"] == json.loads(each.body)["timestamp"]
    job, _ = await run.run(webhook_deliver, {**payload, "secret_ref": "DATABASE_URL"})
    assert _end(job) == "retry"
    assert not re.search("HOOK|DATABASE_URL|JOBFORGE_SECRET", json.dumps(job.error))
    assert len(server.received) == 2
