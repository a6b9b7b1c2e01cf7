/** What happens where two features meet: stops of suspended steps, repeated calls, quotas, and other tenants. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { maintain } from "../support/archive.ts";
import {
  claim,
  claimIds,
  complete,
  enqueue,
  expectError,
  type Sql,
  setPolicy,
  T,
  U,
} from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import {
  claimSteps,
  drain,
  refuse,
  start,
  statusesOf,
  step,
  succeed,
  workflowOf,
} from "../support/workflows.ts";

const signal = async (db: Sql, id: string, key: string | null = null, tenant = T): Promise<unknown> =>
  await db.value("select jobforge_send_signal($1, $2, 'go', '1', $3)", [tenant, id, key]);

test("a deadline ends steps that are suspended, and their children", async ({ db }) => {
  const flow = await start(
    db,
    [step("waits"), step("calls"), step("after", ["waits", "calls"]), step("tidy", [], { cleanup: true })],
    { options: { timeout_ms: 30_000 } },
  );
  const steps = await claimSteps(db);
  const [waits, calls, tidy] = ["waits", "calls", "tidy"].map((name) =>
    steps.find(({ path }) => path === name),
  );
  await settle(db, [
    { id: waits?.id, attempt: 1, status: "suspended", wait: { name: "w", signals: ["go"] } },
    {
      id: calls?.id,
      attempt: 1,
      status: "suspended",
      wait: { name: "c", children: [{ type: "x" }, { type: "x" }] },
    },
  ]);
  const [child] = await claim(db, "w1", { limit: 1, types: ["x"] });
  await db.travel("31 seconds");
  await maintain(db);
  expect(await statusesOf(db, flow.id)).toEqual({
    waits: "canceled",
    calls: "canceled",
    after: "canceled",
    tidy: "running",
    "calls/c[0]": "running",
    "calls/c[1]": "canceled",
  });
  expect(await db.value("select cancel_requested from jobforge_jobs where id = $1", [child?.id])).toBe(true);
  await complete(db, child?.id ?? null);
  await complete(db, tidy?.id ?? null);
  expect(await workflowOf(db, flow.id)).toMatchObject({ status: "failed", reason: "deadline" });
  await expectError(signal(db, waits?.id ?? ""), "JF011");
  expect(await drain(db)).toEqual([]);
});

test("a cancel in the middle of a join ends it, while a settle of a need is under way", async ({ db }) => {
  const needs = Array.from({ length: 20 }, (_, n) => `n${n}`);
  const flow = await start(db, [...needs.map((name) => step(name)), step("join", needs)]);
  const runs = await claimSteps(db, "w1", 10);
  const other = await db.connect();
  await other.query("begin");
  await settle(other, [{ id: runs[0]?.id, attempt: 1, status: "succeeded" }]);
  expect(await db.value("select jobforge_cancel_workflow($1, $2)", [flow.id, T])).toMatchObject({
    status: "running",
    canceled: 10,
    requested: 10,
  });
  await other.query("commit");
  await settle(
    db,
    runs.slice(1).map(({ id }) => ({ id, attempt: 1, status: "succeeded" })),
  );
  await db.travel("1 minute");
  expect(await drain(db)).toEqual([]);
  expect(await workflowOf(db, flow.id)).toMatchObject({
    status: "canceled",
    counts: { canceled: 20, succeeded: 1 },
  });
  expect(await db.value("select count(*)::int from jobforge.edges")).toBe(0);
});

test("what needs a skipped step is skipped, or runs, as its policy says", async ({ db }) => {
  const flow = await start(db, [
    step("a"),
    step("undo", [{ step: "a", policy: "compensate" }]),
    ...["cancel", "run", "wait", "compensate"].map((policy) => step(policy, [{ step: "undo", policy }])),
    step("both", ["undo", "a"]),
  ]);
  expect(await drain(db)).toEqual(["a", "run"]);
  expect(await statusesOf(db, flow.id)).toMatchObject({
    undo: "skipped",
    cancel: "skipped",
    run: "succeeded",
    wait: "skipped",
    compensate: "skipped",
    both: "skipped",
  });
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a signal that is sent again with its key was sent before, also after the end of its target", async ({
  db,
}) => {
  const flow = await start(db, [{ name: "ok", signal: { name: "go" } }]);
  expect(await signal(db, flow.id, "k")).toEqual({ outcome: "created", taken: true });
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
  expect(await signal(db, flow.id, "k")).toEqual({ outcome: "existing", taken: true });
  await expectError(signal(db, flow.id, "other"), "JF011", "workflow_id");
  await expectError(signal(db, flow.id, "k", U), "JF011", "workflow_id");
  const full = await start(db, [{ name: "ok", signal: {} }]);
  await db.query("select jobforge_send_signal($1, $2, 'go', null, n::text) from generate_series(1, 1000) n", [
    T,
    full.id,
  ]);
  expect(await signal(db, full.id, "1000")).toEqual({ outcome: "existing", taken: false });
  await expectError(signal(db, full.id, "1001"), "JF014", "target_id");
});

test("signals of a job that never waited are forgotten with it", async ({ db }) => {
  await setPolicy(db, "a", { keep_history: false });
  const { id } = await enqueue(db);
  await signal(db, id);
  await claim(db);
  await complete(db, id);
  expect(await db.value("select count(*)::int from jobforge.signals")).toBe(0);
});

test("a key that is used again with another graph and input leads to the first workflow", async ({ db }) => {
  const options = { idempotency_key: "k" };
  const first = await start(db, [step("a")], { options, input: { n: 1 } });
  const second = await start(db, [step("x"), step("y", ["x"])], { options, input: { n: 2 } });
  expect(second).toEqual({ ...first, outcome: "existing" });
  expect(await db.query("select input from jobforge_workflows")).toEqual([{ input: { n: 1 } }]);
  expect(await drain(db)).toEqual(["a"]);
});

test("a second retry has nothing to do, and one of a step that runs is refused", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  await drain(db, () => refuse);
  const retry = async (steps: string[] | null = null): Promise<unknown> =>
    await db.value("select jobforge_retry_workflow($1, $2, $3)", [flow.id, T, steps]);
  await retry();
  await expectError(retry(), "JF012", "workflow_id");
  const [a] = await claimSteps(db);
  await expectError(retry(["a"]), "JF012", "workflow_id");
  await complete(db, a?.id ?? null);
  expect(await drain(db)).toEqual(["b"]);
  await expectError(retry(["a"]), "JF012", "workflow_id");
});

test("a sub-workflow that fails is a bad end for what needs it, at every level", async ({ db }) => {
  const inner = { name: "inner", steps: [step("x"), step("y", ["x"])] };
  const flow = await start(db, [
    { name: "outer", steps: [inner, step("z", ["inner"])] },
    step("after", ["outer"]),
    step("undo", [{ step: "outer", policy: "compensate" }]),
  ]);
  await drain(db, (job) => (job.path === "outer/inner/x" ? refuse : succeed(job)));
  expect(await statusesOf(db, flow.id)).toEqual({
    outer: "failed",
    "outer/inner": "failed",
    "outer/inner/x": "failed",
    "outer/inner/y": "canceled",
    "outer/z": "canceled",
    after: "canceled",
    undo: "succeeded",
  });
  expect(await db.value("select error from jobforge_steps where path = 'outer'")).toMatchObject({
    message: "2 steps ended badly",
    steps: ["outer/inner", "outer/z"],
  });
});

test("no call reaches the workflow of another tenant", async ({ db }) => {
  const flow = await start(db, [step("a")]);
  await drain(db, () => refuse);
  const live = await start(db, [step("a"), { name: "ok", signal: { name: "go" } }]);
  const of = async (name: string, ...more: unknown[]): Promise<unknown> =>
    await db.value(`select jobforge_${name}(${more.map((_, n) => `$${n + 1}`).join(", ")})`, more);
  await expectError(of("cancel_workflow", live.id, U), "JF011");
  await expectError(of("add_steps", live.id, U, JSON.stringify([step("x")])), "JF011");
  await expectError(of("update_workflow", live.id, U, '{"priority": 1}'), "JF011");
  await expectError(of("send_signal", U, live.id, "go"), "JF011");
  await expectError(of("retry_workflow", flow.id, U), "JF012");
  await expectError(of("resolve_step", flow.id, U, "a", "succeeded"), "JF015");
  await expectError(of("cancel_job", live.steps["a"], U), "JF005");
  for (const read of ["get_workflow", "explain_workflow"]) expect(await of(read, live.id, U)).toBeNull();
  expect(await of("cancel_workflows", U, '{"name": "flow"}')).toEqual({ matched: 0, changed: 0 });
  expect(await of("retry_workflows", U, '{"name": "flow"}')).toEqual({ matched: 0, changed: 0 });
  expect(await db.query("select from jobforge_list_steps($1, $2)", [live.id, U])).toEqual([]);
  expect(await claimIds(db)).toEqual([live.steps["a"]]);
});

test("all jobs of a workflow need room in the quota of its tenant, and items of a later list do not", async ({
  db,
}) => {
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_pending: 5 }]);
  const chain = (length: number) =>
    Array.from({ length }, (_, n) => step(`s${n}`, n === 0 ? [] : [`s${n - 1}`]));
  await expectError(start(db, chain(6)), "JF007");
  await expectError(start(db, [{ name: "sub", steps: chain(6) }]), "JF007");
  await expectError(start(db, [step("each", [], { map: { over: [1, 2, 3, 4, 5, 6] } })]), "JF007");
  expect(await db.value("select count(*)::int from jobforge.steps")).toBe(0);
  const flow = await start(db, chain(5));
  await expectError(
    db.query("select jobforge_add_steps($1, $2, $3)", [
      flow.id,
      T,
      JSON.stringify([step("each", [], { map: { over: [1, 2, 3, 4, 5] } })]),
    ]),
    "JF007",
  );
  expect(await drain(db)).toHaveLength(5);
  const input = { list: [1, 2, 3, 4, 5, 6] };
  await start(db, [step("each", [], { map: { over: { $input: "list" } } })], { input });
  expect(await drain(db)).toHaveLength(6);
});
