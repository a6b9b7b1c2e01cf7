"""Removes the secrets of a request from everything that is stored or logged: services echo what they were sent."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final
from urllib.parse import quote, quote_plus

_MASK: Final = "[secret]"
_SHORTEST: Final = 4
"""A shorter text would occur by chance."""


class Scrubber:
    """Knows the secrets of one request."""

    def __init__(self) -> None:
        self._forms: set[str] = set()

    def add(self, value: str) -> None:
        """From now on, the value is removed: as it is, in base64 and in the form of URLs and JSON."""
        if len(value) < _SHORTEST:
            return
        encoded = base64.b64encode(value.encode()).decode()
        self._forms |= {
            value,
            encoded,
            encoded.rstrip("="),
            encoded.rstrip("=").replace("+", "-").replace("/", "_"),
            quote(value, safe="!'()*-._~"),
            quote_plus(value, safe="*-._"),
            json.dumps(value, ensure_ascii=False)[1:-1],
        }

    def text(self, text: str) -> str:
        """The text without secrets."""
        # The longest form first: a shorter one may be a part of it.
        for form in self._sorted():
            text = text.replace(form, _MASK)
        return text

    def content(self, content: bytes) -> bytes:
        """The bytes without secrets."""
        for form in self._sorted():
            content = content.replace(form.encode(), _MASK.encode())
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
