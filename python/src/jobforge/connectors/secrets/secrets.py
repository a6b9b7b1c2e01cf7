"""Looks up secrets for requests. A secret is bound to tenants and to hosts, and every refusal has the same error."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..egress.hosts import matches_any
from ..egress.policy import EgressPolicy
from ..egress.url import Url
from ..errors import ConnectorError
from .provider import SHARED, SecretProvider, SecretReference
from .scrub import Scrubber

_CACHE_SECONDS: Final = 60.0
_MAX_CACHED: Final = 10_000
# A line break could add a header.
_UNUSABLE: Final = re.compile(r"[\r\n\0]")


@dataclass(frozen=True, slots=True)
class SecretUse:
    """What a secret is used for."""

    tenant: str
    policy: EgressPolicy
    urls: Sequence[Url]
    """Every host that the secret, or what is made with it, is sent to."""


class Secrets:
    """The secrets of a worker."""

    def __init__(self, provider: SecretProvider) -> None:
        self._provider = provider
        self._cache: dict[tuple[str, str], tuple[float, str]] = {}

    async def resolve(self, reference: SecretReference, use: SecretUse) -> str:
        """The value.

        A secret that does not exist, belongs to another tenant, is not listed in the policy, is not bound to the host,
        or would travel in plain text, gives the same error.
        """
        name = reference["$secret"]
        rule = use.policy.settings["secrets"].get(name)
        may_be_plain = use.policy.settings["allow_http"]
        if rule is None or not all(
            (url.scheme == "https" or may_be_plain) and matches_any(rule["hosts"], url.host, url.port)
            for url in use.urls
        ):
            raise unavailable()
        value = await self._get(use.tenant, name)
        if value is None and rule["shared"]:
            value = await self._get(SHARED, name)
        if not value or _UNUSABLE.search(value):
            raise unavailable()
        return value

    async def _get(self, tenant: str, name: str) -> str | None:
        key = (tenant, name)
        found = self._cache.pop(key, None)
        if found is not None and found[0] > time.monotonic():
            self._cache[key] = found
            return found[1]
        try:
            value = await self._provider.get(tenant, name)
        except Exception:  # noqa: BLE001 - the reason is the operator's: it stays out of the job's error
            return None
        if value is not None:
            if len(self._cache) >= _MAX_CACHED:
                self._cache.clear()
            self._cache[key] = (time.monotonic() + _CACHE_SECONDS, value)
        return value


class Values:
    """Resolves references for one request, and has the scrubber remove what it resolved."""

    def __init__(self, secrets: Secrets, scrubber: Scrubber, use: SecretUse) -> None:
        self._secrets = secrets
        self._scrubber = scrubber
        self._use = use

    async def text(self, value: str | SecretReference, urls: Sequence[Url] | None = None) -> str:
        """A text as it is, or the secret that is meant."""
        if isinstance(value, str):
            return value
        use = self._use if urls is None else replace(self._use, urls=urls)
        secret = await self._secrets.resolve(value, use)
        self._scrubber.add(secret)
        return secret


def unavailable() -> ConnectorError:
    """The one error of secrets."""
    return ConnectorError(
        "secret_unavailable",
        "A secret of this job is not available: it is missing, or not allowed for this tenant and URL. "
        "An operator lists it in the egress policy under secrets, and sets allow_http for plain http.",
        {"sent": False},
    )
