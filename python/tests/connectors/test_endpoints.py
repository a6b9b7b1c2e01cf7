"""Deliveries to endpoints of the database, and the policies that operators set in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from jobforge import AsyncJobForge
from jobforge.connectors import (
    LOOPBACK_EGRESS,
    WebhookOptions,
    derive_key,
    http_request,
    master_keys_of,
    receiver_secret,
    webhook_deliver,
)
from jobforge.connectors.egress.policies import combined
from jobforge.connectors.verify import verify_webhook
from jobforge.connectors.webhooks.signing import legacy_signature

from .running import Run
from .servers import Received, Servers

if TYPE_CHECKING:
    from collections.abc import Mapping

MASTER_KEY = os.urandom(32)
EVENT: Mapping[str, Any] = {"type": "invoice.paid", "data": {"n": 1}}


def _ok(_: Received) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, b"thanks"


async def test_a_delivery_to_an_endpoint_is_signed_with_its_keys(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(_ok)
    run = runner(webhooks=WebhookOptions(master_keys={"default": MASTER_KEY}))
    endpoint = await async_forge.webhooks.create(
        tenant=tenant, url=server.url, signature="both", headers={"x-shop": "7"}
    )
    await async_forge.webhooks.rotate(endpoint.id, tenant=tenant)
    job, result = await run.run(webhook_deliver, {"endpoint_id": endpoint.id, "event": EVENT})
    assert job.status == "succeeded", job.error
    [request] = server.received
    assert request.headers["x-shop"] == "7"
    for version in (2, 1):
        key = derive_key(MASTER_KEY, tenant=tenant, endpoint_id=endpoint.id, version=version)
        verify_webhook(request.body, request.headers, receiver_secret(key))
        if version == 2:
            signature = legacy_signature("sha256", receiver_secret(key), request.body)
            assert request.headers["x-jobforge-signature"] == signature
    assert result["webhook_id"] == job.id


async def test_an_endpoint_that_signs_with_ed25519(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(_ok)
    run = runner(webhooks=WebhookOptions(master_keys={"m2": MASTER_KEY}))
    endpoint = await async_forge.webhooks.create(tenant=tenant, url=server.url, signature="ed25519", master_key="m2")
    job, _ = await run.run(webhook_deliver, {"endpoint_id": endpoint.id, "event": EVENT})
    assert job.status == "succeeded", job.error
    key = derive_key(MASTER_KEY, tenant=tenant, endpoint_id=endpoint.id, version=1, kind="ed25519")
    verify_webhook(server.received[0].body, server.received[0].headers, receiver_secret(key))


async def test_a_delivery_waits_while_its_endpoint_is_disabled(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(_ok)
    found = await async_forge.webhooks.create(tenant=tenant, url=server.url)
    disabled = await async_forge.webhooks.disable(found.id, tenant=tenant)

    async def endpoints(owner: str, id: str) -> Any:
        assert (owner, id) == (tenant, found.id)
        return disabled

    run = runner(webhooks=WebhookOptions(master_keys={"default": MASTER_KEY}, endpoints=endpoints))
    # As if it was claimed just before the endpoint was disabled.
    await async_forge.webhooks.enable(found.id, tenant=tenant)
    job, _ = await run.run(webhook_deliver, {"endpoint_id": found.id, "event": EVENT}, expects_error=False)
    assert (job.status, job.uncounted) == ("queued", 1)
    assert server.received == []


async def test_an_endpoint_that_fails_is_retried_by_its_own_schedule(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(lambda _: (500, {}, b""))
    endpoint = await async_forge.webhooks.create(tenant=tenant, url=server.url, retry_schedule=[1000])
    run = runner(webhooks=WebhookOptions(master_keys={"default": MASTER_KEY}))
    job, details = await run.run(webhook_deliver, {"endpoint_id": endpoint.id, "event": EVENT})
    assert (job.status, details["code"]) == ("queued", "http_status")
    assert 900 < (job.run_at - job.updated_at).total_seconds() < 1100


async def test_an_endpoint_that_asks_to_wait_holds_all_its_deliveries(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(lambda _: (429, {"retry-after": "600"}, b""))
    healthy = await servers.http(_ok)
    busy = await async_forge.webhooks.create(tenant=tenant, url=server.url)
    other = await async_forge.webhooks.create(tenant=tenant, url=healthy.url)
    run = runner(webhooks=WebhookOptions(master_keys={"default": MASTER_KEY}))

    async def deliver(endpoint_id: str) -> Any:
        payload: Any = {"endpoint_id": endpoint_id, "event": EVENT}
        handle = await async_forge.enqueue(webhook_deliver, payload, tenant=tenant, concurrency_key=endpoint_id)
        await run.tick()
        return await async_forge.get(handle.id, tenant=tenant)

    first = await deliver(busy.id)
    assert (first.status, first.attempts, first.error["details"]["retry_after"]) == ("queued", 1, 600)
    assert (first.run_at - first.updated_at).total_seconds() >= 600
    held = await async_forge.webhooks.get(busy.id, tenant=tenant)
    assert held.held_until is not None
    assert (held.held_until - first.updated_at).total_seconds() > 500
    second = await deliver(busy.id)
    assert (second.status, second.attempts) == ("queued", 0)
    third = await deliver(other.id)
    assert third.status == "succeeded", third.error
    assert len(server.received) == 1


async def test_the_policy_of_the_type_counts_if_it_waits_longer_than_the_server_asks(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(lambda _: (503, {"retry-after": "1"}, b""))
    await async_forge.policies.set(webhook_deliver.type, base=5000, cap=5000, jitter=0)
    job, _ = await runner().run(webhook_deliver, {"url": server.url, "event": EVENT})
    assert job.status == "queued"
    assert 4900 < (job.run_at - job.updated_at).total_seconds() < 5100


async def test_an_unknown_endpoint_and_a_missing_master_key(
    runner: Run, async_forge: AsyncJobForge, tenant: str
) -> None:
    run = runner(webhooks=WebhookOptions(master_keys={}))
    missing = await async_forge.webhooks.create(tenant=tenant, url="http://127.0.0.1:1/")
    job, details = await run.run(webhook_deliver, {"endpoint_id": missing.id, "event": EVENT})
    assert (job.status, details["code"]) == ("queued", "secret_unavailable")
    await async_forge.webhooks.delete(missing.id, tenant=tenant)
    job, details = await run.run(webhook_deliver, {"endpoint_id": missing.id, "event": EVENT})
    assert (job.status, details["code"]) == ("failed", "endpoint_unknown")


def test_master_keys_have_names() -> None:
    hexadecimal = MASTER_KEY.hex()
    found = master_keys_of(
        {"JOBFORGE_WEBHOOK_MASTER_KEY": hexadecimal, "JOBFORGE_WEBHOOK_MASTER_KEY_2027": hexadecimal, "OTHER": "x"}
    )
    assert found == {"default": MASTER_KEY, "2027": MASTER_KEY}
    with pytest.raises(ValueError, match="JOBFORGE_WEBHOOK_MASTER_KEY_A must be 32 bytes"):
        master_keys_of({"JOBFORGE_WEBHOOK_MASTER_KEY_A": "short"})


async def test_operators_allow_more_in_the_database(
    runner: Run, servers: Servers, async_forge: AsyncJobForge, tenant: str
) -> None:
    server = await servers.http(_ok)
    run = runner(egress={}).run
    job, details = await run(http_request, {"url": server.url})
    assert (job.status, details["code"]) == ("failed", "blocked_address")
    await async_forge.egress.set(dict(LOOPBACK_EGRESS), tenant=tenant)
    # A policy of the database is at most five seconds old, so this is another worker.
    job, _ = await runner(egress={}).run(http_request, {"url": server.url})
    assert job.status == "succeeded", job.error


async def test_a_policy_that_cannot_be_read_is_no_policy_at_all(runner: Run, servers: Servers, tenant: str) -> None:
    def broken(owner: str) -> Any:
        raise RuntimeError(owner)

    server = await servers.http(_ok)
    job, details = await runner(egress=broken).run(http_request, {"url": server.url})
    assert (job.status, details["code"]) == ("queued", "config_unavailable")


def test_policies_are_added_to_each_other() -> None:
    own = {"allow_cidrs": ["10.0.0.0/8"], "proxy": "http://a", "ca": "one", "secrets": {"A": {"hosts": ["a.com"]}}}
    tenant = {"allow_cidrs": ["192.168.0.0/16"], "proxy": "http://b", "allow_http": True, "secrets": {"B": {}}}
    every = {"nat64": True, "ca": ["two"], "strange": 1, "secrets": {"A": {"hosts": ["b.com"]}}}
    assert combined([own, tenant, every]) == {
        "allow_cidrs": ["10.0.0.0/8", "192.168.0.0/16"],
        "allow_names": [],
        "allow_ports": [],
        "allow_http": True,
        "nat64": True,
        "proxy": "http://a",
        "ca": ["one", "two"],
        "strange": 1,
        "secrets": {"A": {"hosts": ["a.com"]}, "B": {}},
    }
    assert combined([own]) is own
