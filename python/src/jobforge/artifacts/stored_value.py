"""Values that are too large for the database.

A payload or result that was offloaded is an artifact, and its job has a reference instead of the value.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from ..errors import ArtifactDamagedError, PayloadTooLargeError
from .store import StoredArtifact, parse_ref

OFFLOAD_BYTES: Final = 512 * 1024
"""A larger value is offloaded. Postgres writes JSON with spaces, so this is less than what the kernel accepts."""

MAX_OFFLOAD_BYTES: Final = 64 * 1024 * 1024
"""A larger value is refused, because clients and workers hold it in memory."""

_AREAS: Final = ("payloads", "results")
_KEYS: Final = {"$artifact", "bytes", "sha256"}


def is_stored_value(value: object) -> bool:
    """Whether a payload or result is the reference to an offloaded value."""
    if not isinstance(value, dict) or value.keys() != _KEYS:
        return False
    ref, size = value["$artifact"], value["bytes"]
    if not isinstance(ref, str) or type(size) is not int or not isinstance(value["sha256"], str):
        return False
    key = parse_ref(ref)
    return key is not None and key.area in _AREAS


def stored_value(stored: StoredArtifact) -> dict[str, Any]:
    """The reference that replaces a value."""
    return {"$artifact": stored.ref, "bytes": stored.bytes, "sha256": stored.sha256}


def offloadable(text: str, field: str) -> bytes:
    """The content of an artifact for a value. Raises a PayloadTooLargeError if it is too large even for that."""
    content = text.encode()
    if len(content) > MAX_OFFLOAD_BYTES:
        message = f"Payload too large: {field} is over {MAX_OFFLOAD_BYTES // 2**20} MiB"
        raise PayloadTooLargeError(message, field=field)
    return content


class StoredContent:
    """Collects the content of an offloaded value. No more than expected is held in memory."""

    def __init__(self, value: dict[str, Any]) -> None:
        self.ref: str = value["$artifact"]
        self._expected: int = value["bytes"]
        self._sha256: str = value["sha256"]
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > min(self._expected, MAX_OFFLOAD_BYTES):
            raise ArtifactDamagedError(self.ref)
        self._parts.append(part)

    def value(self) -> Any:
        """The value. Raises if the content is not what was stored."""
        whole = b"".join(self._parts)
        if self._size != self._expected or hashlib.sha256(whole).hexdigest() != self._sha256:
            raise ArtifactDamagedError(self.ref)
        return json.loads(whole)
