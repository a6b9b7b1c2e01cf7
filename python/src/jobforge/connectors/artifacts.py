"""The artifacts of connectors: those of the job's tenant, with the errors of connectors."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ..artifacts.forms import AsyncArtifactStore
from ..artifacts.store import owned_key
from ..errors import ArtifactNotFoundError
from .errors import ConnectorError


def require_owner(ref: str, tenant: str) -> str:
    """The reference. Raises the error of an artifact that does not exist if it belongs to another tenant."""
    try:
        return owned_key(ref, tenant).ref
    except ArtifactNotFoundError:
        raise _not_there() from None


async def content_of(store: AsyncArtifactStore, ref: str) -> AsyncIterator[bytes]:
    """The content of an artifact."""
    try:
        async for part in store.get(ref):
            yield part
    except ArtifactNotFoundError:
        raise _not_there() from None


def _not_there() -> ConnectorError:
    return ConnectorError("artifact_unavailable", "There is no such artifact.")
