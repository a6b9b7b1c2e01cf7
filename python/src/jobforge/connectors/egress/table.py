"""What connectors refuse, as data. Connectors in other languages read the same file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final


def _read() -> dict[str, Any]:
    """The file is in the package, or in the checkout that this package was installed from."""
    here = Path(__file__).resolve()
    installed = here.parents[2] / "data" / "egress.json"
    path = installed if installed.is_file() else here.parents[5] / "conformance" / "egress.json"
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table


_TABLE: Final = _read()
ADDRESSES: Final[dict[str, Any]] = _TABLE["addresses"]
DENIED_SUFFIXES: Final[frozenset[str]] = frozenset(_TABLE["names"]["denied_suffixes"])
PORTS: Final[dict[str, Any]] = _TABLE["ports"]
DENIED_HEADERS: Final[frozenset[str]] = frozenset(_TABLE["headers"]["denied"])
DENIED_HEADER_PREFIXES: Final[tuple[str, ...]] = tuple(_TABLE["headers"]["denied_prefixes"])
