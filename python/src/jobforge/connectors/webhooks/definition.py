"""`connector.webhook.deliver`: the payload and the result, with the names that older payloads use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal, NotRequired, TypedDict
from uuid import UUID

from ...definition import JobDefinition, define_job
from ...errors import InvalidValueIssue
from ...retry import RetryPolicy
from ...standard_types import Path
from ..configuration import header_values
from ..document import Document, anything, default, either, form, many, one_of, optional, required, text, where, whole
from ..egress.policy import secret_name
from ..secrets.provider import SecretReference, secret_reference

MAX_TIMEOUT_MS: Final = 60_000

WEBHOOK_RETRY: Final = RetryPolicy(base=5, factor=5, cap=36_000, jitter=0.2, max_attempts=12)
"""Waits 5 s, 25 s, 2 min, 10 min, 52 min, 4.3 h, then 10 h: twelve executions in about 55 hours."""

WebhookFormat = Literal["standard", "cloudevents", "legacy", "raw"]


class WebhookEvent(TypedDict):
    """What happened."""

    type: str
    id: NotRequired[str]
    """Default: the id of the job."""
    timestamp: NotRequired[str]
    """When the event happened. Default: when the job was created."""
    data: NotRequired[Any]


class WebhookDelivery(TypedDict, total=False):
    """The payload of `connector.webhook.deliver`."""

    url: str
    endpoint_id: str
    secret: SecretReference | Sequence[SecretReference]
    """While a secret is rotated: the new one first, and up to two old ones."""
    event: WebhookEvent
    format: WebhookFormat
    signature: Literal["standard", "both"]
    """`both` adds the older signature, so that receivers can migrate."""
    headers: dict[str, str | SecretReference]
    timeout_ms: int
    target_url: str
    """The names of older payloads: this one and those below."""
    event_type: str
    event_id: str
    data: Any
    secret_ref: str
    signature_algo: Literal["sha256", "sha512"]


class WebhookResult(TypedDict):
    """The result of `connector.webhook.deliver`."""

    delivered: Literal[True]
    status: int
    duration_ms: float
    response_preview: str
    webhook_id: str
    timestamp: str
    attempt: int


def _is_time(value: str) -> bool:
    try:
        return "T" in value and datetime.fromisoformat(value).utcoffset() is not None
    except ValueError:
        return False


def _is_uuid(value: str) -> bool:
    try:
        return str(UUID(value)) == value.lower()
    except ValueError:
        return False


# The signed text is separated by full stops, so an id has none.
_event_id: Final = text(r"[A-Za-z0-9_-]{1,64}", "1 to 64 letters, digits, - and _")
_event_type: Final = text(shortest=1, longest=200)
_event: Final = form(
    {
        "id": optional(_event_id),
        "type": required(_event_type),
        "timestamp": optional(where(_is_time, "a time with an offset, in ISO 8601")),
        "data": default(anything, {}),
    }
)
_payload: Final = form(
    {
        "url": optional(text()),
        "endpoint_id": optional(where(_is_uuid, "a uuid")),
        "secret": optional(either(secret_reference, many(secret_reference, least=1, most=3))),
        "event": optional(_event),
        "format": optional(one_of("standard", "cloudevents", "legacy", "raw")),
        "signature": default(one_of("standard", "both"), "standard"),
        "headers": default(header_values, {}),
        "timeout_ms": default(whole(1, MAX_TIMEOUT_MS), 15_000),
        "target_url": optional(text()),
        "event_type": optional(_event_type),
        "event_id": optional(_event_id),
        "data": optional(anything),
        "secret_ref": optional(text()),
        "signature_algo": default(one_of("sha256", "sha512"), "sha256"),
    }
)


def _finish(given: dict[str, Any]) -> tuple[Sequence[str], str] | None:
    """Checks the payload as a whole, and turns older names into the present ones."""
    target = given.pop("target_url", None)
    given.setdefault("format", "standard" if target is None else "legacy")
    given.setdefault("url", target)
    if "event" not in given and "event_type" in given:
        of_event = {"type": given["event_type"], "data": given.get("data", {})}
        given["event"] = {**of_event, **({"id": given["event_id"]} if "event_id" in given else {})}
    problem = _problem(given)
    if problem is not None:
        return problem
    secret = {"$secret": given["secret_ref"]} if "secret_ref" in given else given.get("secret", [])
    given["secrets"] = secret if isinstance(secret, list) else [secret]
    return None


def _problem(given: dict[str, Any]) -> tuple[Sequence[str], str] | None:
    if (given["url"] is None) == ("endpoint_id" not in given):
        return ("url",), "must have one of url and endpoint_id"
    if "event" not in given:
        return ("event",), "must be { type, data }"
    if "secret_ref" in given and _refuses(given["secret_ref"]):
        return ("secret_ref",), "must be a name such as ACME_WEBHOOK: capitals, digits and underscores"
    if "endpoint_id" in given and "secret" in given:
        return ("secret",), "must be left out: an endpoint has its own key"
    return None


def _refuses(name: str) -> bool:
    issues: list[InvalidValueIssue] = []
    place: Path = ()
    secret_name(name, place, issues)
    return bool(issues)


webhook_deliver: Final[JobDefinition[WebhookDelivery, WebhookResult]] = define_job(
    "connector.webhook.deliver",
    input=Document[WebhookDelivery](_payload, _finish),
    output=WebhookResult,
    retry=WEBHOOK_RETRY,
    timeout=(MAX_TIMEOUT_MS + 30_000) / 1000,
)
"""Delivers a signed webhook."""
