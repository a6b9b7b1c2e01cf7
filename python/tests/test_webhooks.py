"""Endpoints of webhooks, events, and the policy of connectors, over Postgres and over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from jobforge import (
    EndpointNotFoundError,
    ForbiddenError,
    InvalidArgumentError,
    define_job,
)

if TYPE_CHECKING:
    from .conftest import Connect, Way

URL = "https://example.com/hooks"
DELIVER = "connector.webhook.deliver"
clean_up = define_job("clean.up")
both = pytest.mark.parametrize("way", ["postgres", "http"])


@both
def test_an_endpoint_is_created_changed_read_listed_and_deleted(connect: Connect, way: Way, tenant: str) -> None:
    webhooks = connect(way, "jobforge_app", tenant).webhooks
    made = webhooks.create(
        tenant=tenant,
        url=URL,
        description="Billing",
        events=("job.*",),
        job_types=["mail.*"],
        tags=["vip"],
        include=["result"],
        headers={"authorization": {"$secret": "HOOK"}, "x-a": "b"},
        retry_schedule=[5, 60],
        master_key="m2",
    )
    assert (made.url, made.description, made.events, made.job_types) == (URL, "Billing", ["job.*"], ["mail.*"])
    assert (made.tenant, made.tags, made.include, made.format) == (tenant, ["vip"], ["result"], "standard")
    assert (made.headers["x-a"], made.ordered, made.retry_schedule) == ("b", False, [5, 60])
    assert [(key.version, key.master_key, key.until) for key in made.keys] == [(1, "m2", None)]
    assert (made.state, made.reason, made.disabled_at, made.failing_since) == ("enabled", None, None, None)
    assert isinstance(made.created_at, datetime)
    assert webhooks.get(made.id, tenant=tenant) == made
    changed = webhooks.update(made.id, tenant=tenant, format="cloudevents", events=None)
    assert (changed.format, changed.job_types, changed.description) == ("cloudevents", ["mail.*"], "Billing")
    assert changed.events == ["job.succeeded", "job.failed", "job.dead", "job.canceled"]
    assert webhooks.list(tenant=tenant) == [changed]
    assert webhooks.delete(made.id, tenant=tenant).canceled == 0
    assert webhooks.list(tenant=tenant) == []
    with pytest.raises(EndpointNotFoundError):
        webhooks.get(made.id, tenant=tenant)


@both
def test_a_disabled_endpoint_says_why_and_a_rotation_keeps_the_key_before(
    connect: Connect, way: Way, tenant: str
) -> None:
    webhooks = connect(way, "jobforge_app", tenant).webhooks
    id = webhooks.create(tenant=tenant, url=URL).id
    disabled = webhooks.disable(id, tenant=tenant, reason="moving")
    assert (disabled.state, disabled.reason) == ("disabled", "moving")
    assert disabled.disabled_at is not None
    assert webhooks.enable(id, tenant=tenant).state == "enabled"
    newest, before = webhooks.rotate(id, tenant=tenant, keep=timedelta(days=2), master_key="next").keys
    assert (newest.version, newest.master_key, newest.until) == (2, "next", None)
    assert (before.version, before.master_key) == (1, "default")
    assert before.until is not None
    assert [key.version for key in webhooks.rotate(id, tenant=tenant, keep=0).keys] == [3]


@both
def test_deliveries_of_events_tests_and_ends_of_jobs_are_listed_and_replayed(
    connect: Connect, way: Way, tenant: str
) -> None:
    forge = connect(way, "jobforge_app", tenant)
    id = forge.webhooks.create(tenant=tenant, url=URL, events=["job.*", "invoice.*"]).id
    at = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
    sent = forge.webhooks.send("invoice.paid", {"n": 1}, tenant=tenant, id="inv-1", timestamp=at)
    assert sent.id == "inv-1"
    [delivery] = forge.webhooks.deliveries(id, tenant=tenant).page().items
    assert ([delivery.id], delivery.type, delivery.subject) == (sent.deliveries, DELIVER, id)
    event = delivery.payload["event"]
    assert (event["id"], event["type"], event["data"]) == ("inv-1", "invoice.paid", {"n": 1})
    assert datetime.fromisoformat(event["timestamp"]) == at
    tested = forge.webhooks.test(id, tenant=tenant)
    assert tested.job_id != tested.id
    forge.enqueue(clean_up, {}, tenant=tenant).cancel()
    found = [each.tags for each in forge.webhooks.deliveries(id, tenant=tenant, page_size=2)]
    assert found == [["job.canceled"], ["webhook.test"], ["invoice.paid"]]
    worker = connect(way, "jobforge_worker")
    for run in worker.runs.claim("w1", limit=10):
        run.complete()
    replayed = forge.webhooks.replay(id, tenant=tenant, status="succeeded", tags=["invoice.paid"], limit=5)
    assert (replayed.matched, replayed.replayed) == (1, 1)
    assert forge.webhooks.replay(id, tenant=tenant).matched == 0
    assert len(list(forge.webhooks.deliveries(id, tenant=tenant))) == 4


@both
def test_an_enqueue_says_whom_to_notify(connect: Connect, way: Way, tenant: str) -> None:
    forge = connect(way, "jobforge_app", tenant)
    id = forge.webhooks.create(tenant=tenant, url=URL, events=["invoice.paid"]).id
    one = forge.enqueue(clean_up, {}, tenant=tenant, notify={"endpoint_id": id, "on": ("canceled",)})
    [two] = forge.enqueue_many([clean_up.new({})], tenant=tenant, notify={"endpoint_id": id})
    to: Any = {"url": "https://example.com/done", "secret": {"$secret": "DONE"}}
    three = forge.enqueue(clean_up, {}, tenant=tenant, notify=to)
    for each in (one, two, three):
        each.cancel()
    deliveries = [each.tags for each in forge.webhooks.deliveries(id, tenant=tenant)]
    assert deliveries == [["job.canceled"], ["job.canceled"]]
    newest = forge.list(tenant=tenant, type=DELIVER).page().items[0]
    assert (newest.payload["url"], newest.payload["secret"]) == (to["url"], to["secret"])
    assert newest.payload["event"]["data"]["id"] == three.id


@both
def test_the_policy_of_connectors_is_set_by_operators_and_read_by_workers(
    connect: Connect, way: Way, tenant: str
) -> None:
    operator = connect(way)
    operator.egress.set({"allow_http": True})
    operator.egress.set({"allow_cidrs": ["10.0.0.0/8"]}, tenant=tenant)
    found = connect(way, "jobforge_worker").egress.get(tenant=tenant)
    assert (found.all, found.tenant) == ({"allow_http": True}, {"allow_cidrs": ["10.0.0.0/8"]})
    operator.egress.set(None, tenant=tenant)
    assert operator.egress.get(tenant=tenant).tenant is None
    assert operator.egress.get().all == {"allow_http": True}
    with pytest.raises(InvalidArgumentError):
        operator.egress.set({"allow_everything": True})
    with pytest.raises(ForbiddenError):
        connect(way, "jobforge_app", tenant).egress.set({}, tenant=tenant)


def test_mistakes_name_what_was_meant(connect: Connect, tenant: str) -> None:
    forge: Any = connect("postgres")
    cases: list[tuple[Any, str, str | None]] = [
        (lambda: forge.webhooks.create(tenant=tenant, url=URL, types=["a"]), "types", "Did you mean job_types?"),
        (lambda: forge.webhooks.get("x", tenant=tenant), "id", None),
        (lambda: forge.webhooks.rotate(str(uuid4()), tenant=tenant, keep=-1), "keep", None),
        (lambda: forge.webhooks.deliveries(str(uuid4()), tenant=tenant, subject="a"), "subject", None),
        (lambda: forge.webhooks.send("invoice.paid", {"x": float("nan")}, tenant=tenant), "data.x", None),
        (lambda: forge.webhooks.send("a", tenant=tenant, timestamp=datetime(2026, 1, 1)), "timestamp", None),  # noqa: DTZ001
        (lambda: forge.enqueue(clean_up, {}, tenant=tenant, notify={}), "notify", None),
        (lambda: forge.enqueue(clean_up, {}, tenant=tenant, notify={"url": URL, "on": ["done"]}), "notify.on", None),
        (lambda: forge.enqueue(clean_up, {}, tenant=tenant, notify={"uri": URL}), "notify.uri", None),
    ]
    for call, field, hint in cases:
        with pytest.raises(InvalidArgumentError) as refused:
            call()
        assert refused.value.field == field
        assert hint is None or refused.value.hint == hint
