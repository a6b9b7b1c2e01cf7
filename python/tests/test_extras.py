"""The extras `httpx` and `fast`: a client of the application's own, faster JSON, another event loop."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from jobforge import (
    AsyncJobForge,
    ConnectionError,
    InvalidArgumentError,
    JobContext,
    JobForge,
    TimeoutError,
    define_job,
)
from jobforge.fast import loads, loop_factory
from jobforge.worker import Worker

if TYPE_CHECKING:
    from .conftest import Ways

greet = define_job("greet", input=dict[str, Any])


@greet.handler
async def greeting(input: dict[str, Any], job: JobContext[Any]) -> str:
    del job
    return f"Hello {input['name']}"


class Recorder:
    """Notes the addresses of requests, and lets them pass."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def __call__(self, request: httpx2.Request) -> None:
        self.paths.append(request.url.path)

    async def later(self, request: httpx2.Request) -> None:
        self(request)


def test_a_blocking_client_is_used_and_stays_open(ways: Ways, tenant: str) -> None:
    heard = Recorder()
    address = ways.arguments("http", "jobforge_app", tenant)
    with httpx2.Client(event_hooks={"request": [heard]}) as client:
        with JobForge(**address, client=client) as forge:
            job = forge.enqueue(greet, {"name": "Ada"}, tenant=tenant)
            assert forge.get(job.id, tenant=tenant) is not None
        assert not client.is_closed
        with pytest.raises(ConnectionError, match="closed"):
            forge.get(job.id, tenant=tenant)
    assert heard.paths[0].endswith("/rest/v1/rpc/jobforge_enqueue_job")


async def test_an_asynchronous_client_enqueues_and_works(ways: Ways, tenant: str) -> None:
    heard = Recorder()
    app = ways.arguments("http", "jobforge_app", tenant)
    worker = ways.arguments("http", "jobforge_worker")
    async with httpx2.AsyncClient(event_hooks={"request": [heard.later]}) as client:
        async with (
            AsyncJobForge(**app, client=client) as forge,
            AsyncJobForge(**worker, client=client) as working,
        ):
            job = await forge.enqueue(greet, {"name": "Ada"}, tenant=tenant)
            summary = await Worker(working, handlers=[greeting], sync=False).tick()
            assert summary.succeeded == 1
            assert await job.result(timeout=30) == "Hello Ada"
        assert not client.is_closed
    assert any(path.endswith("/rpc/jobforge_settle_jobs_text") for path in heard.paths)


async def test_a_blocking_client_serves_an_asynchronous_forge(ways: Ways, tenant: str) -> None:
    address = ways.arguments("http", "jobforge_app", tenant)
    with httpx2.Client() as client:
        async with AsyncJobForge(**address, client=client) as forge:
            job = await forge.enqueue(greet, {"name": "Ada"}, tenant=tenant)
            assert (await forge.get(job.id, tenant=tenant)) is not None


def test_failures_of_a_client_are_typed() -> None:
    def slow(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow", request=request)

    def broken(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    tenant = "11111111-1111-4111-8111-111111111111"
    for respond, error in ((slow, TimeoutError), (broken, ConnectionError)):
        with httpx2.Client(transport=httpx2.MockTransport(respond)) as client:
            forge = JobForge(url="http://127.0.0.1:1", token="t", client=client)
            with pytest.raises(error):
                forge.get(tenant, tenant=tenant)


@pytest.mark.parametrize("error", [httpx2.RemoteProtocolError("gone"), httpx2.ReadError("reset")])
async def test_a_call_that_does_no_harm_twice_is_repeated_if_the_connection_was_closed(error: Exception) -> None:
    heard: list[str] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        heard.append(request.url.path.rpartition("/")[2])
        if len(heard) in (1, 3, 5, 6):
            raise error
        return httpx2.Response(200, json=[])

    transport = httpx2.MockTransport(respond)
    with httpx2.Client(transport=transport) as client, JobForge(url="http://h", token="t", client=client) as forge:
        assert forge.gates.list() == []
    async with (
        httpx2.AsyncClient(transport=transport) as async_client,
        AsyncJobForge(url="http://h", token="t", client=async_client) as async_forge,
    ):
        assert await async_forge.gates.list() == []
        for name in ("jobforge_cancel_job", "jobforge_claim_jobs"):
            with pytest.raises(ConnectionError):
                await async_forge.transport.call(name, {})
    assert heard == ["jobforge_list_gates"] * 4 + ["jobforge_cancel_job", "jobforge_claim_jobs"]


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="client"):
        JobForge(url="http://127.0.0.1:1", token="t", client=object())
    with pytest.raises(InvalidArgumentError, match="client"):
        JobForge("postgresql://127.0.0.1:1/x", client=httpx2.Client())
    with pytest.raises(InvalidArgumentError, match="AsyncClient"):
        JobForge(url="http://127.0.0.1:1", token="t", client=httpx2.AsyncClient())


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, 2.5, None, True, "ü\n"]},
        2**63,
        -(2**64),
        10**40,
        1e300,
        -0.0,
        "9" * 40,
        {"deep": [[[]]]},
        "\u2028",
        [-(10**18), -(10**19), 10**18, 10**19, 2**64 - 1, 2**64],
        {"a": [[10**30], {"b": -(10**30)}], "c": 10**25},
        [12345678901234567890.5, 0.12345678901234567890],
        "a text with 12345678901234567890123",
    ],
)
def test_json_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    text = json.dumps(value)
    read = loads(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("space", ["", " ", "\n", "\t", "\r\n"])
def test_long_numbers_are_found_behind_any_white_space(space: str) -> None:
    assert loads(f'{space}{{"a":{space}{10**20},"b":[{space}-{10**20}]}}') == {"a": 10**20, "b": [-(10**20)]}


def test_long_digits_in_ids_do_not_slow_reading_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch of jobs has hundreds of trace ids, and one in some hundred has 19 digits in a row."""

    def slow(text: str) -> Any:
        raise AssertionError(f"read by the standard library: {text}")

    monkeypatch.setattr(json, "loads", slow)
    assert loads('{"trace_id": "01234567890123456789012345678901"}')["trace_id"].startswith("0123")


def test_the_commands_run_on_uvloop_where_it_is_installed() -> None:
    uvloop = pytest.importorskip("uvloop")
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        assert isinstance(runner.get_loop(), uvloop.Loop)
