"""Webhooks: endpoints of tenants, events, and whom one job notifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypedDict

from .rows import Record, from_rows

if TYPE_CHECKING:
    from .words import JobStatus, NotifyStatus, WebhookFormat, WebhookPart, WebhookSignature, WebhookState

SecretName = TypedDict("SecretName", {"$secret": str})
"""The name of a secret that the workers have. It is never stored in the database."""


class EndpointOptions(TypedDict, total=False):
    """The settings of an endpoint. In a change, None sets one to its default."""

    url: str
    description: str | None
    events: Sequence[str] | None
    """Types of events, such as `job.dead`, `job.*`, `invoice.*`. Default: the four ends of a job."""
    job_types: Sequence[str] | None
    """If there are any, only events of jobs of these types; `mail.*` is a beginning."""
    tags: Sequence[str] | None
    """Only events of jobs that have all of these tags."""
    include: Sequence[WebhookPart] | None
    """What events of jobs contain in addition, if it is small enough."""
    format: WebhookFormat | None
    signature: WebhookSignature | None
    """`both` adds the header of older versions. `ed25519`: the receiver verifies with a public key."""
    headers: Mapping[str, str | SecretName] | None
    ordered: bool | None
    """One delivery at a time, in the order of the events. A delivery that is retried holds up the others."""
    retry_schedule: Sequence[int] | None
    """The waits after each failure in seconds; the last one repeats. Default: those of the type's policy."""


class NewEndpointOptions(EndpointOptions, total=False):
    """The settings of a new endpoint. It must have a `url`."""

    master_key: str
    """The name of the master key that its keys are derived from. Default: `default`."""


class DeliveryFilters(TypedDict, total=False):
    """Selects deliveries of an endpoint. Their tag is the type of their event. None counts as not given."""

    status: JobStatus | Sequence[JobStatus] | None
    tags: str | Sequence[str] | None
    error_contains: str | None
    error_group: str | None
    created_after: datetime | None
    created_before: datetime | None
    finished_after: datetime | None
    finished_before: datetime | None


class NotifyOptions(TypedDict, total=False):
    """Whom a webhook tells about the end of one job: a URL, or one of the tenant's endpoints."""

    url: str
    secret: SecretName
    """The secret that signs deliveries to the URL."""
    endpoint_id: str
    on: Sequence[NotifyStatus]
    """The statuses to tell about. Default: all four."""


@dataclass(frozen=True, slots=True)
class EndpointKeyVersion(Record):
    """A version of an endpoint's signing key. The key itself is derived where the master key is."""

    version: int
    master_key: str
    until: datetime | None = None
    """When an older version stops signing; None for the newest."""


@dataclass(frozen=True, slots=True)
class WebhookEndpoint(Record):
    """An endpoint as it is now."""

    id: str
    tenant: str
    url: str
    description: str | None
    events: list[str]
    job_types: list[str]
    tags: list[str]
    include: list[WebhookPart]
    format: WebhookFormat
    signature: WebhookSignature
    headers: Mapping[str, str | SecretName]
    ordered: bool
    retry_schedule: list[int] | None
    keys: list[EndpointKeyVersion]
    """The versions of its signing key that sign now, the newest first."""
    state: WebhookState
    reason: str | None
    """Why it is disabled."""
    disabled_at: datetime | None
    failing_since: datetime | None
    """Since when every delivery fails; None if the last one succeeded."""
    held_until: datetime | None
    """Until when deliveries are held back; None if they are not."""
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        keys = from_rows(EndpointKeyVersion, row["keys"])
        # Without arguments, super() does not find the class that slots have replaced.
        return super(WebhookEndpoint, cls).from_row({**row, "keys": keys})


@dataclass(frozen=True, slots=True)
class DeletedEndpoint(Record):
    """What the deletion of an endpoint did."""

    canceled: int
    """How many of its deliveries were queued."""


@dataclass(frozen=True, slots=True)
class EndpointTest(Record):
    """The event `webhook.test` on its way to an endpoint."""

    id: str
    """The id of the event."""
    job_id: str
    """The delivery."""


@dataclass(frozen=True, slots=True)
class SentEvent(Record):
    """An event of the application on its way."""

    id: str
    deliveries: list[str]
    """The ids of the jobs that deliver it."""


@dataclass(frozen=True, slots=True)
class ReplayResult(Record):
    """What a replay of deliveries did."""

    matched: int
    replayed: int


@dataclass(frozen=True, slots=True)
class EgressPolicies:
    """The policies in force for a tenant. A worker adds both to what it allows itself."""

    all: Mapping[str, Any] | None
    tenant: Mapping[str, Any] | None
