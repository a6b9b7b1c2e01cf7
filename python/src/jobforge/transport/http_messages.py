"""Requests and responses over HTTP: options, headers, bodies, and the errors that responses describe."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Final, NoReturn, TypeAlias
from urllib.parse import SplitResult, urlsplit

from ..arguments import refuse
from ..error_mapping import SqlError, from_sql_error, not_installed
from ..errors import (
    ConnectionError,
    ForbiddenError,
    JobForgeError,
    NotInstalledError,
    PayloadTooLargeError,
    TimeoutError,
)
from ..jsontext import JsonText, dumps
from ..losses import json_form
from ..version import VERSION
from ..words import DEFAULT_TIMEOUT, UNSET
from .functions import api_function
from .statement import text_of

Token: TypeAlias = str | Callable[[], str]
"""A JWT or a key of the server, or a function that returns one. It is called before every call, and after a 401."""

_RETRYABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
UPLOAD_TIMEOUT: Final = 600.0
"""How long an upload may take, in seconds. It may have 64 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How to reach a server."""

    url: str
    token: Token
    api_key: str | None = None
    """Sent as the header `apikey`, which Supabase requires."""
    schema: str = "public"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = DEFAULT_TIMEOUT
    ssl_context: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """What a server has responded."""

    status: int
    reason: str
    text: str

    def asks_again(self, options: HttpOptions) -> bool:
        """Whether a function that returns tokens may have a newer one."""
        return self.status == http.client.UNAUTHORIZED and callable(options.token)

    def result(self, name: str) -> str | None:
        """The result of the call as JSON. Raises the error that the response describes."""
        return _result_of(name, self.content())

    def content(self) -> str:
        """The text of the response. Raises the error that the response describes."""
        if not 200 <= self.status < 300:
            raise _error_of(self.status, self.reason, self.text)
        return self.text


def headers_of(options: HttpOptions) -> dict[str, str]:
    """The headers of a call."""
    token = options.token() if callable(options.token) else options.token
    headers = {
        **options.headers,
        "accept": "application/json",
        "content-type": "application/json",
        "authorization": f"Bearer {token}",
        "user-agent": f"jobforge-python/{VERSION}",
    }
    if options.api_key is not None:
        headers["apikey"] = options.api_key
    if options.schema != "public":
        headers["content-profile"] = options.schema
    return headers


class Deadline:
    """The time that a call has left."""

    def __init__(self, what: str, timeout: float | None) -> None:
        self._what = what
        self._timeout = timeout
        self._end = None if timeout is None else monotonic() + timeout

    def left(self) -> float | None:
        """Seconds; None for no limit. Raises when the time is over."""
        if self._end is None:
            return None
        left = self._end - monotonic()
        if left <= 0:
            raise self.error()
        return left

    def error(self) -> TimeoutError:
        return TimeoutError(f"{self._what} did not respond within {self._timeout:g} s")


def base_url(url: str) -> SplitResult:
    """The address of a server without the path of the API, which may be given."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        refuse("url", "must be an http or https URL")
    return parts._replace(path=parts.path.rstrip("/").removesuffix("/rest/v1"))


def body_of(args: Mapping[str, object]) -> bytes:
    """The arguments of a call as JSON."""
    members = (f"{dumps(name)}:{_written(value, name)}" for name, value in args.items() if value is not UNSET)
    return f"{{{','.join(members)}}}".encode()


def _written(value: object, name: str) -> str:
    if isinstance(value, JsonText):
        return value.text
    return dumps(value.isoformat() if isinstance(value, datetime) else json_form(value, name))


def _result_of(name: str, text: str) -> str | None:
    returns = api_function(name).returns
    if returns not in ("text", "parts"):
        return text_of(text.strip())
    try:
        # The document is a text, or several, and so a JSON string over HTTP, or an array of them.
        document = json.loads(text)
    except ValueError:
        _not_json(name)
    return text_of("".join(document) if returns == "parts" and isinstance(document, list) else document)


def _not_json(name: str) -> NoReturn:
    raise ConnectionError(f"The response of {name} is not JSON", retryable=False)


def _error_of(status: int, reason: str, text: str) -> JobForgeError:
    """Reads an error in PostgREST's form {code, message, details, hint}, or whatever a proxy in between sent."""
    body = _read_error(text)
    message = body.get("message") or f"HTTP {status} {reason}".strip()
    code, hint = body.get("code"), body.get("hint")
    if code is not None and len(code) == 5 and code.isalnum() and code.upper() == code:
        return from_sql_error(SqlError(code, message, body.get("details"), hint))
    if code in ("PGRST202", "PGRST205"):
        return NotInstalledError(not_installed(message), code=code)
    if status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN):
        return ForbiddenError(message, code=code, hint=hint)
    # The same request would always be refused, so this is not a connection error.
    if status == http.client.REQUEST_ENTITY_TOO_LARGE:
        return PayloadTooLargeError(message, hint=hint)
    # The server is overloaded or restarting, or has lost its connection to the database.
    return ConnectionError(message, code=code, hint=hint, retryable=status in _RETRYABLE)


def _read_error(text: str) -> dict[str, str]:
    try:
        body = json.loads(text)
    except ValueError:
        return {}
    return {key: value for key, value in body.items() if isinstance(value, str)} if isinstance(body, dict) else {}
