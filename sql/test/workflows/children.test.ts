/** Children that are left alone when the job that waits for them ends badly. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, type Job, type Sql, T } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import { claimSteps, drain, refuse, start, statusesOf, step, workflowOf } from "../support/workflows.ts";

type Json = Record<string, unknown>;

const sub = { workflow: "sub", steps: [step("x"), step("y", ["x"])] };

async function suspend(db: Sql, job: Job | undefined, wait: Json): Promise<void> {
  await settle(db, [{ id: job?.id, attempt: job?.attempts, status: "suspended", wait }]);
}

/** Claims a new job and lets it wait for two jobs and a workflow. */
async function parentOf(db: Sql, wait: Json): Promise<string> {
  const { id } = await enqueue(db, { type: "parent" });
  const [job] = await claim(db, "w1", { types: ["parent"] });
  await suspend(db, job, { name: "all", children: [{ type: "a" }, { type: "a" }, sub], ...wait });
  return id;
}

const ends = async (db: Sql): Promise<unknown> =>
  await db.value(
    `select jsonb_object_agg(s.path, s.status order by s.path) from (
       select path, status::text from jobforge.steps where kind = 'job'
       union all select 'sub', status::text from jobforge.workflows) s`,
  );

test("the cancel of a parent leaves children alone that it has abandoned", async ({ db }) => {
  const parent = await parentOf(db, { abandon: true });
  const [running] = await claim(db, "w1", { limit: 1, types: ["a"] });
  await db.query("select jobforge_cancel_job($1, $2)", [parent, T]);
  await settle(db, [{ id: running?.id, attempt: 1, status: "succeeded" }]);
  await drain(db);
  expect(await ends(db)).toEqual({
    "all[0]": "succeeded",
    "all[1]": "succeeded",
    sub: "succeeded",
    x: "succeeded",
    y: "succeeded",
  });
  expect(await db.value("select status from jobforge_jobs where id = $1", [parent])).toBe("canceled");
  expect(await db.value("select count(*)::int from jobforge.edges")).toBe(0);
});

test("a parent that ends badly cancels its children, and leaves those alone that it has abandoned", async ({
  db,
}) => {
  for (const [abandon, status] of [
    [false, "canceled"],
    [true, "succeeded"],
  ] as const) {
    // Its time is over at once, so that it runs again while its children wait.
    const parent = await parentOf(db, { abandon, until: new Date(0) });
    const [again] = await claim(db, "w1", { types: ["parent"] });
    await settle(db, [{ id: parent, attempt: again?.attempts, ...refuse }]);
    await drain(db);
    expect(new Set(Object.values((await ends(db)) as Json))).toEqual(new Set([status]));
    await db.query("delete from jobforge.steps");
    await db.query("delete from jobforge.workflows");
  }
});

test("the cancel of a workflow leaves the children alone that one of its steps has abandoned", async ({
  db,
}) => {
  const flow = await start(db, [step("a", [], { type: "parent" }), step("b", ["a"])]);
  const [job] = await claimSteps(db);
  await suspend(db, job, { name: "all", children: [{ type: "child" }], abandon: true });
  await db.query("select jobforge_cancel_workflow($1, $2)", [flow.id, T]);
  expect(await workflowOf(db, flow.id)).toMatchObject({ status: "canceled" });
  expect(await drain(db)).toEqual(["a/all[0]"]);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "canceled", b: "canceled", "a/all[0]": "succeeded" });
});

test("an abandon that is no boolean fails the run", async ({ db }) => {
  const parent = await parentOf(db, { abandon: "yes" });
  expect(await db.value("select error from jobforge_jobs where id = $1", [parent])).toMatchObject({
    name: "InvalidWait",
    message: expect.stringContaining("abandon must be true or false"),
  });
});
