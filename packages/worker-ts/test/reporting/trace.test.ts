/** OpenTelemetry spans of runs, with the SDK that an application would use, and the API as it would resolve it. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { defineJob, sleep } from "@jobforge/sdk-ts";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { makeWorker, T, test } from "../support/work.ts";

const inApplication = createRequire(join(import.meta.dirname, "..", "..", "..", "..", "package.json"));
const inWorker = createRequire(import.meta.url);
const { context, SpanKind, SpanStatusCode, trace } = inApplication(
  "@opentelemetry/api",
) as typeof import("@opentelemetry/api");

const exporter = new InMemorySpanExporter();
const job = defineJob({ type: "a" });

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
  );
});

beforeEach(() => exporter.reset());

afterAll(() => {
  trace.disable();
  context.disable();
});

test("the worker shares the application's copy of the API; its own copy would not see the application's SDK", () => {
  expect(inWorker.resolve("@opentelemetry/api")).toBe(inApplication.resolve("@opentelemetry/api"));
});

test("a run is a span with the run's trace id, linked to the span that enqueued the job", async ({
  db,
  forge,
}) => {
  const enqueued = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
  const traceparent = `00-${enqueued.traceId}-${enqueued.spanId}-01`;
  const { id } = await forge.enqueue(job, {}, { tenantId: T, traceparent });
  const inside: { traceparent?: string; active?: string | undefined; child?: string } = {};
  const handler = job.handle(async (_, run) => {
    await sleep(1);
    inside.traceparent = run.traceparent;
    inside.active = trace.getActiveSpan()?.spanContext().spanId;
    trace.getTracer("handler").startActiveSpan("child", (span) => {
      inside.child = span.spanContext().traceId;
      span.end();
    });
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  const [span] = exporter.getFinishedSpans().filter(({ name }) => name === "process a");
  const traceId = await db.value("select trace_id from jobforge_job_attempts");
  expect(span?.spanContext().traceId).toBe(traceId);
  expect(span?.kind).toBe(SpanKind.CONSUMER);
  expect(span?.links.map((link) => link.context)).toEqual([expect.objectContaining(enqueued)]);
  expect(span?.attributes).toMatchObject({
    "messaging.system": "jobforge",
    "messaging.destination.name": "a",
    "messaging.message.id": id,
    "jobforge.tenant_id": T,
    "jobforge.attempt": 1,
  });
  expect(span?.status.code).toBe(SpanStatusCode.UNSET);
  expect(inside.traceparent).toBe(`00-${traceId}-${span?.spanContext().spanId}-01`);
  expect(inside.active).toBe(span?.spanContext().spanId);
  expect(inside.child).toBe(traceId);
});

test("the span of a failed run has the error", async ({ forge }) => {
  await forge.enqueue(job, {}, { tenantId: T });
  const handler = job.handle(() => {
    throw new Error("broken");
  });
  await makeWorker(forge, { handlers: [handler] }).tick();
  const [span] = exporter.getFinishedSpans().filter(({ name }) => name === "process a");
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR, message: "broken" });
  expect(span?.events.map(({ name }) => name)).toEqual(["exception"]);
});

test("an invalid trace header makes no link and no error", async ({ db, forge }) => {
  await db.query("select jobforge_enqueue_job($1, 'a', p_traceparent => $2)", [
    T,
    `00-${"0".repeat(32)}-${"0".repeat(16)}-01`,
  ]);
  await makeWorker(forge, { handlers: [job.handle(() => undefined)] }).tick();
  const [span] = exporter.getFinishedSpans().filter(({ name }) => name === "process a");
  expect(span?.links).toEqual([]);
});
