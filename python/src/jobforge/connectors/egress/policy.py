"""What may be reached.

The operator's policy widens the default; the tenant's configuration and the payload only narrow it. All of them are
documents with the same spelling in code, in files and in the database.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from ..document import (
    Document,
    default,
    either,
    flag,
    form,
    many,
    one_of,
    optional,
    required,
    table,
    text,
    where,
    whole,
)
from .addresses import Addresses, address_of, is_cidr
from .hosts import read_pattern
from .table import PORTS

_MAX_PORT: Final = 65_535
_DNS_PORT: Final = 53
_SERVER: Final = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::([0-9]{1,5}))?")
_RANGE: Final = re.compile(r"(\d{1,5})-(\d{1,5})")

host_pattern: Final = where(
    lambda pattern: read_pattern(pattern) is not None, "a host such as api.example.com or *.example.com"
)
secret_name: Final = text(r"[A-Z][A-Z0-9_]{0,63}", "a name such as STRIPE_KEY: capitals, digits and underscores")


def _is_server(server: str) -> bool:
    if address_of(server) is not None:
        return True
    found = _SERVER.fullmatch(server)
    host = (found[1] or found[2]) if found is not None else None
    return found is not None and address_of(host) is not None and 0 < int(found[3] or _DNS_PORT) <= _MAX_PORT


def _is_proxy(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


egress_document: Final[Document[dict[str, Any]]] = Document(
    form(
        {
            "allow_cidrs": default(many(where(is_cidr, "a network such as 10.1.0.0/16")), ()),
            "allow_names": default(many(host_pattern), ()),
            "nat64": default(flag, value=False),
            "allow_http": default(flag, value=False),
            "allow_ports": default(
                many(either(whole(1, _MAX_PORT), text(_RANGE.pattern, "a port, or a range such as 8000-8100"))), ()
            ),
            "dns_servers": default(many(where(_is_server, "an address, perhaps with a port")), ()),
            "dns": default(one_of("resolver", "system"), "resolver"),
            "proxy": optional(where(_is_proxy, "a URL of http or https")),
            "ca": optional(either(text(), many(text()))),
            "secrets": default(
                table(
                    form({"hosts": required(many(host_pattern, least=1)), "shared": default(flag, value=False)}),
                    secret_name,
                ),
                {},
            ),
        }
    )
)
"""The operator's document. Every key widens what is reached, so tenants must not be able to write it."""


@dataclass(frozen=True, slots=True)
class EgressPolicy:
    """A document in force, with the functions that judge by it."""

    settings: Mapping[str, Any]
    version: str
    """Changes with the document."""
    addresses: Addresses

    @property
    def proxy(self) -> str | None:
        return self.settings.get("proxy")

    def allows_port(self, port: int) -> bool:
        """Whether connections to this port are allowed."""
        is_usual = port in PORTS["allowed"] or (port >= PORTS["allowed_from"] and port not in PORTS["denied"])
        return is_usual or any(_is_within(port, span) for span in self.settings["allow_ports"])


def _is_within(port: int, span: int | str) -> bool:
    if isinstance(span, int):
        return port == span
    start, end = (int(each) for each in span.split("-"))
    return start <= port <= end


def egress_policy(document: Mapping[str, Any] | None = None) -> EgressPolicy:
    """Reads an operator's document. Raises an InvalidValueError that names what is wrong."""
    settings = egress_document.load({} if document is None else document, "egress")
    written = json.dumps(settings, sort_keys=True).encode()
    addresses = Addresses(settings["allow_cidrs"], nat64=settings["nat64"])
    return EgressPolicy(settings, hashlib.sha256(written).hexdigest()[:16], addresses)


LOOPBACK_EGRESS: Final[Mapping[str, Any]] = {
    "allow_cidrs": ["127.0.0.0/8", "::1/128"],
    "allow_names": ["localhost", "*.localhost"],
    "allow_http": True,
}
"""For development: loopback in addition, over http."""
