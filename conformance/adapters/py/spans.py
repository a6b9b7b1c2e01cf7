"""Records the spans of this process with the SDK of OpenTelemetry, as an application would export them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class _Recorder(SpanExporter):
    def __init__(self, record: Callable[[dict[str, Any]], None]) -> None:
        self._record = record

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        for span in spans:
            self._record(_fields(span))
        return SpanExportResult.SUCCESS


def record_spans(record: Callable[[dict[str, Any]], None]) -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_Recorder(record)))
    trace.set_tracer_provider(provider)


def _fields(span: ReadableSpan) -> dict[str, Any]:
    context = span.get_span_context()
    return {
        "name": span.name,
        "kind": span.kind.name,
        "trace_id": None if context is None else trace.format_trace_id(context.trace_id),
        "links": [trace.format_trace_id(link.context.trace_id) for link in span.links],
        "status": span.status.status_code.name,
    }
