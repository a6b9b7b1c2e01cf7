"""OpenTelemetry traces.

The database chooses a run's trace id, so logs, the row of the attempt, spans and outbound calls agree on it. The span
of a run links to the span that enqueued the job. Spans are made only when the process has an OpenTelemetry SDK; without
one this costs nothing.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Link, Span, SpanContext, Tracer

    from ..claiming.protocol import RunError
    from ..running.run import Run
    from .log import WorkerLog

_TRACER_NAME: Final = "jobforge.worker"
_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SAMPLED: Final = 1


class RunTrace:
    """The span of a run."""

    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def traceparent(self) -> str:
        """The W3C header for outbound calls of the run."""
        span = self._span.get_span_context()
        return format_traceparent(f"{span.trace_id:032x}", f"{span.span_id:016x}", span.trace_flags)

    def activate(self) -> None:
        """Makes this span the active one, in the current context. That context ends with the handler call."""
        from opentelemetry import context, trace

        context.attach(trace.set_span_in_context(self._span, context.Context()))

    def end(self, error: RunError | None) -> None:
        if error is not None:
            from opentelemetry.trace import Status, StatusCode

            attributes = {
                "exception.type": str(error.get("name", "Error")),
                "exception.message": str(error.get("message", "")),
                "exception.stacktrace": str(error.get("stack", "")),
            }
            self._span.add_event("exception", attributes)
            self._span.set_status(Status(StatusCode.ERROR, str(error.get("message", ""))))
        self._span.end()


def find_tracer() -> Tracer | None:
    """The tracer of the process's OpenTelemetry SDK; None when there is no SDK."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    provider = trace.get_tracer_provider()
    # As long as no SDK is registered, the API returns a proxy.
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return provider.get_tracer(_TRACER_NAME)


class Spans:
    """Starts and ends the spans of runs. The SDK is the application's: if it raises, the run is not affected."""

    def __init__(self, tracer: Tracer | None, log: WorkerLog) -> None:
        self._tracer = tracer
        self._log = log

    def start(self, run: Run) -> None:
        tracer = self._tracer
        if tracer is not None:
            self._guard(run, lambda: _start(tracer, run))

    def activate(self, run: Run) -> None:
        if run.trace is not None:
            self._guard(run, run.trace.activate)

    def end(self, run: Run) -> None:
        trace = run.trace
        if trace is not None:
            self._guard(run, lambda: trace.end(run.error))

    def _guard(self, run: Run, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the SDK is the application's
            self._log.job("error", run, {"err": error}, "The run's span failed; the job is not affected")


def _start(tracer: Tracer, run: Run) -> None:
    from opentelemetry import trace
    from opentelemetry.context import Context

    job = run.job
    enqueued = _parse_traceparent(job.get("traceparent") or "")
    links: list[Link] = [] if enqueued is None else [trace.Link(enqueued)]
    # There is no such parent span. Its context makes the SDK use the run's trace id instead of a new one.
    parent = trace.SpanContext(
        trace_id=int(job["trace_id"], 16),
        span_id=int(new_span_id(), 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(_SAMPLED) if enqueued is None else enqueued.trace_flags,
    )
    attributes: dict[str, Any] = {
        "messaging.system": "jobforge",
        "messaging.operation.type": "process",
        "messaging.destination.name": job["type"],
        "messaging.message.id": job["id"],
        "jobforge.tenant_id": job["tenant_id"],
        "jobforge.attempt": job["attempts"],
    }
    run.trace = RunTrace(
        tracer.start_span(
            f"process {job['type']}",
            context=trace.set_span_in_context(trace.NonRecordingSpan(parent), Context()),
            kind=trace.SpanKind.CONSUMER,
            attributes=attributes,
            links=links,
        )
    )


def plain_traceparent(trace_id: str) -> str:
    """The header for a run without a span: the run's trace id and a new span id."""
    return format_traceparent(trace_id, new_span_id(), _SAMPLED)


def format_traceparent(trace_id: str, span_id: str, flags: int) -> str:
    return f"00-{trace_id}-{span_id}-{flags:02x}"


def _parse_traceparent(header: str) -> SpanContext | None:
    """The span that a W3C header names; None when the header is malformed."""
    from opentelemetry import trace

    match = _TRACEPARENT.fullmatch(header)
    if match is None:
        return None
    span = trace.SpanContext(
        trace_id=int(match[1], 16),
        span_id=int(match[2], 16),
        is_remote=True,
        trace_flags=trace.TraceFlags(int(match[3], 16)),
    )
    return span if span.is_valid else None


def new_span_id() -> str:
    id = bytearray(secrets.token_bytes(8))
    # All zeros means "no span".
    id[0] |= 1
    return id.hex()
