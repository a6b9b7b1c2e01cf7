/** Workflows against the kernel, with the same behaviour over Postgres and HTTP. */
import { describe, expect } from "vitest";
import { z } from "zod";
import { T, U } from "../../../../sql/test/support/kernel.ts";
import { drain, refuse, succeed } from "../../../../sql/test/support/workflows.ts";
import {
  buildWorkflow,
  compensate,
  defineJob,
  defineWorkflow,
  JobForge,
  type JobForgeClient,
  run,
  type StartedWorkflow,
  typed,
  WaitTimeoutError,
  WorkflowCanceledError,
  type WorkflowDefinition,
  WorkflowFailedError,
  WorkflowLimitExceededError,
  WorkflowNotFoundError,
  WorkflowNotRetryableError,
  WorkflowNotRunningError,
} from "../../src/index.ts";
import { allOf } from "../support/lists.ts";
import { test, transports } from "../support/transports.ts";
import { measure, note, processCall } from "../support/workflows.ts";

const app = { role: "jobforge_app", tenantId: T } as const;
const unknown = "99999999-9999-4999-8999-999999999999";

/** What the handlers of the pipeline return, by the path of their steps. */
const results: Readonly<Record<string, unknown>> = {
  audio: { path: "/tmp/a.wav" },
  transcribe: { operationId: "op-1" },
  analyze: { words: 3, parts: [{ text: "hello" }] },
};

const approval = z.object({ by: z.string() });

const publish = defineWorkflow({
  name: "doc.publish",
  input: typed<{ docId: string }>(),
  steps: (w, input) => {
    const draft = w.step("draft", note, { doc: input.docId });
    const ok = w.signal("approve", approval, { needs: [draft], timeoutMs: 3_600_000 });
    w.step("escalate", note, {}, { needs: [compensate(ok)] });
    return w.step("publish", note, { by: ok.result.by, doc: input.docId });
  },
});

async function statusesOf(workflow: StartedWorkflow<WorkflowDefinition>): Promise<Record<string, string>> {
  return Object.fromEntries((await allOf(workflow.steps())).map(({ path, status }) => [path, status]));
}

