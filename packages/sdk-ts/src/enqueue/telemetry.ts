/**
 * The active span at enqueue, if the process has OpenTelemetry. It is read from the global that all copies of
 * `@opentelemetry/api` 1.x share, under the keys by which they find each other. So the API is not imported, and an
 * enqueue in a transaction waits for nothing before it is sent.
 */
import type { EnqueueOptions } from "../define/definition.ts";

interface OpenTelemetry {
  readonly context?: { active(): { getValue(key: symbol): unknown } };
}

interface Span {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
}

const apiKey = Symbol.for("opentelemetry.js.api.1");
const spanKey = Symbol.for("OpenTelemetry Context Key SPAN");
const validTrace = /^(?!0+$)[0-9a-f]{32}$/i;
const validSpan = /^(?!0+$)[0-9a-f]{16}$/i;

/** The options of an enqueue, with the active span unless they already have a traceparent. */
export function traced<O extends Partial<EnqueueOptions>>(options: O): O {
  if (options?.traceparent !== undefined) return options;
  const traceparent = activeTraceparent();
  return traceparent === undefined ? options : { ...options, traceparent };
}

/** The active span as a W3C header; undefined without an active span. */
function activeTraceparent(): string | undefined {
  const api = (globalThis as { [apiKey]?: OpenTelemetry })[apiKey];
  const span = api?.context?.active().getValue(spanKey) as Span | undefined;
  if (span === undefined) return undefined;
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (!validTrace.test(traceId) || !validSpan.test(spanId)) return undefined;
  // OpenTelemetry also accepts upper-case ids; the header does not.
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`.toLowerCase();
}
