"""The request headers that a payload or a configuration may set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..errors import ConnectorError
from .table import DENIED_HEADER_PREFIXES, DENIED_HEADERS

_MAX_HEADERS: Final = 64
_MAX_HEADER_BYTES: Final = 16_384
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9a-zA-Z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")


def is_refused_header(name: str) -> bool:
    """Whether JobForge sets a header itself, or the header could open a metadata service or confuse a proxy."""
    lower = name.lower()
    return lower in DENIED_HEADERS or lower.startswith(DENIED_HEADER_PREFIXES)


def check_header(name: str, value: str) -> None:
    """Raises if a header of a payload or configuration is malformed or refused. Its value never is in the text."""
    if _NAME.fullmatch(name) is None:
        raise _invalid("The name of a header contains a character that is not allowed.")
    if is_refused_header(name):
        raise _invalid(f"The header {name} cannot be set by a job: remove it.")
    _check_value(name, value)


def check_headers(headers: Mapping[str, str]) -> None:
    """Raises if a value could end its header, or if there are too many headers, or if they are too long together.

    Headers of JobForge's own have texts of payloads in them, too, such as the type of an event.
    """
    for name, value in headers.items():
        _check_value(name, value)
    size = sum(len(name) + len(value) + 4 for name, value in headers.items())
    if len(headers) > _MAX_HEADERS or size > _MAX_HEADER_BYTES:
        raise _invalid(f"A request has at most {_MAX_HEADERS} headers and {_MAX_HEADER_BYTES} bytes of them.")


def _check_value(name: str, value: str) -> None:
    if _VALUE.fullmatch(value) is None:
        raise _invalid(f"The value of the header {name} must be visible ASCII.")


def _invalid(message: str) -> ConnectorError:
    return ConnectorError("invalid_header", message)
