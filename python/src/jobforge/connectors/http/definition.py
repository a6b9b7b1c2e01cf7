"""`connector.http.request`: the payload and the result, with the names that older payloads use."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any, Final, Literal, NotRequired, Required, TypedDict

from ...definition import JobDefinition, define_job
from ..configuration import header_values, value
from ..document import (
    Document,
    anything,
    default,
    either,
    flag,
    form,
    many,
    number_or_flag,
    one_of,
    optional,
    required,
    table,
    text,
    whole,
)
from ..egress.policy import host_pattern
from ..secrets.provider import SecretReference, secret_reference

MAX_TIMEOUT_MS: Final = 300_000
_MAX_KEPT_BYTES: Final = 524_288
"""The largest body that fits into a result, also in base64."""

Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
Value = str | SecretReference


class ResponseOptions(TypedDict, total=False):
    """What is kept of a response."""

    body: Literal["auto", "text", "base64", "none"]
    """`auto`: JSON if it is JSON, else text, else base64."""
    max_bytes: int
    on_large: Literal["truncate", "fail", "artifact"]
    headers: Sequence[str]
    """The names of response headers to keep."""
    decode: bool
    """Whether to ask for gzip, and to decode it."""


class HttpRequest(TypedDict, total=False):
    """The payload of `connector.http.request`."""

    url: Required[str]
    method: Method
    query: dict[str, Value | float | bool]
    headers: dict[str, Value]
    auth: dict[str, Any]
    """One of `bearer`, `basic` and `oauth2`, as the reference describes them."""
    body: Any
    """A text is sent byte for byte; any other JSON value is sent as JSON."""
    body_base64: str
    body_artifact: str
    timeout_ms: int
    redirects: int
    success: Sequence[str]
    retry_on: Sequence[str]
    final_on: Sequence[str]
    retry: Literal["always", "safe", "never"]
    idempotency_header: str | Literal[False]
    response: ResponseOptions
    allowlist: Sequence[str]
    response_headers_allowlist: Sequence[str]
    """Older name: response headers to keep."""
    redact_headers: Sequence[str]
    """Older name: response headers whose values are masked."""


class HttpResult(TypedDict):
    """The result of `connector.http.request`."""

    status: int
    success: Literal[True]
    duration_ms: float
    url: str
    redirects: list[str]
    response_headers: dict[str, str]
    response_body_preview: str
    body: NotRequired[str]
    body_encoding: NotRequired[Literal["base64"]]
    """Present if `body` is not text."""
    json: NotRequired[Any]
    truncated: bool
    bytes: int
    artifact_ref: NotRequired[str]
    timings: dict[str, float]


_status: Final = text(r"[1-5]xx|[1-5][0-9][0-9]", "a status such as 404 or 5xx")
_auth: Final = either(
    form({"bearer": required(value)}),
    form({"basic": required(form({"user": required(value), "password": required(value)}))}),
    form(
        {
            "oauth2": required(
                form(
                    {
                        "token_url": required(text()),
                        "client_id": required(value),
                        "client_secret": required(secret_reference),
                        "scope": optional(text()),
                    }
                )
            )
        }
    ),
)
_response: Final = form(
    {
        "body": default(one_of("auto", "text", "base64", "none"), "auto"),
        "max_bytes": default(whole(0, _MAX_KEPT_BYTES), 262_144),
        "on_large": default(one_of("truncate", "fail", "artifact"), "truncate"),
        "headers": default(many(text()), ("content-type",)),
        "decode": default(flag, value=False),
    }
)
_payload: Final = form(
    {
        "url": required(text()),
        "method": default(one_of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"), "GET"),
        "query": default(table(either(value, number_or_flag)), {}),
        "headers": default(header_values, {}),
        "auth": optional(_auth),
        "body": optional(anything),
        "body_base64": optional(text()),
        "body_artifact": optional(text()),
        "timeout_ms": default(whole(1, MAX_TIMEOUT_MS), 30_000),
        "redirects": optional(whole(0, 5)),
        "success": default(many(_status), ("2xx",)),
        "retry_on": default(many(_status), ("408", "425", "429", "5xx")),
        "final_on": default(many(_status), ()),
        "retry": default(one_of("always", "safe", "never"), "always"),
        "idempotency_header": default(either(text(), one_of(False)), "idempotency-key"),  # noqa: FBT003 - a value
        "response": default(_response, {}),
        "allowlist": default(many(host_pattern), ()),
        "response_headers_allowlist": default(many(text()), ()),
        "redact_headers": default(many(text()), ()),
    }
)


def _finish(given: dict[str, Any]) -> tuple[Sequence[str], str] | None:
    if sum(name in given for name in ("body", "body_base64", "body_artifact")) > 1:
        return (), "must have at most one of body, body_base64 and body_artifact"
    if "body_base64" in given:
        try:
            base64.b64decode(given["body_base64"], validate=True)
        except (binascii.Error, ValueError):
            return ("body_base64",), "must be base64"
    return None


def body_text(body: Any) -> str:
    """A text as it is, and any other value as JSON."""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))


http_request: Final[JobDefinition[HttpRequest, HttpResult]] = define_job(
    "connector.http.request",
    input=Document[HttpRequest](_payload, _finish),
    output=HttpResult,
    retry="standard",
    # The connector ends a request by itself before this.
    timeout=(MAX_TIMEOUT_MS + 30_000) / 1000,
)
"""Calls an HTTP API."""
