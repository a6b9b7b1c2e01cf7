"""Removes the secrets of a request from everything that is stored or logged: services echo what they were sent."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterable, AsyncIterator
from html import escape
from typing import Any, Final
from urllib.parse import quote, quote_plus

_MASK: Final = "[secret]"
_SHORTEST: Final = 4
"""A shorter text would occur by chance."""
_CODE: Final = re.compile("%[0-9A-F]{2}")


class Scrubber:
    """Knows the secrets of one request."""

    def __init__(self) -> None:
        self._forms: set[str] = set()

    def add(self, value: str) -> None:
        """From now on, the value is removed: as it is, in base64, and as URLs, JSON and HTML write it."""
        if len(value) < _SHORTEST:
            return
        encoded = base64.b64encode(value.encode()).decode()
        text = json.dumps(value, ensure_ascii=False)[1:-1]
        urls = {quote(value, safe="!'()*-._~"), quote_plus(value, safe="*-._")}
        self._forms |= {
            value,
            encoded,
            encoded.rstrip("="),
            encoded.rstrip("=").replace("+", "-").replace("/", "_"),
            text,
            escape(value).replace("&#x27;", "&#39;"),
            # Some writers of JSON escape slashes.
            text.replace("/", "\\/"),
            encoded.replace("/", "\\/"),
            *urls,
            *(_CODE.sub(lambda code: code[0].lower(), url) for url in urls),
        }

    def text(self, text: str) -> str:
        """The text without secrets."""
        # The longest form first: a shorter one may be a part of it.
        for form in self._sorted():
            text = text.replace(form, _MASK)
        return text

    def json(self, value: Any) -> Any:
        """A JSON value whose texts have no secrets: escapes no longer hide them."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.json(each) for each in value]
        if isinstance(value, dict):
            return {self.text(key): self.json(each) for key, each in value.items()}
        return value

    def content(self, content: bytes, *, is_whole: bool = True) -> bytes:
        """The bytes without secrets. If they were cut off, their end may be the beginning of a secret."""
        for form in self._sorted():
            content = content.replace(form.encode(), _MASK.encode())
        return content if is_whole else self._without_beginning(content)

    def _without_beginning(self, content: bytes) -> bytes:
        forms = [form.encode() for form in self._forms]
        for length in range(max(map(len, forms), default=0) - 1, _SHORTEST - 1, -1):
            end = content[-length:]
            if len(end) == length and any(form.startswith(end) for form in forms):
                return content[:-length] + _MASK.encode()
        return content

    async def stream(self, parts: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
        """Removes secrets from a stream, also where two parts meet."""
        longest = max((len(form.encode()) for form in self._forms), default=1)
        rest = b""
        async for part in parts:
            clean = self.content(rest + part)
            end = max(0, len(clean) - (longest - 1))
            rest = clean[end:]
            if end > 0:
                yield clean[:end]
        if rest:
            yield rest

    def _sorted(self) -> list[str]:
        return sorted(self._forms, key=len, reverse=True)
