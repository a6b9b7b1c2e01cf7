"""Where a delivery goes, and with which keys it is signed: the URL of a payload, or an endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ConnectorError
from .endpoints import EndpointFinder, endpoint_keys
from .signing import SigningKey, read_signing_key, receiver_secret

if TYPE_CHECKING:
    from ..secrets.secrets import Values


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """What signs a delivery."""

    keys: Sequence[SigningKey]
    texts: Sequence[str]
    """The secrets of the older form of signatures, which is an HMAC under a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a delivery goes. An endpoint has keys of its own; otherwise the payload names secrets."""

    url: str
    format: str
    signature: str
    headers: Mapping[str, Any] = field(default_factory=dict)
    schedule: Sequence[int] | None = None
    """The waits of the endpoint in seconds; None: those of the configuration."""
    is_disabled: bool = False
    """The endpoint is disabled, so its deliveries wait."""
    secrets: Sequence[Any] = ()
    own_keys: Sequence[SigningKey] | None = None

    async def keys(self, values: Values) -> SigningKeys:
        if self.own_keys is not None:
            # The text of an ed25519 key is public, so it signs nothing.
            texts = [receiver_secret(key) for key in self.own_keys if key.kind == "hmac"]
            return SigningKeys(self.own_keys, texts)
        texts = [await values.text(secret) for secret in self.secrets]
        return SigningKeys([] if self.format == "legacy" else _keys(texts), texts)


async def target_of(
    given: Mapping[str, Any], tenant: str, endpoints: EndpointFinder, master_keys: Mapping[str, bytes]
) -> Target:
    """The target of a payload."""
    endpoint_id = given.get("endpoint_id")
    if endpoint_id is None:
        return Target(url=given["url"], format=given["format"], signature=given["signature"], secrets=given["secrets"])
    endpoint = await endpoints(tenant, endpoint_id)
    if endpoint is None:
        raise ConnectorError("endpoint_unknown", "The tenant has no such endpoint.", {"sent": False})
    is_disabled = endpoint.state == "disabled"
    return Target(
        url=endpoint.url,
        format=endpoint.format or given["format"],
        signature="both" if endpoint.signature == "both" else given["signature"],
        headers=endpoint.headers,
        schedule=endpoint.retry_schedule,
        is_disabled=is_disabled,
        own_keys=[] if is_disabled else endpoint_keys(master_keys, tenant, endpoint_id, endpoint),
    )


def _keys(texts: Sequence[str]) -> list[SigningKey]:
    """The keys of a payload's secrets. One of another form than Standard Webhooks can sign the older format only."""
    keys = [read_signing_key(text) for text in texts]
    found = [key for key in keys if key is not None]
    if len(found) < len(keys):
        message = "The secret of a webhook must have the form whsec_… with 24 to 64 bytes in base64, or whsk_…."
        raise ConnectorError("secret_unavailable", message, {"sent": False})
    return found
