"""Texts for the error of a run: one line with the messages of its causes, and the whole with stacks.

The database writes the same line (full_message in job_errors.sql); a test gives both the same cases.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_MAX_CAUSES: Final = 10
_MAX_MEMBER_DEPTH: Final = 3
_MEMBERS_SHOWN: Final = 3
_MAX_LINE: Final = 2000
_SPLIT: Final = 200
"""The characters before a cut that may be a part of a secret."""

_LAST_WORD: Final = re.compile(r"[^\s\"']*\Z")
_OPEN_ADDRESS: Final = re.compile(r"://[^\s/\"']*\Z")


def failure_line(failure: Mapping[str, Any]) -> str:
    """The message of an error and those of its causes, such as `fetch failed: connection refused`.

    The first three members of an exception group follow its own message. A message that repeats a part of the line is
    left out.
    """
    return _line(failure, 0)


def _line(error: object, depth: int) -> str:
    line = ""
    current = error
    for _ in range(_MAX_CAUSES):
        members = _member_lines(current, depth + 1) if depth < _MAX_MEMBER_DEPTH else ""
        for part in (_own_message(current), members):
            if part and part not in line:
                line = f"{line}: {part}" if line else part
        current = current.get("cause") if isinstance(current, Mapping) else None
        if not isinstance(current, (Mapping, str)):
            break
    return cut_text(line, _MAX_LINE)


def cut_text(text: str, length: int) -> str:
    """The text, cut to at most `length` characters, so that it can be masked afterwards.

    A cut may split a secret, and the rules for masking do not recognize a part of it. So the last word is left out:
    what follows the last blank or quote in the last 200 characters, or all of these. The rest of an unfinished address
    goes too. The database cuts in the same way (cut_text in redact.sql).
    """
    if len(text) <= length:
        return text
    start = max(length - _SPLIT, 0)
    whole = text[:start] + _LAST_WORD.sub("", text[start:length])
    return _OPEN_ADDRESS.sub("://", whole)


def _member_lines(error: object, depth: int) -> str:
    members = error.get("errors") if isinstance(error, Mapping) else None
    if not isinstance(error, Mapping) or not isinstance(members, list) or not members:
        return ""
    omitted = error.get("omittedErrors")
    more = len(members) - _MEMBERS_SHOWN + (omitted if isinstance(omitted, int) else 0)
    shown = [_line(member, depth) for member in members[:_MEMBERS_SHOWN]]
    return "; ".join([*shown, f"and {more} more"] if more > 0 else shown)


def _own_message(error: object) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, Mapping):
        return ""
    message, code, name = error.get("message"), error.get("code"), error.get("name")
    if isinstance(message, str) and message:
        return message
    if "cause" in error or "errors" in error:
        return ""
    if (isinstance(code, str) and code) or (isinstance(code, (int, float)) and not isinstance(code, bool)):
        return str(code)
    return name if isinstance(name, str) else ""


def failure_trace(failure: Mapping[str, Any]) -> str:
    """The error with its stack, then each cause and each member with its own: as many lines as there are."""
    return "\n".join(_trace(failure, "", 0))


def _trace(error: object, label: str, depth: int) -> list[str]:
    if depth > _MAX_CAUSES:
        return []
    if not isinstance(error, Mapping):
        return [f"{label}{error}"] if isinstance(error, str) else []
    message, name, code, stack = _own_message(error), error.get("name"), error.get("code"), error.get("stack")
    head = ": ".join(part for part in (name if isinstance(name, str) and name else "Error", message) if part)
    text = stack if isinstance(stack, str) and stack else head
    # A stack usually has the name and message of its error, but a library may have changed the message since.
    lines = [label + _with_head(text, head, message)]
    if isinstance(code, str) and code and code not in lines[0]:
        lines.append(f"    code: {code}")
    members = error.get("errors")
    for member in members if isinstance(members, list) else []:
        lines.extend(_trace(member, "Member: ", depth + 1))
    if isinstance(error.get("omittedErrors"), int):
        lines.append(f"Member: and {error['omittedErrors']} more")
    if error.get("cause") is not None:
        lines.extend(_trace(error["cause"], "Caused by: ", depth + 1))
    return lines


def _with_head(text: str, head: str, message: str) -> str:
    return text if message in text else f"{head}\n{text}"
