"""A chart of bars as SVG, which mail programs and printers show without scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Final

_LABEL_WIDTH: Final = 220
_BAR_WIDTH: Final = 400
_ROW_HEIGHT: Final = 22
_MAX_LABEL: Final = 32


def bar_chart(bars: Sequence[tuple[str, float]]) -> str:
    """The chart of labels and values; an empty text if there are none. Only positive numbers have a bar."""
    if not bars:
        return ""
    values = [value if math.isfinite(value) and value > 0 else 0 for _, value in bars]
    greatest = max(*values, 1)
    rows = [_row(label, values[index], index, greatest) for index, (label, _) in enumerate(bars)]
    width, height = _LABEL_WIDTH + _BAR_WIDTH + 80, len(bars) * _ROW_HEIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12">{"".join(rows)}</svg>'
    )


def _row(label: str, value: float, index: int, greatest: float) -> str:
    y = index * _ROW_HEIGHT
    width = round(value / greatest * _BAR_WIDTH)
    text = escape(f"{label[: _MAX_LABEL - 1]}…" if len(label) > _MAX_LABEL else label)
    return (
        f'<text x="{_LABEL_WIDTH - 8}" y="{y + 15}" text-anchor="end">{text}</text>'
        f'<rect x="{_LABEL_WIDTH}" y="{y + 3}" width="{width}" height="{_ROW_HEIGHT - 6}" fill="#3b6fb6"/>'
        f'<text x="{_LABEL_WIDTH + width + 6}" y="{y + 15}">{value:g}</text>'
    )
