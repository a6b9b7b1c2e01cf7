"""What the extra `fast` makes faster, where it is installed: reading JSON, and the event loop of the command.

Nothing else differs: a value is read in the same way with and without it.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from typing import Any, Final

_quick: Callable[[str], Any] | None
try:
    from orjson import loads as _found
except ImportError:
    _quick = None
else:
    _quick = _found

_LONG_NUMBER: Final = re.compile(r"\d{18}")
"""orjson reads whole numbers of more than 64 bits as floats, and Python has no such limit."""


def loads(text: str) -> Any:
    """Reads a JSON document from the database."""
    if _quick is None or _LONG_NUMBER.search(text) is not None:
        return json.loads(text)
    return _quick(text)


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
