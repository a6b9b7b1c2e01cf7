/** Jobs carry the span that enqueued them, with the real OpenTelemetry SDK. */
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { T } from "../../../sql/test/support/kernel.ts";
import { type CallArguments, defineJob, JobForge, JsonText, type Transport } from "../src/index.ts";
import { cleanUp } from "./support/jobs.ts";

const explicit = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider());
});

afterAll(() => {
  trace.disable();
  context.disable();
});

/** Runs work in a span, and returns the span's header. */
async function inSpan(work: () => Promise<unknown>): Promise<string> {
  return await trace.getTracer("app").startActiveSpan("request", async (span) => {
    await work();
    span.end();
    const { traceId, spanId } = span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  });
}

function recorder(): { readonly transport: Transport; readonly sent: CallArguments[] } {
  const sent: CallArguments[] = [];
  const call = async <A>(name: string, args: CallArguments): Promise<A> => {
    sent.push(args);
    return (name === "jobforge_enqueue_jobs" ? [] : {}) as A;
  };
  return { transport: { call, close: async () => undefined }, sent };
}

/** The headers of jobs that were enqueued together. */
function headersIn(args: CallArguments = {}): unknown[] {
  const jobs = args["p_jobs"];
  if (!(jobs instanceof JsonText)) return expect.fail("no jobs were sent");
  return (JSON.parse(jobs.text) as { traceparent?: string }[]).map(({ traceparent }) => traceparent);
}

test("the active span is the default of a job's traceparent", async () => {
  const { transport, sent } = recorder();
  const forge = new JobForge({ transport });
  const header = await inSpan(() => forge.enqueue(cleanUp, {}, { tenantId: T }));
  await inSpan(() => forge.enqueue(cleanUp, {}, { tenantId: T, traceparent: explicit }));
  await forge.enqueue(cleanUp, {}, { tenantId: T });
  expect(sent.map((args) => args["p_traceparent"])).toEqual([header, explicit, undefined]);
});

test("many jobs have the active span, except those that name another; schedules have none", async () => {
  const { transport, sent } = recorder();
  const forge = new JobForge({ transport });
  const jobs = [
    { job: cleanUp, input: {} },
    { job: cleanUp, input: {}, traceparent: explicit },
    { job: defineJob({ type: "other" }), input: {}, traceparent: undefined },
  ];
  const header = await inSpan(() => forge.enqueueMany(jobs, { tenantId: T }));
  expect(headersIn(sent[0])).toEqual([header, explicit, header]);
  await inSpan(() => forge.enqueueMany(jobs, { tenantId: T, traceparent: explicit }));
  expect(headersIn(sent[1])).toEqual([explicit, explicit, explicit]);
  await inSpan(() => forge.schedules.ensure(cleanUp, "k", { tenantId: T, every: "1 hour" }));
  expect(JSON.stringify(sent[2])).not.toContain("traceparent");
});

test("without OpenTelemetry, jobs carry no span", async () => {
  const { transport, sent } = recorder();
  const forge = new JobForge({ transport });
  await inSpan(async () => {
    context.disable();
    await forge.enqueue(cleanUp, {}, { tenantId: T });
  });
  const api = Symbol.for("opentelemetry.js.api.1");
  vi.stubGlobal(api as never, undefined);
  await forge.enqueue(cleanUp, {}, { tenantId: T });
  vi.unstubAllGlobals();
  expect(sent.map((args) => "p_traceparent" in args)).toEqual([false, false]);
});
