/** Changes of one workflow and of many: update, cancel and retry by filter. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { expectError, type Sql, T, U } from "../support/kernel.ts";
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

async function update(db: Sql, id: string, changes: unknown, tenant = T): Promise<Record<string, unknown>> {
  return await db.value("select jobforge_update_workflow($1, $2, $3)", [id, tenant, JSON.stringify(changes)]);
}

async function many(db: Sql, verb: "cancel" | "retry", filters: unknown, limit = 100) {
  return await db.value(`select jobforge_${verb}_workflows($1, $2, $3)`, [T, JSON.stringify(filters), limit]);
}

const later = (ms: number): string => new Date(Date.now() + ms).toISOString();

test("a later deadline, or none, keeps a workflow from failing, and an earlier one makes it fail", async ({
  db,
}) => {
  const options = { deadline: later(60_000) };
  const [put, gone, early] = [
    await start(db, [step("a")], { options }),
    await start(db, [step("a")], { options }),
    await start(db, [step("a")], { options: { deadline: later(86_400_000) } }),
  ];
  const deadline = later(7_200_000);
  expect(new Date(String((await update(db, put.id, { deadline }))["deadline"])).toISOString()).toBe(deadline);
  expect((await update(db, gone.id, { deadline: null }))["deadline"]).toBeNull();
  await update(db, early.id, { deadline: later(120_000) });
  await db.travel("10 minutes");
  await db.query("select jobforge_maintain()");
  expect((await workflowOf(db, put.id)).status).toBe("running");
  expect((await workflowOf(db, gone.id)).status).toBe("running");
  expect(await workflowOf(db, early.id)).toMatchObject({ status: "failed", reason: "deadline" });
  await db.travel("3 hours");
  await db.query("select jobforge_maintain()");
  expect(await workflowOf(db, put.id)).toMatchObject({ status: "failed", reason: "deadline" });
  expect((await workflowOf(db, gone.id)).status).toBe("running");
});

test("priority and tags change for the steps without their own that do not run yet", async ({ db }) => {
  const flow = await start(db, [
    step("run"),
    step("queued"),
    step("own", [], { priority: 0, tags: ["mine"] }),
    step("next", ["run"]),
  ]);
  const [running] = await claimSteps(db, "w1", 1);
  expect(await update(db, flow.id, { priority: 7, tags: ["vip"] })).toMatchObject({
    priority: 7,
    tags: ["vip"],
  });
  await db.query("select jobforge_complete_job($1, 'w1', 'succeeded')", [running?.id]);
  const rows = await db.query<{ path: string }>(
    `select s.path, j.priority, j.tags from jobforge_steps s join jobforge_jobs j on j.id = s.job_id
     where s.workflow_id = $1 order by s.id`,
    [flow.id],
  );
  expect(rows).toEqual([
    { path: "run", priority: 0, tags: [] },
    { path: "queued", priority: 7, tags: [] },
    { path: "own", priority: 0, tags: ["mine"] },
    { path: "next", priority: 7, tags: ["vip"] },
  ]);
  expect(await db.query("select meta from jobforge_audit_log where action = 'WORKFLOW_UPDATED'")).toEqual([
    { meta: { changes: { priority: 7, tags: ["vip"] } } },
  ]);
});

test("a change that is not valid, and one of a workflow that has ended, are refused", async ({ db }) => {
  const flow = await start(db, [step("a")]);
  for (const [changes, field] of [
    [{}, "changes"],
    [{ name: "x" }, "changes"],
    [[1], "changes"],
    [{ priority: "high" }, "changes"],
    [{ priority: [1] }, "changes.priority"],
    [{ tags: "x" }, "changes.tags"],
    [{ deadline: later(-1000) }, "changes.deadline"],
    [{ deadline: "soon" }, "changes"],
  ] as const)
    await expectError(update(db, flow.id, changes), "JF002", field);
  await expectError(update(db, flow.id, { priority: 1 }, U), "JF011");
  await drain(db);
  await expectError(update(db, flow.id, { priority: 1 }), "JF011");
});

test("workflows are canceled by filter, those that run and are not held", async ({ db }) => {
  const mails = [];
  for (let n = 0; n < 4; n++)
    mails.push(await start(db, [step("a")], { name: "mail", options: { tags: [`t${n}`] } }));
  const other = await start(db, [step("a")], { name: "other" });
  const foreign = await start(db, [step("a")], { name: "mail", tenant: U });
  const holder = await db.connect();
  await holder.query("begin");
  await holder.query("select jobforge_cancel_workflow($1, $2)", [mails[0]?.id, T]);
  expect(await many(db, "cancel", { name: "mail", tags: "t3" })).toEqual({ matched: 1, changed: 1 });
  expect(await many(db, "cancel", { name: "mail" }, 2)).toEqual({ matched: 2, changed: 2 });
  expect(await many(db, "cancel", { name: "mail" })).toEqual({ matched: 1, changed: 0 });
  expect(await many(db, "cancel", { name: "mail", status: "failed" })).toEqual({ matched: 0, changed: 0 });
  await holder.query("commit");
  for (const { id } of mails) expect((await workflowOf(db, id)).status).toBe("canceled");
  expect((await workflowOf(db, other.id)).status).toBe("running");
  expect((await workflowOf(db, foreign.id, U)).status).toBe("running");
  expect(
    await db.value("select count(*)::int from jobforge_audit_log where action = 'WORKFLOWS_CANCELED'"),
  ).toBe(4);
  for (const filters of [{}, { name: null }, { limit: 3 }, { nam: "x" }])
    await expectError(many(db, "cancel", filters), "JF002");
  await expectError(many(db, "cancel", { name: "mail" }, 0), "JF002", "limit");
});

test("workflows that failed are retried by filter", async ({ db }) => {
  const flows = [];
  for (let n = 0; n < 3; n++) flows.push(await start(db, [step("a"), step("b", ["a"])], { name: "mail" }));
  const good = await start(db, [step("a")], { name: "mail" });
  await drain(db, (job) => (job.id === good.steps["a"] ? succeed(job) : refuse));
  expect(await many(db, "retry", { name: "mail" }, 2)).toEqual({ matched: 2, changed: 2 });
  expect(await many(db, "retry", { name: "mail" })).toEqual({ matched: 1, changed: 1 });
  expect(await drain(db)).toHaveLength(6);
  for (const { id } of flows) expect(await statusesOf(db, id)).toEqual({ a: "succeeded", b: "succeeded" });
  expect(await many(db, "retry", { name: "mail" })).toEqual({ matched: 0, changed: 0 });
});
