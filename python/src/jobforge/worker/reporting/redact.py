"""Masks secrets in log lines.

The rules are those with which the database masks stored errors (redact.sql): well-known keys and formats, and the keys
that a type's policy lists. A test checks both with the same cases.

A handler may log what others wrote, so every rule takes a time that grows no faster than the text: a rule that could
start at each word of a long name starts only at the beginning of the name.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...failure import cut_text

MASK: Final = "[redacted]"
UNREADABLE: Final = "[unreadable]"
MAX_DEPTH: Final = 16
MAX_STACK: Final = 4000
MAX_TEXT: Final = 8192

_KEY_WORDS: Final = "passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|cookie"
# A name that contains one of the words, from its beginning.
_KEY_NAME: Final = rf"(?<![a-z0-9_-])(?:(?!{_KEY_WORDS})[a-z0-9_-])*(?:{_KEY_WORDS})[a-z0-9_-]*"
# The characters between a key and its value, and the value: masked already, quoted, or up to the next separator.
_KEY_VALUE: Final = r"""(\\?["']?\s*[=:]\s*)(?:\[redacted\]|\\?"[^"]*(?:"|\Z)|'[^']*(?:'|\Z)|[^\s"'\\,;&)}\]]+)"""
_SENSITIVE_KEY: Final = re.compile(f"{_KEY_WORDS}|authorization", re.IGNORECASE)

_RULES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----END))*(?:-----END [A-Z ]*PRIVATE KEY-----)?"),
        MASK,
    ),
    (re.compile(r"""(://[^\s/:@"']*):[^\s/"']+@"""), rf"\1:{MASK}@"),
    (re.compile(r"""(://)[^\s/:@"']{16,}@"""), rf"\1{MASK}@"),
    (
        re.compile(
            r"""(authorization\\?["']?\s*[=:]\s*\\?["']?)(?:(?:basic|bearer|digest|token|apikey)\s+)?"""
            r"""(?:\[redacted\]|[^\s"'\\,;&)}\]]+)""",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"(bearer\s+)(?=[^\s]*[0-9._-])[a-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1{MASK}"),
    # A JSON web token, with what is before it in the same word.
    (
        re.compile(
            r"(?<![A-Za-z0-9_-])((?:(?!eyJ)[A-Za-z0-9_-])*)"
            r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(
            r"(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"
            r"|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}"
            r"|AIza[A-Za-z0-9_-]{30,}"
        ),
        MASK,
    ),
    (re.compile(f"({_KEY_NAME}){_KEY_VALUE}", re.IGNORECASE), rf"\1\2{MASK}"),
)


def mask_text(text: str) -> str:
    """Masks by the well-known rules, however long the text is."""
    for rule, replacement in _RULES:
        text = rule.sub(replacement, text)
    return text


class Redactor:
    """Masks by the well-known rules, and the keys that a type's policy or definition lists."""

    __slots__ = ("_listed", "_listed_rule")

    def __init__(self, listed: Iterable[str] = ()) -> None:
        keys = [key for key in listed if key != ""]
        self._listed = frozenset(key.lower() for key in keys)
        names = "|".join(re.escape(key) for key in keys)
        self._listed_rule = re.compile(rf"((?<!\w)(?:{names})){_KEY_VALUE}", re.IGNORECASE) if keys else None

    def text(self, text: str) -> str:
        """Masks a text. A longer text is cut to 8,192 characters, and says so."""
        if len(text) <= MAX_TEXT:
            return self._mask(text)
        return f"{self._cut(text, MAX_TEXT)}… [cut: {len(text)} characters]"

    def value(self, value: Any, depth: int = 0) -> Any:
        """Returns a copy without secrets. Errors become plain dictionaries."""
        if isinstance(value, str):
            return self.text(value)
        if depth >= MAX_DEPTH and isinstance(value, list | tuple | Mapping | BaseException):
            return "[nested too deep]"
        if isinstance(value, Mapping):
            return self.fields(value, depth)
        if isinstance(value, list | tuple):
            return [self.value(item, depth + 1) for item in value]
        if isinstance(value, BaseException):
            return self._error(value, depth)
        return value

    def fields(self, fields: Mapping[Any, Any], depth: int = 0) -> dict[str, Any]:
        return {str(key): self._field(str(key), value, depth) for key, value in fields.items()}

    def _field(self, key: str, value: Any, depth: int) -> Any:
        if key.lower() in self._listed:
            return MASK
        if isinstance(value, str):
            if _SENSITIVE_KEY.search(key):
                return MASK
            if key == "stack":
                return self._cut(value, MAX_STACK)
        return self.value(value, depth + 1)

    def _mask(self, text: str) -> str:
        masked = mask_text(text)
        return masked if self._listed_rule is None else self._listed_rule.sub(rf"\1\2{MASK}", masked)

    def _cut(self, text: str, length: int) -> str:
        """The first cut leaves no part of a secret. What is masked may be cut anywhere."""
        return self._mask(cut_text(text, 2 * length))[:length]

    def _error(self, error: BaseException, depth: int) -> dict[str, Any]:
        try:
            parts: dict[str, Any] = {
                "type": type(error).__name__,
                "message": str(error),
                "stack": "".join(traceback.format_exception(error, chain=False)).rstrip(),
                **vars(error),
            }
        except Exception:  # noqa: BLE001 - the error's own code may raise anything; the line is written all the same
            return {"type": type(error).__name__, "message": UNREADABLE}
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is not None:
            parts["cause"] = cause
        if isinstance(error, BaseExceptionGroup):
            parts["errors"] = list(error.exceptions)
        return self.fields(parts, depth)


# Masks by the well-known rules only.
redactor: Final = Redactor()
