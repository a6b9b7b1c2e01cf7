/**
 * Traces. A run's trace id is the kernel's, so that logs, the attempt's row, spans and outbound calls agree on it; the span links to
 * the one that enqueued the job. Spans are made only when the process has an OpenTelemetry SDK; without one this costs nothing.
 */
import { randomBytes } from "node:crypto";
import {
  context,
  isSpanContextValid,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { Run } from "../running/run.ts";

const NAME = "@jobforge/worker-ts";

/** The span of a run. */
export class RunTrace {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  /** The W3C header for calls made in the run's course. */
  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return formatTraceparent(traceId, spanId, traceFlags);
  }

  /** Runs work with the span as the active one. */
  run<T>(work: () => T): T {
    return context.with(trace.setSpan(ROOT_CONTEXT, this.#span), work);
  }

  end(error?: { readonly message: string } | undefined): void {
    if (error !== undefined) {
      this.#span.recordException(error);
      this.#span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    }
    this.#span.end();
  }
}

/** The tracer of the process's OpenTelemetry SDK; none when there is no SDK. */
export function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  // The API hands out a stand-in as long as no SDK is registered, and only the stand-in has a delegate.
  const { getDelegateTracer } = provider as { getDelegateTracer?(name: string): Tracer | undefined };
  return getDelegateTracer === undefined ? provider.getTracer(NAME) : getDelegateTracer.call(provider, NAME);
}

/** Starts the span of a run. */
export function startTrace(tracer: Tracer, run: Run): RunTrace {
  const { job } = run;
  const enqueued = job.traceparent === undefined ? undefined : parseTraceparent(job.traceparent);
  const links: Link[] = enqueued === undefined ? [] : [{ context: enqueued }];
  // A parent that exists nowhere but in this id: it makes the SDK use the run's trace id instead of one of its own.
  const parent = trace.setSpanContext(ROOT_CONTEXT, {
    traceId: job.trace_id,
    spanId: newSpanId(),
    traceFlags: enqueued?.traceFlags ?? TraceFlags.SAMPLED,
    isRemote: true,
  });
  const attributes = {
    "messaging.system": "jobforge",
    "messaging.operation.type": "process",
    "messaging.destination.name": job.type,
    "messaging.message.id": job.id,
    "jobforge.tenant_id": job.tenant_id,
    "jobforge.attempt": job.attempts,
  };
  const options = { kind: SpanKind.CONSUMER, links, attributes };
  return new RunTrace(tracer.startSpan(`process ${job.type}`, options, parent));
}

/** The header for a run without a span: the run's trace id, and a span id of its own. */
export function plainTraceparent(run: Run): string {
  return formatTraceparent(run.job.trace_id, newSpanId(), TraceFlags.SAMPLED);
}

function formatTraceparent(traceId: string, spanId: string, flags: number): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
}

/** The span that a W3C header names; none when it is malformed. */
function parseTraceparent(header: string): Link["context"] | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header) ?? [];
  const named = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(named) ? named : undefined;
}

function newSpanId(): string {
  const id = randomBytes(8);
  // All zeros means "no span".
  id[0] = (id[0] ?? 0) | 1;
  return id.toString("hex");
}
