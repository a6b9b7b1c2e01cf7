"""Names of hosts in ASCII, and addresses in the spellings that URLs allow."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from typing import Final

_DOTS: Final = re.compile("[\u3002\uff0e\uff61]")
_IGNORED: Final = re.compile("[\u00ad\u034f\u200b\u2060\ufe00-\ufe0f\ufeff]")
_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f#/:<>?@\[\\\]^|%\"`{}]")
_HEX: Final = re.compile(r"0[xX]([0-9a-fA-F]*)")
_MAX_PARTS: Final = 4


def to_ascii(name: str) -> str | None:
    """A name in lower-case ASCII; None if it cannot be the name of a host.

    It follows the rules for URLs (UTS 46, not transitional) as far as the standard library allows. What it returns is
    what is checked and what is looked up, so that a difference cannot bypass a check.
    """
    folded = unicodedata.normalize("NFKC", _IGNORED.sub("", _DOTS.sub(".", name))).lower()
    folded = unicodedata.normalize("NFC", folded)
    labels: list[str] = []
    for label in folded.split("."):
        if label.isascii():
            labels.append(label)
            continue
        if any(unicodedata.category(each)[0] in "CZ" for each in label):
            return None
        labels.append(f"xn--{label.encode('punycode').decode('ascii')}")
    whole = ".".join(labels)
    return None if whole == "" or _FORBIDDEN.search(whole) else whole


def ends_in_number(host: str) -> bool:
    """Whether a host must be an IPv4 address, because its last part is a number."""
    parts = host.split(".")
    if parts[-1] == "" and len(parts) > 1:
        parts.pop()
    last = parts[-1]
    return (last.isascii() and last.isdigit()) or _HEX.fullmatch(last) is not None


def ipv4_of(host: str) -> str | None:
    """The address of a host such as `127.1`, `0x7f.1` or `2130706433`; None if it is not one."""
    parts = host.split(".")
    if parts[-1] == "" and len(parts) > 1:
        parts.pop()
    numbers = [_number(part) for part in parts]
    found = [number for number in numbers if number is not None]
    if len(parts) > _MAX_PARTS or len(found) < len(parts):
        return None
    *head, last = found
    if any(number > 255 for number in head) or last >= 256 ** (_MAX_PARTS + 1 - len(found)):
        return None
    value = last + sum(number << (8 * (3 - index)) for index, number in enumerate(head))
    return str(ipaddress.IPv4Address(value))


def _number(part: str) -> int | None:
    found = _HEX.fullmatch(part)
    digits, base = (found[1] or "0", 16) if found is not None else (part, 10)
    if found is None and len(part) > 1 and part.startswith("0"):
        digits, base = part[1:], 8
    try:
        return int(digits, base) if digits.isascii() and digits.isalnum() else None
    except ValueError:
        return None
