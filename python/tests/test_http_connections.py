"""Connections over HTTP that are kept: used again, replaced when the server has closed them, and closed in time."""

from __future__ import annotations

import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing as closing_all
from contextlib import contextmanager, suppress
from socketserver import BaseRequestHandler, TCPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

from jobforge import GLOBAL_TENANT, AsyncJobForge, ConnectionError, JobForge, define_job
from jobforge.transport import http_connections
from jobforge.transport.http_connections import Connections
from jobforge.transport.http_messages import Deadline

from .support.answers import Answers, serving

mail = define_job("mail.send")


def test_connections_are_used_again() -> None:
    answers = Answers()
    with serving(answers) as url, JobForge(url=url, token="t") as forge:
        for _ in range(5):
            forge.transport.call("jobforge_health", {})
        assert answers.connections == 1
        answers.closes = True
        for _ in range(3):
            forge.transport.call("jobforge_health", {})
            # A call that is sent while the server closes the connection fails, as it may have been carried out.
            assert answers.closed.acquire(timeout=30)
    assert len(answers.requests) == 8
    assert answers.connections == 3


class Closing:
    """A server that responds once on each connection, and closes it when the next request has arrived."""

    def __init__(self) -> None:
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                with connection:
                    self._read(connection)
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]")
                    self._read(connection)

    def _read(self, connection: socket.socket) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            received += connection.recv(65_536)
            if not received:
                return
        head, _, body = received.partition(b"\r\n\r\n")
        size = int(re.search(rb"content-length: (\d+)", head.lower())[1])  # type: ignore[index]
        while len(body) < size:
            body += connection.recv(65_536)
        self.requests += 1


@contextmanager
def closing_at_once() -> Iterator[tuple[str, list[bytes]]]:
    """A server that reads a request and closes the connection without a response."""
    requests: list[bytes] = []

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            requests.append(self.request.recv(65_536))

    with TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
        server.shutdown()
        thread.join()


@pytest.fixture
def closing() -> Iterator[Closing]:
    server = Closing()
    yield server
    server.close()


def test_a_call_that_only_reads_is_repeated_if_a_kept_connection_was_closed(closing: Closing) -> None:
    with JobForge(url=closing.url, token="t") as forge:
        for _ in range(3):
            assert forge.gates.list() == []
    assert closing.requests == 5, "the first, and each of the others twice"


REPEATABLE: list[tuple[str, dict[str, Any]]] = [
    ("jobforge_get_job", {"p_job_id": "j"}),
    ("jobforge_heartbeat_worker", {"p_worker_id": "w"}),
    ("jobforge_watch_job", {"p_job_id": "j"}),
    ("jobforge_enqueue_job", {"p_type": "a", "p_idempotency_key": "k"}),
    ("jobforge_enqueue_jobs", {"p_jobs": [{"type": "a", "idempotency_key": "k"}]}),
    ("jobforge_enqueue_each", {"p_jobs": [{"type": "a", "idempotency_key": "k"}]}),
    ("jobforge_start_workflow", {"p_options": {"idempotency_key": "k"}}),
    ("jobforge_start_workflows", {"p_workflows": [{"options": {"idempotency_key": "k"}}]}),
]
NOT_REPEATABLE: list[tuple[str, dict[str, Any]]] = [
    ("jobforge_claim_jobs", {"p_worker_id": "w"}),
    ("jobforge_cancel_job", {"p_job_id": "j"}),
    ("jobforge_enqueue_job", {"p_type": "a", "p_dedupe_key": "k"}),
    ("jobforge_enqueue_jobs", {"p_jobs": [{"type": "a", "idempotency_key": "k"}, {"type": "a"}]}),
    ("jobforge_enqueue_each", {"p_jobs": [{"type": "a", "idempotency_key": "k"}, {"type": "a"}]}),
    ("jobforge_start_workflow", {"p_name": "a"}),
    ("jobforge_start_workflows", {"p_workflows": [{"name": "a"}]}),
]


