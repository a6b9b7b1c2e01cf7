"""The keys that a delivery is signed with: secrets of the payload, or keys derived for an endpoint."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from ..errors import ConnectorError
from .signing import SigningKey, decode, derive_key

_VARIABLE: Final = "JOBFORGE_WEBHOOK_MASTER_KEY"
_KEY_BYTES: Final = 32
_MAX_PREVIOUS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoint:
    """An endpoint that deliveries name by its id."""

    url: str
    secret_version: int
    """The version of its key. A rotation adds one."""
    previous_versions: Sequence[int] = ()
    """Older versions that still sign, the newest first; at most two."""
    signing: Literal["hmac", "ed25519"] = "hmac"
    master_key_id: str = "default"
    """Which master key its keys are derived from."""
    headers: Mapping[str, str] = field(default_factory=dict)
    format: Literal["standard", "cloudevents", "raw"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """Endpoints and keys of webhooks."""

    endpoints: Callable[[str, str], Awaitable[WebhookEndpoint | None]] | None = None
    """Finds an endpoint by its tenant and id. Without it, deliveries name a URL."""
    master_keys: Mapping[str, bytes] | None = None
    """Master keys of 32 bytes, by id. Default: the variable JOBFORGE_WEBHOOK_MASTER_KEY, in base64 or hexadecimal."""


def read_master_key(text: str) -> bytes:
    """Reads a master key. Raises if it is not 32 bytes."""
    content = bytes.fromhex(text) if re.fullmatch(r"[0-9a-fA-F]{64}", text) else decode(text.strip())
    if content is None or len(content) != _KEY_BYTES:
        raise ValueError(f"{_VARIABLE} must be 32 bytes in base64: openssl rand -base64 32")
    return content


def master_keys_of(options: WebhookOptions) -> Mapping[str, bytes]:
    """The master keys of a worker."""
    if options.master_keys is not None:
        return options.master_keys
    text = os.environ.get(_VARIABLE)
    return {"default": read_master_key(text)} if text else {}


def endpoint_keys(
    master_keys: Mapping[str, bytes], tenant: str, endpoint_id: str, endpoint: WebhookEndpoint
) -> list[SigningKey]:
    """The keys of an endpoint, the newest first."""
    master_key = master_keys.get(endpoint.master_key_id)
    if master_key is None:
        message = "This worker has no master key for the endpoint."
        raise ConnectorError("secret_unavailable", message, {"sent": False})
    versions = [endpoint.secret_version, *endpoint.previous_versions[:_MAX_PREVIOUS]]
    return [
        derive_key(master_key, tenant=tenant, endpoint_id=endpoint_id, version=version, kind=endpoint.signing)
        for version in versions
    ]
