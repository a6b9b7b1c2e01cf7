"""Runs `connector.report.generate`: one pass over the rows, into every format at once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from ...artifacts.forms import AsyncArtifactStore
from ...definition import JobHandler
from ..artifacts import content_of, require_owner
from ..errors import ConnectorError
from ..retries import RetryRules, end_failed
from .define_report import Chart, Column, ReportContext, ReportDefinition, ReportRow
from .definition import ReportRequest, ReportResult, report_generate
from .sink import Sink
from .writers import WRITERS, ReportFacts, ReportWriter, plain

if TYPE_CHECKING:
    from ...context import JobContext

_MAX_INLINE_BYTES: Final = 100_000
"""What a result contains itself, in total."""
_PROGRESS_EVERY: Final = 5000
_MAX_LINE_BYTES: Final = 1_048_576
"""The longest line of an artifact with rows."""


def report_handler(
    artifacts: AsyncArtifactStore, reports: Sequence[ReportDefinition]
) -> JobHandler[ReportRequest, ReportResult]:
    """The handler of reports."""
    known = {report.name: report for report in reports}

    async def handle(input: ReportRequest, job: JobContext[Any]) -> ReportResult:
        # The schema has filled in the defaults.
        try:
            return await _Generation(artifacts, known, cast("dict[str, Any]", input), job).run()
        except ConnectorError as error:
            await end_failed(job, error, RetryRules())

    return report_generate.handler(handle)


@dataclass(frozen=True, slots=True)
class _Output:
    format: str
    writer: ReportWriter
    sink: Sink


class _Generation:
    """One run."""

    def __init__(
        self,
        artifacts: AsyncArtifactStore,
        known: Mapping[str, ReportDefinition],
        given: dict[str, Any],
        job: JobContext[Any],
    ) -> None:
        self._artifacts = artifacts
        self._given = given
        self._job = job
        self._name: str = given["report_type"]
        named = known.get(self._name)
        if named is None and self._name != "rows":
            names = ", ".join(known)
            raise ConnectorError("invalid_payload", f"There is no report {self._name}. Known reports: {names}.")
        self._title = "Report" if named is None else named.title or "Report"
        # Rows of the payload replace those of the report, and its columns with them.
        self._definition = None if "rows" in given or "inputs_ref" in given else named

    async def run(self) -> ReportResult:
        rows = self._rows()
        first = await anext(rows, None)
        facts = self._facts(first)
        outputs = [self._output(format, facts) for format in self._given["formats"]]
        try:
            count, truncated = await self._write(outputs, first, rows)
            written = [(output.format, await output.sink.end()) for output in outputs]
        except BaseException:
            for output in outputs:
                await output.sink.abandon()
            raise
        ref = next((collected.ref for _, collected in written if collected.ref is not None), None)
        formats = [
            {
                "format": format,
                "bytes": collected.bytes,
                "sha256": collected.sha256,
                **({} if collected.ref is None else {"ref": collected.ref}),
            }
            for format, collected in written
        ]
        texts = {f"report_{format}": collected.text for format, collected in written if collected.text is not None}
        return cast(
            "ReportResult",
            {
                "report_type": self._name,
                "rows": count,
                "truncated": truncated,
                "formats": formats,
                **texts,
                **({} if ref is None else {"artifact_ref": ref}),
                "metadata": {"title": facts.title, "generated_at": facts.generated_at},
            },
        )

    def _facts(self, first: ReportRow | None) -> ReportFacts:
        options, definition = self._given["options"], self._definition
        chart = None if definition is None else definition.chart
        return ReportFacts(
            title=options.get("title") or self._title,
            generated_at=plain(datetime.now(UTC)),
            columns=self._columns(first),
            bom=options["bom"],
            raw=options["raw"],
            chart=Chart(**options["chart"]) if "chart" in options else chart,
        )

    def _columns(self, first: ReportRow | None) -> Sequence[Column]:
        if "columns" in self._given:
            return [Column(each["key"], each.get("title"), each["type"]) for each in self._given["columns"]]
        return [Column(key) for key in first or {}] if self._definition is None else self._definition.columns

    def _output(self, format: str, facts: ReportFacts) -> _Output:
        writer = WRITERS[format](facts)
        key = f"reports/{self._job.tenant}/{self._job.id}/{self._name}.{format}"
        inline = _MAX_INLINE_BYTES // len(self._given["formats"])
        return _Output(format, writer, Sink(self._artifacts, key, writer.content_type, inline))

    async def _write(
        self, outputs: Sequence[_Output], first: ReportRow | None, rows: AsyncIterator[ReportRow]
    ) -> tuple[int, bool]:
        """Returns the number of rows, and whether there were more than the limit."""
        count, limit = 0, self._given["options"]["limit"]
        for output in outputs:
            await output.sink.write(output.writer.head())
        row = first
        while row is not None and count < limit:
            for output in outputs:
                await output.sink.write(output.writer.row(row, count))
            count += 1
            if count % _PROGRESS_EVERY == 0:
                await self._job.progress({"rows": count})
            row = await anext(rows, None)
        for output in outputs:
            await output.sink.write(output.writer.tail(count))
        return count, row is not None

    async def _rows(self) -> AsyncIterator[ReportRow]:
        given, tenant = self._given, self._job.tenant
        if self._definition is not None:
            found = self._definition.rows(ReportContext(tenant, given["params"], self._job))
            if isinstance(found, AsyncIterable):
                async for row in found:
                    yield row
            else:
                for row in found:
                    yield row
        elif "rows" in given:
            for row in given["rows"]:
                yield row
        elif "inputs_ref" in given:
            async for row in _lines(content_of(self._artifacts, require_owner(given["inputs_ref"], tenant))):
                yield row
        else:
            raise ConnectorError("invalid_payload", "A report needs rows, inputs_ref or a report_type.")


async def _lines(content: AsyncIterable[bytes]) -> AsyncIterator[ReportRow]:
    """The objects of an artifact, one per line. A line without an end must not fill the memory."""
    rest, number = bytearray(), 0
    async for part in content:
        *lines, tail = part.split(b"\n")
        for line in lines:
            number += 1
            whole = bytes(rest) + line
            rest.clear()
            if whole.strip():
                yield _parsed(whole, number)
        rest += tail
        if len(rest) > _MAX_LINE_BYTES:
            raise ConnectorError("invalid_payload", f"The artifact has a line over {_MAX_LINE_BYTES} bytes.")
    if rest.strip():
        yield _parsed(bytes(rest), number + 1)


def _parsed(line: bytes, number: int) -> ReportRow:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise ConnectorError("invalid_payload", f"Line {number} of the artifact is not a JSON object.")
    return row
