"""Decides which addresses may be reached.

By default these are public addresses: not loopback, not private networks, not the metadata services of clouds, and not
this machine. IPv6 is allowed by list, so that new forms of embedded addresses are refused until the list names them.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import time
from collections.abc import Sequence
from typing import Final, TypeAlias

from .table import ADDRESSES

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_CIDR: Final = re.compile(r"([^/%]+)/(\d{1,3})")
_EXACT: Final = re.compile(r".*(?:\.\d+/32|:[^.]*/128)")
_OWN_FOR: Final = 5.0
_MAX_KNOWN: Final = 1000


def address_of(text: str | None) -> Address | None:
    """The address that a text is; None if it is not one, or names an interface."""
    if text is None or "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_cidr(text: str) -> bool:
    """Whether a text is a network in the form `address/length`."""
    found = _CIDR.fullmatch(text)
    address = address_of(found[1]) if found is not None else None
    return found is not None and address is not None and int(found[2]) <= address.max_prefixlen


def networks(cidrs: Sequence[str]) -> tuple[Network, ...]:
    """The networks of a list."""
    return tuple(ipaddress.ip_network(cidr, strict=False) for cidr in cidrs)


def _has(some: Sequence[Network], address: Address) -> bool:
    return any(address in network for network in some if network.version == address.version)


_NEVER: Final = networks(ADDRESSES["never"])
_IPV4_DENIED: Final = networks(ADDRESSES["ipv4_denied"])
_IPV6_ALLOWED: Final = networks(ADDRESSES["ipv6_allowed"])
_IPV6_DENIED: Final = networks(ADDRESSES["ipv6_denied"])
_NAT64: Final = networks([ADDRESSES["nat64_prefix"]])
_LOOPBACK: Final = networks(ADDRESSES["loopback"])


class Addresses:
    """Judges addresses by a policy. `nat64`: addresses of NAT64 are judged by the IPv4 address that they contain."""

    def __init__(self, allow_cidrs: Sequence[str], *, nat64: bool) -> None:
        self._exact = networks([cidr for cidr in allow_cidrs if _EXACT.fullmatch(cidr)])
        self._allowed = networks(allow_cidrs)
        self._nat64 = nat64

    def allow(self, text: str | None) -> bool:
        """Whether a connection to this literal address is allowed. Anything that is not an address is not."""
        address = address_of(text)
        return address is not None and self._allow(address)

    def _allow(self, address: Address) -> bool:
        # No honest DNS record has an IPv4 address in the form of IPv6.
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
            return False
        if _has(self._exact, address):
            return True
        embedded = _embedded(address)
        if _has(_NEVER, address) or _is_own(address) or (embedded is not None and _has(_NEVER, embedded)):
            return False
        if _has(self._allowed, address):
            return True
        if isinstance(address, ipaddress.IPv4Address):
            return not _has(_IPV4_DENIED, address)
        if self._nat64 and embedded is not None:
            return self._allow(embedded)
        return _has(_IPV6_ALLOWED, address) and not _has(_IPV6_DENIED, address)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address in an address of NAT64."""
    return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if _has(_NAT64, address) else None


_known: dict[Address, tuple[float, bool]] = {}


def _is_own(address: Address) -> bool:
    """Whether the address belongs to this machine, other than loopback. Interfaces change, so they are read again."""
    if _has(_LOOPBACK, address):
        return False
    now = time.monotonic()
    found = _known.get(address)
    if found is not None and now - found[0] < _OWN_FOR:
        return found[1]
    if len(_known) >= _MAX_KNOWN:
        _known.clear()
    is_own = _leads_here(address)
    _known[address] = (now, is_own)
    return is_own


def _leads_here(address: Address) -> bool:
    """Connecting a datagram socket sends nothing. For an own address, the system chooses the same one as the source."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((str(address), 9))
            return address_of(probe.getsockname()[0]) == address
    except OSError:
        return False
