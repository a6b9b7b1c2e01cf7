"""Resolves names, and refuses a name if one of its addresses is not allowed. Its result is what is dialled."""

from __future__ import annotations

import asyncio
import socket
from typing import Final

from ..errors import ConnectorError
from .check_url import blocked_address
from .dns import addresses_of, server_of, system_servers
from .hosts import normal_host
from .policy import EgressPolicy

_MAX_ADDRESSES: Final = 16
"""An answer may have thousands of addresses. All are checked, these many are dialled."""


async def resolve(host: str, policy: EgressPolicy) -> list[str]:
    """The addresses to dial. Raises a ConnectorError if there are none, or if one of them is not allowed."""
    found = await _find(normal_host(host), policy)
    if not found:
        raise ConnectorError("dns_failed", f"The name {host} could not be resolved.", {"sent": False})
    # A mixed answer is a sign of an attack: when one address fails, the next one would be dialled.
    if not all(policy.addresses.allow(address) for address in found):
        raise blocked_address()
    return found[:_MAX_ADDRESSES]


async def _find(host: str, policy: EgressPolicy) -> list[str]:
    # No DNS server needs to know these names (RFC 6761). The policy has allowed them by name before.
    if host == "localhost" or host.endswith(".localhost"):
        return ["127.0.0.1", "::1"]
    given = policy.settings["dns_servers"]
    servers = [server_of(each) for each in given] if given else system_servers()
    if policy.settings["dns"] == "system" or not servers:
        return await _ask_system(host)
    return await addresses_of(host, servers)


async def _ask_system(host: str) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
