/**
 * OpenTelemetry traces. The database chooses a run's trace id, so logs, the row of the attempt, spans and outbound
 * calls agree on it. The span of a run links to the span that enqueued the job. Spans are made only when the process
 * has an OpenTelemetry SDK; without one this costs nothing.
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
import type { WorkerLog } from "./log.ts";

const tracerName = "@jobforge/worker-ts";

/** The span of a run. */
export class RunTrace {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  /** The W3C header for outbound calls of the run. */
  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return formatTraceparent(traceId, spanId, traceFlags);
  }

  /** Does the work with this span as the active one. */
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

/** The tracer of the process's OpenTelemetry SDK; undefined when there is no SDK. */
export function findTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  // As long as no SDK is registered the API returns a proxy, and only the proxy has a delegate.
  const { getDelegateTracer } = provider as { getDelegateTracer?(name: string): Tracer | undefined };
  return getDelegateTracer === undefined
    ? provider.getTracer(tracerName)
    : getDelegateTracer.call(provider, tracerName);
}

/** Starts and ends the spans of runs. The SDK is the application's: if it throws, the run is not affected. */
export class Spans {
  readonly #tracer: Tracer | undefined;
  readonly #log: WorkerLog;

  constructor(tracer: Tracer | undefined, log: WorkerLog) {
    this.#tracer = tracer;
    this.#log = log;
  }

  start(run: Run): void {
    const tracer = this.#tracer;
    if (tracer === undefined) return;
    this.#guard(run, () => {
      run.trace = startTrace(tracer, run);
    });
  }

  end(run: Run): void {
    const { trace } = run;
    if (trace !== undefined) this.#guard(run, () => trace.end(run.end?.error));
  }

  #guard(run: Run, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#log.job("error", run, { err: error }, "The run's span failed; the job is not affected");
    }
  }
}

function startTrace(tracer: Tracer, run: Run): RunTrace {
  const { job } = run;
  const enqueued = job.traceparent === undefined ? undefined : parseTraceparent(job.traceparent);
  const links: Link[] = enqueued === undefined ? [] : [{ context: enqueued }];
  // There is no such parent span. Its context makes the SDK use the run's trace id instead of a new one.
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

/** The header for a run without a span: the run's trace id and a new span id. */
export function plainTraceparent(run: Run): string {
  return formatTraceparent(run.job.trace_id, newSpanId(), TraceFlags.SAMPLED);
}

function formatTraceparent(traceId: string, spanId: string, flags: number): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
}

/** The span that a W3C header names; undefined when the header is malformed. */
function parseTraceparent(header: string): Link["context"] | undefined {
  const [, traceId = "", spanId = "", flags = ""] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header) ?? [];
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(span) ? span : undefined;
}

function newSpanId(): string {
  const id = randomBytes(8);
  // All zeros means "no span".
  id[0] = (id[0] ?? 0) | 1;
  return id.toString("hex");
}
