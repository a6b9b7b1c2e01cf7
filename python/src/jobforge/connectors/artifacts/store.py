"""Artifacts: large bodies and reports, kept outside of the database. Jobs and results contain references to them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from ..errors import ConnectorError

_SCHEME: Final = "artifact:"
# Four parts, such as `reports/<tenant>/<job>/usage.csv`, so that a key has an owner.
_KEY: Final = re.compile(r"[a-z]+(?:/[A-Za-z0-9._-]{1,128}){3}")


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """What was stored."""

    ref: str
    """The reference: `artifact:` and the key. It is the same in every store."""
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ListedArtifact:
    """An artifact of a list."""

    ref: str
    bytes: int
    modified_at: datetime


class ArtifactStore(Protocol):
    """Keeps artifacts."""

    async def put(self, key: str, content: AsyncIterable[bytes], *, content_type: str) -> StoredArtifact:
        """Stores a stream under a key, completely or not at all. An artifact with this key is replaced."""
        ...

    def get(self, ref: str) -> AsyncIterator[bytes]:
        """The content. Raises a ConnectorError `artifact_unavailable` if there is no such artifact."""
        ...

    async def delete(self, ref: str) -> None:
        """Does nothing if there is no such artifact."""
        ...

    def list(self, prefix: str) -> AsyncIterator[ListedArtifact]:
        """The artifacts whose key begins with the prefix."""
        ...


def ref_of(key: str) -> str:
    """The reference of a key."""
    return f"{_SCHEME}{check_key(key)}"


def key_of(ref: str) -> str:
    """The key of a reference. Raises if the reference is malformed."""
    if not ref.startswith(_SCHEME):
        raise not_there()
    return check_key(ref.removeprefix(_SCHEME))


def check_key(key: str) -> str:
    """The key, if it is a path of four parts that leads nowhere else."""
    if _KEY.fullmatch(key) is None or any(part.strip(".") == "" for part in key.split("/")):
        raise not_there()
    return key


def require_owner(ref: str, tenant: str) -> str:
    """The reference. Raises the error of an artifact that does not exist if it belongs to another tenant."""
    if key_of(ref).split("/")[1] != tenant:
        raise not_there()
    return ref


def not_there() -> ConnectorError:
    """The one error of artifacts."""
    return ConnectorError("artifact_unavailable", "There is no such artifact.")
