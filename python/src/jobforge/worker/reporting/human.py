"""Log lines for people: without empty fields, and with whole tracebacks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

# Control characters, and those that change the direction of text: data of others must not manipulate the terminal.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_HIDDEN: Final = frozenset(("trace_id", "tenant_id", "worker_id"))
# A traceback follows the message, and replaces the fields that repeat a part of it.
_STACK_FIELDS: Final = frozenset(("stack", "error", "error_name", "error_at"))


def human_line(stamp: str, label: str, fields: Mapping[str, Any], message: str) -> str:
    """One readable line, with its fields in brackets and the traceback below."""
    stack = fields.get("stack")
    hidden = _HIDDEN | _STACK_FIELDS if isinstance(stack, str) else _HIDDEN
    shown = [f"{name}={value}" for name, value in fields.items() if value is not None and name not in hidden]
    line = f"{stamp} {label.upper():5} {message}"
    if shown:
        line = f"{line} [{' '.join(shown)}]"
    if isinstance(stack, str):
        line = f"{line}\n{re.sub('^', '    ', stack, flags=re.MULTILINE)}"
    return f"{printable(line)}\n"


def printable(text: str) -> str:
    """The text without characters that could manipulate a terminal. Line breaks and tabs stay."""
    return _UNSAFE.sub(" ", text)
