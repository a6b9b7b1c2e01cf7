/** The span in which a job is enqueued, where the process has OpenTelemetry. Its API is optional: without it there is no span. */
import type { EnqueueOptions } from "../define/definition.ts";

type OpenTelemetry = typeof import("@opentelemetry/api");

/** Null when it is not installed. */
let api: OpenTelemetry | null | undefined;
let loading: Promise<OpenTelemetry | null> | undefined;

/** The active span as a W3C header; undefined when there is none. Answers at once after the first time. */
function activeTraceparent(): string | undefined | Promise<string | undefined> {
  if (api !== undefined) return traceparentOf(api);
  // A bundler that has not got it must not fail: it is looked for when the program runs.
  loading ??= import(/* webpackIgnore: true */ "@opentelemetry/api").catch(() => null);
  return loading.then((loaded) => {
    api = loaded;
    return traceparentOf(loaded);
  });
}

/** Options of an enqueue, with the active span unless they name one. */
export async function traced<O extends Partial<EnqueueOptions>>(options: O): Promise<O> {
  if (options?.traceparent !== undefined) return options;
  const traceparent = await activeTraceparent();
  return traceparent === undefined ? options : { ...options, traceparent };
}

function traceparentOf(loaded: OpenTelemetry | null): string | undefined {
  const span = loaded?.trace.getActiveSpan()?.spanContext();
  if (span === undefined || !loaded?.isSpanContextValid(span)) return undefined;
  // OpenTelemetry takes ids in capitals, too; the header does not.
  return `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`.toLowerCase();
}
