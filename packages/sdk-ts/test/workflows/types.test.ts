/** Types flow from step to step. Code that must not compile is marked with @ts-expect-error. */
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineJob,
  defineWorkflow,
  JobForge,
  type MapStep,
  type Ref,
  type StartedWorkflow,
  type Step,
  type Steps,
  typed,
  type WorkflowDefinition,
  type WorkflowInput,
  type WorkflowOutput,
} from "../../src/index.ts";
import { analyze, extractAudio, measure, note, processCall, startTranscript } from "../support/workflows.ts";

const forge: JobForge = new JobForge({ database: "postgres://nowhere" });
const tenantId = "11111111-1111-4111-8111-111111111111";

/** Code that is only type-checked, not run. */
function never(_: (w: Steps) => unknown): void {}

test("a definition has a name, an input and an output", () => {
  expectTypeOf(processCall.name).toEqualTypeOf<"call.process">();
  expectTypeOf<WorkflowInput<typeof processCall>>().toEqualTypeOf<{ callId: string }>();
  expectTypeOf<WorkflowOutput<typeof processCall>>().toEqualTypeOf<{
    words: number;
    parts: { text: string; speaker?: string }[];
  }>();
  expectTypeOf(processCall).toExtend<WorkflowDefinition>();
  const object = defineWorkflow({
    name: "object",
    steps: (w) => ({ audio: w.step("a", extractAudio, { callId: "c" }).result.path, fixed: 1 }),
  });
  expectTypeOf<WorkflowOutput<typeof object>>().toEqualTypeOf<{ audio: string; fixed: number }>();
  const nothing = defineWorkflow({ name: "nothing", steps: (w) => void w.step("a", note, {}) });
  expectTypeOf<WorkflowOutput<typeof nothing>>().toEqualTypeOf<undefined>();
});

test("a step's result is a reference to what its handler returned, as JSON", () => {
  never((w) => {
    const op = w.step("op", startTranscript, { callId: "c", audio: "a" });
    expectTypeOf(op).toExtend<Step<{ operationId: string; at?: unknown }>>();
    expectTypeOf(op.result.operationId).toEqualTypeOf<Ref<string>>();
    const words = w.step("words", analyze, { callId: "c", operation: op.result.operationId });
    expectTypeOf(words.result.parts).toExtend<Ref<{ text: string }[]>>();
    // An element may be missing, and so may an optional property: the kernel passes null for both.
    expectTypeOf(words.result.parts[0]?.text).toEqualTypeOf<Ref<string | null> | undefined>();
    // @ts-expect-error: there is no such property
    void op.result.operation;
    // @ts-expect-error: a result without a type has no properties
    void w.step("note", note, {}).result.id;
  });
});

test("an input is made of values and references of the right types", () => {
  never((w) => {
    const audio = w.step("audio", extractAudio, { callId: "c" });
    const size = w.step("size", measure, { file: audio.result.path });
    w.step("all", measure, w.step("file", typedFile, {}).result);
    // @ts-expect-error: a number is not a text
    w.step("a", measure, { file: size.result.bytes });
    // @ts-expect-error: the file is missing
    w.step("b", measure, { index: 1 });
    // @ts-expect-error: there is no such input
    w.step("c", measure, { file: "f", size: 1 });
    // @ts-expect-error: a missing value is null, and the note is a text
    w.step("d", analyze, { callId: "c", operation: "o", note: optional(w).result.note });
    // @ts-expect-error: the whole result has another form
    w.step("e", measure, audio.result);
    w.step("list", defineJob({ type: "l", input: typed<{ all: string[] }>() }), { all: [audio.result.path] });
    // @ts-expect-error: a misspelled step is an unknown name
    w.step("f", note, {}, { needs: [sise] });
    // @ts-expect-error: a need is a step, not a text, which could be misspelled
    w.step("g", note, {}, { needs: ["size"] });
    // @ts-expect-error: there is no such option
    w.step("h", note, {}, { retries: 3 });
  });
});

const typedFile = defineJob({ type: "typed.file", output: typed<{ file: string }>() });
const optional = (w: Steps): Step<{ note?: string }> =>
  w.step("optional", defineJob({ type: "o", output: typed<{ note?: string }>() }), {});

test("a map types its items, and its result is their list", () => {
  never((w) => {
    const list = w.step("list", defineJob({ type: "l", output: typed<{ files: { name: string }[] }>() }), {});
    const sizes = w.map("sizes", measure, list.result.files, (item, index) => {
      expectTypeOf(item.name).toEqualTypeOf<Ref<string>>();
      expectTypeOf(index).toEqualTypeOf<Ref<number>>();
      return { file: item.name, index };
    });
    expectTypeOf(sizes).toEqualTypeOf<MapStep<{ bytes: number }>>();
    w.map("fixed", measure, [{ file: "a" }]);
    expectTypeOf(sizes.result).toEqualTypeOf<Ref<({ bytes: number } | null)[]>>();
    // @ts-expect-error: a list is needed
    w.map("none", measure, list.result, () => ({ file: "a" }));
    // @ts-expect-error: the items are no inputs of the job
    w.map("others", measure, list.result.files);
    // @ts-expect-error: a number is not a text
    w.map("wrong", measure, [1], (item) => ({ file: item }));
  });
});

test("a signal types its payload, and says if it may be missing", () => {
  const approval = z.object({ by: z.string() });
  never((w) => {
    expectTypeOf(w.signal("a", approval).result.by).toEqualTypeOf<Ref<string>>();
    const late = w.signal("b", approval, { timeoutMs: 1, onTimeout: "continue" });
    expectTypeOf(late.result.by).toEqualTypeOf<Ref<string | null>>();
    expectTypeOf(late.result.timed_out).toEqualTypeOf<Ref<true | null>>();
    // @ts-expect-error: there is no such action
    w.signal("c", approval, { timeoutMs: 1, onTimeout: "stop" });
  });
});

test("a client starts a workflow with its input and returns its output", () => {
  never(async () => {
    const started = await forge.start(processCall, { callId: "c" }, { tenantId });
    expectTypeOf(started).toEqualTypeOf<StartedWorkflow<typeof processCall>>();
    expectTypeOf((await started.result()).words).toBeNumber();
    expectTypeOf(
      (await forge.workflows.get("id", { tenantId, workflow: processCall }))?.output?.words,
    ).toEqualTypeOf<number | undefined>();
    const both = await forge.workflows.startMany([{ workflow: processCall, input: { callId: "c" } }], {
      tenantId,
    });
    expectTypeOf(both).toEqualTypeOf<[StartedWorkflow<typeof processCall>]>();
    // @ts-expect-error: the input is missing
    await forge.start(processCall, {}, { tenantId });
    // @ts-expect-error: the tenant is missing
    await forge.start(processCall, { callId: "c" }, {});
    // @ts-expect-error: the number of attempts is an option of a step
    await forge.start(processCall, { callId: "c" }, { tenantId, maxAttempts: 3 });
  });
});
