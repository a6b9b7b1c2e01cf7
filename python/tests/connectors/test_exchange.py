"""Redirects, and servers that respond slowly, endlessly or with tricks."""

from __future__ import annotations

import asyncio
import gzip
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobforge.connectors import ConnectorError
from jobforge.connectors.egress.body import decoded, read_up_to

from .conftest import Guarded
from .servers import HttpServer, Received, Servers


async def _refused(request: Any) -> ConnectorError:
    with pytest.raises(ConnectorError) as refused:
        await request
    return refused.value


async def _redirecting(servers: Servers, status: int, targets: dict[str, str]) -> HttpServer:
    """Redirects from each path to the location of the dict, and shows all other requests."""

    def respond(request: Received) -> tuple[int, dict[str, str], bytes]:
        if request.path in targets:
            return status, {"location": targets[request.path]}, b""
        return 200, {}, f"{request.method} {request.path} {request.body.decode()}".encode()

    return await servers.http(respond)


async def _body() -> bytes:
    return b"body"


async def test_redirects_are_followed_and_listed(servers: Servers, get: Guarded) -> None:
    server = await _redirecting(servers, 302, {"/a": "/b", "/b": "c?d=1"})
    text, exchange = await get(f"{server.url}/a")
    assert text == "GET /c?d=1 "
    assert exchange.redirects == (f"{server.url}/a", f"{server.url}/b")
    assert exchange.url.href == f"{server.url}/c?d=1"


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://10.0.0.1/", "blocked_address"),
        ("http://169.254.169.254/latest/meta-data/", "blocked_address"),
        ("http://2852039166/", "blocked_address"),
        ("file:///etc/passwd", "blocked_scheme"),
        ("http://metadata.google.internal/", "blocked_host"),
        ("http://127.0.0.1:22/", "blocked_port"),
        ("http://user:pass@127.0.0.1/", "invalid_url"),
        ("http://[", "redirect_refused"),
    ],
)
async def test_redirects_to_refused_targets_are_not_followed(
    servers: Servers, get: Guarded, target: str, code: str
) -> None:
    server = await _redirecting(servers, 302, {"/": target})
    error = await _refused(get(server.url))
    assert (error.code, error.is_final) == (code, True)


async def test_a_line_break_never_reaches_the_wire(servers: Servers, get: Guarded) -> None:
    server = await _redirecting(servers, 302, {})
    smuggled = "a\r\n\r\nDELETE / HTTP/1.1\r\nhost: x"
    for headers in ({"x-a": smuggled}, {f"x-{smuggled}": "a"}, {"x-a": "a\nb"}, {"x-a": "a\0"}):
        refused = await _refused(get(server.url, headers=headers))
        assert (refused.code, refused.is_final) == ("invalid_header", True)
    assert server.received == []


async def test_redirects_end_after_the_limit(servers: Servers, get: Guarded) -> None:
    server = await _redirecting(servers, 302, {"/": "/"})
    assert (await _refused(get(server.url, redirects=2))).code == "redirect_refused"
    assert len(server.received) == 3


async def test_redirects_to_another_origin_lose_secrets(servers: Servers, get: Guarded) -> None:
    other = await servers.http(lambda _: (200, {}, b"there"))
    server = await _redirecting(servers, 302, {"/": "/same", "/same": f"{other.url}/"})
    secrets = {"authorization": "Bearer secret", "cookie": "a=b", "x-api-key": "secret", "idempotency-key": "1"}
    headers = {**secrets, "accept": "text/plain"}
    await get(server.url, headers=headers, secret_headers=frozenset({"x-api-key"}))
    assert headers.items() <= server.received[1].headers.items()
    assert other.received[0].headers["accept"] == "text/plain"
    assert not secrets.keys() & other.received[0].headers.keys()


async def test_redirects_of_a_post_become_get_or_repeat_it_within_the_origin(servers: Servers, get: Guarded) -> None:
    other = await servers.http(lambda _: (200, {}, b"there"))
    request: dict[str, Any] = {"method": "POST", "body": _body, "headers": {"content-type": "text/plain"}}
    see = await _redirecting(servers, 303, {"/": "/b"})
    assert (await get(see.url, **request))[0] == "GET /b "
    assert "content-type" not in see.received[1].headers
    same = await _redirecting(servers, 307, {"/": "/b"})
    assert (await get(same.url, **request))[0] == "POST /b body"
    away = await _redirecting(servers, 308, {"/": other.url})
    assert (await _refused(get(away.url, **request))).code == "redirect_refused"
    assert other.received == []


