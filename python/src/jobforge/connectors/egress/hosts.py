"""Names of hosts: their normal form, the names that are refused before DNS, and patterns that list hosts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from .addresses import address_of
from .names import ends_in_number, ipv4_of, to_ascii
from .table import DENIED_SUFFIXES

_MAX_LABEL: Final = 63
_MAX_PORT: Final = 65_535
_PATTERN: Final = re.compile(r"(\*\.)?(\[[0-9a-fA-F:.]+\]|[^\s/:*@\[\]]+)(?::(\d{1,5}))?")


def normal_host(host: str) -> str:
    """A host in the form in which hosts are compared: ASCII, lower case, no brackets, no full stop at the end.

    A text that cannot be a host gives an empty text.
    """
    plain = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    address = address_of(plain)
    if address is not None:
        return str(address)
    name = to_ascii(plain.removesuffix("."))
    if name is None:
        return ""
    return (ipv4_of(name) or "") if ends_in_number(name) else name


def is_internal_name(host: str) -> bool:
    """Whether a name can only mean something inside of a network, or is malformed."""
    labels = normal_host(host).split(".")
    if len(labels) < 2 or any(label == "" or len(label) > _MAX_LABEL for label in labels):
        return True
    return labels[-1] in DENIED_SUFFIXES


@dataclass(frozen=True, slots=True)
class HostPattern:
    """A pattern that names hosts."""

    host: str
    is_wildcard: bool
    """Whether any name below the host is meant, but not the host itself."""
    port: int | None


def read_pattern(pattern: str) -> HostPattern | None:
    """Reads `api.example.com`, `*.example.com` (any depth, not the name itself) or an address, perhaps with a port.

    Returns None if the pattern is malformed or names a whole public top-level domain.
    """
    address = address_of(pattern)
    has_colons = address is not None and ":" in pattern
    found = _PATTERN.fullmatch(f"[{pattern}]" if has_colons else pattern)
    if found is None:
        return None
    is_wildcard = found[1] is not None
    host = normal_host(found[2])
    labels = host.split(".")
    port = None if found[3] is None else int(found[3])
    is_public = len(labels) < 2 and host not in DENIED_SUFFIXES
    is_refused = is_wildcard and (is_public or address_of(host) is not None)
    if "" in labels or is_refused or (port is not None and not 1 <= port <= _MAX_PORT):
        return None
    return HostPattern(host, is_wildcard, port)


def matches_any(patterns: Sequence[str], host: str, port: int) -> bool:
    """Whether a pattern of the list names this host and port. A malformed pattern names nothing."""
    plain = normal_host(host)
    for pattern in patterns:
        wanted = read_pattern(pattern)
        if wanted is None or (wanted.port is not None and wanted.port != port):
            continue
        if plain.endswith(f".{wanted.host}") if wanted.is_wildcard else plain == wanted.host:
            return True
    return False
