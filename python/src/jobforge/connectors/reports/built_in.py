"""Reports about JobForge itself, for the tenant of the job."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ...errors import InvalidArgumentError, InvalidValueError
from ..document import Document, form, optional, text, where
from ..errors import ConnectorError
from .define_report import Chart, Column, ReportContext, ReportDefinition, ReportRow, define_report

if TYPE_CHECKING:
    from ...aio.forge import AsyncJobForge
    from ...words import Dimension, UsagePeriod


def _time(value: str) -> datetime:
    found = datetime.fromisoformat(value)
    return found if found.utcoffset() is not None else found.replace(tzinfo=UTC)


def _is_time(value: str) -> bool:
    try:
        _time(value)
    except ValueError:
        return False
    return True


_moment: Final = where(_is_time, "a time in ISO 8601")
_SPAN: Final[Document[dict[str, str]]] = Document(
    form({"from": optional(_moment), "to": optional(_moment), "timezone": optional(text())})
)


def _span(context: ReportContext) -> tuple[datetime | None, datetime | None, str | None]:
    try:
        span = _SPAN.load(context.params, "params")
    except InvalidValueError as error:
        raise ConnectorError("invalid_payload", f"{error.message}.") from None
    since, until = (_time(span[name]) if name in span else None for name in ("from", "to"))
    return since, until, span.get("timezone")


def _row(record: Any) -> ReportRow:
    """The record under the names that reports have in every language, such as `costCents`."""
    return {_camel(each.name): getattr(record, each.name) for each in dataclasses.fields(record)}


def _camel(name: str) -> str:
    return re.sub(r"_([a-z0-9])", lambda found: found[1].upper(), name)


def built_in_reports(forge: AsyncJobForge) -> list[ReportDefinition]:
    """The client needs a login that may read the usage of the tenant, such as `jobforge_reader`."""

    def usage(bucket: UsagePeriod, *by: Dimension) -> Callable[[ReportContext], AsyncIterator[ReportRow]]:
        async def rows(context: ReportContext) -> AsyncIterator[ReportRow]:
            since, until, zone = _span(context)
            try:
                found = await forge.usage.report(
                    tenant=context.tenant, since=since, until=until, timezone=zone, bucket=bucket, by=by
                )
            except InvalidArgumentError as error:
                # What the database refuses, such as an unknown time zone, is a mistake of the payload.
                raise ConnectorError("invalid_payload", f"params: {error.message}.") from None
            for each in found:
                yield _row(each)

        return rows

    async def dead(context: ReportContext) -> AsyncIterator[ReportRow]:
        since, until, _ = _span(context)
        span = {"finished_after": since, "finished_before": until}
        filters: Any = {name: each for name, each in span.items() if each is not None}
        for each in await forge.jobs.dead_groups(tenant=context.tenant, limit=1000, **filters):
            yield _row(each)

    return [
        define_report(
            "usage-summary",
            title="Usage by type",
            columns=(Column("type", "Type"), *_USAGE),
            chart=Chart("type", "runs"),
            rows=usage("total", "type"),
        ),
        define_report(
            "tenant-usage",
            title="Usage by day",
            columns=(Column("startAt", "Day", "date"), *_USAGE),
            chart=Chart("startAt", "runs"),
            rows=usage("day"),
        ),
        define_report("job-analytics", title="Jobs by day", columns=_BY_DAY, rows=usage("day", "type")),
        define_report(
            "dead-letters",
            title="Dead jobs by kind of error",
            columns=_DEAD,
            chart=Chart("message", "jobs"),
            rows=dead,
        ),
    ]


_USAGE: Final = (
    Column("runs", "Runs", "number"),
    Column("succeeded", "Succeeded", "number"),
    Column("failed", "Failed", "number"),
    Column("dead", "Dead", "number"),
    Column("costCents", "Cost (cents)", "number"),
    Column("runMs", "Run time (ms)", "number"),
)
_BY_DAY: Final = (
    Column("startAt", "Day", "date"),
    Column("type", "Type"),
    Column("runs", "Runs", "number"),
    Column("retries", "Retries", "number"),
    Column("dead", "Dead", "number"),
    Column("waitP95Ms", "Wait, 95 % (ms)", "number"),
    Column("runP95Ms", "Run, 95 % (ms)", "number"),
)
_DEAD: Final = (
    Column("type", "Type"),
    Column("message", "Error"),
    Column("jobs", "Jobs", "number"),
    Column("firstAt", "First", "date"),
    Column("lastAt", "Last", "date"),
)
