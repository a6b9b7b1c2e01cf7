"""Builds the headers and the query of a request, and looks up the secrets in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus

from ..egress.headers import check_header, check_headers
from ..egress.url import Url
from ..errors import ConnectorError
from ..secrets.secrets import Values

_MAX_URL: Final = 16_384


class RequestHeaders:
    """Headers under construction. Names are in lower case; a later value replaces an earlier one."""

    def __init__(self) -> None:
        self.all: dict[str, str] = {}
        self.secret: set[str] = set()
        """The names of headers with secrets."""

    def set(self, name: str, value: str, *, is_secret: bool = False) -> None:
        """Sets a header of JobForge's own."""
        self.all[name] = value
        if is_secret:
            self.secret.add(name)
        else:
            self.secret.discard(name)

    async def add(self, headers: Mapping[str, Any], values: Values) -> None:
        """Sets the headers of a payload or configuration."""
        for name, value in headers.items():
            text = await values.text(value)
            check_header(name, text)
            self.set(name.lower(), text, is_secret=not isinstance(value, str))

    def check(self) -> None:
        """Raises if a header is malformed, or if the headers are too many or too long."""
        check_headers(self.all)


async def with_query(url: Url, query: Mapping[str, Any], values: Values) -> Url:
    """Adds the query of a payload to its URL. Secrets are in the result, so it must not be stored."""
    pairs: list[str] = []
    for name, value in query.items():
        text = _number(value) if isinstance(value, (bool, int, float)) else await values.text(value)
        pairs.append(f"{quote_plus(name, safe='*-._')}={quote_plus(text, safe='*-._')}")
    whole = url.with_query("&".join(pairs))
    if len(whole.href) > _MAX_URL:
        raise ConnectorError("invalid_url", "The URL is too long with its query.")
    return whole


def _number(value: float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
