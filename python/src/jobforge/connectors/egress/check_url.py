"""The check of a URL before each request and each redirect. It decides by the text alone, before any DNS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ..errors import BlockedError, ConnectorError
from .addresses import address_of
from .hosts import is_internal_name, matches_any, normal_host
from .policy import EgressPolicy
from .url import Url, parse_url

_MAX_URL_BYTES: Final = 8192
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class UrlRules:
    """The rules for a request."""

    policy: EgressPolicy
    allowlists: Sequence[Sequence[str]] = field(default=())
    """Lists of which every one must name the host. A list that is empty is not one."""
    https_only: bool = False


def check_url(text: str, rules: UrlRules) -> Url:
    """Returns the parsed URL. Raises a ConnectorError that says which rule refuses it, and which setting allows it."""
    url = _parse(text)
    if url.scheme not in ("http", "https"):
        raise BlockedError("blocked_scheme", f"The scheme {url.scheme}: is not allowed: use https.")
    if url.scheme == "http" and rules.https_only:
        raise BlockedError(
            "blocked_scheme", "Plain http is not allowed here: use https. An operator can set allow_http."
        )
    _check_host(normal_host(url.host), url.port, rules.policy)
    if not rules.policy.allows_port(url.port):
        raise BlockedError("blocked_port", f"Port {url.port} is not allowed. An operator can add it to allow_ports.")
    for some in rules.allowlists:
        if some and not matches_any(some, url.host, url.port):
            raise BlockedError("blocked_host", f"The host {url.host} is not on the list of allowed hosts.")
    return url


def _parse(text: str) -> Url:
    # Parsers of URLs drop tabs and line breaks, so that the text which was checked would not be the URL that is used.
    is_usable = len(text.encode("utf-8", "surrogatepass")) <= _MAX_URL_BYTES and _CONTROL.search(text) is None
    url = parse_url(text) if is_usable else None
    if url is None:
        raise ConnectorError("invalid_url", "The URL is invalid: use a form such as https://api.example.com/v1.")
    if url.has_user:
        message = "The URL contains a user or a password: use auth with a secret reference instead."
        raise ConnectorError("invalid_url", message)
    return url


def _check_host(host: str, port: int, policy: EgressPolicy) -> None:
    if address_of(host) is not None:
        if not policy.addresses.allow(host):
            raise blocked_address()
    elif is_internal_name(host) and not matches_any(policy.settings["allow_names"], host, port):
        message = f"The host {host or 'name'} is not a public name. An operator can add it to allow_names."
        raise BlockedError("blocked_host", message)


def blocked_address() -> BlockedError:
    """One text for every refused address, so that it does not tell what a name resolves to."""
    return BlockedError(
        "blocked_address", "The address of the host is not public. An operator can add its network to allow_cidrs."
    )
