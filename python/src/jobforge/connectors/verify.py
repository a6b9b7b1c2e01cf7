"""For receivers of webhooks: checks that a request is authentic. It needs nothing but the standard library."""

from __future__ import annotations

import hmac
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from .webhooks import ed25519
from .webhooks.signing import decode

WebhookErrorCode: TypeAlias = Literal[
    "missing_header",
    "invalid_id",
    "invalid_timestamp",
    "too_old",
    "too_new",
    "invalid_secret",
    "no_match",
    "invalid_body",
]

_MAX_SIGNATURES: Final = 16
"""More signatures than this are not looked at."""
_TOLERANCE: Final = 300.0
_ID: Final = re.compile(r"[^.\s]{1,256}")
_TIME: Final = re.compile(r"[0-9]{1,12}")
_SECRET: Final = re.compile(r"(?:(whsec|whpk)_)?([A-Za-z0-9+/]+={0,2})")
_SIGNATURE: Final = re.compile(r"(v1|v1a),([A-Za-z0-9+/]+={0,2})")
_LEGACY: Final = re.compile(r"(sha256|sha512)=([0-9a-f]{64}(?:[0-9a-f]{64})?)")
_KEY_BYTES: Final = range(24, 65)
_PUBLIC_KEY_BYTES: Final = (32,)


class WebhookVerificationError(ValueError):
    """The request is not an authentic webhook. Respond with status 401, or 400 for `invalid_body`."""

    def __init__(self, code: WebhookErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: WebhookErrorCode = code


@dataclass(frozen=True, slots=True)
class VerifiedWebhook:
    """An authentic webhook."""

    id: str
    """The same in every attempt. Remember it, and ignore a webhook that you have handled."""
    timestamp: datetime
    """When this attempt was sent."""
    event: Any
    """The parsed body."""


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = _TOLERANCE,
    now: datetime | None = None,
) -> VerifiedWebhook:
    """Checks a webhook of Standard Webhooks and returns its content. Raises a WebhookVerificationError.

    - `body`: exactly as it arrived. A body that was parsed and written again has another signature.
    - `headers`: of the request. Names may have any case.
    - `secret`: `whsec_…` or `whpk_…`; while a secret is rotated, the old and the new one.
    - `tolerance`: how far the time of the webhook may be from now, in seconds.
    """
    id, at, given = (_header(headers, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    # The signed text is separated by full stops.
    if _ID.fullmatch(id) is None:
        raise WebhookVerificationError("invalid_id", "The header webhook-id is invalid.")
    if _TIME.fullmatch(at) is None:
        raise WebhookVerificationError("invalid_timestamp", "The header webhook-timestamp is invalid.")
    _check_time(int(at), tolerance, now)
    content = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{id}.{at}.".encode() + content
    keys = [_read_key(each) for each in ([secret] if isinstance(secret, str) else secret)]
    signatures = [_read_signature(each) for each in given.split(" ")[:_MAX_SIGNATURES]]
    # Every signature is compared with every key of its kind, in a time that does not depend on the result.
    matches = [_matches(key, each, signed) for key in keys for each in signatures if each is not None]
    if True not in matches:
        message = "No signature matches: the secret is another one, or the body was changed."
        raise WebhookVerificationError("no_match", message)
    return VerifiedWebhook(id, datetime.fromtimestamp(int(at), UTC), _parsed(content))


def verify_legacy_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    *,
    tolerance: float = _TOLERANCE,
    now: datetime | None = None,
) -> VerifiedWebhook:
    """Checks a webhook in the older form, whose header is `x-jobforge-signature`.

    The time in the headers is not signed, so the one in the body counts. `secret` is the text of the secret.
    """
    found = _LEGACY.fullmatch(_header(headers, "x-jobforge-signature"))
    content = body.encode() if isinstance(body, str) else bytes(body)
    secrets = [secret] if isinstance(secret, str) else secret
    if "" in secrets:
        raise WebhookVerificationError("invalid_secret", "The secret is empty.")
    algorithm, given = (found[1], found[2]) if found is not None else ("sha256", "")
    expected = [hmac.new(each.encode(), content, algorithm).hexdigest() for each in secrets]
    matches = [hmac.compare_digest(each, given) for each in expected]
    if True not in matches:
        raise WebhookVerificationError("no_match", "The signature does not match.")
    event = _parsed(content)
    id, stamp = (event.get("event_id"), event.get("timestamp")) if isinstance(event, dict) else (None, None)
    try:
        sent = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        sent = None
    if not isinstance(id, str) or sent is None or sent.utcoffset() is None:
        raise WebhookVerificationError("invalid_body", "The body has no event_id or no timestamp.")
    _check_time(sent.timestamp(), tolerance, now)
    return VerifiedWebhook(id, sent.astimezone(UTC), event)


@dataclass(frozen=True, slots=True)
class _Key:
    kind: Literal["v1", "v1a"]
    content: bytes


def _read_key(secret: str) -> _Key:
    found = _SECRET.fullmatch(secret)
    content = decode(found[2]) if found is not None else None
    lengths = _PUBLIC_KEY_BYTES if found is not None and found[1] == "whpk" else _KEY_BYTES
    if found is None or content is None or len(content) not in lengths:
        raise WebhookVerificationError("invalid_secret", "A secret has the form whsec_… or whpk_…, in base64.")
    return _Key("v1a" if found[1] == "whpk" else "v1", content)


def _read_signature(text: str) -> _Key | None:
    """Unknown versions are skipped, so that a sender can add new ones."""
    found = _SIGNATURE.fullmatch(text)
    content = decode(found[2]) if found is not None else None
    if found is None or content is None:
        return None
    return _Key("v1a" if found[1] == "v1a" else "v1", content)


def _matches(key: _Key, signature: _Key, signed: bytes) -> bool:
    if key.kind != signature.kind:
        return False
    if key.kind == "v1a":
        return ed25519.verify(key.content, signed, signature.content)
    return hmac.compare_digest(hmac.digest(key.content, signed, "sha256"), signature.content)


def _header(headers: Mapping[str, str], name: str) -> str:
    value = next((each for key, each in headers.items() if key.lower() == name), None)
    if not isinstance(value, str) or value == "":
        raise WebhookVerificationError("missing_header", f"The header {name} is missing.")
    return value


def _check_time(sent: float, tolerance: float, now: datetime | None) -> None:
    age = (time.time() if now is None else now.timestamp()) - sent
    if age > tolerance:
        raise WebhookVerificationError("too_old", "The webhook is too old.")
    if age < -tolerance:
        raise WebhookVerificationError("too_new", "The time of the webhook is in the future.")


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError):
        raise WebhookVerificationError("invalid_body", "The body is not JSON.") from None
