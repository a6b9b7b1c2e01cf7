"""What the extra `fast` makes faster, where it is installed: reading JSON, and the event loop of the command.

Nothing else differs: a value is read in the same way with and without it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from typing import Any, Final

_quick: Callable[[bytes], Any] | None
try:
    from orjson import loads as _found
except ImportError:
    _quick = None
else:
    _quick = _found

_KINDS: Final = bytes(
    ord("1") if byte in b"0123456789" else ord(" ") if byte in b" \t\r\n:,[-" else ord(".") for byte in range(256)
)
_LONG_NUMBER: Final = b" 1111111111111111111"
"""A number of 19 digits or more, in these kinds. orjson reads whole numbers of more than 64 bits as floats, and Python
has no such limit. A search with `re` takes twice as long as reading the document."""


def loads(text: str) -> Any:
    """Reads a JSON document from the database."""
    if _quick is None:
        return json.loads(text)
    data = f" {text}".encode()
    return json.loads(text) if _LONG_NUMBER in data.translate(_KINDS) else _quick(data)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The event loop for a command; None for the usual one. psycopg needs one with selectors."""
    if sys.platform == "win32":
        return asyncio.SelectorEventLoop
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
