/** Records the spans of this process with the SDK of OpenTelemetry, as an application would export them. */
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, type ReadableSpan, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

export function recordSpans(record: (span: Readonly<Record<string, unknown>>) => void): void {
  const exporter = {
    export: (spans: ReadableSpan[], done: (result: { code: number }) => void): void => {
      for (const span of spans) record(fieldsOf(span));
      done({ code: 0 });
    },
    shutdown: async (): Promise<void> => undefined,
  };
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
}

function fieldsOf(span: ReadableSpan): Readonly<Record<string, unknown>> {
  return {
    name: span.name,
    kind: SpanKind[span.kind],
    trace_id: span.spanContext().traceId,
    links: span.links.map((link) => link.context.traceId),
    status: SpanStatusCode[span.status.code],
  };
}
