"""Artifacts: large contents outside of the database, such as reports. Jobs and results contain references to them.

- store.py: what a store is, and references
- file_store.py, s3_store.py, open_store.py: stores in a directory and in a bucket of S3
- stored_value.py: payloads and results that are too large for the database
- forms.py: a store for the event loop
"""

from __future__ import annotations

from .file_store import FileStore
from .forms import AsyncArtifactStore
from .open_store import open_store
from .s3_store import S3Store
from .store import ArtifactKey, ArtifactStore, ListedArtifact, StoredArtifact, SweepResult, parse_ref
from .stored_value import MAX_OFFLOAD_BYTES, OFFLOAD_BYTES, is_stored_value

__all__ = [
    "MAX_OFFLOAD_BYTES",
    "OFFLOAD_BYTES",
    "ArtifactKey",
    "ArtifactStore",
    "AsyncArtifactStore",
    "FileStore",
    "ListedArtifact",
    "S3Store",
    "StoredArtifact",
    "SweepResult",
    "is_stored_value",
    "open_store",
    "parse_ref",
]
