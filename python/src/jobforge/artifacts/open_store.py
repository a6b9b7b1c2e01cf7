"""Opens the store that an address names, such as the variable JOBFORGE_ARTIFACTS."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from .file_store import FileStore
from .s3_store import S3Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .store import ArtifactStore

_PARAMETERS: Final = ("endpoint", "region", "path_style")


def open_store(
    address: str = "file:.jobforge/artifacts", *, environment: Mapping[str, str] | None = None
) -> ArtifactStore:
    """Opens `file:PATH` or `s3://BUCKET/PREFIX?endpoint=…&region=…&path_style=false`.

    The credentials of S3 are AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment; they
    are never part of the address.
    """
    env = os.environ if environment is None else environment
    if address.startswith("file:"):
        return FileStore(Path(address.removeprefix("file:")).absolute())
    parts = urlsplit(address)
    if parts.scheme != "s3" or not parts.hostname:
        raise ValueError("The address of an artifact store must begin with file: or s3://")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = next((name for name in given if name not in _PARAMETERS), None)
    if unknown is not None:
        raise ValueError(f"An S3 store has no parameter {unknown}. Known: {', '.join(_PARAMETERS)}")
    if parts.username is not None:
        raise ValueError("Pass the credentials of S3 in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    return S3Store(
        parts.hostname,
        prefix=unquote(parts.path).lstrip("/"),
        endpoint=given.get("endpoint"),
        region=given.get("region") or env.get("AWS_REGION") or "us-east-1",
        access_key=env.get("AWS_ACCESS_KEY_ID", ""),
        secret_key=env.get("AWS_SECRET_ACCESS_KEY", ""),
        session_token=env.get("AWS_SESSION_TOKEN") or None,
        path_style=given.get("path_style") != "false",
    )
