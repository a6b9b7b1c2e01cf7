"""Signed requests to a bucket of S3, or of a service that speaks its protocol. Standard library only."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeVar
from urllib.parse import quote, urlsplit

from ..errors import ConnectionError

T = TypeVar("T")

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# The content is not part of the signature: it is protected by TLS, and known only after it was read.
_UNSIGNED: Final = "UNSIGNED-PAYLOAD"
_BLOCK: Final = 65_536
_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Connection:
    """How to reach a bucket."""

    bucket: str
    endpoint: str | None = None
    """The address of the service. Default: that of AWS in the region."""
    region: str = "us-east-1"
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    session_token: str | None = field(default=None, repr=False)
    """For temporary credentials."""
    path_style: bool = True
    """Whether the bucket is part of the path, not of the host."""


class S3Error(ConnectionError):
    """The store refused a request, or failed. The text has the store's own code, such as `NoSuchBucket`."""

    usual_code = "S3"
    usual_kind = "artifact_store"

    def __init__(self, status: int, text: str) -> None:
        code = text_of(text, "Code") or "no code"
        is_temporary = status >= 500 or status == http.client.TOO_MANY_REQUESTS
        super().__init__(f"The artifact store responded with status {status} ({code})", retryable=is_temporary)
        self.status = status


class S3Response:
    """A response whose content is read by the caller."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response

    @property
    def etag(self) -> str:
        return self._response.getheader("etag") or ""

    def parts(self) -> Iterator[bytes]:
        """The content. The connection ends with it."""
        with closing(self._connection):
            while part := _reached(lambda: self._response.read(_BLOCK)):
                yield part

    def text(self) -> str:
        return b"".join(self.parts()).decode("utf-8", "replace")


class S3Client:
    """A bucket."""

    def __init__(self, connection: S3Connection) -> None:
        endpoint = connection.endpoint or f"https://s3.{connection.region}.amazonaws.com"
        base = urlsplit(endpoint)
        if base.scheme not in ("http", "https") or not base.hostname:
            raise ValueError(f"The endpoint of an S3 store must be an http or https URL, not {endpoint}")
        if _BUCKET.fullmatch(connection.bucket) is None:
            raise ValueError("The bucket of an S3 store must be a name such as my-bucket")
        self._options = connection
        self._scheme = base.scheme
        path = base.path.rstrip("/")
        self._host = base.netloc if connection.path_style else f"{connection.bucket}.{base.netloc}"
        self._path = f"{path}/{connection.bucket}" if connection.path_style else path

    def send(
        self,
        method: str,
        name: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> S3Response:
        """Sends a request for an object, or for the bucket itself if the name is empty. Raises unless it succeeds."""
        path, stamp = self._path_of(name), _now()
        signed = {"host": self._host, "x-amz-content-sha256": _UNSIGNED, "x-amz-date": stamp}
        if self._options.session_token is not None:
            signed["x-amz-security-token"] = self._options.session_token
        text = _query(query or {})
        names = ";".join(sorted(signed))
        signature = self._signature(method, path, text, signed, stamp)
        credential = f"{self._options.access_key}/{self._scope(stamp)}"
        signed["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
        )
        connection = self._connection()
        target = f"{path}?{text}" if text else path
        try:
            _reached(lambda: connection.request(method, target, body, {**(headers or {}), **signed}))
            response = S3Response(connection, found := _reached(connection.getresponse))
            if found.status >= http.client.MULTIPLE_CHOICES:
                raise S3Error(found.status, response.text())
        except BaseException:
            connection.close()
            raise
        return response

    def text(
        self,
        method: str,
        name: str,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> str:
        """Sends a request and returns the text of the response."""
        return self.send(method, name, query=query, headers=headers, body=body).text()

    def link(self, name: str, seconds: int, query: Mapping[str, str]) -> str:
        """A link with a signature that ends."""
        path, stamp = self._path_of(name), _now()
        token = self._options.session_token
        given = {
            **query,
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Credential": f"{self._options.access_key}/{self._scope(stamp)}",
            "X-Amz-Date": stamp,
            "X-Amz-Expires": str(seconds),
            "X-Amz-SignedHeaders": "host",
            **({} if token is None else {"X-Amz-Security-Token": token}),
        }
        text = _query(given)
        signature = self._signature("GET", path, text, {"host": self._host}, stamp)
        return f"{self._scheme}://{self._host}{path}?{text}&X-Amz-Signature={signature}"

    def _path_of(self, name: str) -> str:
        return quote(f"{self._path}/{name}" if name else self._path or "/", safe="/~")

    def _connection(self) -> http.client.HTTPConnection:
        if self._scheme == "http":
            return http.client.HTTPConnection(self._host, timeout=_TIMEOUT)
        return http.client.HTTPSConnection(self._host, timeout=_TIMEOUT, context=ssl.create_default_context())

    def _scope(self, stamp: str) -> str:
        return f"{stamp[:8]}/{self._options.region}/s3/aws4_request"

    def _signature(self, method: str, path: str, query: str, headers: Mapping[str, str], stamp: str) -> str:
        """Signature Version 4 of AWS."""
        names = sorted(headers)
        lines = "".join(f"{name}:{headers[name]}\n" for name in names)
        canonical = f"{method}\n{path}\n{query}\n{lines}\n{';'.join(names)}\n{_UNSIGNED}"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        signed = f"AWS4-HMAC-SHA256\n{stamp}\n{self._scope(stamp)}\n{digest}"
        key = f"AWS4{self._options.secret_key}".encode()
        for part in (stamp[:8], self._options.region, "s3", "aws4_request"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.new(key, signed.encode(), "sha256").hexdigest()


def text_of(xml: str, name: str) -> str | None:
    """The text of the first element with this name."""
    found = re.search(f"<{name}>([^<]*)</{name}>", xml)
    return None if found is None else found[1]


def _query(query: Mapping[str, str]) -> str:
    """In the form that is signed: sorted, and with every other character escaped."""
    pairs = sorted((quote(key, safe="~"), quote(value, safe="~")) for key, value in query.items())
    return "&".join(f"{key}={value}" for key, value in pairs)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")


def _reached(work: Callable[[], T]) -> T:
    """What the store is asked for. A store that cannot be reached may be reached later."""
    try:
        return work()
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionError(f"The artifact store did not respond: {type(error).__name__}: {error}") from error
