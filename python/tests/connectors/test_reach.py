"""What requests reach: a DNS server and a certificate authority of the test play the attacker."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jobforge.connectors import LOOPBACK_EGRESS, ConnectorError
from jobforge.connectors.egress.dns import addresses_of, server_of

from .certificates import certificates
from .conftest import Guarded
from .servers import HttpServer, Received, Servers

NAME = "api.test.example"


def _ok(_: Received) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, b"ok"


async def _code(request: Any) -> str:
    with pytest.raises(ConnectorError) as refused:
        await request
    return refused.value.code


async def test_names_are_resolved_by_the_servers_of_the_policy(servers: Servers, get: Guarded) -> None:
    dns = await servers.dns()
    dns.set(NAME, ["127.0.0.1"])
    server = await servers.http(_ok)
    text, exchange = await get(
        f"http://{NAME}:{server.port}/", policy={**LOOPBACK_EGRESS, "dns_servers": [dns.address]}
    )
    assert text == "ok"
    assert sorted(dns.asked) == [f"A {NAME}", f"AAAA {NAME}"]
    assert {"dns", "connect", "first_byte"} <= set(exchange.timings)
    assert server.received[0].headers["host"] == f"{NAME}:{server.port}"


async def test_a_long_answer_is_asked_for_over_tcp(servers: Servers) -> None:
    dns = await servers.dns()
    dns.set(NAME, ["127.0.0.1"])
    dns.is_truncating = True
    assert await addresses_of(NAME, [server_of(dns.address)]) == ["127.0.0.1"]


INTERNAL = ["127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "fd00::1"]  # noqa: S104
EMBEDDED = ["::ffff:7f00:1", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2001::1"]


@pytest.mark.parametrize("address", [*INTERNAL, *EMBEDDED])
async def test_names_of_private_addresses_are_refused_before_a_connection(
    servers: Servers, get: Guarded, address: str
) -> None:
    dns = await servers.dns()
    dns.set(NAME, [address])
    server = await servers.http(_ok)
    with pytest.raises(ConnectorError) as refused:
        await get(f"http://{NAME}:{server.port}/", policy={"dns_servers": [dns.address]})
    assert refused.value.code == "blocked_address"
    assert address not in str(refused.value)
    assert server.received == []


async def test_a_name_with_one_private_address_is_refused(servers: Servers, get: Guarded) -> None:
    dns = await servers.dns()
    dns.set(NAME, ["127.0.0.1", "10.0.0.7"])
    server = await servers.http(_ok)
    policy = {**LOOPBACK_EGRESS, "dns_servers": [dns.address]}
    assert await _code(get(f"http://{NAME}:{server.port}/", policy=policy)) == "blocked_address"
    assert server.received == []


async def test_a_name_that_changes_its_address_cannot_slip_through(servers: Servers, get: Guarded) -> None:
    dns = await servers.dns()
    # The first two questions, one for each family, get the allowed address, all later ones a refused address.
    dns.set(NAME, lambda: ["127.0.0.1" if len(dns.asked) <= 2 else "10.0.0.7"])
    server = await servers.http(_ok)
    policy = {**LOOPBACK_EGRESS, "dns_servers": [dns.address]}
    assert (await get(f"http://{NAME}:{server.port}/", policy=policy))[0] == "ok"
    assert await _code(get(f"http://{NAME}:{server.port}/", policy=policy)) == "blocked_address"
    assert len(server.received) == 1


async def test_a_name_that_does_not_exist_is_a_failure_of_dns_which_is_retried(servers: Servers, get: Guarded) -> None:
    dns = await servers.dns()
    with pytest.raises(ConnectorError) as failed:
        await get("https://nowhere.test.example/", policy={"dns_servers": [dns.address]})
    assert (failed.value.code, failed.value.is_final) == ("dns_failed", False)


async def test_localhost_is_resolved_without_dns_if_the_policy_allows_it(servers: Servers, get: Guarded) -> None:
    server = await servers.http(_ok)
    assert (await get(f"http://localhost:{server.port}/"))[0] == "ok"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "[::ffff:127.0.0.1]"])
async def test_a_literal_address_is_refused_in_every_spelling(servers: Servers, get: Guarded, host: str) -> None:
    server = await servers.http(_ok)
    assert await _code(get(f"http://{host}:{server.port}/", policy={})) == "blocked_address"
    assert server.received == []


async def test_a_connection_that_is_refused_says_so_without_the_address(servers: Servers, get: Guarded) -> None:
    dns = await servers.dns()
    dns.set(NAME, ["127.0.0.1"])
    port = await servers.closed_port()
    with pytest.raises(ConnectorError) as failed:
        await get(f"http://{NAME}:{port}/", policy={**LOOPBACK_EGRESS, "dns_servers": [dns.address]})
    assert (failed.value.code, failed.value.is_final) == ("connect_failed", False)
    assert "127.0.0.1" not in str(failed.value)


async def test_proxies_of_the_environment_are_ignored(
    servers: Servers, get: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{await servers.closed_port()}")
    server = await servers.http(_ok)
    assert (await get(server.url))[0] == "ok"


async def test_tls_needs_a_certificate_for_the_name_that_was_asked_for(
    servers: Servers, get: Guarded, tmp_path: Path
) -> None:
    context, ca = certificates(tmp_path, NAME)
    dns = await servers.dns()
    dns.set(NAME, ["127.0.0.1"])
    dns.set("other.test.example", ["127.0.0.1"])
    server = await servers.http(lambda _: (200, {}, b"secure"), context)
    policy = {**LOOPBACK_EGRESS, "dns_servers": [dns.address]}
    text, exchange = await get(f"https://{NAME}:{server.port}/", policy={**policy, "ca": ca})
    assert text == "secure"
    assert {"connect", "tls"} <= set(exchange.timings)
    other = get(f"https://other.test.example:{server.port}/", policy={**policy, "ca": ca})
    assert await _code(other) == "tls_failed"
    with pytest.raises(ConnectorError, match="CERTIFICATE_VERIFY_FAILED") as failed:
        await get(f"https://{NAME}:{server.port}/", policy=policy)
    assert failed.value.code == "tls_failed"


async def _proxy(servers: Servers, server: HttpServer, asked: list[str], status: int = 200) -> int:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode().split(" ")[1])
        writer.write(f"HTTP/1.1 {status} X\r\n\r\n".encode())
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", server.port)

        async def pass_on(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while part := await source.read(65_536):
                target.write(part)
            target.close()

        try:
            await asyncio.gather(pass_on(reader, upstream), pass_on(upstream_reader, writer))
        finally:
            upstream.close()

    return await servers.raw(talk)


async def test_an_egress_proxy_gets_all_requests(servers: Servers, get: Guarded) -> None:
    server = await servers.http(lambda _: (200, {}, b"through the proxy"))
    asked: list[str] = []
    port = await _proxy(servers, server, asked)
    text, _ = await get(f"http://{NAME}:{server.port}/", policy={"proxy": f"http://127.0.0.1:{port}"})
    assert text == "through the proxy"
    assert asked == [f"{NAME}:{server.port}"]


async def test_an_egress_proxy_that_is_down_or_refuses_is_told_apart(servers: Servers, get: Guarded) -> None:
    down = {"proxy": f"http://127.0.0.1:{await servers.closed_port()}"}
    assert await _code(get(f"http://{NAME}/", policy=down)) == "proxy_unavailable"
    port = await _proxy(servers, await servers.http(_ok), [], 403)
    assert await _code(get(f"http://{NAME}/", policy={"proxy": f"http://127.0.0.1:{port}"})) == "connect_failed"
