/** What a run adds with its success: steps of its workflow, and other workflows. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, type Sql, T } from "../support/kernel.ts";
import { outcomes, settle } from "../support/settle.ts";
import {
  claimSteps,
  drain,
  type Started,
  start,
  statusesOf,
  step,
  workflowOf,
} from "../support/workflows.ts";

/** Starts a workflow whose first step adds more, and claims that step. */
async function engine(db: Sql): Promise<{ flow: Started; run: { id: string; attempt: number } }> {
  const flow = await start(db, [step("engine"), step("report", ["engine"])]);
  const [job] = await claimSteps(db);
  return { flow, run: { id: job?.id ?? "", attempt: job?.attempts ?? 0 } };
}

const added = [step("x"), step("y", ["x"])];

test("steps that a run adds with its success are added once, and what needs the run waits for them", async ({
  db,
}) => {
  const { flow, run } = await engine(db);
  const report = [{ ...run, status: "succeeded", steps: added }];
  expect(outcomes(await settle(db, report))).toEqual(["ok"]);
  expect(outcomes(await settle(db, report))).toEqual(["already"]);
  expect(await statusesOf(db, flow.id)).toEqual({
    engine: "succeeded",
    report: "blocked",
    "engine+": "open",
    "engine+/x": "queued",
    "engine+/y": "blocked",
  });
  expect(await drain(db)).toEqual(["engine+/x", "engine+/y", "report"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("only the workflow waits for steps that are detached", async ({ db }) => {
  const { flow, run } = await engine(db);
  await settle(db, [{ ...run, status: "succeeded", steps: added, detached: true }]);
  expect((await statusesOf(db, flow.id))["report"]).toBe("queued");
  expect((await drain(db)).sort()).toEqual(["engine+/x", "engine+/y", "report"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a failed, canceled or stale run adds nothing", async ({ db }) => {
  const { flow, run } = await engine(db);
  await settle(db, [{ ...run, attempt: 7, status: "succeeded", steps: added }]);
  await settle(db, [{ ...run, status: "succeeded", steps: added }], { worker: "other" });
  await settle(db, [
    { ...run, status: "failed", error: "boom", retry_at: new Date().toISOString(), steps: added },
  ]);
  expect(Object.keys(await statusesOf(db, flow.id))).toEqual(["engine", "report"]);
  const [again] = await claimSteps(db);
  await db.query("select jobforge_cancel_job($1, $2)", [run.id, T]);
  await settle(db, [{ id: again?.id, attempt: 2, status: "succeeded", steps: added }]);
  expect(await statusesOf(db, flow.id)).toEqual({ engine: "canceled", report: "canceled" });
});

test("a success whose steps or workflows are not valid is a failure that is not retried", async ({ db }) => {
  const bad: [Record<string, unknown>, string][] = [
    [{ steps: [step("x", ["nothing"])] }, "steps[0].needs[0] needs the step nothing, which does not exist"],
    [{ steps: [{ name: "x" }] }, "steps[0] must have exactly one of type, steps and signal"],
    [{ steps: 7 }, "steps must be a JSON array of at least one step"],
    [{ workflows: 7 }, "workflows must be a JSON array"],
    [
      { workflows: [{ name: "w", steps: [] }] },
      "workflows[0].steps must be a JSON array of at least one step",
    ],
    [
      { workflows: [{ name: "w", steps: added, options: { dedupe_key: "k" } }] },
      "workflows that a run starts have no keys: they start once, with its success",
    ],
  ];
  for (const [more, message] of bad) {
    const { flow, run } = await engine(db);
    await settle(db, [{ ...run, status: "succeeded", ...more }]);
    const { status, failed } = await workflowOf(db, flow.id);
    expect(status).toBe("failed");
    expect(failed[0]).toMatchObject({ step: "engine", status: "failed" });
    expect(failed[0]?.error?.message).toContain(message);
  }
  const { id } = await enqueue(db);
  await claim(db);
  await settle(db, [{ id, attempt: 1, status: "succeeded", steps: added }]);
  expect(await db.value("select last_error from jobforge_jobs where id = $1", [id])).toContain(
    "only a step of a workflow can add steps",
  );
});

test("workflows that a run starts with its success start once, in its commit", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const report = [
    { id, attempt: 1, status: "succeeded", workflows: [{ name: "w", steps: added, input: { n: 1 } }] },
  ];
  await db.query("begin");
  await settle(db, report);
  await db.query("rollback");
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(0);
  await settle(db, report);
  await settle(db, report);
  expect(await db.query("select name, status, input from jobforge_workflows")).toEqual([
    { name: "w", status: "running", input: { n: 1 } },
  ]);
  expect(await drain(db)).toEqual(["x", "y"]);
});

test("two settles of the same run at once do not deadlock", async ({ db }) => {
  const { flow, run } = await engine(db);
  const other = await db.connect();
  const report = [{ ...run, status: "succeeded", steps: added }];
  const answers = await Promise.all([settle(db, report), settle(other, report)]);
  expect(answers.flatMap(outcomes).sort()).toEqual(["already", "ok"]);
  expect(Object.keys(await statusesOf(db, flow.id))).toHaveLength(5);
});
