"""Keeps artifacts as files in a directory. Several workers share them only if they share the directory."""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
from collections.abc import AsyncIterable, AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from .store import ListedArtifact, StoredArtifact, key_of, not_there, ref_of

_BLOCK: Final = 65_536


class FileStore:
    """A store in a directory, which is created when it is needed. Only the user of this process can read it."""

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)

    async def put(self, key: str, content: AsyncIterable[bytes], *, content_type: str) -> StoredArtifact:
        """Stores a stream. A reader never sees half of a file, and a crash leaves none under the name."""
        del content_type
        ref = ref_of(key)
        path = self._path(ref)
        await asyncio.to_thread(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(6)}.part")
        try:
            size, digest = await _write(temporary, content)
            await asyncio.to_thread(temporary.replace, path)
        finally:
            temporary.unlink(missing_ok=True)
        return StoredArtifact(ref, size, digest)

    async def get(self, ref: str) -> AsyncIterator[bytes]:
        """The content of a file."""
        path = self._path(ref)
        if not path.is_file():
            raise not_there()
        with path.open("rb") as file:
            while part := await asyncio.to_thread(file.read, _BLOCK):
                yield part

    async def delete(self, ref: str) -> None:
        """Removes a file."""
        await asyncio.to_thread(self._path(ref).unlink, missing_ok=True)

    async def list(self, prefix: str) -> AsyncIterator[ListedArtifact]:
        """The files whose key begins with the prefix."""
        for path in await asyncio.to_thread(lambda: sorted(self._directory.rglob("*"))):
            key = path.relative_to(self._directory).as_posix()
            if not key.startswith(prefix) or path.name.endswith(".part") or not path.is_file():
                continue
            found = path.stat()
            yield ListedArtifact(ref_of(key), found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))

    def _path(self, ref: str) -> Path:
        return self._directory / key_of(ref)


async def _write(path: Path, content: AsyncIterable[bytes]) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        async for part in content:
            digest.update(part)
            size += len(part)
            await asyncio.to_thread(file.write, part)
        await asyncio.to_thread(_flush, file.fileno(), file.flush)
    return size, digest.hexdigest()


def _flush(descriptor: int, flush: object) -> None:
    assert callable(flush)  # noqa: S101 - narrows the type
    flush()
    os.fsync(descriptor)
