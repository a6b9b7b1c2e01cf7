"""JSON that Postgres can store.

A value that cannot be stored is refused with its place, or its characters are replaced if the work is already done.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from .errors import InvalidArgumentError, PayloadTooLargeError
from .losses import json_form
from .words import MAX_PAYLOAD_BYTES

_NUL: Final = re.compile(r"((?<!\\)(?:\\\\)*)\\u0000")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class JsonText:
    """JSON that is already text. Transports pass it on as it is, so a payload is serialized once."""

    text: str


def dumps(value: Any) -> str:
    """The text of a value that is known to be JSON."""
    return _encoder.encode(value)


def to_json(value: object, field: str, max_bytes: int = MAX_PAYLOAD_BYTES) -> JsonText:
    """A value as JSON text. Refuses what would be lost, what Postgres cannot store, and text over the size limit."""
    return form_to_json(json_form(value, field), field, max_bytes)


def form_to_json(form: Any, field: str, max_bytes: int = MAX_PAYLOAD_BYTES) -> JsonText:
    """What `to_json` does, for plain JSON values."""
    text = _encoder.encode(form)
    if _has_unstorable(text):
        place = f"{field}{_place_of_unstorable(form) or ''}"
        raise InvalidArgumentError(
            f"{place} has a character that Postgres cannot store",
            field=place,
            hint="Remove NUL characters and unpaired surrogates, or encode binary data, for example as base64.",
        )
    if len(text) * 4 > max_bytes and len(text.encode()) > max_bytes:
        raise PayloadTooLargeError(f"Payload too large: {field} is over {_describe_bytes(max_bytes)}", field=field)
    return JsonText(text)


def to_storable_json(value: object, field: str) -> JsonText:
    """A value as JSON text that Postgres accepts: characters that it cannot store become U+FFFD.

    For results and errors of runs that have ended.
    """
    text = _encoder.encode(json_form(value, field))
    return JsonText(storable(text) if _has_unstorable(text) else text)


def storable(text: str) -> str:
    """JSON text with U+FFFD in place of the characters that Postgres cannot store."""
    return _SURROGATE.sub("\ufffd", _NUL.sub("\\1\ufffd", text))


def _has_unstorable(text: str) -> bool:
    return ("\\u0000" in text and _NUL.search(text) is not None) or not (
        text.isascii() or _SURROGATE.search(text) is None
    )


def _place_of_unstorable(form: Any) -> str | None:
    if isinstance(form, str):
        return "" if "\0" in form or _SURROGATE.search(form) else None
    if isinstance(form, list):
        for index, each in enumerate(form):
            place = _place_of_unstorable(each)
            if place is not None:
                return f"[{index}]{place}"
    if isinstance(form, dict):
        for key, each in form.items():
            if _place_of_unstorable(key) is not None:
                return ""
            place = _place_of_unstorable(each)
            if place is not None:
                return f".{key}{place}"
    return None


def _describe_bytes(count: int) -> str:
    return f"{count / 1048576:g} MiB" if count >= 1048576 else f"{count / 1024:g} kB"
