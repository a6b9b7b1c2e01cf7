"""The tenant's configuration of a connector, which the tenant's server writes with `forge.connectors.set`.

It only narrows what the operator allows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from ..errors import InvalidValueError
from .document import Document, default, either, form, many, optional, table, text, whole
from .egress.policy import host_pattern
from .errors import ConnectorError
from .secrets.provider import secret_reference

if TYPE_CHECKING:
    from ..aio.forge import AsyncJobForge

ConnectorName: TypeAlias = Literal["http.request", "webhook.deliver"]
"""The name of a connector in `forge.connectors`."""

_DAY: Final = 86_400
_CACHE_SECONDS: Final = 5.0
_MAX_CACHED: Final = 10_000

value: Final = either(text(), secret_reference)
header_values: Final = table(value)

_DOCUMENT: Final[Document[dict[str, Any]]] = Document(
    form(
        {
            # If there are any, only these hosts are reached.
            "allowed_hosts": default(many(host_pattern), ()),
            # Sent with each request, unless the payload sets the same header.
            "default_headers": default(header_values, {}),
            # The longest time and the largest response that a payload may ask for.
            "timeout_ms": optional(whole(1)),
            "max_bytes": optional(whole(0)),
            "user_agent_suffix": optional(text(r"[\x20-\x7e]{1,100}", "1 to 100 characters of ASCII")),
            # The waits after each failure, in seconds.
            "retry_schedule": optional(many(whole(1, _DAY), most=50)),
        }
    )
)


class Configurations:
    """Reads the configurations of tenants."""

    def __init__(self, forge: AsyncJobForge) -> None:
        self._forge = forge
        self._cache: dict[tuple[str, str], tuple[float, dict[str, Any]]] = {}

    async def of(self, tenant: str, type: ConnectorName) -> dict[str, Any]:
        """The configuration, at most five seconds old. One that cannot be read is an error, never "no restrictions"."""
        key = (tenant, type)
        found = self._cache.get(key)
        if found is not None and found[0] > time.monotonic():
            return found[1]
        config = await self._read(tenant, type)
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        self._cache[key] = (time.monotonic() + _CACHE_SECONDS, config)
        return config

    async def _read(self, tenant: str, type: ConnectorName) -> dict[str, Any]:
        try:
            found = await self._forge.connectors.get(type, tenant=tenant)
        except Exception:  # noqa: BLE001 - whatever it is, the request must not be sent
            raise _unavailable(f"The configuration of {type} could not be read.") from None
        try:
            return _DOCUMENT.load({} if found is None else found, "config")
        except InvalidValueError as error:
            raise _unavailable(f"The configuration of {type} is invalid: {error.message}.") from None


def _unavailable(message: str) -> ConnectorError:
    return ConnectorError("config_unavailable", message, {"sent": False})
