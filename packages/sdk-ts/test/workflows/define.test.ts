/** Definitions compile to the JSON that the kernel reads. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { buildWorkflow, compensate, defineJob, defineWorkflow, run, Steps, typed } from "../../src/index.ts";
import { analyze, measure, note, processCall } from "../support/workflows.ts";

/** The steps that `build` makes, as JSON. */
function stepsOf(build: (w: Steps) => unknown): unknown {
  const w = new Steps();
  build(w);
  return w.json;
}

/** The error that the definition of these steps throws. */
function errorOf(build: (w: Steps) => unknown): unknown {
  try {
    build(new Steps());
  } catch (error) {
    return error;
  }
  return undefined;
}

test("a chain has its references, its needs and what its definitions say", () => {
  expect(processCall.graph).toEqual({
    steps: [
      { name: "audio", type: "call.audio", payload: { callId: { $input: "callId" } } },
      {
        name: "transcribe",
        type: "call.transcribe",
        payload: { callId: { $input: "callId" }, audio: { $result: "audio.path" } },
        tags: ["speech"],
        max_attempts: 6,
        needs: ["audio"],
      },
      {
        name: "analyze",
        type: "call.analyze",
        payload: { callId: { $input: "callId" }, operation: { $result: "transcribe.operationId" } },
        delay_ms: 10_000,
        max_attempts: 50,
        needs: ["transcribe"],
      },
    ],
    output: { $result: "analyze" },
  });
});

test("policies are written with the need, also if the input refers to it", () => {
  const steps = stepsOf((w) => {
    const a = w.step("a", note, {});
    const b = w.step("b", note, {}, { needs: [run(a)], optional: true });
    const c = w.step("c", note, { of: b.result }, { needs: [run(b)], cleanup: true });
    w.step("d", note, {}, { needs: [compensate(c), a], subject: "s", concurrencyKey: "k", priority: 4 });
  });
  expect(steps).toMatchObject([
    { name: "a" },
    { name: "b", needs: [{ step: "a", policy: "run" }], optional: true },
    { name: "c", payload: { of: { $result: "b" } }, needs: [{ step: "b", policy: "run" }], cleanup: true },
    { name: "d", needs: [{ step: "c", policy: "compensate" }, "a"], subject: "s", priority: 4 },
  ]);
});

test("a map takes a list or a reference to one, and a template of each item", () => {
  const list = defineJob({ type: "list", output: typed<{ files: { name: string }[] }>() });
  const steps = stepsOf((w) => {
    const found = w.step("list", list, {});
    w.map("sizes", measure, found.result.files, (item, index) => ({ file: item.name, index }));
    w.map("fixed", measure, [{ file: "a" }, { file: "b" }]);
  });
  expect(steps).toMatchObject([
    { name: "list" },
    {
      name: "sizes",
      type: "file.measure",
      map: { over: { $result: "list.files" } },
      payload: { file: { $item: "name" }, index: { $index: true } },
      needs: ["list"],
    },
    { name: "fixed", map: { over: [{ file: "a" }, { file: "b" }] }, payload: { $item: "" } },
  ]);
});

test("a signal step has its name, its time and what happens after it", () => {
  const approval = z.object({ by: z.string() });
  const steps = stepsOf((w) => {
    const draft = w.step("draft", note, {});
    const ok = w.signal("approve", approval, { needs: [draft], timeoutMs: 1000, onTimeout: "fail" });
    w.signal("other", approval, { signal: "approved", optional: true });
    w.step("publish", note, { by: ok.result.by });
  });
  expect(steps).toMatchObject([
    {},
    { name: "approve", signal: { timeout_ms: 1000, on_timeout: "fail" }, needs: ["draft"] },
    { name: "other", signal: { name: "approved" }, optional: true },
    { name: "publish", payload: { by: { $result: "approve.by" } }, needs: ["approve"] },
  ]);
});

test("a sub-workflow has its own steps, its input and its output", () => {
  const steps = stepsOf((w) => {
    const first = w.step("first", measure, { file: "f" });
    const sub = w.workflow("sub", processCall, { callId: "c" }, { needs: [first] });
    w.step("after", note, { words: sub.result.words });
  });
  expect(steps).toMatchObject([
    {},
    {
      name: "sub",
      payload: { callId: "c" },
      steps: processCall.graph.steps,
      output: { $result: "analyze" },
      needs: ["first"],
    },
    { name: "after", payload: { words: { $result: "sub.words" } }, needs: ["sub"] },
  ]);
});

test("an object with a key that looks like a reference is passed on as it is", () => {
  const query = { $result: "not a reference", nested: [1] };
  expect(stepsOf((w) => w.step("a", note, { query }))).toMatchObject([
    { payload: { query: { $literal: query } } },
  ]);
});

