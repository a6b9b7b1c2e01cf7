"""Keeps artifacts in a bucket of S3, or of a service that speaks its protocol."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from html import unescape
from itertools import chain
from typing import Final

from ..errors import ArtifactNotFoundError, JobForgeError
from .s3_client import S3Client, S3Connection, S3Error, text_of
from .store import SCHEME, ListedArtifact, Measured, StoredArtifact, key_of, parse_ref, ref_of

_PART: Final = 8 * 2**20
"""A larger artifact is uploaded in parts of this size, one after the other."""
_ENTRY: Final = re.compile(r"<Contents>.*?</Contents>", re.DOTALL)


class S3Store:
    """A store in a bucket, which must exist. An upload that fails halfway is never visible, and is aborted."""

    def __init__(
        self,
        bucket: str,
        *,
        prefix: str | None = None,
        endpoint: str | None = None,
        region: str = "us-east-1",
        access_key: str = "",
        secret_key: str = "",
        session_token: str | None = None,
        path_style: bool = True,
    ) -> None:
        """`prefix` is the beginning of all keys in the bucket, such as `jobforge`. Default: none."""
        self._prefix = f"{prefix.rstrip('/')}/" if prefix else ""
        self._client = S3Client(
            S3Connection(
                bucket=bucket,
                endpoint=endpoint,
                region=region,
                access_key=access_key,
                secret_key=secret_key,
                session_token=session_token,
                path_style=path_style,
            )
        )

    def put(self, key: str, content: Iterable[bytes], *, content_type: str) -> StoredArtifact:
        """Stores a stream: a small one in one request. A larger one becomes visible when its last part has arrived."""
        ref = ref_of(key)
        measured = Measured()
        parts = _in_parts(measured.of(content))
        name, headers = self._name(ref), {"content-type": content_type}
        first, second = next(parts, b""), next(parts, None)
        if second is None:
            self._client.text("PUT", name, headers=headers, body=first)
        else:
            self._upload(name, chain((first, second), parts), headers)
        return measured.stored(ref)

    def get(self, ref: str) -> Iterator[bytes]:
        """The content of an object."""
        try:
            return self._client.send("GET", self._name(ref)).parts()
        except S3Error as error:
            if error.status == http.client.NOT_FOUND:
                raise ArtifactNotFoundError(ref) from None
            raise

    def url(self, ref: str, seconds: int) -> str:
        """A link for a download."""
        disposition = f'attachment; filename="{key_of(ref).name}"'
        return self._client.link(self._name(ref), seconds, {"response-content-disposition": disposition})

    def delete(self, ref: str) -> None:
        """Removes an object."""
        try:
            self._client.text("DELETE", self._name(ref))
        except S3Error as error:
            if error.status != http.client.NOT_FOUND:
                raise

    def list(self, prefix: str) -> Iterator[ListedArtifact]:
        """The objects whose key begins with the prefix. Another program's object in the bucket is not an artifact."""
        token: str | None = None
        while True:
            more = {} if token is None else {"continuation-token": token}
            query = {"list-type": "2", "prefix": f"{self._prefix}{prefix}", **more}
            page = self._client.text("GET", "", query=query)
            for entry in _ENTRY.findall(page):
                ref = f"{SCHEME}{unescape(text_of(entry, 'Key') or '')[len(self._prefix) :]}"
                if parse_ref(ref) is not None:
                    modified_at = datetime.fromisoformat(text_of(entry, "LastModified") or "")
                    yield ListedArtifact(ref, int(text_of(entry, "Size") or 0), modified_at)
            token = text_of(page, "NextContinuationToken")
            if token is None:
                return
            token = unescape(token)

    def _name(self, ref: str) -> str:
        return f"{self._prefix}{key_of(ref).text}"

    def _upload(self, name: str, parts: Iterable[bytes], headers: dict[str, str]) -> None:
        started = self._client.text("POST", name, query={"uploads": ""}, headers=headers)
        upload = {"uploadId": unescape(text_of(started, "UploadId") or "")}
        try:
            tags: list[str] = []
            for body in parts:
                query = {"partNumber": str(len(tags) + 1), **upload}
                sent = self._client.send("PUT", name, query=query, body=body)
                tags.append(sent.etag)
                sent.text()
            listed = "".join(
                f"<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>"
                for number, tag in enumerate(tags, 1)
            )
            body = f"<CompleteMultipartUpload>{listed}</CompleteMultipartUpload>".encode()
            ended = self._client.text("POST", name, query=upload, body=body)
            # A store may fail after it has sent the status.
            if "<Error>" in ended:
                raise S3Error(500, ended)
        except BaseException:
            with suppress(JobForgeError):
                self._client.text("DELETE", name, query=upload)
            raise


def _in_parts(content: Iterable[bytes]) -> Iterator[bytes]:
    """The content in parts of the same size; the last one may be smaller."""
    kept = bytearray()
    for part in content:
        kept += part
        while len(kept) >= _PART:
            yield bytes(kept[:_PART])
            del kept[:_PART]
    if kept:
        yield bytes(kept)
