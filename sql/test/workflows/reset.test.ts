/** What a retry of a durable job keeps, and what a reset deletes. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, type Sql, T } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import {
  claimSteps,
  drain,
  refuse,
  type Started,
  start,
  step,
  succeed,
  workflowOf,
} from "../support/workflows.ts";

/** Runs a workflow whose first step calls two children, and one of whose steps then fails. Returns the first job. */
async function failAfterChildren(db: Sql, bad = "a"): Promise<{ flow: Started; parent: string }> {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  const [job] = await claimSteps(db);
  const parent = job?.id ?? "";
  const wait = { name: "all", children: [{ type: "child" }, { type: "child" }] };
  await settle(db, [{ id: parent, attempt: 1, status: "suspended", wait }]);
  await drain(db, (each) => (each.path === bad ? refuse : succeed(each)));
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
  return { flow, parent };
}

const resultsOf = async (db: Sql, id: string | undefined): Promise<unknown[]> =>
  (await db.value<{ items: unknown[] }>("select jobforge_read_results($1, 'w1', 'all')", [id])).items;
const waitAgain = { name: "all", children: [{ type: "child" }, { type: "child" }] };

test("a step that is retried goes on behind its children; with a reset they run again", async ({ db }) => {
  const { flow, parent } = await failAfterChildren(db);
  await db.query("select jobforge_retry_workflow($1, $2)", [flow.id, T]);
  const [again] = await claimSteps(db);
  expect(again?.id).toBe(parent);
  expect(await resultsOf(db, parent)).toHaveLength(2);
  await settle(db, [{ id: parent, attempt: again?.attempts, ...refuse }]);
  await db.query("select jobforge_retry_workflow($1, $2, p_reset => true)", [flow.id, T]);
  const [anew] = await claimSteps(db);
  expect(anew?.id).toBe(parent);
  expect(await db.value("select jobforge_load_steps($1, 'w1')", [parent])).toEqual({
    steps: [],
    children: [],
    cursor: null,
  });
  await settle(db, [{ id: parent, attempt: anew?.attempts, status: "suspended", wait: waitAgain }]);
  expect((await drain(db)).sort()).toEqual(["a", "a/all[0]", "a/all[1]", "b"]);
});

test("a step that runs again with a new job has children of its own", async ({ db }) => {
  const { flow, parent } = await failAfterChildren(db, "b");
  await db.query("select jobforge_retry_workflow($1, $2, '{a}', true)", [flow.id, T]);
  const [anew] = await claimSteps(db);
  expect(anew).toMatchObject({ path: "a" });
  expect(anew?.id === parent).toBe(false);
  await settle(db, [{ id: anew?.id, attempt: 1, status: "suspended", wait: waitAgain }]);
  const children = await claimSteps(db);
  expect(children.map((job) => job.path).sort()).toEqual(["a/all[0]", "a/all[1]"]);
  await settle(
    db,
    children.map((job) => ({ id: job.id, attempt: 1, status: "succeeded", result: "new" })),
  );
  const [resumed] = await claimSteps(db);
  expect(resumed?.id).toBe(anew?.id);
  expect(await resultsOf(db, anew?.id)).toMatchObject([{ result: "new" }, { result: "new" }]);
});

test("the reset of a dead job deletes its checkpoints, and its signals can be taken again", async ({
  db,
}) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  await claim(db);
  await db.query('select jobforge_save_steps($1, \'w1\', \'[{"name": "charge", "value": 1}]\')', [id]);
  await settle(db, [{ id, attempt: 1, status: "suspended", wait: { name: "reply", signals: ["go"] } }]);
  await db.query("select jobforge_send_signal($1, $2, 'go', '7')", [T, id]);
  await claim(db);
  await db.query("select jobforge_take_signal($1, 'w1', 'reply')", [id]);
  await settle(db, [{ id, attempt: 2, ...refuse }]);
  await db.query("select jobforge_reschedule_job($1, $2)", [id, T]);
  await claim(db);
  const names = async () =>
    (await db.value<{ steps: { name: string }[] }>("select jobforge_load_steps($1, 'w1')", [id])).steps.map(
      ({ name }) => name,
    );
  expect(await names()).toEqual(["charge", "reply"]);
  await settle(db, [{ id, attempt: 3, ...refuse }]);
  await db.query("select jobforge_reschedule_job($1, $2, p_reset => true)", [id, T]);
  await claim(db);
  expect(await names()).toEqual([]);
  await settle(db, [{ id, attempt: 4, status: "suspended", wait: { name: "reply", signals: ["go"] } }]);
  await claim(db);
  expect(await db.value("select jobforge_take_signal($1, 'w1', 'reply')", [id])).toEqual({
    signal: "go",
    payload: 7,
  });
});

/** Claims a step, lets it fail while its only child runs, and returns the child's run. */
async function failBesideChild(db: Sql): Promise<{ id: string; attempt: number }> {
  const [parent] = await claimSteps(db);
  const wait = { name: "all", children: [{ type: "child" }], until: new Date(0) };
  await settle(db, [{ id: parent?.id, attempt: 1, status: "suspended", wait }]);
  const runs = await claimSteps(db);
  const again = runs.find((run) => run.id === parent?.id);
  const child = runs.find((run) => run.id !== parent?.id);
  await settle(db, [{ id: again?.id, attempt: again?.attempts, ...refuse }]);
  return { id: child?.id ?? "", attempt: 1 };
}

test("a child that ends while a retry of its parent is open does not leave the parent waiting", async ({
  db,
}) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  const child = await failBesideChild(db);
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
  const application = await db.connect();
  await application.query("begin");
  await application.query("select jobforge_retry_workflow($1, $2)", [flow.id, T]);
  await settle(db, [{ ...child, status: "succeeded" }]);
  await application.query("commit");
  expect(await drain(db)).toEqual(["a", "b"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a child whose parent was deleted by a retry leaves no edge behind", async ({ db }) => {
  const flow = await start(db, [step("x"), { name: "sub", needs: ["x"], steps: [step("a")] }]);
  const [x] = await claimSteps(db);
  await settle(db, [{ id: x?.id, attempt: 1, status: "succeeded" }]);
  const child = await failBesideChild(db);
  await db.query("select jobforge_retry_workflow($1, $2, '{x}', true)", [flow.id, T]);
  await settle(db, [{ ...child, status: "succeeded" }]);
  expect(await drain(db)).toEqual(["x", "sub/a"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
  expect(await db.value("select count(*)::int from jobforge.edges")).toBe(0);
});
