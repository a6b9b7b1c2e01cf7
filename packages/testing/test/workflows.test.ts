/** Running workflows inside a test. */
import { compensate, defineJob, defineWorkflow, typed } from "@jobforge/sdk-ts";
import { runWorkflow } from "@jobforge/testing";
import { expect, vi } from "vitest";
import { test } from "../../../test/database.ts";

const tenantId = "11111111-1111-4111-8111-111111111111";
const begin = defineJob({ type: "begin", input: typed<{ file: string }>(), output: typed<{ id: string }>() });
const poll = defineJob({ type: "poll", input: typed<{ id: string }>(), output: typed<{ text: string }>() });
const escalate = defineJob({ type: "escalate" });

const transcribe = defineWorkflow({
  name: "transcribe",
  input: typed<{ file: string }>(),
  steps: (w, input) => {
    const op = w.step("begin", begin, { file: input.file });
    return w.step("poll", poll, { id: op.result.id }, { delayMs: 3_600_000, maxAttempts: 3 });
  },
});

test("a workflow runs to its end: delays, retries and deferred runs take no time", async ({ db }) => {
  const asked = vi.fn();
  const handlers = [
    begin.handle(({ file }) => ({ id: `op-${file}` })),
    poll.handle(({ id }, job) => {
      asked(job.attempt);
      if (asked.mock.calls.length === 1) throw new Error("busy");
      if (asked.mock.calls.length < 4) return job.defer({ inMs: 86_400_000 }, { counts: false });
      return { text: id };
    }),
  ];
  expect(await runWorkflow(db, transcribe, { file: "a" }, { tenantId, handlers })).toEqual({ text: "op-a" });
  expect(asked).toHaveBeenCalledTimes(4);
});

/** A test without a handler for the steps of its workflow. */
const others = [escalate.handle(() => undefined)];

const approve = defineWorkflow({
  name: "approve",
  steps: (w) => {
    const ok = w.signal("ok", typed<{ by: string }>(), { timeoutMs: 259_200_000 });
    w.step("escalate", escalate, {}, { needs: [compensate(ok)] });
    return ok;
  },
});

test("signals are taken, and without them the timeout comes", async ({ db }) => {
  const run = vi.fn();
  const handlers = [escalate.handle(run)];
  const signals = [{ name: "ok", payload: { by: "ada" } }];
  expect(await runWorkflow(db, approve, {}, { tenantId, handlers, signals })).toEqual({ by: "ada" });
  expect(run).not.toHaveBeenCalled();
  await expect(runWorkflow(db, approve, {}, { tenantId, handlers })).rejects.toThrow(/ok: No signal ok came/);
  expect(run).toHaveBeenCalledOnce();
});

test("a workflow that waits for something that no time brings is an error", async ({ db }) => {
  const forever = defineWorkflow({ name: "forever", steps: (w) => w.signal("ok", typed<object>()) });
  await expect(runWorkflow(db, forever, {}, { tenantId, handlers: others })).rejects.toThrow(
    /forever waits for the signal ok/,
  );
  await expect(runWorkflow(db, transcribe, { file: "a" }, { tenantId, handlers: others })).rejects.toThrow(
    /transcribe stands still \(1 .*Does each of its steps have a handler/,
  );
});

test("a large map runs in slices", { timeout: 60_000 }, async ({ db }) => {
  const each = defineWorkflow({
    name: "each",
    steps: (w) =>
      w.map(
        "each",
        begin,
        Array.from({ length: 1500 }, (_, index) => ({ file: String(index) })),
      ),
  });
  const handlers = [begin.handle(({ file }) => ({ id: file }))];
  const output = await runWorkflow(db, each, {}, { tenantId, handlers });
  expect(output).toHaveLength(1500);
  expect(output[1499]).toEqual({ id: "1499" });
});
