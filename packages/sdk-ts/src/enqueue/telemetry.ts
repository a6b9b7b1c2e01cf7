/**
 * The active span at enqueue, if the process has OpenTelemetry. Its API is an optional peer; without it there is no
 * span.
 */
import type { EnqueueOptions } from "../define/definition.ts";

type OpenTelemetry = typeof import("@opentelemetry/api");

/** Null if it is not installed. */
let api: OpenTelemetry | null | undefined;
let loading: Promise<OpenTelemetry | null> | undefined;

/** The active span as a W3C header; undefined if there is none. Synchronous after the first call. */
function activeTraceparent(): string | undefined | Promise<string | undefined> {
  if (api !== undefined) return traceparentOf(api);
  // A bundler must not fail if the API is not installed, so it is resolved at run time.
  loading ??= import(/* webpackIgnore: true */ "@opentelemetry/api").catch(() => null);
  return loading.then((loaded) => {
    api = loaded;
    return traceparentOf(loaded);
  });
}

/** The options of an enqueue, with the active span unless they already have a traceparent. */
export async function traced<O extends Partial<EnqueueOptions>>(options: O): Promise<O> {
  if (options?.traceparent !== undefined) return options;
  const traceparent = await activeTraceparent();
  return traceparent === undefined ? options : { ...options, traceparent };
}

function traceparentOf(loaded: OpenTelemetry | null): string | undefined {
  const span = loaded?.trace.getActiveSpan()?.spanContext();
  if (span === undefined || !loaded?.isSpanContextValid(span)) return undefined;
  // OpenTelemetry also accepts upper-case ids; the header does not.
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`.toLowerCase();
}
