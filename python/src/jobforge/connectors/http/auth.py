"""The `auth` of a payload: a bearer token, a user with a password, or OAuth 2 client credentials."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote, urlencode

from ..egress.body import read_up_to
from ..egress.check_url import check_url
from ..egress.exchange import OutboundRequest, send
from ..egress.url import Url
from ..errors import ConnectorError
from ..secrets.scrub import Scrubber
from ..secrets.secrets import Values

_MAX_TOKEN_BYTES: Final = 65_536
_MARGIN: Final = 60.0
"""A token is renewed this many seconds before it expires."""
_MAX_CACHED: Final = 10_000
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_OK: Final = 200


@dataclass(frozen=True, slots=True)
class AuthUse:
    """The request that needs authorization."""

    tenant: str
    target: Url
    like: OutboundRequest
    """What a token request has in common with the request that it is for: rules, waits and timeout."""
    values: Values
    scrubber: Scrubber


@dataclass(slots=True)
class _Issued:
    token: str
    until: float
    is_reused: bool = False
    """Whether a request after the first one has used it."""


class Authorization:
    """Makes the header `authorization`. Tokens are kept until they expire."""

    def __init__(self) -> None:
        self._tokens: dict[str, _Issued] = {}

    def forget(self, header: str | None) -> bool:
        """Drops the token of a header that a server has refused. Returns whether a new one may help.

        One that was issued for this request is refused for another reason.
        """
        for key, issued in self._tokens.items():
            if header == f"Bearer {issued.token}":
                del self._tokens[key]
                return issued.is_reused
        # Another request has dropped it already, so it was reused.
        return True

    async def header(self, given: dict[str, Any], use: AuthUse) -> str:
        """The value of the header."""
        if "bearer" in given:
            return f"Bearer {_checked(await use.values.text(given['bearer']))}"
        if "basic" in given:
            user, password = given["basic"]["user"], given["basic"]["password"]
            pair = f"{await use.values.text(user)}:{await use.values.text(password)}"
            use.scrubber.add(pair)
            return f"Basic {base64.b64encode(pair.encode()).decode()}"
        token = await self._token(given["oauth2"], use)
        use.scrubber.add(token)
        return f"Bearer {token}"

    async def _token(self, given: dict[str, Any], use: AuthUse) -> str:
        """The token is sent to the target, so the secret must be bound to its host and to that of the token URL."""
        is_secure = use.target.scheme == "https"
        rules = replace(use.like.rules, https_only=is_secure)
        url = check_url(given["token_url"], rules)
        client = await use.values.text(given["client_id"], [url, use.target])
        secret = await use.values.text(given["client_secret"], [url, use.target])
        known = [use.tenant, rules.policy.version, url.href, client, secret, given.get("scope")]
        key = hashlib.sha256(json.dumps(known).encode()).hexdigest()
        found = self._tokens.get(key)
        if found is not None and found.until > time.monotonic():
            found.is_reused = True
            return found.token
        pair = f"{quote(client, safe='')}:{quote(secret, safe='')}"
        use.scrubber.add(pair)
        outbound = replace(use.like, rules=rules, url=url.href, **_token_request(pair, given.get("scope")))
        token, lasts = await _fetch(outbound, url)
        if len(self._tokens) >= _MAX_CACHED:
            self._tokens.clear()
        self._tokens[key] = _Issued(token, time.monotonic() + lasts - _MARGIN)
        return token


def _token_request(pair: str, scope: str | None) -> dict[str, Any]:
    form = urlencode({"grant_type": "client_credentials", **({"scope": scope} if scope else {})}).encode()

    async def body() -> bytes:
        return form

    headers = {
        "accept": "application/json",
        "authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "content-type": "application/x-www-form-urlencoded",
    }
    return {"method": "POST", "headers": headers, "body": body, "redirects": 0}


async def _fetch(outbound: OutboundRequest, url: Url) -> tuple[str, float]:
    """A token, and the seconds that it lasts."""
    async with send(outbound) as exchange:
        read = await read_up_to(exchange.body, _MAX_TOKEN_BYTES)
        status = exchange.status
    document = _parsed(read.content) if status == _OK else {}
    token = document.get("access_token")
    if not isinstance(token, str) or _VISIBLE.fullmatch(token) is None:
        message = f"{url.authority} issued no token (status {status})."
        raise ConnectorError("secret_unavailable", message, {"status": status, "sent": False})
    try:
        lasts = float(document.get("expires_in", 0))
    except (TypeError, ValueError):
        lasts = 0.0
    return token, max(0.0, lasts)


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _checked(token: str) -> str:
    """A token with other characters could end the header."""
    if _VISIBLE.fullmatch(token) is None:
        raise ConnectorError("invalid_header", "The bearer token must be visible ASCII.")
    return token
