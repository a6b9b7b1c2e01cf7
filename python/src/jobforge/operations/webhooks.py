"""Calls about webhooks and about what connectors may reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from ..arguments import check_range, check_tenant, check_text, check_time, check_uuid, milliseconds
from ..jsontext import JsonText, dumps, to_json
from ..records import Job
from ..rows import from_rows
from ..suggest import check_known
from ..webhook import (
    DeletedEndpoint,
    DeliveryFilters,
    EgressPolicies,
    EndpointOptions,
    EndpointTest,
    NewEndpointOptions,
    ReplayResult,
    SentEvent,
    WebhookEndpoint,
)
from ..words import BOUNDS, MAX_PAYLOAD_BYTES, UNSET, Bounds
from .call import Call, given, nothing, whole
from .filters import checked_page_size, filter_keys
from .listing import ReadPage, pages_by_id

_ALIASES: Final = {
    "types": "job_types",
    "tenantid": "tenant",
    "event": "events",
    "secret": "Its signing keys are derived from a master key: see the guide about webhooks.",
    "retries": "retry_schedule",
    "enabled": "Call webhooks.enable() or webhooks.disable().",
}
_LONGEST_KEEP: Final = Bounds(0, 30 * 86_400_000)


def create(tenant: object, options: Mapping[str, Any]) -> Call[WebhookEndpoint]:
    """Creates an endpoint."""
    check_known(options, NewEndpointOptions.__annotations__, _ALIASES)
    args = {"p_tenant_id": check_tenant(tenant), "p_endpoint": _plain(options)}
    return Call("jobforge_set_webhook_endpoint", args, WebhookEndpoint.from_row)


def update(id: object, tenant: object, changes: Mapping[str, Any]) -> Call[WebhookEndpoint]:
    """Changes settings of an endpoint. None sets one to its default."""
    check_known(changes, EndpointOptions.__annotations__, _ALIASES)
    args = {**_endpoint(id, tenant), "p_endpoint": _plain(changes)}
    return Call("jobforge_set_webhook_endpoint", args, WebhookEndpoint.from_row)


def get(id: object, tenant: object) -> Call[WebhookEndpoint]:
    """An endpoint as it is now."""
    return Call("jobforge_get_webhook_endpoint", _endpoint(id, tenant), WebhookEndpoint.from_row)


def list_endpoints(tenant: object) -> Call[list[WebhookEndpoint]]:
    """The endpoints of a tenant, the oldest first."""

    def read(rows: Sequence[Mapping[str, Any]]) -> list[WebhookEndpoint]:
        return from_rows(WebhookEndpoint, rows)

    return Call("jobforge_list_webhook_endpoints", {"p_tenant_id": check_tenant(tenant)}, read)


def enable(id: object, tenant: object) -> Call[WebhookEndpoint]:
    """Lets deliveries start."""
    return Call("jobforge_enable_webhook_endpoint", _endpoint(id, tenant), WebhookEndpoint.from_row)


def disable(id: object, tenant: object, reason: str | None) -> Call[WebhookEndpoint]:
    """Lets deliveries wait."""
    args = {**_endpoint(id, tenant), "p_reason": given(reason, "reason", check_text, BOUNDS["reason_bytes"])}
    return Call("jobforge_disable_webhook_endpoint", args, WebhookEndpoint.from_row)


def rotate(id: object, tenant: object, keep: object, master_key: str | None) -> Call[WebhookEndpoint]:
    """Gives an endpoint a new signing key."""
    kept = UNSET if keep is None else f"{milliseconds(keep, 'keep', _LONGEST_KEEP)} milliseconds"
    args = {**_endpoint(id, tenant), "p_keep": kept, "p_master_key": given(master_key, "master_key", check_text)}
    return Call("jobforge_rotate_webhook_endpoint", args, WebhookEndpoint.from_row)


def delete(id: object, tenant: object) -> Call[DeletedEndpoint]:
    """Deletes an endpoint."""
    return Call("jobforge_delete_webhook_endpoint", _endpoint(id, tenant), DeletedEndpoint.from_row)


def test(id: object, tenant: object) -> Call[EndpointTest]:
    """Sends the event `webhook.test`."""
    return Call("jobforge_test_webhook_endpoint", _endpoint(id, tenant), EndpointTest.from_row)


def send(type: str, data: object, tenant: object, id: str | None, timestamp: datetime | None) -> Call[SentEvent]:
    """Sends an event of the application."""
    facts = {"type": check_text(type, "type")}
    if id is not None:
        facts["id"] = check_text(id, "id")
    if timestamp is not None:
        facts["timestamp"] = check_time(timestamp, "timestamp").isoformat()
    stored = "" if data is UNSET else f',"data":{to_json(data, "data", MAX_PAYLOAD_BYTES).text}'
    event = JsonText(f"{dumps(facts)[:-1]}{stored}}}")
    return Call("jobforge_send_event", {"p_tenant_id": check_tenant(tenant), "p_event": event}, SentEvent.from_row)


def deliveries(id: object, tenant: object, page_size: int | None, filters: Mapping[str, Any]) -> ReadPage[Job]:
    """The deliveries of an endpoint, newest first."""
    check_known(filters, DeliveryFilters.__annotations__)
    args, keys = _endpoint(id, tenant), filter_keys(filters)

    def read(page: Mapping[str, object]) -> Call[Any]:
        return Call("jobforge_list_webhook_deliveries", {**args, "p_filters": {**keys, **page}}, whole)

    return pages_by_id(Job, checked_page_size(page_size), read)


def replay(id: object, tenant: object, limit: int | None, filters: Mapping[str, Any]) -> Call[ReplayResult]:
    """Delivers again."""
    check_known(filters, DeliveryFilters.__annotations__)
    args = {
        **_endpoint(id, tenant),
        "p_filters": filter_keys(filters),
        "p_limit": given(limit, "limit", check_range, BOUNDS["bulk_limit"]),
    }
    return Call("jobforge_replay_webhook_deliveries", args, ReplayResult.from_row)


def get_egress(tenant: object) -> Call[EgressPolicies]:
    """What connectors may reach in addition."""

    def read(row: Mapping[str, Any]) -> EgressPolicies:
        return EgressPolicies(row["all"], row["tenant"])

    return Call("jobforge_get_egress_policy", {"p_tenant_id": _maybe_tenant(tenant)}, read)


def set_egress(policy: Mapping[str, Any] | None, tenant: object) -> Call[None]:
    """Sets what connectors may reach in addition."""
    return Call("jobforge_set_egress_policy", {"p_tenant_id": _maybe_tenant(tenant), "p_policy": policy}, nothing)


def _maybe_tenant(tenant: object) -> str | None:
    """None names all tenants."""
    return None if tenant is None else check_tenant(tenant)


def _endpoint(id: object, tenant: object) -> dict[str, object]:
    return {"p_tenant_id": check_tenant(tenant), "p_endpoint_id": check_uuid(id, "id")}


def _plain(options: Mapping[str, Any]) -> dict[str, object]:
    """The settings as JSON, which has no tuples."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
