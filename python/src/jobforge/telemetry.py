"""The active span at enqueue, if the process has OpenTelemetry."""

from __future__ import annotations

import sys


def active_traceparent() -> str | None:
    """The active span as a W3C header; None without one. OpenTelemetry is not imported if nothing else did."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
