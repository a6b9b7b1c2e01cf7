/** What a workflow leaves behind: entries of the audit log, usage, costs, and what each tenant sees of it. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { maintain, maintainAll } from "../support/archive.ts";
import { claimIds, complete, type Sql, setPolicy, T, U } from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";
import { claimSteps, drain, refuse, start, step, succeed, workflowOf } from "../support/workflows.ts";

const audit = async (db: Sql, id: string): Promise<string[]> =>
  (
    await db.query<{ action: string }>(
      "select action from jobforge_audit_log where entity_type = 'workflow' and entity_id = $1 order by at, id",
      [id],
    )
  ).map(({ action }) => action);

test("the audit log says who changed a workflow, and how it ended", async ({ db }) => {
  await setPolicy(db, "workflow:flow", { audit_action: "FLOW_DONE" });
  const flow = await start(db, [step("a"), step("b"), { name: "ok", signal: { name: "go" } }]);
  const steps = JSON.stringify([step("c")]);
  await db.query("select jobforge_add_steps($1, $2, $3)", [flow.id, T, steps]);
  await db.query("select jobforge_send_signal($1, $2, 'go', '{}', 'key')", [T, flow.id]);
  await db.query("select jobforge_send_signal($1, $2, 'go', '{}', 'key')", [T, flow.id]);
  await drain(db, ({ path }) => (path === "a" || path === "b" ? refuse : { status: "succeeded" }));
  await db.query("select jobforge_resolve_step($1, $2, 'a', 'succeeded')", [flow.id, T]);
  await db.query("select jobforge_retry_workflow($1, $2)", [flow.id, T]);
  await drain(db);
  expect(await audit(db, flow.id)).toEqual([
    "STEPS_ADDED",
    "SIGNAL_SENT",
    "WORKFLOW_FAILED",
    "STEP_RESOLVED",
    "WORKFLOW_FAILED",
    "WORKFLOW_RETRIED",
    "FLOW_DONE",
  ]);
  const canceled = await start(db, [step("a")], { name: "other" });
  await db.query("select jobforge_cancel_workflow($1, $2, 'no longer needed')", [canceled.id, T]);
  expect(
    await db.query(
      "select action, message, actor = session_user as ours from jobforge_audit_log where entity_id = $1",
      [canceled.id],
    ),
  ).toEqual([{ action: "WORKFLOW_CANCELED", message: "no longer needed", ours: true }]);
  const late = await start(db, [step("a")], { name: "other", options: { timeout_ms: 1000 } });
  await db.travel("1 minute");
  await maintain(db);
  expect(await audit(db, late.id)).toEqual(["WORKFLOW_DEADLINE"]);
});

test("a workflow is metered once, under its name, and its steps as jobs with their costs", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  await drain(db, (job) => ({ ...succeed(job), cost_cents: 7 }));
  await start(db, [step("a")]);
  await drain(db, () => refuse);
  await maintain(db);
  expect(
    await db.query(
      "select type, runs::int, succeeded::int, dead::int, cost_cents::int from jobforge_usage order by type",
    ),
  ).toEqual([
    { type: "a", runs: 3, succeeded: 2, dead: 1, cost_cents: 14 },
    { type: "workflow:flow", runs: 2, succeeded: 1, dead: 1, cost_cents: 0 },
  ]);
  expect(
    await db.value("select sum(cost_cents)::int from jobforge_steps where workflow_id = $1", [flow.id]),
  ).toBe(14);
});

test("a tenant sees its own workflows and steps, and changes no others", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  const own = await boundLogin(db, T, "jobforge_tenant");
  const other = await boundLogin(db, U, "jobforge_tenant");
  expect(await own.query("select id from jobforge_workflows")).toEqual([{ id: flow.id }]);
  expect(await own.query("select path from jobforge_steps order by path")).toEqual([
    { path: "a" },
    { path: "b" },
  ]);
  expect(await other.query("select from jobforge_workflows")).toEqual([]);
  expect(await other.query("select from jobforge_steps")).toEqual([]);
  for (const table of ["workflows", "steps", "edges", "dooms", "wakeups", "signals", "checkpoints"])
    await expect(own.query(`select from jobforge.${table}`)).rejects.toMatchObject({ code: "42501" });
  const calls = ["cancel_workflow($1, $2)", "send_signal($2, $1, 'go')", "retry_workflow($1, $2)"];
  for (const call of calls) {
    await expect(other.query(`select jobforge_${call}`, [flow.id, T])).rejects.toMatchObject({
      code: "42501",
    });
    await expect(other.query(`select jobforge_${call}`, [flow.id, U])).rejects.toMatchObject({
      code: expect.stringMatching(/^JF01[12]$/),
    });
  }
  expect((await workflowOf(db, flow.id)).status).toBe("running");
});

test("a workflow that runs longer than its jobs are kept still knows how its steps ended", async ({ db }) => {
  const flow = await start(
    db,
    [
      step("a"),
      { name: "ok", needs: ["a"], signal: { name: "go" } },
      step("b", ["ok"], {
        payload: { early: { $result: "a.from" } },
      }),
    ],
    { options: { retention_days: 1 } },
  );
  await drain(db);
  await db.travel("60 days");
  await maintainAll(db);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(0);
  await db.query("select jobforge_send_signal($1, $2, 'go')", [T, flow.id]);
  const [b] = await claimSteps(db);
  expect(b?.payload).toEqual({ early: "a" });
  await complete(db, b?.id ?? null);
  expect(await workflowOf(db, flow.id)).toMatchObject({ status: "succeeded", counts: { succeeded: 3 } });
  expect(await claimIds(db)).toEqual([]);
});
