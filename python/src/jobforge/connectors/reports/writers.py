"""Writers of reports. Each turns rows into text one by one, and trusts no value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any, Final, Protocol

from .chart import bar_chart
from .csv_cell import csv_cell
from .define_report import Chart, Column, ReportRow

_MAX_BARS: Final = 50
_LINK: Final = re.compile(r"https?://", re.IGNORECASE)
_STYLE: Final = (
    "body{font:14px/1.5 system-ui,sans-serif;margin:2em;color:#222}table{border-collapse:collapse}"
    "th,td{padding:.3em .8em;border-bottom:1px solid #ddd;text-align:left}.n{text-align:right}svg{margin-top:2em}"
)


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """What the writers of a report need to know."""

    title: str
    generated_at: str
    columns: Sequence[Column]
    bom: bool
    raw: bool
    chart: Chart | None


class ReportWriter(Protocol):
    """Writes one format."""

    content_type: str

    def head(self) -> str: ...
    def row(self, row: ReportRow, index: int) -> str: ...
    def tail(self, rows: int) -> str: ...


def plain(value: Any) -> Any:
    """A value for JSON: times in ISO form, and everything else that has no JSON form as text."""
    if isinstance(value, datetime):
        aware = value if value.utcoffset() is not None else value.replace(tzinfo=UTC)
        return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return str(value)


def text_of(value: Any) -> str:
    """A value as text: times in ISO form, lists and dicts as JSON."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return _json(value) if isinstance(value, (list, tuple, dict)) else str(plain(value))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)


class _Csv:
    content_type = "text/csv; charset=utf-8"

    def __init__(self, facts: ReportFacts) -> None:
        self._facts = facts

    def head(self) -> str:
        mark = "\ufeff" if self._facts.bom else ""
        titles = [column.key if column.title is None else column.title for column in self._facts.columns]
        return f"{mark}{self._line(titles)}"

    def row(self, row: ReportRow, index: int) -> str:
        del index
        return self._line([row.get(column.key) for column in self._facts.columns])

    def tail(self, rows: int) -> str:
        del rows
        return ""

    def _line(self, values: Sequence[Any]) -> str:
        return f"{','.join(self._cell(value) for value in values)}\r\n"

    def _cell(self, value: Any) -> str:
        return csv_cell(value, text_of(value), raw=self._facts.raw)


class _Json:
    content_type = "application/json"

    def __init__(self, facts: ReportFacts) -> None:
        self._facts = facts

    def head(self) -> str:
        return f'{{"title":{_json(self._facts.title)},"generated_at":"{self._facts.generated_at}","rows":['

    def row(self, row: ReportRow, index: int) -> str:
        picked = {column.key: row.get(column.key) for column in self._facts.columns}
        return f"{',' if index > 0 else ''}\n{_json(picked)}"

    def tail(self, rows: int) -> str:
        return f'\n],"count":{rows}}}\n'


class _Html:
    content_type = "text/html; charset=utf-8"

    def __init__(self, facts: ReportFacts) -> None:
        self._facts = facts
        self._bars: list[tuple[str, float]] = []

    def head(self) -> str:
        title = escape(self._facts.title)
        cells = "".join(
            f"<th{_class(column)}>{escape(column.key if column.title is None else column.title)}</th>"
            for column in self._facts.columns
        )
        return (
            f'<!doctype html><html><head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style></head>'
            f"<body><h1>{title}</h1><p>{escape(self._facts.generated_at)}</p><table><thead><tr>{cells}</tr></thead>"
            "<tbody>\n"
        )

    def row(self, row: ReportRow, index: int) -> str:
        del index
        chart = self._facts.chart
        if chart is not None and len(self._bars) < _MAX_BARS:
            self._bars.append((text_of(row.get(chart.label)), _number(row.get(chart.value))))
        cells = "".join(
            f"<td{_class(column)}>{_shown(row.get(column.key), column)}</td>" for column in self._facts.columns
        )
        return f"<tr>{cells}</tr>\n"

    def tail(self, rows: int) -> str:
        return f"</tbody></table><p>{rows} rows</p>{bar_chart(self._bars)}</body></html>\n"


def _class(column: Column) -> str:
    return ' class="n"' if column.type == "number" else ""


def _shown(value: Any, column: Column) -> str:
    text = escape(text_of(value))
    if column.type == "url" and isinstance(value, str) and _LINK.match(value):
        return f'<a href="{text}" rel="noopener noreferrer">{text}</a>'
    return text


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0


WRITERS: Final[Mapping[str, Callable[[ReportFacts], ReportWriter]]] = {"csv": _Csv, "json": _Json, "html": _Html}
