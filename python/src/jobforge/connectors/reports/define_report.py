"""Reports that code defines. Payloads contain no SQL: they name a report and its parameters."""

from __future__ import annotations

import re
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from ...context import JobContext

ReportRow: TypeAlias = Mapping[str, Any]
ColumnType: TypeAlias = Literal["text", "number", "date", "url"]

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a report. `url`: a link in HTML, if it is http or https."""

    key: str
    title: str | None = None
    type: ColumnType = "text"


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of bars in HTML, of the first rows: the columns of labels and of values."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class ReportContext:
    """What a report is made for."""

    tenant: str
    params: Mapping[str, Any]
    """The parameters of the payload. Check them: a tenant wrote them."""
    job: JobContext[Any]


@dataclass(frozen=True, slots=True)
class ReportDefinition:
    """What `define_report` returns."""

    name: str
    columns: Sequence[Column]
    rows: Callable[[ReportContext], AsyncIterable[ReportRow] | Iterable[ReportRow]]
    title: str | None = None
    chart: Chart | None = None


def define_report(
    name: str,
    *,
    columns: Sequence[Column],
    rows: Callable[[ReportContext], AsyncIterable[ReportRow] | Iterable[ReportRow]],
    title: str | None = None,
    chart: Chart | None = None,
) -> ReportDefinition:
    """Defines a report for the option `reports` of `connectors`.

    - `name`: what payloads call the report: small letters, digits and dashes.
    - `rows`: yields the rows one by one, so that a report of any size needs little memory. It may be asynchronous.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"The name of a report must be such as monthly-invoices, not {name}")
    return ReportDefinition(name, columns, rows, title, chart)
