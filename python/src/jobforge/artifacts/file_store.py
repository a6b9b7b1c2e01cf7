"""Keeps artifacts as files in a directory. Several processes share them only if they share the directory."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ..errors import ArtifactNotFoundError
from .store import ListedArtifact, Measured, StoredArtifact, key_of, parse_key, ref_of

_BLOCK: Final = 65_536
# A file that is being written. It has a valid name, so that what a killed process left can be listed and deleted.
_UNFINISHED: Final = re.compile(r"[0-9a-f]{32}\.part")
_ABANDONED_AFTER: Final = 3600
"""Seconds. A file that is being written changes more often."""
_TRIES: Final = 4


class FileStore:
    """A store in a directory, which is created when it is needed. Only the user of this process can read it."""

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)

    def put(self, key: str, content: Iterable[bytes], *, content_type: str) -> StoredArtifact:
        """Stores a stream. A reader never sees half of a file, and a crash leaves none under the name."""
        del content_type
        ref = ref_of(key)
        path = self._path(ref)
        temporary = path.with_name(f"{secrets.token_hex(16)}.part")
        measured = Measured()
        try:
            with os.fdopen(_create(temporary), "wb") as file:
                for part in measured.of(content):
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            _remove(temporary)
            raise
        return measured.stored(ref)

    def get(self, ref: str) -> Iterator[bytes]:
        """The content of a file."""
        path = self._path(ref)
        if not path.is_file():
            raise ArtifactNotFoundError(ref)
        return _parts(path)

    def url(self, ref: str, seconds: int) -> None:
        """Files have no links."""
        del ref, seconds

    def delete(self, ref: str) -> None:
        """Removes a file, and the folder of its job if nothing else is in it."""
        _remove(self._path(ref))

    def list(self, prefix: str) -> Iterator[ListedArtifact]:
        """The files whose key begins with the prefix."""
        # Only the folder of the prefix is read: the store may have millions of other files.
        for path in sorted((self._directory / prefix.rpartition("/")[0]).rglob("*")):
            key = path.relative_to(self._directory).as_posix()
            parsed = parse_key(key) if key.startswith(prefix) and path.is_file() else None
            if parsed is None:
                continue
            try:
                found = path.stat()
            except FileNotFoundError:
                # Another process has deleted it meanwhile.
                continue
            if _UNFINISHED.fullmatch(path.name) and time.time() - found.st_mtime < _ABANDONED_AFTER:
                continue
            yield ListedArtifact(parsed.ref, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC))

    def _path(self, ref: str) -> Path:
        return self._directory / key_of(ref).text


def _create(path: Path) -> int:
    """Opens a new file. Another process may remove its folder while it is still empty."""
    for left in reversed(range(_TRIES)):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileNotFoundError:
            if left == 0:
                raise
    raise AssertionError


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    with suppress(OSError):
        path.parent.rmdir()


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(_BLOCK):
            yield part
