"""The body of a webhook in each format. It is written once: these bytes are signed and sent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EventFacts:
    """An event, and the attempt to deliver it."""

    id: str
    type: str
    timestamp: str
    data: Any
    tenant: str
    sent_at: str
    """The time of this attempt, which the older format has in its body."""


def webhook_body(format: str, event: EventFacts) -> tuple[bytes, str]:
    """The bytes of a body, and its content type."""
    if format == "standard":
        return _json({"type": event.type, "timestamp": event.timestamp, "data": event.data})
    if format == "cloudevents":
        document = {
            "specversion": "1.0",
            "id": event.id,
            "source": f"jobforge/{event.tenant}",
            **_cloud_event(event),
            "time": event.timestamp,
            "datacontenttype": "application/json",
            "data": event.data,
        }
        return _json(document, "application/cloudevents+json")
    if format == "legacy":
        names = {"event_type": event.type, "event_id": event.id, "timestamp": event.sent_at, "data": event.data}
        return _json(names)
    return _json(event.data)


def _cloud_event(event: EventFacts) -> dict[str, str]:
    """JobForge's own types get a prefix, so that they are unique, and events of a job name it."""
    if not event.type.startswith(("job.", "schedule.", "webhook.")):
        return {"type": event.type}
    subject = event.data.get("id") if event.type.startswith("job.") and isinstance(event.data, dict) else None
    named = {"subject": subject} if isinstance(subject, str) else {}
    return {"type": f"dev.jobforge.{event.type}", **named}


def _json(value: Any, content_type: str = "application/json") -> tuple[bytes, str]:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), content_type