@pytest.mark.parametrize(("name", "args"), REPEATABLE)
async def test_a_call_that_does_no_harm_twice_is_repeated(closing: Closing, name: str, args: dict[str, Any]) -> None:
    with JobForge(url=closing.url, token="t") as forge:
        for _ in range(2):
            assert forge.transport.call(name, args) == "[]"
    async with AsyncJobForge(url=closing.url, token="t") as async_forge:
        for _ in range(2):
            assert await async_forge.transport.call(name, args) == "[]"
    assert closing.requests == 6, "each client once, and then twice"


@pytest.mark.parametrize(("name", "args"), NOT_REPEATABLE)
async def test_a_call_that_changes_something_each_time_is_not_repeated(
    closing: Closing, name: str, args: dict[str, Any]
) -> None:
    async with AsyncJobForge(url=closing.url, token="t") as forge:
        await forge.transport.call(name, args)
        with pytest.raises(ConnectionError):
            await forge.transport.call(name, args)
    assert closing.requests == 2


def test_a_new_connection_that_is_lost_is_an_error() -> None:
    """Only a connection that has worked before may have been closed because it was idle."""
    with closing_at_once() as (url, requests), JobForge(url=url, token="t") as forge:
        with pytest.raises(ConnectionError):
            forge.gates.list()
        assert len(requests) == 1


@pytest.mark.parametrize(("timeout", "connections"), [(1, 3), (60, 1)])
def test_a_server_says_how_long_connections_are_kept(timeout: int, connections: int) -> None:
    answers = Answers()
    answers.headers = {"Keep-Alive": f"timeout={timeout}, max=100"}
    with serving(answers) as url, JobForge(url=url, token="t") as forge:
        for _ in range(3):
            forge.transport.call("jobforge_health", {})
    assert answers.connections == connections


def test_connections_that_are_no_longer_used_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(http_connections, "monotonic", lambda: now)
    answers = Answers()
    with serving(answers) as url, closing_all(Connections(urlsplit(url), None)) as connections:
        used = [connections.take(Deadline("test", 30))[0] for _ in range(3)]
        for each in used:
            each.request("POST", "/", b"{}")
            each.getresponse().read()
        for each in used:
            connections.release(each, 4.0)
        now += 5.0
        again, is_used = connections.take(Deadline("test", 30))
        connections.release(again)
        assert not is_used
        assert [each.sock for each in used] == [None, None, None]
        for _ in used:
            assert answers.closed.acquire(timeout=30), "the server sees it as well"


def test_a_call_that_may_have_been_carried_out_is_not_repeated(closing: Closing) -> None:
    with JobForge(url=closing.url, token="t") as forge:
        assert forge.gates.list() == []
        with pytest.raises(ConnectionError) as lost:
            forge.enqueue(mail, {}, tenant=GLOBAL_TENANT)
        assert lost.value.retryable
        assert closing.requests == 2
        assert forge.gates.list() == [], "the connection is not used again"


def test_a_call_that_was_not_sent_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers()
    sends = http.client.HTTPConnection.send
    failures = [ConnectionResetError(), BrokenPipeError()]

    def send(self: http.client.HTTPConnection, data: Any) -> None:
        if data.startswith(b"POST") and self.sock is not None and failures:
            raise failures.pop()
        sends(self, data)

    with serving(answers) as url, JobForge(url=url, token="t") as forge:
        # A function that changes something, and no enqueue, which may notify workers with a call of its own.
        forge.transport.call("jobforge_cancel_job", {})
        monkeypatch.setattr(http.client.HTTPConnection, "send", send)
        forge.transport.call("jobforge_cancel_job", {})
        forge.transport.call("jobforge_cancel_job", {})
    assert failures == []
    assert (len(answers.requests), answers.connections) == (3, 3)