describe.each(transports)("over %s", (transport) => {
  test("a pipeline passes results on, and its output is that of its last step", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const started = await forge.start(processCall, { callId: "c1" }, { tenantId: T, subject: "call:c1" });
    expect(started).toMatchObject({ outcome: "created", status: "running" });
    expect(Object.keys(started.stepIds).sort()).toEqual(["analyze", "audio", "transcribe"]);
    const payloads: unknown[] = [];
    const handle = ({ path, payload }: { path: string; payload: unknown }): Record<string, unknown> => {
      payloads.push(payload);
      return { status: "succeeded", result: results[path] };
    };
    expect(await drain(db, handle)).toEqual(["audio", "transcribe"]);
    await db.travel("10 seconds");
    expect(await drain(db, handle)).toEqual(["analyze"]);
    expect(payloads).toEqual([
      { callId: "c1" },
      { callId: "c1", audio: "/tmp/a.wav" },
      { callId: "c1", operation: "op-1" },
    ]);
    expect(await started.result()).toEqual(results["analyze"]);
    expect(await started.get()).toMatchObject({
      status: "succeeded",
      version: "3",
      subject: "call:c1",
      input: { callId: "c1" },
      createdAt: expect.any(Date),
      finishedAt: expect.any(Date),
      counts: { succeeded: 3 },
      waits: [],
      failed: [],
    });
    const [, transcribe] = await allOf(started.steps());
    expect(transcribe).toMatchObject({
      name: "transcribe",
      kind: "job",
      index: 2,
      needs: [{ step: "audio", policy: "cancel" }],
      endedAt: expect.any(Date),
      result: results["transcribe"],
      optional: false,
    });
  });

  test("a signal is kept until its step takes it, and a key sends it once", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const started = await forge.workflows.start(publish, { docId: "d" }, { tenantId: T });
    expect(await started.signal("approve", { by: "ada" }, { key: "k" })).toEqual({
      outcome: "created",
      taken: false,
    });
    expect(await forge.signal(started.id, "approve", { by: "bob" }, { tenantId: T, key: "k" })).toEqual({
      outcome: "existing",
      taken: false,
    });
    const seen: unknown[] = [];
    await drain(db, (job) => {
      seen.push([job.path, job.payload]);
      return succeed(job);
    });
    expect(seen).toEqual([
      ["draft", { doc: "d" }],
      ["publish", { by: "ada", doc: "d" }],
    ]);
    expect(await started.result()).toEqual({ from: "publish" });
    expect((await statusesOf(started))["escalate"]).toBe("skipped");
    await expect(started.signal("approve", { by: "late" })).rejects.toThrow(WorkflowNotRunningError);
  });

  test("a workflow says what it waits for, and a timeout fails the step", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const started = await forge.start(publish, { docId: "d" }, { tenantId: T });
    await drain(db);
    const waiting = await started.get();
    expect(waiting).toMatchObject({
      counts: { succeeded: 1, waiting: 1, blocked: 2 },
      waits: [{ step: "approve", signal: "approve", since: expect.any(Date), until: expect.any(Date) }],
    });
    expect(await started.explain()).toMatchObject([
      { code: "waits_for_signal", message: expect.any(String), details: { signal: "approve" } },
      { code: "blocked", details: { steps: ["escalate", "publish"] } },
    ]);
    await db.travel("2 hours");
    expect(await drain(db)).toEqual(["escalate"]);
    expect(await statusesOf(started)).toMatchObject({ approve: "failed", publish: "canceled" });
    const error = await started.result().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(WorkflowFailedError);
    expect((error as WorkflowFailedError).workflow.failed).toMatchObject([{ step: "approve" }]);
    expect(await forge.workflows.explain(started.id, { tenantId: T })).toMatchObject([{ code: "failed" }]);
    expect(await forge.workflows.explain(unknown, { tenantId: T })).toBeUndefined();
  });

  test("a failed workflow rejects with its failed steps, a canceled one as canceled", async ({
    db,
    connect,
  }) => {
    const forge = await connect(transport, app);
    const failing = await forge.start(processCall, { callId: "c" }, { tenantId: T });
    await drain(db, () => refuse);
    await expect(failing.result()).rejects.toThrow(/\(call\.process\) failed: audio: refused/);
    const canceled = await forge.start(processCall, { callId: "c" }, { tenantId: T });
    expect(await canceled.cancel({ reason: "no longer needed" })).toMatchObject({
      canceled: 1,
      requested: 0,
    });
    await expect(canceled.result()).rejects.toThrow(WorkflowCanceledError);
    expect(await canceled.get()).toMatchObject({ status: "canceled", cancelReason: "no longer needed" });
    await expect(canceled.cancel()).rejects.toThrow(WorkflowNotRunningError);
    await expect(forge.workflows.result(unknown, { tenantId: T })).rejects.toThrow(WorkflowNotFoundError);
    expect(await forge.workflows.get(unknown, { tenantId: T })).toBeUndefined();
  });

  test("what ended badly runs again, and nothing that succeeded", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const started = await forge.start(processCall, { callId: "c" }, { tenantId: T });
    const failing = (path: string): Record<string, unknown> =>
      path === "transcribe" ? refuse : { status: "succeeded", result: results[path] };
    await drain(db, ({ path }) => failing(path));
    expect(await started.retry()).toMatchObject({ retried: 1, blocked: 1 });
    await drain(db, ({ path }) => failing(path));
    await forge.workflows.resolve(started.id, "transcribe", {
      tenantId: T,
      status: "succeeded",
      result: { operationId: "by-hand" },
    });
    await db.travel("10 seconds");
    const payloads: unknown[] = [];
    const rest = await drain(db, ({ path, payload }) => {
      payloads.push(payload);
      return { status: "succeeded", result: results[path] };
    });
    expect([rest, payloads]).toEqual([["analyze"], [{ callId: "c", operation: "by-hand" }]]);
    await expect(started.retry()).rejects.toThrow(WorkflowNotRetryableError);
  });

  test("a map runs a job for each item of a result, and a list of steps can be read by group", async ({
    db,
    connect,
  }) => {
    const list = defineJob({ type: "files.list", output: typed<{ files: string[] }>() });
    const total = defineJob({ type: "files.total", input: typed<{ sizes: ({ bytes: number } | null)[] }>() });
    const sum = defineWorkflow({
      name: "sum",
      steps: (w) => {
        const found = w.step("list", list, {});
        const sizes = w.map("size", measure, found.result.files, (file, index) => ({ file, index }));
        return w.step("total", total, { sizes: sizes.result }, { needs: [run(sizes)] });
      },
    });
    const forge = await connect(transport, app);
    const started = await forge.start(sum, {}, { tenantId: T });
    const payloads = new Map<string, unknown>();
    await drain(db, ({ path, payload }) => {
      payloads.set(path, payload);
      if (path === "list") return { status: "succeeded", result: { files: ["a", "b", "c"] } };
      if (path === "size[1]") return refuse;
      return { status: "succeeded", result: path === "total" ? 7 : { bytes: path.length } };
    });
    expect(payloads.get("size[2]")).toEqual({ file: "c", index: 2 });
    expect(payloads.get("total")).toEqual({ sizes: [{ bytes: 7 }, null, { bytes: 7 }] });
    expect((await allOf(started.steps({ group: "size", pageSize: 2 }))).map(({ path }) => path)).toEqual([
      "size[0]",
      "size[1]",
      "size[2]",
    ]);
    expect(await allOf(started.steps({ kind: "map" }))).toMatchObject([{ path: "size", status: "failed" }]);
    expect(await allOf(started.steps({ status: ["dead", "failed"], kind: "job" }))).toMatchObject([
      { path: "size[1]" },
    ]);
  });

  test("a workflow that runs gets steps and another deadline", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const started = await forge.start(publish, { docId: "d1" }, { tenantId: T });
    const add = (): Promise<unknown> =>
      forge.workflows.addSteps(
        started.id,
        (w) => void w.step("index", note, { doc: "d1" }, { needs: [w.existing("draft")] }),
        { tenantId: T },
      );
    expect(await add()).toEqual({ added: 1, existing: 0 });
    expect(await add()).toEqual({ added: 0, existing: 1 });
    const deadline = new Date("2199-01-01T00:00:00Z");
    const changed = await forge.workflows.update(started.id, {
      tenantId: T,
      deadline,
      priority: 3,
      tags: ["x"],
    });
    expect(changed).toMatchObject({ deadline, priority: 3, tags: ["x"], parentId: undefined });
    const without = await forge.workflows.update(started.id, { tenantId: T, deadline: null });
    expect(without).toMatchObject({ deadline: undefined, priority: 3 });
    await started.signal("approve", { by: "ada" });
    expect(await drain(db)).toEqual(["draft", "index", "publish"]);
    await expect(add()).rejects.toBeInstanceOf(WorkflowNotRunningError);
  });

  test("many workflows are canceled or retried by filter", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const [one, two] = await forge.workflows.startMany(
      [
        { workflow: publish, input: { docId: "d1" }, subject: "one" },
        { workflow: publish, input: { docId: "d2" }, subject: "two" },
      ],
      { tenantId: T },
    );
    const { workflows } = forge;
    expect(await workflows.cancelMany({ tenantId: T, subject: "one" })).toEqual({ matched: 1, changed: 1 });
    await drain(db, () => refuse);
    expect([(await one.get())?.status, (await two.get())?.status]).toEqual(["canceled", "failed"]);
    expect(await workflows.retryMany({ tenantId: T, name: "doc.publish", limit: 5 })).toEqual({
      matched: 1,
      changed: 1,
    });
    await expect(workflows.cancelMany({ tenantId: T })).rejects.toThrow("needs a filter");
  });

  test("many workflows are started in one commit, listed and filtered", async ({ connect }) => {
    const forge = await connect(transport, app);
    const started = await forge.workflows.startMany(
      [
        { workflow: processCall, input: { callId: "a" }, idempotencyKey: "a", tags: ["x"] },
        { workflow: publish, input: { docId: "b" }, subject: "doc:b" },
        { workflow: processCall, input: { callId: "a" }, idempotencyKey: "a" },
      ],
      { tenantId: T },
    );
    const [call, doc, again] = started;
    expect(started.map(({ outcome }) => outcome)).toEqual(["created", "created", "existing"]);
    expect(again.id).toBe(call.id);
    const idsOf = async (filters: object): Promise<string[]> =>
      (await allOf(forge.workflows.list({ tenantId: T, ...filters, pageSize: 1 }))).map(({ id }) => id);
    expect(await idsOf({})).toEqual([doc.id, call.id]);
    expect(await idsOf({ name: "call.process" })).toEqual([call.id]);
    expect(await idsOf({ tags: ["x"] })).toEqual([call.id]);
    expect(await idsOf({ subject: "doc:b", status: "running" })).toEqual([doc.id]);
    expect(await idsOf({ status: "failed" })).toEqual([]);
    const mistake = forge.workflows.startMany(
      [{ workflow: publish, input: { docId: "c" }, version: 1 } as never],
      {
        tenantId: T,
      },
    );
    await expect(mistake).rejects.toMatchObject({ field: "workflows[0].version" });
  });
});

