/** What handlers pass to the methods of `job` is checked, and the error says what to pass. */
import { defineJob, type JobContext } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { createWorker } from "../../src/index.ts";
import { keptLog, T, test } from "../support/work.ts";

// biome-ignore lint/suspicious/noExplicitAny: a handler in plain JavaScript may pass anything
type Loose = Record<keyof JobContext, (...args: any[]) => unknown>;

const other = defineJob({ type: "other" });
const mistakes: Readonly<Record<string, [call: (job: Loose) => unknown, message: string, hint: string]>> = {
  step: [(job) => job.step(() => 1), "step() takes a name and a function", 'job.step("name"'],
  "step.name": [(job) => job.step("a"), "step() takes a name and a function", 'job.step("name"'],
  "step.retry": [
    (job) => job.step("a", () => 1, { retry: 3 }),
    "retry is not an option of step()",
    "retries",
  ],
  "step.retries": [
    (job) => job.step("a", () => 1, { retries: -1 }),
    "retries must be a whole number",
    "range",
  ],
  stepIn: [(job) => job.stepIn("", () => 1), "stepIn() takes a name and a function", 'job.stepIn("name"'],
  sleep: [(job) => job.sleep("5s"), "sleep() takes milliseconds or a valid Date", "5 * 60_000"],
  "sleep.date": [(job) => job.sleep(new Date("soon")), "sleep() takes milliseconds", "5 * 60_000"],
  waitFor: [(job) => job.waitFor(), "waitFor() takes the names of signals", '"approved"'],
  "waitFor.none": [(job) => job.waitFor([]), "waitFor() takes the names of signals", '"approved"'],
  "waitFor.time": [
    (job) => job.waitFor("a", { timeoutMs: "1h" }),
    "waitFor() takes milliseconds",
    "5 * 60_000",
  ],
  all: [(job) => job.all(other), "all() takes an array of calls", "job.call("],
  "all.definition": [(job) => job.all([other]), "all() takes an array of calls", "job.call("],
  run: [(job) => job.run("other", {}), "must be a definition, not the text", "defineJob("],
  enqueue: [(job) => job.enqueue("other", {}), "must be a definition, not the text", "defineJob("],
  "enqueue.delay": [(job) => job.enqueue(other, {}, { delay: 5 }), "delay is not a known option", "delayMs"],
  defer: [(job) => job.defer(), "defer() takes { inMs } or { at }", "{ inMs: 5 * 60_000 }"],
  "defer.number": [(job) => job.defer(5), "defer() takes { inMs } or { at }", "{ inMs: 5 * 60_000 }"],
  "defer.text": [(job) => job.defer({ inMs: "5s" }), "defer() takes milliseconds", "5 * 60_000"],
  retryAfter: [(job) => job.retryAfter("5s"), "retryAfter() takes milliseconds", "5 * 60_000"],
  nextRun: [(job) => job.nextRun("5s"), "nextRun() takes milliseconds", "5 * 60_000"],
  cost: [(job) => job.cost("1"), "cost() takes whole cents", ""],
};

test("a wrong argument fails the run with an error that names the method", async ({ forge }) => {
  const hints: Record<string, unknown> = {};
  const handlers = Object.entries(mistakes).map(([type, [call]]) =>
    defineJob({ type, retry: { maxAttempts: 1 } }).handle(async (_, job) => {
      try {
        await call(job as unknown as Loose);
      } catch (error) {
        hints[type] = (error as { hint?: string }).hint ?? "";
        throw error;
      }
    }),
  );
  const worker = createWorker(forge, { handlers, logger: keptLog().logger });
  for (const { definition } of handlers) await forge.enqueue(definition, {}, { tenantId: T });
  await worker.tick();
  const errors: Record<string, unknown> = {};
  for await (const { type, lastError } of forge.list({ tenantId: T })) errors[type] = lastError;
  for (const [type, [, message, hint]] of Object.entries(mistakes)) {
    expect(errors[type], type).toContain(message);
    // A child is checked when the run ends, after its handler has returned.
    if (!type.startsWith("enqueue")) expect(hints[type], type).toContain(hint);
  }
});
