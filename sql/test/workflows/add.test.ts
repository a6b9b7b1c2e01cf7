/** Steps that are added to a workflow that runs, by one of its runs or from outside. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { complete, expectError, type Job, type Sql, T, U } from "../support/kernel.ts";
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

type Result = { added: number; existing: number };

const add = async (db: Sql, id: string, steps: unknown, by?: Job, detached = false, tenant = T) =>
  await db.value<Result>("select jobforge_add_steps($1, $2, $3, $4, $5, $6, $7)", [
    id,
    tenant,
    JSON.stringify(steps),
    by?.id ?? null,
    by === undefined ? null : "w1",
    by?.attempts ?? null,
    detached,
  ]);

async function claimOne(db: Sql): Promise<Job> {
  const [job] = await claimSteps(db, "w1", 1);
  return job ?? expect.fail("no step is due");
}

test("what needs a run waits for the steps that the run adds, at any depth", async ({ db }) => {
  const flow = await start(db, [step("engine"), step("report", ["engine"])]);
  const engine = await claimOne(db);
  expect(await add(db, flow.id, [step("x"), step("y", ["x"])], engine)).toEqual({ added: 2, existing: 0 });
  await complete(db, engine.id);
  expect(await statusesOf(db, flow.id)).toMatchObject({
    report: "blocked",
    "engine+": "open",
    "engine+/x": "queued",
  });
  const x = await claimOne(db);
  await add(db, flow.id, [step("deep")], x);
  await complete(db, x.id);
  expect(await drain(db)).toEqual(["engine+/x+/deep", "engine+/y", "report"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("steps that end before the run do not end its group", async ({ db }) => {
  const flow = await start(db, [step("engine"), step("report", ["engine"])]);
  const engine = await claimOne(db);
  await add(db, flow.id, [step("x")], engine);
  await complete(db, (await claimOne(db)).id);
  await add(db, flow.id, [step("z", ["x"])], engine);
  await complete(db, engine.id);
  expect(await drain(db)).toEqual(["engine+/z", "report"]);
});

test("a second attempt adds the same steps again, and changes nothing", async ({ db }) => {
  const flow = await start(db, [step("engine")]);
  const first = await claimOne(db);
  await add(db, flow.id, [step("x")], first);
  await complete(db, first.id, { status: "failed" });
  await expectError(add(db, flow.id, [step("w")], first), "JF003");
  await db.travel("1 hour");
  const jobs = await claimSteps(db);
  const second = jobs.find((job) => job.id === first.id) ?? expect.fail("not retried");
  expect(await add(db, flow.id, [step("x"), step("y")], second)).toEqual({ added: 1, existing: 1 });
  await expectError(
    add(db, flow.id, [step("x", [], { payload: { other: 1 } })], second),
    "JF013",
    "steps[0]",
  );
});

test("a bad end of an added step is a bad end for what needs the run", async ({ db }) => {
  const flow = await start(db, [step("engine"), step("report", ["engine"])]);
  const engine = await claimOne(db);
  await add(db, flow.id, [step("x")], engine);
  await complete(db, engine.id);
  await drain(db, (job) => (job.path === "engine+/x" ? refuse : succeed(job)));
  expect(await statusesOf(db, flow.id)).toMatchObject({
    engine: "succeeded",
    "engine+": "failed",
    report: "canceled",
  });
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
});

test("steps that an optional step adds are as optional as the step", async ({ db }) => {
  const flow = await start(db, [step("engine", [], { optional: true }), step("report")]);
  const [engine] = (await claimSteps(db)).filter(({ path }) => path === "engine");
  if (engine === undefined) return expect.fail("no step is due");
  await add(db, flow.id, [step("x")], engine);
  await complete(db, engine.id);
  await drain(db, () => refuse);
  await db.query(
    "select jobforge_complete_job(id, 'w1', 'succeeded') from jobforge_jobs where status = 'running'",
  );
  expect(await statusesOf(db, flow.id)).toMatchObject({ "engine+": "failed", report: "succeeded" });
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("only the workflow waits for detached steps", async ({ db }) => {
  const flow = await start(db, [step("engine"), step("report", ["engine"])]);
  const engine = await claimOne(db);
  await add(db, flow.id, [step("x")], engine, true);
  await complete(db, engine.id);
  const paths = (await claimSteps(db)).map((job) => job.path);
  expect(paths.sort()).toEqual(["engine+/x", "report"]);
});

test("from outside, steps are added to the workflow, and may need its steps", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b")]);
  const a = await claimOne(db);
  await complete(db, a.id);
  expect(await add(db, flow.id, [step("c", ["a"]), step("d", ["b", "c"])])).toEqual({
    added: 2,
    existing: 0,
  });
  expect(await drain(db)).toEqual(["b", "c", "d"]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
  await expectError(add(db, flow.id, [step("e")]), "JF011", "workflow_id");
  await expectError(add(db, flow.id, [step("e")], undefined, false, U), "JF011", "workflow_id");
});