async def test_redirects_are_not_followed_if_none_are_allowed(servers: Servers, get: Guarded) -> None:
    server = await _redirecting(servers, 302, {"/": "/b"})
    assert (await get(server.url, redirects=0))[1].status == 302


@pytest.mark.parametrize(
    ("first", "more"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", b"x", id="a body byte by byte"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n", id="chunks for ever"),
        pytest.param(b"", b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n", id="early hints for ever"),
        pytest.param(b"HTTP/1.1 200 OK\r\nx: ", b"x", id="header bytes for ever"),
        pytest.param(b"", b"", id="nothing"),
    ],
)
async def test_a_server_that_is_slow_is_cut_off_at_the_deadline(
    servers: Servers, get: Guarded, first: bytes, more: bytes
) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while not reader.at_eof():
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(0.005)

    port = await servers.raw(talk)
    error = await _refused(get(f"http://127.0.0.1:{port}/", timeout_ms=300))
    assert (error.code, error.is_final) == ("timeout", False)
    assert "timeout_ms, 300 ms" in str(error)


async def test_an_endless_body_is_read_up_to_the_limit(servers: Servers, get: Guarded) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 65_536)
            await writer.drain()

    port = await servers.raw(talk)
    text, _ = await get(f"http://127.0.0.1:{port}/", max_bytes=1000)
    assert text == "x" * 1000


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"x-a: 0123456789\r\n" * 2000 + b"\r\n", id="too many headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nx: " + b"x" * 70_000, id="a header that is too long"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", id="a switch"),
        pytest.param(b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", id="no colon"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", id="two lengths"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", id="a negative length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", id="both framings"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n", id="a chain of codings"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", id="a broken chunk"),
        pytest.param(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxyz\r\n", id="a long chunk"),
    ],
)
async def test_a_response_that_is_not_http_fails_and_is_retried(
    servers: Servers, get: Guarded, response: bytes
) -> None:
    error = await _refused(get(f"http://127.0.0.1:{await servers.sending(response)}/"))
    assert (error.code, error.is_final) == ("invalid_response", False)


async def test_a_server_that_closes_the_connection_fails_and_is_retried(servers: Servers, get: Guarded) -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        del writer

    async def close_in_the_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
        await writer.drain()

    async def reset_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)

    for talk in (close, close_in_the_body, *[reset_at_once] * 10):
        error = await _refused(get(f"http://127.0.0.1:{await servers.raw(talk)}/"))
        assert (error.code, error.is_final) == ("connection_lost", False)


async def test_requests_of_one_run_share_a_deadline(servers: Servers, get: Guarded) -> None:
    server = await servers.http(lambda _: (200, {}, b"ok"))
    error = await _refused(get(server.url, deadline=asyncio.get_running_loop().time()))
    assert (error.code, error.details["sent"]) == ("timeout", False)
    assert server.received == []


async def test_hints_are_skipped_and_chunks_are_joined(servers: Servers, get: Guarded) -> None:
    response = (
        b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n"
    )
    assert (await get(f"http://127.0.0.1:{await servers.sending(response)}/"))[0] == "abcde"


async def _parts(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), 1000):
        yield content[start : start + 1000]


async def test_a_compressed_body_is_decoded() -> None:
    read = await read_up_to(decoded(_parts(gzip.compress(b"hello" * 10_000)), "gzip"), 100_000)
    assert read.content == b"hello" * 10_000
    members = gzip.compress(b"hel" * 1000) + gzip.compress(b"lo")
    for padding in (b"", b"\0\0"):
        read = await read_up_to(decoded(_parts(members + padding), "gzip"), 100_000)
        assert read.content == b"hel" * 1000 + b"lo"


async def test_a_compressed_body_that_grows_too_far_is_cut_off() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    assert len(bomb) < 100_000
    error = await _refused(read_up_to(decoded(_parts(bomb), "gzip"), 100_000_000))
    assert error.code == "too_large"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "zstd", "br"])
async def test_a_chain_of_encodings_and_an_unknown_one_are_refused(encoding: str) -> None:
    with pytest.raises(ConnectorError, match="not supported"):
        decoded(_parts(b"x"), encoding)


async def test_a_body_that_is_not_gzip_or_breaks_off_is_retried() -> None:
    assert (await _refused(read_up_to(decoded(_parts(b"plain"), "gzip"), 100))).code == "invalid_response"
    cut = gzip.compress(b"hello" * 1000)[:-10]
    assert (await _refused(read_up_to(decoded(_parts(cut), "gzip"), 10_000))).code == "connection_lost"
