"""The calls of operators, over Postgres and over HTTP, blocking and asynchronous."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from jobforge import (
    InvalidArgumentError,
    InvalidScheduleError,
    Limit,
    RetryPolicy,
    ScheduleId,
    ScheduleNotFoundError,
    define_job,
    define_schedule,
)

if TYPE_CHECKING:
    from .conftest import AsyncConnect, Connect, Way

feed = define_job("feed.read")
both = pytest.mark.parametrize("way", ["postgres", "http"])


@both
def test_gates(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    forge.enqueue(feed, {}, tenant=tenant)
    until = datetime.now(UTC) + timedelta(hours=1)
    paused = forge.gates.pause(type="feed.read", reason="maintenance", until=until)
    assert (paused.scope, paused.key, paused.paused, paused.was_paused) == ("type", "feed.read", True, False)
    [noted] = [entry.id for entry in forge.audit.list() if entry.action == "GATE_PAUSED"]
    assert paused.audit_id == noted
    [gate] = forge.gates.list()
    assert (gate.reason, gate.waiting) == ("maintenance", 1)
    assert forge.runs.claim("w1") == []
    assert forge.gates.resume(type="feed.read").was_paused
    assert not forge.gates.resume(tenant=tenant).was_paused
    assert forge.gates.pause().scope == "all"
    with pytest.raises(InvalidArgumentError):
        forge.gates.pause(type="feed.read", tenant=tenant)


@both
def test_limits(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    limit = forge.limits.set(type="feed.read", max_running=2, rate=10, per="1 minute")
    assert (limit.scope, limit.key, limit.max_running, limit.rate) == ("type", "feed.read", 2, 10)
    assert not limit.known
    stored = Limit(**{each.name: getattr(limit, each.name) for each in fields(Limit)})
    assert forge.limits.get(type="feed.read") == stored
    assert forge.limits.get(tenant=tenant) is None
    assert forge.limits.set(type="feed.read", tenant=tenant, max_running=1).key == f"feed.read:{tenant}"
    assert forge.limits.set(tenant="*", max_running=5).key == "*"
    assert forge.limits.set(key="shop-7", max_running=1).scope == "key"
    listed = {each.key: each for each in forge.limits.list()}
    assert len(listed) == 4
    used = listed["feed.read"]
    assert (used.running, used.waiting, used.tokens, used.next_at, used.exact) == (0, 0, 10, None, True)
    assert (listed["*"].running, listed["*"].exact) == (None, None)
    assert forge.limits.remove(key="shop-7")
    assert not forge.limits.remove(key="shop-7")
    with pytest.raises(InvalidArgumentError):
        forge.limits.set(max_running=1)


@both
def test_policies(connect: Connect, way: Way) -> None:
    forge = connect(way)
    assert forge.policies.get("feed.read").type == "*"
    policy = forge.policies.set("feed.read", preset="gentle", timeout=2.5, redact=["token"], retention_days=9)
    assert (policy.base, policy.cap, policy.max_attempts, policy.timeout) == (10, None, 4, 2.5)
    assert (policy.redact, policy.retention_days) == (["token"], 9)
    assert "timeout" in policy.by_hand
    assert forge.policies.set("feed.read", timeout=None).timeout is None
    assert [each.type for each in forge.policies.list(page_size=1)] == ["*", "feed.read"]
    assert forge.policies.reset("feed.read").reset
    with pytest.raises(InvalidArgumentError) as refused:
        forge.policies.set("feed.read", retries=3)  # type: ignore[call-arg]
    assert refused.value.hint is not None
    assert "max_attempts" in refused.value.hint


@both
async def test_tenants_types_workers_usage_and_audit(connect_async: AsyncConnect, way: Way, tenant: str) -> None:
    forge = connect_async(way)
    info = await forge.tenants.set(tenant, label="Acme", max_pending=10, weight=3)
    assert (info.label, info.max_pending, info.weight) == ("Acme", 10, 3)
    await forge.enqueue(feed, {}, tenant=tenant)
    assert (await forge.tenants.get(tenant)).pending == 1
    assert [each.tenant for each in await forge.tenants.list()] == [tenant]
    assert (await forge.tenants.set(tenant, max_pending=None)).max_pending is None
    job = await forge.enqueue(feed, {}, tenant=tenant)
    assert job.job is not None
    assert (job.job.tenant_label, job.job.schedule_key) == ("Acme", None)
    await job.cancel()
    [live] = await forge.usage.live(by=["tenant", "type"])
    assert (live.tenant, live.type, live.queued) == (tenant, "feed.read", 1)
    [run] = await forge.runs.claim("w1")
    await run.complete(cost_cents=7)
    [kind] = await forge.types.list(span=timedelta(minutes=5))
    assert (kind.type, kind.succeeded) == ("feed.read", 1)
    await forge.installation.maintain()
    [used] = await forge.usage.report(tenant=tenant, bucket="total", by=["type"], timezone="Europe/Berlin")
    assert (used.runs, used.succeeded, used.cost_cents) == (1, 1, 7)
    [mine] = await forge.usage.report(bucket="total", by=["tenant"])
    assert (mine.tenant, mine.tenant_label) == (tenant, "Acme")
    assert await forge.workers.list() == []
    actions = [entry.action async for entry in forge.audit.list(tenant=tenant, page_size=1)]
    assert len(actions) >= 2
    assert [entry.tenant_label async for entry in forge.audit.list(tenant=tenant)] == ["Acme"] * len(actions)
    assert (await forge.installation.health())["version"] == "0.1.0"


@both
async def test_connectors(connect_async: AsyncConnect, way: Way, tenant: str) -> None:
    forge = connect_async(way)
    await forge.connectors.set("http", {"token_env": "HTTP_TOKEN"}, tenant=tenant)
    assert await forge.connectors.get("http", tenant=tenant) == {"token_env": "HTTP_TOKEN"}
    await forge.connectors.set("http", None, tenant=tenant)
    assert await forge.connectors.get("http", tenant=tenant) is None


@both
def test_all_jobs(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    handle = forge.enqueue(feed, {}, tenant=tenant)
    [run] = forge.runs.claim("w1")
    run.fail("The feed is gone", retry=False)
    assert [each.id for each in forge.jobs.search(status=["failed", "dead"])] == [handle.id]
    [count] = forge.jobs.count(tenant=tenant)
    assert (count.type, count.jobs, count.exact) == ("feed.read", 1, True)
    assert count.oldest_at == count.newest_at < count.counted_at
    [group] = forge.jobs.dead_groups()
    assert (group.message, group.tenants, group.newest_job_id) == ("The feed is gone", [tenant], handle.id)
    assert group.tenant_labels == [None]
    assert forge.jobs.purge(tenant=tenant, error_group=group.error_group).changed == 1
    assert handle.get() is None


@both
def test_schedules(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    made = forge.schedules.ensure(feed, "f1", tenant=tenant, every=300, payload={"url": "u"}, tags=["feeds"])
    assert (made.outcome, made.every, made.payload, made.tags) == ("created", "00:05:00", {"url": "u"}, ["feeds"])
    same = forge.schedules.ensure(
        feed, "f1", tenant=tenant, every=timedelta(minutes=5), payload={"url": "u"}, tags=["feeds"]
    )
    assert (same.outcome, same.next_run_at) == ("existing", made.next_run_at)
    assert forge.schedules.update(feed, "f1", tenant=tenant, cron="0 9 * * mon", timezone="UTC").kind == "cron"
    assert forge.schedules.update(feed, "f1", tenant=tenant, merge_payload={"n": 1}).payload == {"url": "u", "n": 1}
    assert not forge.schedules.disable(feed, "f1", tenant=tenant).enabled
    assert forge.schedules.enable(feed, ScheduleId(made.id), tenant=tenant).enabled
    assert forge.schedules.set_enabled(feed, "f1", True, tenant=tenant).enabled
    assert forge.schedules.run(feed, "f1", tenant=tenant).run_requested
    [run] = forge.runs.claim("w1", job=feed)
    assert run.schedule is not None
    assert (run.schedule.key, run.schedule_id) == ("f1", made.id)
    run.complete()
    assert [each.status for each in forge.schedules.runs(feed, "f1", tenant=tenant)] == ["succeeded"]
    assert [each.key for each in forge.schedules.list(tenant=tenant, job=feed, key_prefix="f")] == ["f1"]
    assert forge.schedules.count(tenant=tenant)[0].schedules == 1
    found = forge.schedules.get(feed, "f1", tenant=tenant)
    assert found is not None
    assert found.last_status == "succeeded"
    forge.schedules.delete(feed, "f1", tenant=tenant)
    assert forge.schedules.get(feed, "f1", tenant=tenant) is None
    with pytest.raises(ScheduleNotFoundError):
        forge.schedules.run(feed, "f1", tenant=tenant)
    with pytest.raises(InvalidScheduleError) as refused:
        forge.schedules.ensure(feed, "f2", tenant=tenant, cron="99 * * * *")
    assert refused.value.field == "cron"
    forge.schedules.ensure(feed, "f3", tenant=tenant, dynamic=True)
    assert forge.schedules.delete_many(tenant=tenant, key_prefix="f3").changed == 1


@both
def test_sync_writes_only_differences(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way)
    job = define_job("report.nightly", retry=RetryPolicy(base=2, max_attempts=3), timeout=30, redact=["password"])
    nightly = define_schedule(job, "nightly", cron="0 3 * * *", tenant=tenant, payload={"all": True})
    policy, schedule = forge.sync([job, nightly], app="shop", app_version="1")
    assert (policy.type, policy.action) == ("report.nightly", "created")
    assert {each.key: each.after for each in policy.changes}["timeout_ms"] == 30_000
    assert (schedule.action, schedule.type) == ("created", "report.nightly")
    assert [each.action for each in forge.sync([job, nightly], app="shop", app_version="1")] == ["unchanged"] * 2
    assert forge.policies.get("report.nightly").max_attempts == 3
    assert [each.action for each in forge.sync([], app="shop")] == ["disabled"]
    with pytest.raises(InvalidArgumentError) as refused:
        forge.sync([nightly])
    assert refused.value.field == "app"
