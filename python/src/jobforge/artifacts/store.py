"""The contract of artifact stores."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from ..errors import ArtifactNotFoundError

SCHEME: Final = "artifact:"
# Four parts, such as `reports/<tenant>/<job>/usage.csv`, so that a key has an owner.
_KEY: Final = re.compile(r"[a-z]+(?:/[A-Za-z0-9._-]{1,128}){3}")


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """What was stored."""

    ref: str
    """The reference: `artifact:` and the key. It is the same in every store."""
    bytes: int
    sha256: str
    """The SHA-256 of the content, in hexadecimal."""


@dataclass(frozen=True, slots=True)
class ListedArtifact:
    """An artifact of a list."""

    ref: str
    bytes: int
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep did."""

    looked: int
    """The number of jobs whose artifacts were looked at. If it is the limit, there may be more."""
    deleted: int
    """The number of artifacts that were deleted."""


class ArtifactStore(Protocol):
    """Keeps artifacts. Its methods block; an `AsyncJobForge` calls them in threads."""

    def put(self, key: str, content: Iterable[bytes], *, content_type: str) -> StoredArtifact:
        """Stores a stream under a key, completely or not at all. An artifact with this key is replaced."""
        ...

    def get(self, ref: str) -> Iterator[bytes]:
        """The content. Raises an ArtifactNotFoundError, at the latest with the first part, if there is none."""
        ...

    def url(self, ref: str, seconds: int) -> str | None:
        """A link to the content for some seconds; None if the store cannot make one."""
        ...

    def delete(self, ref: str) -> None:
        """Does nothing if there is no such artifact."""
        ...

    def list(self, prefix: str) -> Iterator[ListedArtifact]:
        """The artifacts whose key begins with the prefix."""
        ...


@dataclass(frozen=True, slots=True)
class ArtifactKey:
    """The parts of a key: what kind of artifact it is, whose it is, the job, and its name."""

    area: str
    tenant: str
    id: str
    """The id of the job; in the area `payloads`, an id that was made before the job had one."""
    name: str

    @property
    def text(self) -> str:
        return f"{self.area}/{self.tenant}/{self.id}/{self.name}"

    @property
    def ref(self) -> str:
        """The reference: `artifact:` and the key."""
        return f"{SCHEME}{self.text}"


def parse_key(key: str) -> ArtifactKey | None:
    """Reads a key, such as `reports/<tenant>/<job>/usage.csv`. None if it is malformed or leads elsewhere."""
    parts = key.split("/")
    if _KEY.fullmatch(key) is None or any(part.strip(".") == "" for part in parts):
        return None
    return ArtifactKey(*parts)


def parse_ref(ref: str) -> ArtifactKey | None:
    """Reads a reference, such as `artifact:reports/<tenant>/<job>/usage.csv`. None if it is malformed."""
    return parse_key(ref.removeprefix(SCHEME)) if isinstance(ref, str) and ref.startswith(SCHEME) else None


def key_of(ref: str) -> ArtifactKey:
    """The key of a reference. Raises the error of an artifact that does not exist if the reference is malformed."""
    key = parse_ref(ref)
    if key is None:
        raise ArtifactNotFoundError(ref)
    return key


def ref_of(key: str) -> str:
    """The reference of a key. Raises if the key is malformed."""
    return key_of(f"{SCHEME}{key}").ref


def owned_key(ref: str, tenant: str) -> ArtifactKey:
    """The key of a reference. Raises the error of an artifact that does not exist if it belongs to another tenant."""
    key = key_of(ref)
    if key.tenant != tenant.lower():
        raise ArtifactNotFoundError(ref)
    return key


class Measured:
    """Counts and hashes what passes through, because a store reads a stream only once."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._bytes = 0

    def of(self, content: Iterable[bytes]) -> Iterator[bytes]:
        for part in content:
            self._hash.update(part)
            self._bytes += len(part)
            yield part

    def stored(self, ref: str) -> StoredArtifact:
        """Call it at the end."""
        return StoredArtifact(ref, self._bytes, self._hash.hexdigest())