test("references stand in arrays as well, and a key may have a dot", () => {
  const dotted = defineJob({ type: "dotted", output: typed<{ "a.b": string }>() });
  const steps = stepsOf((w) => {
    const first = w.step("first", dotted, {});
    const sizes = w.map("sizes", measure, [{ file: "a" }]);
    w.step("last", note, { list: [1, first.result["a.b"]], sizes: sizes.result });
  });
  expect(steps).toMatchObject([
    {},
    {},
    {
      payload: { list: [1, { $result: ["first", "a.b"] }], sizes: { $result: "sizes" } },
      needs: ["first", "sizes"],
    },
  ]);
});

test("a subject that depends on the input is set if the input is known", () => {
  const w = new Steps();
  w.step("a", analyze, { callId: "7", operation: "o" });
  expect(w.json).toMatchObject([{ subject: "call:7" }]);
});

test("later changes of an input do not change the definition", () => {
  const input = { file: "a" };
  const w = new Steps();
  w.step("a", measure, input);
  input.file = "b";
  expect(w.json).toMatchObject([{ payload: { file: "a" } }]);
});

test("a graph can be built at run time", () => {
  const built = buildWorkflow("import", (w) => {
    const parts = ["a", "b"].map((file) => w.step(`part-${file}`, measure, { file }));
    const last = w.step("join", note, {}, { needs: parts });
    return { parts: parts.length, last: last.result };
  });
  expect(built.graph).toMatchObject({
    steps: [{ name: "part-a" }, { name: "part-b" }, { name: "join", needs: ["part-a", "part-b"] }],
    output: { parts: 2, last: { $result: "join" } },
  });
});

describe("a mistake is found when the workflow is defined", () => {
  const other = new Steps().step("elsewhere", note, {});
  const list = defineJob({ type: "list", output: typed<{ files: string[] }>() });

  test.for<[string, (w: Steps) => unknown, string]>([
    ["a second step of the same name", (w) => [w.step("a", note, {}), w.step("a", note, {})], "steps.a"],
    ["an empty name", (w) => w.step("", note, {}), "steps..name"],
    ["a dot in a name", (w) => w.step("a.b", note, {}), "steps.a.b.name"],
    ["a need of another list", (w) => w.step("a", note, {}, { needs: [other] }), "steps.a.needs[0]"],
    [
      "a need that is named twice",
      (w) => {
        const a = w.step("a", note, {});
        w.step("b", note, {}, { needs: [a, run(a)] });
      },
      "steps.b.needs[1]",
    ],
    ["a reference of another list", (w) => w.step("a", note, { x: other.result }), "steps.a.input.x"],
    [
      "a reference that is too deep",
      (w) => w.step("b", note, { a: { b: { c: { d: w.step("a", list, {}).result.files } } } }),
      "steps.b.input.a.b.c.d",
    ],
    [
      "an input that the schema refuses",
      (w) => w.step("a", analyze, { callId: 7 } as never),
      "steps.a.input.callId",
    ],
    ["an unknown option", (w) => w.step("a", note, {}, { after: [] } as never), "steps.a.after"],
    [
      "an action without a timeout",
      (w) => w.signal("a", typed(), { onTimeout: "fail" }),
      "steps.a.onTimeout",
    ],
    ["a text instead of a list", (w) => w.map("a", measure, "abc" as never), "steps.a.over"],
    ["a definition in place of the name", (w) => w.step(note as never, {} as never, {} as never), "name"],
    ["a list of a map without a name", (w) => w.map(measure as never, [] as never, []), "name"],
    ["a signal without a name", (w) => w.signal(typed() as never, typed()), "name"],
    [
      "one need that is not in an array",
      (w) => w.step("b", note, {}, { needs: w.step("a", note, {}) as never }),
      "steps.b.needs",
    ],
    ["a workflow in place of a job", (w) => w.step("a", processCall as never, {} as never), "steps.a.job"],
  ])("%s", ([, build, field]) => {
    expect(errorOf(build)).toMatchObject({ name: expect.stringMatching(/^Invalid/), field });
  });

  test("a text made of a reference", () => {
    const define = (): unknown =>
      defineWorkflow({
        name: "w",
        input: typed<{ id: string }>(),
        steps: (w, input) => w.step("a", note, { key: `order-${input.id}` }),
      });
    expect(define).toThrow(/input\.id has no value while the workflow is defined/);
  });

  test("a call of a reference, which says what to use instead", () => {
    const build = (w: Steps): unknown => {
      const { files } = w.step("a", list, {}).result as unknown as { files: string[] };
      return w.step("b", note, { files: files.map((file) => file) });
    };
    expect(errorOf(build)).toMatchObject({
      message: "result.a.files.map is a reference, which has no methods",
      hint: expect.stringContaining("w.map()"),
    });
  });

  test("a change of a reference", () => {
    const build = (w: Steps): unknown => Object.assign(w.step("a", list, {}).result as object, { files: [] });
    expect(errorOf(build)).toBeInstanceOf(TypeError);
  });

  test("no steps, an asynchronous function", () => {
    const define =
      (steps: (w: Steps) => never): (() => unknown) =>
      () =>
        defineWorkflow({ name: "w", steps });
    expect(define(() => undefined as never)).toThrow(/at least one step/);
    expect(define((w) => [w.step("a", note, {}), Promise.resolve()][1] as never)).toThrow(/async function/);
  });
});
