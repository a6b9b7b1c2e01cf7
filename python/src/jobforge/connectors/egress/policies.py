"""The policy in force for a tenant.

It is what the worker itself allows, and what operators have set in the database for all tenants and for this one.
"""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..errors import ConnectorError
from .policy import EgressPolicy, egress_policy

if TYPE_CHECKING:
    from ...aio.forge import AsyncJobForge

EgressDocument: TypeAlias = Mapping[str, Any]
EgressSource: TypeAlias = EgressDocument | Callable[[str], EgressDocument | Awaitable[EgressDocument]]
"""The worker's own policy: one document for all tenants, or a function that returns the document of a tenant."""

_CACHE_SECONDS: Final = 5.0
_MAX_CACHED: Final = 10_000
_MAX_KNOWN: Final = 1000
_LISTS: Final = ("allow_cidrs", "allow_names", "allow_ports")


class Policies:
    """A policy of the database is at most five seconds old. One that cannot be read is an error, never "no policy"."""

    def __init__(self, forge: AsyncJobForge, source: EgressSource) -> None:
        self._forge = forge
        self._source = source
        # A document is read once at start, so that a mistake in it is found then.
        if isinstance(source, Mapping):
            egress_policy(source)
        self._stored: dict[str, tuple[float, Sequence[EgressDocument]]] = {}
        self._known: dict[str, EgressPolicy] = {}

    async def of(self, tenant: str) -> EgressPolicy:
        """The policy for a tenant."""
        try:
            document = combined([await self._own(tenant), *await self._stored_for(tenant)])
            text = json.dumps(document, sort_keys=True)
            policy = self._known.get(text) or egress_policy(document)
        except Exception:  # noqa: BLE001 - whatever it is, the request must not be sent
            message = "The egress policy could not be read."
            raise ConnectorError("config_unavailable", message, {"sent": False}) from None
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known[text] = policy
        return policy

    async def _own(self, tenant: str) -> EgressDocument:
        if isinstance(self._source, Mapping):
            return self._source
        found = self._source(tenant)
        return await found if inspect.isawaitable(found) else found

    async def _stored_for(self, tenant: str) -> Sequence[EgressDocument]:
        cached = self._stored.get(tenant)
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        found = await self._forge.egress.get(tenant=tenant)
        documents = [each for each in (found.tenant, found.all) if each is not None]
        if len(self._stored) >= _MAX_CACHED:
            self._stored.clear()
        self._stored[tenant] = (time.monotonic() + _CACHE_SECONDS, documents)
        return documents


def combined(documents: Sequence[EgressDocument]) -> EgressDocument:
    """Adds policies to each other: lists are joined, and what one of them allows is allowed.

    Of settings that exclude each other, such as the proxy, the first one counts. The worker's own comes first, because
    it knows its network; then the tenant's.
    """
    if len(documents) < 2:
        return documents[0] if documents else {}
    # What is malformed must not vanish in the combination, so unknown keys stay and are refused.
    found: dict[str, Any] = {}
    secrets: dict[str, Any] = {}
    for each in reversed(documents):
        found.update(each)
        secrets.update(each.get("secrets", {}))
    for key in _LISTS:
        found[key] = [one for each in documents for one in each.get(key, ())]
    for key in ("allow_http", "nat64"):
        found[key] = any(each.get(key) is True for each in documents)
    found["secrets"] = secrets
    certificates = [one for each in documents for one in _listed(each.get("ca", ()))]
    if certificates:
        found["ca"] = certificates
    return found


def _listed(value: Any) -> Sequence[Any]:
    return (value,) if isinstance(value, str) else value
