/** What ended badly runs again, or is resolved by hand. Nothing that succeeded runs twice. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claimIds, complete, expectError, type Sql, T, U } from "../support/kernel.ts";
import {
  claimSteps,
  drain,
  type Handle,
  refuse,
  start,
  statusesOf,
  step,
  succeed,
  workflowOf,
} from "../support/workflows.ts";

const failing =
  (...paths: string[]): Handle =>
  (job) =>
    paths.includes(job.path) ? refuse : succeed(job);

const retry = async (db: Sql, id: string, steps: string[] | null = null, downstream = false, tenant = T) =>
  await db.value<{ retried: number; blocked: number }>("select jobforge_retry_workflow($1, $2, $3, $4)", [
    id,
    tenant,
    steps,
    downstream,
  ]);

const resolve = async (db: Sql, id: string, path: string, status = "succeeded", result: unknown = null) =>
  await db.value("select jobforge_resolve_step($1, $2, $3, $4, $5)", [
    id,
    T,
    path,
    status,
    JSON.stringify(result),
  ]);

const wait = (name: string): unknown => ({ step: name, policy: "wait" });

test("a retry runs what failed and what was canceled because of it, and nothing else", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"]), step("c", ["b"]), step("other")]);
  await drain(db, failing("b"));
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
  expect(await retry(db, flow.id)).toMatchObject({ retried: 1, blocked: 1 });
  expect(await statusesOf(db, flow.id)).toEqual({
    a: "succeeded",
    b: "queued",
    c: "blocked",
    other: "succeeded",
  });
  expect((await workflowOf(db, flow.id)).status).toBe("running");
  expect(await drain(db)).toEqual(["b", "c"]);
  expect(await workflowOf(db, flow.id)).toMatchObject({ status: "succeeded", counts: { succeeded: 4 } });
  await expectError(retry(db, flow.id), "JF012", "workflow_id");
});

test("a retried job keeps its id and its attempts, and gets a fresh budget", async ({ db }) => {
  const flow = await start(db, [step("a", [], { max_attempts: 1 })]);
  await drain(db, failing("a"));
  await retry(db, flow.id);
  const [a] = await claimSteps(db);
  expect(a).toMatchObject({ id: flow.steps["a"], attempts: 2, max_attempts: 2 });
});

test("with downstream, what ran after the step runs again; a map there is made again", async ({ db }) => {
  const flow = await start(db, [
    step("a"),
    step("each", ["a"], { map: { over: [1, 2] } }),
    step("last", ["each"]),
    step("other"),
  ]);
  await drain(db, failing("other"));
  expect(await retry(db, flow.id, ["a"], true)).toMatchObject({ retried: 1, blocked: 2 });
  expect(await drain(db)).toEqual(["a", "each[0]", "each[1]", "last"]);
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
  await retry(db, flow.id);
  expect(await drain(db)).toEqual(["other"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("one item of a map runs again, and what follows the map", async ({ db }) => {
  const flow = await start(db, [step("each", [], { map: { over: [1, 2, 3] } }), step("join", ["each"])]);
  await drain(db, failing("each[1]"));
  expect(await statusesOf(db, flow.id)).toMatchObject({ each: "failed", join: "canceled" });
  await retry(db, flow.id);
  expect(await drain(db)).toEqual(["each[1]", "join"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a step of a sub-workflow runs again inside of it", async ({ db }) => {
  const flow = await start(db, [
    { name: "sub", steps: [step("x"), step("y", ["x"])] },
    step("after", ["sub"]),
  ]);
  await drain(db, failing("sub/x"));
  await retry(db, flow.id, ["sub"]);
  expect(await drain(db)).toEqual(["sub/x", "sub/y", "after"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("if only one of two failed needs runs again, what needs both stays canceled", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b"), step("c", ["a", "b"])]);
  await drain(db, failing("a", "b"));
  await retry(db, flow.id, ["a"]);
  expect(await drain(db)).toEqual(["a"]);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "succeeded", b: "failed", c: "canceled" });
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
});

test("a retry of an unknown step, of another tenant's or of a canceled workflow is refused", async ({
  db,
}) => {
  const flow = await start(db, [step("a"), step("b")]);
  await drain(db, failing("a"));
  await expectError(retry(db, flow.id, ["nothing"]), "JF002", "steps[0]");
  await expectError(retry(db, flow.id, null, false, U), "JF012", "workflow_id");
  const other = await start(db, [step("a")]);
  await db.query("select jobforge_cancel_workflow($1, $2)", [other.id, T]);
  await expectError(retry(db, other.id), "JF012", "workflow_id");
});

test("with the policy wait a step waits for the repair of its need: a reschedule of the dead job", async ({
  db,
}) => {
  const flow = await start(db, [step("a"), step("b", [wait("a")])]);
  await drain(db, failing("a"));
  expect(await statusesOf(db, flow.id)).toEqual({ a: "failed", b: "blocked" });
  expect((await workflowOf(db, flow.id)).status).toBe("running");
  await db.query("select jobforge_reschedule_job($1, $2)", [flow.steps["a"], T]);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "queued", b: "blocked" });
  expect(await drain(db)).toEqual(["a", "b"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a step is resolved by hand as succeeded with a result, or as skipped", async ({ db }) => {
  const flow = await start(db, [
    step("a"),
    step("b", [wait("a")], { payload: { got: { $result: "a" } } }),
    step("c"),
    step("d", [wait("c")]),
  ]);
  await drain(db, failing("a", "c"));
  await resolve(db, flow.id, "a", "succeeded", { by: "hand" });
  const [b] = await claimSteps(db);
  expect(b).toMatchObject({ path: "b", payload: { got: { by: "hand" } } });
  await complete(db, b?.id ?? null);
  await resolve(db, flow.id, "c", "skipped");
  expect(await statusesOf(db, flow.id)).toEqual({
    a: "succeeded",
    b: "succeeded",
    c: "skipped",
    d: "skipped",
  });
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
  await expectError(resolve(db, flow.id, "a"), "JF015", "step");
});

test("resolving a step of a failed workflow runs what was canceled because of it", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  await drain(db, failing("a"));
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
  await resolve(db, flow.id, "a");
  expect(await drain(db)).toEqual(["b"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a rescheduled job of a failed workflow reopens it, and one of a canceled workflow runs by itself", async ({
  db,
}) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  await drain(db, failing("a"));
  await db.query("select jobforge_reschedule_jobs($1, $2)", [T, { status: "failed" }]);
  expect(await drain(db)).toEqual(["a", "b"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
  const stopped = await start(db, [step("x"), step("y", [wait("x")])]);
  await drain(db, failing("x"));
  await db.query("select jobforge_cancel_workflow($1, $2)", [stopped.id, T]);
  expect((await workflowOf(db, stopped.id)).status).toBe("canceled");
  await db.query("select jobforge_reschedule_job($1, $2)", [stopped.steps["x"], T]);
  expect(await claimIds(db)).toEqual([stopped.steps["x"]]);
  await complete(db, stopped.steps["x"] ?? null);
  expect(await statusesOf(db, stopped.id)).toEqual({ x: "failed", y: "canceled" });
});

test("a reschedule of a queued step's job moves it and leaves its step as it is", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  await db.query("select jobforge_reschedule_job($1, $2)", [flow.steps["a"], T]);
  expect(await drain(db)).toEqual(["a", "b"]);
});
