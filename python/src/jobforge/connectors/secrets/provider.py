"""Where secrets come from. Payloads and configurations contain their names only."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol, TypedDict

from ..document import Document, form, required, table, text
from ..egress.policy import secret_name

SecretReference = TypedDict("SecretReference", {"$secret": str})
"""A reference to a secret, as payloads and configurations have it: `{"$secret": "STRIPE_KEY"}`."""

secret_reference: Final = form({"$secret": required(secret_name)})

SHARED: Final = "shared"
"""Passed as the tenant to ask for a secret that tenants share."""


class SecretProvider(Protocol):
    """Looks up secrets."""

    async def get(self, tenant: str, name: str) -> str | None:
        """The value of a tenant's secret; None if there is none. `tenant` may be `shared`."""
        ...


class EnvironmentSecrets:
    """Reads `JOBFORGE_SECRET_<TENANT>_<NAME>`, where the tenant is its uuid in capitals without dashes, or `SHARED`.

    The prefix keeps other variables, such as DATABASE_URL, out of reach.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self._env = os.environ if env is None else env

    async def get(self, tenant: str, name: str) -> str | None:
        """The value of the variable."""
        return self._env.get(f"JOBFORGE_SECRET_{tenant.replace('-', '').upper()}_{name}")


_FILE: Final[Document[dict[str, dict[str, str]]]] = Document(table(table(text())))


class FileSecrets:
    """Reads a JSON file `{"<tenant uuid>": {"NAME": "value"}, "shared": {…}}`, and again when it has changed."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._stamp: tuple[int, int, int] | None = None
        self._secrets: dict[str, dict[str, str]] = {}

    async def get(self, tenant: str, name: str) -> str | None:
        """The value in the file."""
        return (await asyncio.to_thread(self._read)).get(tenant, {}).get(name)

    def _read(self) -> dict[str, dict[str, str]]:
        found = self._path.stat()
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._stamp:
            self._secrets = _FILE.load(json.loads(self._path.read_text(encoding="utf-8")), "secrets")
            self._stamp = stamp
        return self._secrets


class FirstOf:
    """Asks each provider in order until one has the secret."""

    def __init__(self, *providers: SecretProvider) -> None:
        self._providers = providers

    async def get(self, tenant: str, name: str) -> str | None:
        """The value of the first provider that has one."""
        for provider in self._providers:
            value = await provider.get(tenant, name)
            if value is not None:
                return value
        return None
