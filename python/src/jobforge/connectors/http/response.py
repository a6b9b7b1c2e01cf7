"""What is kept of a response: nothing that the database cannot store, and no secret."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, NoReturn

from ...errors import JobForgeError
from ...jsontext import to_json
from ..egress.body import read_up_to
from ..egress.exchange import Exchange
from ..errors import ConnectorError
from ..secrets.scrub import Scrubber

_PREVIEW_BYTES: Final = 1024
_MAX_GROWTH: Final = 1.4
"""JSON writes some characters as six. A text that grows more than base64 would is kept in base64."""
_IS_JSON: Final = re.compile(r"[/+]json\b", re.IGNORECASE)
# Postgres writes 1e300 with 300 zeros.
_EXPONENT: Final = re.compile(r"\de[+-]?\d", re.IGNORECASE)


def preview_of(content: bytes) -> str:
    """The beginning of a body, for people."""
    text = content[:_PREVIEW_BYTES].decode("utf-8", "replace")
    # A character may be cut in two at the end.
    return text.removesuffix("\ufffd").replace("\0", "\ufffd")


async def beginning_of(exchange: Exchange, most: int, scrubber: Scrubber) -> tuple[str, int]:
    """The beginning of a body of which only the status counts, and how many bytes were read.

    A body that is too long, too slow or breaks off does not change what the status says.
    """
    try:
        read = await read_up_to(exchange.body, most)
    except ConnectorError:
        return "", 0
    return preview_of(scrubber.content(read.content, is_whole=not read.truncated)), read.total


def kept_body(
    content: bytes, form: str, content_type: str | None, scrubber: Scrubber, *, is_whole: bool
) -> dict[str, Any]:
    """The body in the form that the payload asks for, if it can be stored in that form. Its bytes have no secrets."""
    if form == "none":
        return {}
    if form == "auto" and is_whole and _IS_JSON.search(content_type or ""):
        found = _storable_json(content, scrubber)
        if found is not None:
            return {"json": found[0]}
    text = None if form == "base64" else _storable_text(content)
    if text is not None:
        return {"body": text}
    return {"body": base64.b64encode(content).decode(), "body_encoding": "base64"}


def _storable_text(content: bytes) -> str | None:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    is_long = len(json.dumps(text, ensure_ascii=False)) > len(content) * _MAX_GROWTH + 16
    return None if "\0" in text or is_long else text


def _storable_json(content: bytes, scrubber: Scrubber) -> tuple[Any] | None:
    """The parsed body without secrets.

    None if it is not JSON, if it is nested too deeply to be searched, or if Postgres would write it much longer than
    it is.
    """
    try:
        found = scrubber.json(json.loads(content.decode("utf-8"), parse_constant=_refuse_constant))
        text = to_json(found, "body").text
    except (ValueError, RecursionError, JobForgeError):
        return None
    is_long = len(text) > len(content) * _MAX_GROWTH + 16
    return None if is_long or _EXPONENT.search(text) else (found,)


def _refuse_constant(name: str) -> NoReturn:
    """JSON has no NaN and no Infinity."""
    raise ValueError(name)


def kept_headers(
    headers: Mapping[str, list[str]], names: Iterable[str], redacted: Iterable[str], scrubber: Scrubber
) -> dict[str, str]:
    """The headers that the payload asks for, without secrets. Several values of one header are joined."""
    masked = {name.lower() for name in redacted}
    kept: dict[str, str] = {}
    for name in (each.lower() for each in names):
        if name in headers:
            text = scrubber.text(", ".join(headers[name]).replace("\0", "\ufffd"))
            kept[name] = "[redacted]" if name in masked else text
    return kept