test("keys start a workflow once: for ever, or while it runs", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const start = async (options: object): Promise<string> =>
    (await forge.start(processCall, { callId: "c" }, { tenantId: T, ...options })).outcome;
  expect(await start({ idempotencyKey: "k", dedupeKey: "d" })).toBe("created");
  expect(await start({ idempotencyKey: "k" })).toBe("existing");
  expect(await start({ dedupeKey: "d" })).toBe("existing");
  expect(await start({ idempotencyKey: "k", tenantId: U })).toBe("created");
  await drain(db, () => refuse);
  expect(await start({ idempotencyKey: "k" })).toBe("existing");
  expect(await start({ dedupeKey: "d" })).toBe("created");
});

test("a start in a transaction is committed or rolled back with it, and its handle works afterwards", async ({
  db,
}) => {
  await using forge = new JobForge({ database: db.url });
  const connection = await db.connect();
  const inside = async (end: "commit" | "rollback"): Promise<StartedWorkflow<typeof processCall>> => {
    await connection.query("begin");
    const client: JobForgeClient = forge.with(connection.client);
    const started = await client.start(processCall, { callId: "c" }, { tenantId: T });
    expect(await forge.workflows.get(started.id, { tenantId: T })).toBeUndefined();
    await connection.query(end);
    return started;
  };
  expect(await (await inside("rollback")).get()).toBeUndefined();
  expect(await (await inside("commit")).get()).toMatchObject({ status: "running" });
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(1);
});

