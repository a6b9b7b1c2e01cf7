"""Connector jobs in a worker: secrets, authorization, configurations, artifacts and reports."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobforge import AsyncJobForge, InvalidValueError
from jobforge.connectors import (
    LOOPBACK_EGRESS,
    Column,
    EnvironmentSecrets,
    FileSecrets,
    FileStore,
    FirstOf,
    ReportContext,
    define_report,
    http_request,
    report_generate,
    webhook_deliver,
)
from jobforge.connectors.secrets.scrub import Scrubber

from .running import Run
from .servers import Received, Servers
from .test_conformance import CASES

OTHER = "22222222-2222-4222-8222-222222222222"
SECRET = "s3cr3t/value+1"


def _echo(request: Received) -> tuple[int, dict[str, str], bytes]:
    seen = {"path": request.path, "headers": request.headers, "body": request.body.decode()}
    return 200, {"x-echo": request.headers.get("x-key", ""), "content-type": "text/plain"}, json.dumps(seen).encode()


def _variable(tenant: str, name: str) -> str:
    return f"JOBFORGE_SECRET_{tenant.replace('-', '').upper()}_{name}"


def _bound(*names: str, shared: bool = False) -> dict[str, Any]:
    return {**LOOPBACK_EGRESS, "secrets": {name: {"hosts": ["127.0.0.1"], "shared": shared} for name in names}}


async def test_a_secret_is_sent_and_removed_from_what_is_kept(runner: Run, servers: Servers, tenant: str) -> None:
    server = await servers.http(_echo)
    secrets = EnvironmentSecrets({_variable(tenant, "KEY"): SECRET})
    job, result = await runner(egress=_bound("KEY"), secrets=secrets).run(
        http_request,
        {
            "url": server.url,
            "query": {"key": {"$secret": "KEY"}, "n": 5, "on": True},
            "headers": {"x-key": {"$secret": "KEY"}},
            "auth": {"basic": {"user": "ada", "password": {"$secret": "KEY"}}},
            "response": {"headers": ["x-echo"]},
        },
    )
    assert job.status == "succeeded", job.error
    [request] = server.received
    assert request.headers["x-key"] == SECRET
    assert request.path == "/?n=5&on=true&key=s3cr3t%2Fvalue%2B1"
    pair = base64.b64encode(f"ada:{SECRET}".encode()).decode()
    assert request.headers["authorization"] == f"Basic {pair}"
    stored = json.dumps(result)
    for form in (SECRET, "s3cr3t%2Fvalue%2B1", pair):
        assert form not in stored
    assert result["url"] == f"{server.url}/?n=5&on=true&key=[secret]"
    assert result["response_headers"] == {"x-echo": "[secret]"}


async def test_a_secret_that_is_missing_foreign_or_not_bound_has_one_error(
    runner: Run, servers: Servers, tenant: str
) -> None:
    server = await servers.http(_echo)
    env = {_variable(tenant, "KEY"): SECRET, _variable(OTHER, "THEIRS"): SECRET, "JOBFORGE_SECRET_SHARED_ALL": SECRET}
    elsewhere = {**LOOPBACK_EGRESS, "secrets": {"KEY": {"hosts": ["api.example.com"]}}}
    messages = set()
    for egress, name in (
        (LOOPBACK_EGRESS, "KEY"),
        (elsewhere, "KEY"),
        (_bound("THEIRS"), "THEIRS"),
        (_bound("NONE"), "NONE"),
        (_bound("ALL"), "ALL"),
    ):
        job, details = await runner(egress=egress, secrets=EnvironmentSecrets(env)).run(
            http_request, {"url": server.url, "headers": {"x-key": {"$secret": name}}}
        )
        assert (job.status, details["code"]) == ("queued", "secret_unavailable")
        messages.add(job.last_error)
    assert len(messages) == 1
    assert server.received == []
    job, _ = await runner(egress=_bound("ALL", shared=True), secrets=EnvironmentSecrets(env)).run(
        http_request, {"url": server.url, "headers": {"x-key": {"$secret": "ALL"}}}
    )
    assert job.status == "succeeded", job.error


async def test_secrets_of_a_file_are_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "secrets.json"
    path.write_text('{"t": {"KEY": "one"}}')
    provider = FirstOf(EnvironmentSecrets({}), FileSecrets(path))
    assert await provider.get("t", "KEY") == "one"
    assert await provider.get("other", "KEY") is None
    path.write_text('{"t": {"KEY": "number two"}}')
    assert await provider.get("t", "KEY") == "number two"


async def test_a_secret_is_removed_from_a_stream_also_where_two_parts_meet() -> None:
    scrubber = Scrubber()
    scrubber.add(SECRET)

    async def parts() -> AsyncIterator[bytes]:
        text = f"before {SECRET} between {base64.b64encode(SECRET.encode()).decode()} after".encode()
        for place in range(len(text)):
            yield text[place : place + 1]

    clean = b"".join([part async for part in scrubber.stream(parts())])
    # The padding may arrive after the rest was removed.
    assert clean.replace(b"]=", b"]") == b"before [secret] between [secret] after"


async def test_a_secret_is_removed_where_it_was_cut_off_or_is_escaped(
    runner: Run, servers: Servers, tenant: str
) -> None:
    escaped = "".join(f"\\u{ord(each):04x}" for each in SECRET)

    def respond(request: Received) -> tuple[int, dict[str, str], bytes]:
        if request.path == "/json":
            return 200, {"content-type": "application/json"}, f'["{escaped}"]'.encode()
        if request.path.startswith("/deep"):
            depth = int(request.path[5:])
            nested = f'{"[" * depth}"{request.headers["x-key"]}"{"]" * depth}'
            return 200, {"content-type": "application/json"}, nested.encode()
        length = int(request.path[1:])
        content = "x" * length + request.headers["x-key"] + "x" * 2000
        return (500 if length > 1000 else 200), {}, content.encode()

    server = await servers.http(respond)
    env = {_variable(tenant, "KEY"): SECRET}
    run = runner(egress=_bound("KEY"), secrets=EnvironmentSecrets(env))
    headers = {"x-key": {"$secret": "KEY"}}
    most = {"max_bytes": 10 + len(SECRET) - 1}
    _, result = await run.run(http_request, {"url": f"{server.url}/10", "headers": headers, "response": most})
    assert result["body"] == "xxxxxxxxxx[secret]"
    job, details = await run.run(http_request, {"url": f"{server.url}/1020", "headers": headers})
    assert details["status"] == 500
    assert SECRET[:4] not in json.dumps(job.error)
    _, result = await run.run(http_request, {"url": f"{server.url}/json", "headers": headers})
    assert result["json"] == ["[secret]"]
    # What is nested too deeply to be searched is kept as text.
    for depth in (100, 400, 600, 900, 5000):
        job, result = await run.run(http_request, {"url": f"{server.url}/deep{depth}", "headers": headers})
        assert job.status == "succeeded", job.error
        assert "[secret]" in str(result)
        assert SECRET not in str(result)


async def test_a_token_of_oauth2_is_fetched_once_and_removed(runner: Run, servers: Servers, tenant: str) -> None:
    def issue(request: Received) -> tuple[int, dict[str, str], bytes]:
        assert request.body == b"grant_type=client_credentials&scope=read"
        return 200, {}, json.dumps({"access_token": "the-token", "expires_in": 3600}).encode()

    issuer = await servers.http(issue)
    server = await servers.http(_echo)
    run = runner(egress=_bound("CLIENT"), secrets=EnvironmentSecrets({_variable(tenant, "CLIENT"): SECRET}))
    oauth2 = {"token_url": issuer.url, "client_id": "me", "client_secret": {"$secret": "CLIENT"}, "scope": "read"}
    for _ in range(2):
        job, result = await run.run(http_request, {"url": server.url, "auth": {"oauth2": oauth2}})
        assert job.status == "succeeded", job.error
        assert "the-token" not in json.dumps(result)
    assert [request.headers["authorization"] for request in server.received] == ["Bearer the-token"] * 2
    assert len(issuer.received) == 1


async def test_a_token_that_was_revoked_is_replaced_and_one_that_never_worked_is_not(
    runner: Run, servers: Servers, tenant: str
) -> None:
    def issue(_: Received) -> tuple[int, dict[str, str], bytes]:
        return 200, {}, json.dumps({"access_token": f"token-{len(issuer.received)}", "expires_in": 3600}).encode()

    issuer = await servers.http(issue)
    valid = "Bearer token-1"
    server = await servers.http(lambda request: (200 if request.headers["authorization"] == valid else 401, {}, b""))
    run = runner(egress=_bound("CLIENT"), secrets=EnvironmentSecrets({_variable(tenant, "CLIENT"): SECRET}))
    oauth2 = {"token_url": issuer.url, "client_id": "me", "client_secret": {"$secret": "CLIENT"}}

    async def status() -> str:
        job, _ = await run.run(http_request, {"url": server.url, "auth": {"oauth2": oauth2}})
        return job.status

    assert await status() == "succeeded"
    valid = "Bearer token-2"
    assert [await status(), await status()] == ["queued", "succeeded"]
    valid = "none"
    # The first of them has a token that worked before, the second one a new token.
    assert [await status(), await status()] == ["queued", "failed"]
    assert len(issuer.received) == 3


@pytest.mark.parametrize(
    ("kind", "end"),
    [("silent DNS", "queued"), ("silent server", "failed"), ("reset", "failed"), ("closed", "queued")],
)
async def test_a_safe_post_is_repeated_only_if_nothing_was_sent(
    runner: Run, servers: Servers, kind: str, end: str
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if kind == "silent server":
            await reader.read()
        else:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    egress: dict[str, Any] = dict(LOOPBACK_EGRESS)
    url = f"http://127.0.0.1:{await servers.closed_port() if kind == 'closed' else await servers.raw(talk)}/"
    with socket.socket(type=socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        if kind == "silent DNS":
            url = "http://api.test.example/"
            egress["dns_servers"] = [f"127.0.0.1:{silent.getsockname()[1]}"]
        payload = {"url": url, "method": "POST", "retry": "safe", "timeout_ms": 300}
        job, details = await runner(egress=egress).run(http_request, payload)
    assert (job.status, details["sent"]) == (end, end == "failed")


async def test_a_compressed_body_is_only_asked_for_if_it_is_decoded(runner: Run, servers: Servers) -> None:
    server = await servers.http(_echo)
    for decode, encoding in ((False, "identity"), (True, "gzip")):
        response = {"decode": decode}
        await runner().run(
            http_request, {"url": server.url, "headers": {"Accept-Encoding": "br"}, "response": response}
        )
        assert server.received[-1].headers["accept-encoding"] == encoding


async def test_a_tenants_configuration_narrows(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(lambda _: (200, {}, b"x" * 1000))
    config = {
        "allowed_hosts": ["127.0.0.1"],
        "default_headers": {"x-app": "shop", "accept": "a/b"},
        "max_bytes": 100,
        "user_agent_suffix": "shop/1",
    }
    await async_forge.connectors.set("http.request", config, tenant=tenant)
    run = runner()
    job, result = await run.run(http_request, {"url": server.url, "headers": {"accept": "text/plain"}})
    assert job.status == "succeeded", job.error
    assert (result["bytes"], result["truncated"], len(result["body"])) == (1000, True, 100)
    headers = server.received[0].headers
    assert (headers["x-app"], headers["accept"]) == ("shop", "text/plain")
    assert headers["user-agent"].endswith(" shop/1")
    job, details = await run.run(http_request, {"url": f"http://localhost:{server.port}/"})
    assert (job.status, details["code"]) == ("failed", "blocked_host")


async def test_bodies_are_sent_and_kept_byte_for_byte(
    runner: Run, servers: Servers, tenant: str, tmp_path: Path
) -> None:
    store = FileStore(tmp_path)
    content = bytes(range(256)) * 1000

    server = await servers.http(lambda request: (200, {}, request.body))
    run = runner(artifacts=store)
    sent = base64.b64encode(content[:256]).decode()
    job, result = await run.run(http_request, {"url": server.url, "method": "PUT", "body_base64": sent})
    assert job.status == "succeeded", job.error
    assert (result["body"], result["body_encoding"]) == (sent, "base64")
    stored = store.put(f"uploads/{tenant}/import/data", [content], content_type="application/octet-stream")
    assert stored.bytes == len(content)
    server = await servers.http(lambda _: (200, {}, content))
    job, result = await run.run(http_request, {"url": server.url, "response": {"on_large": "artifact"}})
    assert result["artifact_ref"] == f"artifact:http/{tenant}/{job.id}/response"
    assert b"".join(store.get(result["artifact_ref"])) == content
    assert [each.ref for each in store.list("http/")] == [result["artifact_ref"]]


async def test_an_artifact_is_sent_in_chunks(runner: Run, servers: Servers, tenant: str, tmp_path: Path) -> None:
    received = bytearray()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"transfer-encoding: chunked" in head
        while size := int((await reader.readuntil(b"\r\n")).strip(), 16):
            received.extend(await reader.readexactly(size))
            await reader.readexactly(2)
        await reader.readexactly(2)
        writer.write(b"HTTP/1.1 204 OK\r\n\r\n")
        await writer.drain()

    store = FileStore(tmp_path)

    stored = store.put(f"uploads/{tenant}/import/data", [b"x" * 100_000], content_type="text/plain")
    url = f"http://127.0.0.1:{await servers.raw(talk)}/"
    run = runner(artifacts=store)
    job, _ = await run.run(http_request, {"url": url, "method": "POST", "body_artifact": stored.ref})
    assert job.status == "succeeded", job.error
    assert received == b"x" * 100_000
    foreign, details = await run.run(
        http_request, {"url": url, "method": "POST", "body_artifact": stored.ref}, tenant=OTHER
    )
    assert (foreign.status, details["code"]) == ("failed", "artifact_unavailable")


@pytest.mark.parametrize(
    ("job", "payload", "place"),
    [
        (http_request, {"uri": "https://a.example"}, "payload.uri"),
        (http_request, {"url": "https://a.example", "timeout_ms": 0}, "payload.timeout_ms"),
        (http_request, {"url": "https://a.example", "body": 1, "body_base64": ""}, "at most one of body"),
        (http_request, {"url": "https://a.example", "headers": {"a": {"$secret": "x"}}}, r"payload.headers.a.\$secret"),
        (http_request, {"url": "https://a.example", "body_base64": "a!"}, "payload.body_base64"),
        (webhook_deliver, {"url": "https://a.example"}, "payload.event"),
        (webhook_deliver, {"url": "https://a.example", "event": {"type": "a", "id": "a.b"}}, "payload.event.id"),
        (webhook_deliver, {"event": {"type": "a"}}, "must have one of url and endpoint_id"),
        (report_generate, {"rows": [1]}, r"payload.rows\[0\]"),
        (report_generate, {"rows": [], "format": "pdf"}, "payload.format"),
    ],
)
async def test_a_payload_with_a_mistake_is_refused_at_enqueue(
    async_forge: AsyncJobForge, tenant: str, job: Any, payload: dict[str, Any], place: str
) -> None:
    with pytest.raises(InvalidValueError, match=place):
        await async_forge.enqueue(job, payload, tenant=tenant)


async def test_a_large_report_of_code_goes_to_the_artifacts(runner: Run, tmp_path: Path, tenant: str) -> None:
    def rows(context: ReportContext) -> Iterator[dict[str, Any]]:
        for n in range(1, context.params["count"] + 1):
            yield {"n": n, "at": datetime.fromtimestamp(0, UTC), "more": {"ok": True, "text": "x" * 20}}

    columns = [Column("n", type="number"), Column("at", type="date"), Column("more")]
    store = FileStore(tmp_path)
    job, result = await runner(artifacts=store, reports=[define_report("numbers", columns=columns, rows=rows)]).run(
        report_generate,
        {
            "report_type": "numbers",
            "params": {"count": 12_000},
            "format": ["csv", "json"],
            "options": {"limit": 11_000},
        },
    )
    assert job.status == "succeeded", job.error
    assert (result["rows"], result["truncated"]) == (11_000, True)
    assert "report_csv" not in result
    assert job.progress == {"rows": 10_000}
    csv, written = result["formats"]
    text = b"".join(store.get(csv["ref"])).decode()
    assert len(text.encode()) == csv["bytes"]
    lines = text.split("\r\n")
    assert len(lines) == 11_002
    assert lines[1] == f'1,1970-01-01T00:00:00.000Z,"{{""ok"":true,""text"":""{"x" * 20}""}}"'
    document = json.loads(b"".join(store.get(written["ref"])))
    assert document["count"] == 11_000
    assert result["artifact_ref"] == f"artifact:reports/{tenant}/{job.id}/numbers.csv"


async def test_rows_come_from_an_artifact_of_the_tenant_only(runner: Run, tmp_path: Path, tenant: str) -> None:
    store = FileStore(tmp_path)
    lines = [b'{"a":1}\n{"a":', b'"two"}\n']
    stored = store.put(f"uploads/{tenant}/import/rows.jsonl", lines, content_type="application/jsonl")
    run = runner(artifacts=store)
    _, result = await run.run(report_generate, {"inputs_ref": stored.ref, "format": "csv"})
    assert result["report_csv"] == "a\r\n1\r\ntwo\r\n"
    for ref in (stored.ref, "artifact:../../etc/passwd", f"artifact:uploads/{OTHER}/../{tenant}"):
        job, details = await run.run(report_generate, {"inputs_ref": ref}, tenant=OTHER)
        assert (job.status, details) == ("failed", {"code": "artifact_unavailable"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x" * 2_000_000, "has a line over 1048576 bytes"),
        (b'{"a":1}\r\n\n{"a":', "Line 3 of the artifact is not a JSON object"),
        (b"[1]\n", "Line 1 of the artifact is not a JSON object"),
    ],
    ids=["endless", "broken", "list"],
)
async def test_a_line_of_an_artifact_that_does_not_end_or_is_no_object_fails_the_report(
    runner: Run, tmp_path: Path, tenant: str, content: bytes, message: str
) -> None:
    store = FileStore(tmp_path)
    stored = store.put(f"uploads/{tenant}/import/rows.jsonl", [content], content_type="application/jsonl")
    job, details = await runner(artifacts=store).run(report_generate, {"inputs_ref": stored.ref})
    assert (job.status, details) == ("failed", {"code": "invalid_payload"})
    assert message in (job.last_error or "")


async def test_no_cell_of_a_csv_is_a_formula_also_where_semicolons_separate_cells(runner: Run) -> None:
    cases = CASES["csv_cells"]
    _, result = await runner().run(report_generate, {"rows": [{"value": value} for value, _ in cases], "format": "csv"})
    assert result["report_csv"] == "value\r\n" + "".join(f"{cell}\r\n" for _, cell in cases)
    rows = [{"value": "=1"}, {"value": "a;=1"}]
    _, raw = await runner().run(report_generate, {"rows": rows, "format": "csv", "options": {"raw": True}})
    assert raw["report_csv"] == "value\r\n=1\r\na;=1\r\n"


@pytest.mark.parametrize("name", ["rows", "inputs_data"])
async def test_rows_of_the_payload_replace_those_of_a_report(runner: Run, name: str) -> None:
    row = {"user": '<script>alert("1")</script>', "n": 1}
    run = runner()
    for given in [[row], row] if name == "inputs_data" else [[row]]:
        payload = {"report_type": "usage-summary", "format": ["json", "html", "csv"], name: given}
        job, result = await run.run(report_generate, payload)
        assert job.status == "succeeded", job.error
        assert (result["rows"], result["metadata"]["title"]) == (1, "Usage by type")
        assert json.loads(result["report_json"])["rows"] == [row]
        assert "&lt;script&gt;alert(&quot;1&quot;)" in result["report_html"]
        assert "<script" not in result["report_html"]
        assert result["report_csv"].startswith("n,user\r\n1,")
    job, details = await run.run(report_generate, {"report_type": "no-such-report", name: [row]})
    assert (job.status, details) == ("failed", {"code": "invalid_payload"})


async def test_a_store_that_fails_fails_the_report(runner: Run) -> None:
    class Broken(FileStore):
        def put(self, key: str, content: Any, *, content_type: str) -> Any:
            del key, content, content_type
            raise OSError("the disk is full")

    rows = [{"text": "x" * 1000} for _ in range(500)]
    job, _ = await runner(artifacts=Broken("unused")).run(report_generate, {"rows": rows})
    assert job.status == "queued"
    assert "the disk is full" in (job.last_error or "")


async def test_the_built_in_reports_show_the_tenants_own_usage(
    runner: Run, async_forge: AsyncJobForge, tenant: str
) -> None:
    run = runner()
    await run.run(report_generate, {"report_type": "no-such-report"})
    await run.run(report_generate, {"report_type": "no-such-report"}, tenant=OTHER)
    # Maintenance adds up what runs have used.
    await async_forge.installation.maintain()
    _, usage = await run.run(report_generate, {"report_type": "usage-summary", "format": "csv"})
    assert "connector.report.generate,1,0,1,1," in usage["report_csv"]
    _, dead = await run.run(report_generate, {"report_type": "dead-letters", "format": ["csv", "html"]})
    assert "There is no report no-such-report." in dead["report_csv"]
    assert dead["rows"] == 1
    job, _ = await run.run(report_generate, {"report_type": "job-analytics", "params": {"from": "2026-01-01"}})
    assert job.status == "succeeded", job.error
    _, by_day = await run.run(report_generate, {"report_type": "tenant-usage", "format": ["csv", "html", "json"]})
    assert by_day["report_csv"].startswith("Day,Runs,Succeeded,Failed,Dead,Cost (cents),Run time (ms)\r\n")
    assert by_day["rows"] == 1
    for params in ({"from": "x"}, {"timezone": "Mars/Base"}, {"from": "2026-02-01", "to": "2026-01-01"}):
        job, details = await run.run(report_generate, {"report_type": "job-analytics", "params": params})
        assert (job.status, details["code"]) == ("failed", "invalid_payload")
