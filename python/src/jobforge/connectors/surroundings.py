"""What the handlers share: secrets, configurations, artifacts and the operator's policy."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from .artifacts.store import ArtifactStore
from .configuration import Configurations
from .egress.policy import EgressPolicy, egress_policy
from .errors import ConnectorError
from .secrets.secrets import Secrets

EgressDocument: TypeAlias = Mapping[str, Any]
EgressSource: TypeAlias = EgressDocument | Callable[[str], EgressDocument | Awaitable[EgressDocument]]
"""The operator's policy: one document for all tenants, or a function that returns the document of a tenant."""

_MAX_KNOWN: Final = 1000


class Policies:
    """The operator's policy. A document is read once, at start, so that a mistake in it is found then."""

    def __init__(self, source: EgressSource) -> None:
        self._source = None if isinstance(source, Mapping) else source
        self._fixed = egress_policy(source) if isinstance(source, Mapping) else None
        self._known: dict[str, EgressPolicy] = {}

    async def of(self, tenant: str) -> EgressPolicy:
        """The policy for a tenant. One that cannot be read is an error, never "no policy"."""
        if self._fixed is not None:
            return self._fixed
        try:
            assert self._source is not None  # noqa: S101 - narrows the type
            found = self._source(tenant)
            document: Any = await found if inspect.isawaitable(found) else found
            policy = egress_policy(document)
        except Exception:  # noqa: BLE001 - whatever it is, the request must not be sent
            message = "The egress policy could not be read."
            raise ConnectorError("config_unavailable", message, {"sent": False}) from None
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        return self._known.setdefault(policy.version, policy)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the handlers of one worker share."""

    secrets: Secrets
    configurations: Configurations
    artifacts: ArtifactStore
    policies: Policies
