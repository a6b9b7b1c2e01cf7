"""`connector.report.generate`: the payload and the result, with the names that older payloads use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict

from ...definition import JobDefinition, define_job
from ..document import (
    Document,
    anything,
    default,
    either,
    flag,
    form,
    many,
    one_of,
    optional,
    required,
    table,
    text,
    whole,
)

ReportFormat = Literal["json", "html", "csv"]

_MAX_ROWS: Final = 10_000_000


class ColumnOptions(TypedDict):
    """A column of a report."""

    key: str
    title: NotRequired[str]
    type: NotRequired[Literal["text", "number", "date", "url"]]


class ChartOptions(TypedDict):
    """The columns of a chart."""

    label: str
    value: str


class ReportOptions(TypedDict, total=False):
    """How a report is written."""

    title: str
    bom: bool
    """Begins the CSV with a byte order mark, for spreadsheets."""
    raw: bool
    """Writes the CSV for programs: cells that look like formulas are not escaped."""
    limit: int
    """The largest number of rows."""
    chart: ChartOptions


class ReportRequest(TypedDict, total=False):
    """The payload of `connector.report.generate`."""

    report_type: str
    """The name of a built-in or registered report. It reads its rows itself, unless the payload has them."""
    params: dict[str, Any]
    rows: Sequence[dict[str, Any]]
    inputs_ref: str
    """An artifact of the tenant with one JSON object per line."""
    columns: Sequence[ColumnOptions]
    format: ReportFormat | Sequence[ReportFormat]
    options: ReportOptions
    inputs_data: Sequence[dict[str, Any]] | dict[str, Any]
    """Older name of `rows`. One object is one row."""


class WrittenFormat(TypedDict):
    """One format of a report."""

    format: ReportFormat
    bytes: int
    sha256: str
    ref: NotRequired[str]


class ReportMetadata(TypedDict):
    """Facts about a report."""

    title: str
    generated_at: str


class ReportResult(TypedDict):
    """The result of `connector.report.generate`."""

    report_type: str
    rows: int
    truncated: bool
    """Whether there were more rows than the limit."""
    formats: list[WrittenFormat]
    report_json: NotRequired[str]
    report_html: NotRequired[str]
    report_csv: NotRequired[str]
    artifact_ref: NotRequired[str]
    """The first artifact, if the report is stored as artifacts."""
    metadata: ReportMetadata


_format: Final = one_of("json", "html", "csv")
_row: Final = table(anything)
_column: Final = form(
    {
        "key": required(text(shortest=1, longest=10_000)),
        "title": optional(text()),
        "type": default(one_of("text", "number", "date", "url"), "text"),
    }
)
_options: Final = form(
    {
        "title": optional(text(longest=200)),
        "bom": default(flag, value=False),
        "raw": default(flag, value=False),
        "limit": default(whole(1, _MAX_ROWS), 1_000_000),
        "chart": optional(form({"label": required(text()), "value": required(text())})),
    }
)
_payload: Final = form(
    {
        "report_type": default(text(r"[a-z][a-z0-9-]{0,63}", "a name such as usage-summary"), "rows"),
        "params": default(table(anything), {}),
        "rows": optional(many(_row)),
        "inputs_ref": optional(text()),
        "columns": optional(many(_column)),
        "format": default(either(_format, many(_format, least=1)), ["json"]),
        "options": default(_options, {}),
        "inputs_data": optional(either(many(_row), _row)),
    }
)


def _finish(given: dict[str, Any]) -> None:
    """Turns older names into the present ones."""
    if "inputs_data" in given:
        rows = given.pop("inputs_data")
        given.setdefault("rows", rows if isinstance(rows, list) else [rows])
    wanted = given.pop("format")
    given["formats"] = list(dict.fromkeys([wanted] if isinstance(wanted, str) else wanted))


report_generate: Final[JobDefinition[ReportRequest, ReportResult]] = define_job(
    "connector.report.generate",
    input=Document[ReportRequest](_payload, _finish),
    output=ReportResult,
    retry="standard",
)
"""Writes a report from rows."""
