"""Endpoints of webhooks: where their settings come from, and the keys that are derived for them."""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from ...errors import EndpointNotFoundError
from ..errors import ConnectorError
from .signing import SigningKey, decode, derive_key

if TYPE_CHECKING:
    from ...aio.forge import AsyncJobForge
    from ...webhook import EndpointKeyVersion

VARIABLE: Final = "JOBFORGE_WEBHOOK_MASTER_KEY"
_KEY_BYTES: Final = 32


class DeliveryEndpoint(Protocol):
    """What a delivery needs of an endpoint, such as a `WebhookEndpoint` of `forge.webhooks.get`."""

    @property
    def url(self) -> str: ...

    @property
    def keys(self) -> Sequence[EndpointKeyVersion]: ...

    @property
    def format(self) -> Any:
        """None: that of the delivery."""
        ...

    @property
    def signature(self) -> Any: ...

    @property
    def headers(self) -> Mapping[str, Any]: ...

    @property
    def retry_schedule(self) -> Sequence[int] | None: ...

    @property
    def state(self) -> Any: ...


EndpointFinder: TypeAlias = Callable[[str, str], Awaitable[DeliveryEndpoint | None]]
"""Finds an endpoint by its tenant and id. Returns None if the tenant has no such endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """Endpoints and keys of webhooks."""

    endpoints: EndpointFinder | None = None
    """Default: `forge.webhooks.get`."""
    master_keys: Mapping[str, bytes] | None = None
    """Keys of 32 bytes, by their names. Default: the variables JOBFORGE_WEBHOOK_MASTER_KEY (`default`) and
    JOBFORGE_WEBHOOK_MASTER_KEY_NAME (`NAME`), in base64 or hexadecimal."""


def read_master_key(text: str, name: str = VARIABLE) -> bytes:
    """Reads a master key. Raises if it is not 32 bytes."""
    content = bytes.fromhex(text) if re.fullmatch(r"[0-9a-fA-F]{64}", text) else decode(text.strip())
    if content is None or len(content) != _KEY_BYTES:
        raise ValueError(f"{name} must be 32 bytes in base64: openssl rand -base64 32")
    return content


def master_keys_of(environment: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """The master keys of an environment. Several of them allow to replace one by another."""
    keys: dict[str, bytes] = {}
    for name, text in (os.environ if environment is None else environment).items():
        if text and name == VARIABLE:
            keys["default"] = read_master_key(text)
        elif text and name.startswith(f"{VARIABLE}_"):
            keys[name.removeprefix(f"{VARIABLE}_")] = read_master_key(text, name)
    return keys


def endpoint_keys(
    master_keys: Mapping[str, bytes], tenant: str, endpoint_id: str, endpoint: DeliveryEndpoint
) -> list[SigningKey]:
    """The keys of an endpoint that sign now, the newest first."""
    kind: Literal["hmac", "ed25519"] = "ed25519" if endpoint.signature == "ed25519" else "hmac"
    keys: list[SigningKey] = []
    for each in endpoint.keys:
        master_key = master_keys.get(each.master_key)
        if master_key is None:
            message = f"This worker has no master key {each.master_key} for the endpoint."
            raise ConnectorError("secret_unavailable", message, {"sent": False})
        keys.append(derive_key(master_key, tenant=tenant, endpoint_id=endpoint_id, version=each.version, kind=kind))
    return keys


def endpoints_of(forge: AsyncJobForge) -> EndpointFinder:
    """Finds endpoints in the database. One that cannot be read is a failure that is retried."""

    async def find(tenant: str, endpoint_id: str) -> DeliveryEndpoint | None:
        try:
            return await forge.webhooks.get(endpoint_id, tenant=tenant)
        except EndpointNotFoundError:
            return None
        except Exception:  # noqa: BLE001 - whatever it is, the delivery must not be sent without its settings
            raise ConnectorError("config_unavailable", "The endpoint could not be read.", {"sent": False}) from None

    return find
