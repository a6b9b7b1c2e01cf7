"""Cells of CSV that no spreadsheet runs as a formula. TypeScript writes the same cells: conformance/connectors.json.

Where the comma is a decimal sign, spreadsheets separate cells by semicolons, whatever the file says. There the quotes
of a cell that is not the first of its line have no meaning: its semicolons, tabs and line breaks begin a cell or a
line. So what would be a formula after one of them is escaped as well as a formula at the beginning.
"""

from __future__ import annotations

import re
from typing import Final

# White space and characters of no width, which spreadsheets skip. The same list in every language.
_BLANKS: Final = "\\0- \\x7F-\\xA0\\u1680\\u2000-\\u200F\\u2028\\u2029\\u202F\\u205F\\u3000\\uFEFF"
# Characters with which a formula begins, also in their full-width forms.
_SIGNS: Final = "=+\\-@\\uFF1D\\uFF0B\\uFF0D\\uFF20"
_SEPARATORS: Final = ";\\t\\r\\n"

# Drivers return amounts as texts or decimals: a negative one is no formula.
_LEADING: Final = re.compile(f"(?!-[0-9]+(?:[.][0-9]+)?\\Z)(?:[\\t\\r\\n]|[{_BLANKS}]*[{_SIGNS}])")
_LATER: Final = re.compile(f"(?!-[0-9]+(?:[.][0-9]+)?(?:[{_SEPARATORS}]|\\Z))[{_SIGNS}]")
# A separator, and all that a spreadsheet may skip after it: each character is looked at once.
_GAPS: Final = re.compile(f'[{_SEPARATORS}][{_SEPARATORS}{_BLANKS}"]*')
_QUOTED: Final = re.compile(f'[",\\r\\n]|\\A[{_BLANKS}]|[{_BLANKS}]\\Z')


def csv_cell(value: object, text: str, *, raw: bool) -> str:
    """A cell with its value as text. Raw cells are for programs, which run no formulas."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    safe = text if raw or is_number else _without_formulas(text)
    if _QUOTED.search(safe):
        doubled = safe.replace('"', '""')
        return f'"{doubled}"'
    return safe


def _without_formulas(text: str) -> str:
    def escaped(gap: re.Match[str]) -> str:
        return f"{gap[0]}'" if _LATER.match(text, gap.end()) else gap[0]

    later = _GAPS.sub(escaped, text)
    return f"'{later}" if _LEADING.match(text) else later