test("a wait ends by notification, and gives up in time", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const started = await forge.start(
    buildWorkflow("one", (w) => w.step("only", note, {})),
    {},
    { tenantId: T },
  );
  await expect(started.result({ timeoutMs: 1 })).rejects.toThrow(WaitTimeoutError);
  const result = started.result();
  await expect
    .poll(() => db.value("select count(*)::int from jobforge.watches"), { timeout: 20_000 })
    .toBe(1);
  await drain(db);
  expect(await result).toEqual({ from: "only" });
  expect(await db.value("select count(*)::int from jobforge.watches")).toBe(0);
});

test("a sub-workflow has its own names, and a graph is built at run time", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const built = buildWorkflow("built", (w) => {
    const parts = ["x", "y"].map((each) => w.step(each, note, { each }));
    const sub = w.workflow("sub", publish, { docId: "s" }, { needs: parts });
    return { sub: sub.result, first: parts[0]?.result };
  });
  const started = await forge.start(built, {}, { tenantId: T });
  await started.signal("approve", { by: "eve" });
  expect(await drain(db)).toEqual(["x", "y", "sub/draft", "sub/publish"]);
  expect(await started.result()).toEqual({ sub: { from: "sub/publish" }, first: { from: "x" } });
});

test("what is too large or wrong is refused with the step that is wrong", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const many = buildWorkflow("many", (w) => {
    for (let index = 0; index < 50_001; index += 1) w.step(`s${index}`, note, {});
  });
  await expect(forge.start(many, {}, { tenantId: T })).rejects.toThrow(WorkflowLimitExceededError);
  const build = (): unknown =>
    buildWorkflow("large", (w) => w.step("big", note, { text: "x".repeat(1_100_000) }));
  expect(build).toThrow(/steps\.big\.input is over 1 MiB/);
  await expect(
    forge.start(processCall, { callId: "c" }, { tenantId: T, timeout: 5 } as never),
  ).rejects.toMatchObject({ field: "timeout" });
});
