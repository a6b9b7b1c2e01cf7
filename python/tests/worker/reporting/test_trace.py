"""OpenTelemetry spans of runs, with the SDK that an application would use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from jobforge import JobContext, define_job
from jobforge.worker.reporting import reporting

from ..support import TENANT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

    from ..conftest import Workers
    from ..support import Jobs

a = define_job("a")


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """An SDK for this test. The global one of a process can be set only once."""
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(reporting, "find_tracer", lambda: provider.get_tracer("test"))
    yield kept
    provider.shutdown()


def _span(exporter: InMemorySpanExporter) -> ReadableSpan:
    return next(span for span in exporter.get_finished_spans() if span.name == "process a")


async def test_a_run_is_a_span_with_the_runs_trace_id_linked_to_the_span_that_enqueued_it(
    workers: Workers, jobs: Jobs, exporter: InMemorySpanExporter
) -> None:
    inside: dict[str, Any] = {}

    @a.handler
    def handle(input: Any, job: JobContext) -> None:
        inside["traceparent"] = job.traceparent
        inside["active"] = trace.get_current_span().get_span_context().span_id

    header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    await jobs.rows("select jobforge_enqueue_job(%s, 'a', p_traceparent => %s)", TENANT, header)
    await workers.make(handlers=[handle]).tick()
    span = _span(exporter)
    context = span.get_span_context()
    assert context is not None
    row = (await jobs.rows("select job_id::text as id, trace_id from jobforge_job_attempts"))[0]
    assert f"{context.trace_id:032x}" == row["trace_id"]
    assert span.kind == SpanKind.CONSUMER
    assert [f"{link.context.span_id:016x}" for link in span.links] == ["b7ad6b7169203331"]
    attributes = dict(span.attributes or {})
    assert attributes["messaging.destination.name"] == "a"
    assert attributes["messaging.message.id"] == row["id"]
    assert (attributes["jobforge.tenant_id"], attributes["jobforge.attempt"]) == (TENANT, 1)
    assert span.status.status_code == StatusCode.UNSET
    assert inside["traceparent"] == f"00-{row['trace_id']}-{context.span_id:016x}-01"
    assert inside["active"] == context.span_id, "also in a thread"


async def test_the_span_of_a_failed_run_has_the_error(
    workers: Workers, jobs: Jobs, exporter: InMemorySpanExporter
) -> None:
    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        raise ValueError("broken")

    await jobs.one("a")
    await workers.make(handlers=[handle]).tick()
    span = _span(exporter)
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "broken")
    assert [event.name for event in span.events] == ["exception"]
    assert span.links == ()


async def test_without_an_sdk_a_run_has_a_header_with_its_trace_id(workers: Workers, jobs: Jobs) -> None:
    headers: list[str] = []

    @a.handler
    async def handle(input: Any, job: JobContext) -> None:
        headers.append(job.traceparent)
        assert job.traceparent == headers[0]

    await jobs.one("a")
    await workers.make(handlers=[handle]).tick()
    trace_id = await jobs.value("select trace_id from jobforge_job_attempts")
    assert headers[0].startswith(f"00-{trace_id}-")
