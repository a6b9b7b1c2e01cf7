/** Handlers that wait for workflows: their start, their results, and what happens when one side ends first. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, type Job, type Sql, T } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import { drain, refuse, start, step, workflowOf } from "../support/workflows.ts";

const sub = { workflow: "sub", steps: [step("a"), step("b", ["a"])], input: { n: 1 } };

/** Claims the parent. */
async function next(db: Sql): Promise<Job> {
  const [job] = await claim(db, "w1", { types: ["parent"] });
  return job ?? expect.fail("the parent is not due");
}

/** Suspends the run of a job until its children have ended. */
async function waitFor(db: Sql, job: Job, children: unknown[], name = "all"): Promise<void> {
  const wait = { name, children };
  await settle(db, [{ id: job.id, attempt: job.attempts, status: "suspended", wait }]);
}

/** Claims a job and lets it wait for children. */
async function parentOf(db: Sql, children: unknown[]): Promise<Job> {
  await enqueue(db, { type: "parent" });
  const job = await next(db);
  await waitFor(db, job, children);
  return job;
}

interface Item {
  index: number;
  status: string;
  result: unknown;
  error: { message: string } | null;
  workflow_id?: string;
}

async function resultsOf(db: Sql, job: Job): Promise<Item[]> {
  const page = await db.value<{ items: Item[] }>("select jobforge_read_results($1, 'w1', 'all', $2)", [
    job.id,
    job.attempts,
  ]);
  return page.items;
}

const childOf = (db: Sql, job: Job): Promise<string> =>
  db.value<string>("select id from jobforge_workflows where parent_id = $1", [job.id]);

test("a job waits for jobs and workflows, and reads their results in order", async ({ db }) => {
  const parent = await parentOf(db, [{ type: "a" }, sub, { type: "a" }]);
  expect(await db.value("select state from jobforge.queue where id = $1", [parent.id])).toBe("suspended");
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(1);
  const ran = await drain(db, ({ path }) => ({ status: "succeeded", result: path }));
  expect(ran.filter((path) => path !== "").toSorted()).toEqual(["a", "all[0]", "all[2]", "b"]);
  // The parent ran as well: drain ends every job that is due.
  expect(await db.value("select status from jobforge_jobs where id = $1", [parent.id])).toBe("succeeded");
});

test("the output of a workflow, its id and its failure reach the job that waited for it", async ({ db }) => {
  const bad = { workflow: "bad", steps: [step("x", [], { type: "bad" })] };
  const parent = await parentOf(db, [sub, bad]);
  await drainTypes(db, ["a", "bad"]);
  const again = await next(db);
  expect(again.attempts).toBe(2);
  const [good, failed] = await resultsOf(db, again);
  expect(good).toMatchObject({ index: 0, status: "succeeded", result: { of: "b" } });
  expect(failed).toMatchObject({ index: 1, status: "failed", error: { message: "1 step ended badly" } });
  expect(await workflowOf(db, good?.workflow_id ?? "")).toMatchObject({
    status: "succeeded",
    parent_id: parent.id,
  });
});

test("a repeated suspend starts nothing twice, and a workflow that ends at once leaves nothing to wait for", async ({
  db,
}) => {
  const empty = { workflow: "empty", steps: [step("each", [], { map: { over: [] } })] };
  const parent = await parentOf(db, [empty]);
  const again = await next(db);
  await waitFor(db, again, [empty]);
  const last = await next(db);
  expect(last.id).toBe(parent.id);
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(1);
  expect(await resultsOf(db, last)).toMatchObject([{ status: "succeeded" }]);
});

test("the cancel of a job that waits cancels its workflow", async ({ db }) => {
  const parent = await parentOf(db, [sub]);
  const id = await childOf(db, parent);
  await db.query("select jobforge_cancel_job($1, $2)", [parent.id, T]);
  expect(await drain(db)).toEqual([]);
  expect(await workflowOf(db, id)).toMatchObject({ status: "canceled" });
});

test("a workflow that is not valid fails the run that wants to wait for it, and starts nothing", async ({
  db,
}) => {
  for (const [child, message] of [
    [{ workflow: "sub", steps: [] }, "steps must be a JSON array of at least one step"],
    [{ workflow: "sub", steps: [step("a", ["z"])] }, "needs the step z, which does not exist"],
    [{ ...sub, options: { idempotency_key: "k" } }, "have no keys"],
    [{ ...sub, type: "a" }, "has the keys workflow, steps, input and options"],
  ] as const) {
    const parent = await parentOf(db, [{ type: "a" }, child]);
    const [job] = await db.query<{ status: string; error: { message: string } }>(
      "select status, error from jobforge_jobs where id = $1",
      [parent.id],
    );
    expect(job).toMatchObject({ status: "failed", error: { message: expect.stringContaining(message) } });
  }
  expect(await db.value("select count(*)::int from jobforge.steps")).toBe(0);
  await enqueue(db, { type: "parent" });
  const { id } = await next(db);
  const wait = JSON.stringify({ name: "all", children: [{ workflow: "sub", steps: [] }] });
  await expect(db.query("select jobforge_suspend_job($1, 'w1', $2)", [id, wait])).rejects.toMatchObject({
    code: "JF002",
  });
});

test("a call that suspends one run starts its workflows as well", async ({ db }) => {
  await enqueue(db, { type: "parent" });
  const job = await next(db);
  const wait = JSON.stringify({ name: "all", children: [sub] });
  await db.query("select jobforge_suspend_job($1, 'w1', $2)", [job.id, wait]);
  await drainTypes(db, ["a"]);
  expect(await resultsOf(db, await next(db))).toMatchObject([{ status: "succeeded", result: { of: "b" } }]);
});

test("a failed workflow is retried when the job that waited for it has ended, which then waits for it again", async ({
  db,
}) => {
  const parent = await parentOf(db, [{ workflow: "bad", steps: [step("x", [], { type: "bad" })] }]);
  const id = await childOf(db, parent);
  await drainTypes(db, ["bad"]);
  const retry = (): Promise<unknown> => db.query("select jobforge_retry_workflow($1, $2)", [id, T]);
  await expect(retry()).rejects.toMatchObject({
    code: "JF012",
    hint: expect.stringContaining(`The job ${parent.id} waited for it`),
  });
  const second = await next(db);
  await settle(db, [{ id: second.id, attempt: second.attempts, ...refuse }]);
  await retry();
  await db.query("select jobforge_reschedule_job($1, $2)", [parent.id, T]);
  const third = await next(db);
  const { steps } = await db.value<{ steps: { name: string; done: boolean }[] }>(
    "select jobforge_load_steps($1, 'w1', $2)",
    [third.id, third.attempts],
  );
  expect(steps).toMatchObject([{ name: "all", done: false }]);
  await waitFor(db, third, [sub]);
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(1);
  await drainTypes(db, ["bad"], () => ({ status: "succeeded", result: "repaired" }));
  expect(await resultsOf(db, await next(db))).toMatchObject([{ status: "succeeded", result: "repaired" }]);
});

test("a step of a workflow waits for a workflow, and a cancel of the outer one ends both", async ({ db }) => {
  const outer = await start(db, [step("outer", [], { type: "parent" })]);
  const job = await next(db);
  await waitFor(db, job, [sub]);
  const id = await childOf(db, job);
  await db.query("select jobforge_cancel_workflow($1, $2)", [outer.id, T]);
  await drain(db);
  expect(await workflowOf(db, id)).toMatchObject({ status: "canceled" });
  expect(await workflowOf(db, outer.id)).toMatchObject({ status: "canceled" });
});

test("a reset leaves the workflow alone, and the next run starts another one", async ({ db }) => {
  const parent = await parentOf(db, [sub]);
  const first = await childOf(db, parent);
  await drainTypes(db, ["a"]);
  const second = await next(db);
  await settle(db, [{ id: second.id, attempt: second.attempts, ...refuse }]);
  await db.query("select jobforge_reschedule_job($1, $2, p_reset => true)", [parent.id, T]);
  await waitFor(db, await next(db), [sub]);
  await drainTypes(db, ["a"]);
  const [item] = await resultsOf(db, await next(db));
  expect(item).toMatchObject({ status: "succeeded" });
  expect(item?.workflow_id).not.toBe(first);
  expect(await workflowOf(db, first)).toMatchObject({ status: "succeeded" });
});

test("a workflow is kept while the job lives that waited for it", async ({ db }) => {
  const parent = await parentOf(db, [{ ...sub, options: { retention_days: 1 } }]);
  const id = await childOf(db, parent);
  await drainTypes(db, ["a"]);
  const again = await next(db);
  await settle(db, [
    { id: again.id, attempt: again.attempts, status: "suspended", wait: { name: "s", signals: ["go"] } },
  ]);
  await db.travel("3 days");
  await db.query("select jobforge_maintain()");
  expect(await workflowOf(db, id)).toMatchObject({ status: "succeeded" });
  await db.query("select jobforge_cancel_job($1, $2)", [parent.id, T]);
  await db.query("select jobforge_maintain()");
  expect(await db.value("select jobforge_get_workflow($1, $2)", [id, T])).toBeNull();
});

/** Runs all jobs of these types until none is due. Those of the type 'bad' are refused. */
async function drainTypes(
  db: Sql,
  types: string[],
  handle = ({ type }: Job, path: string): Record<string, unknown> =>
    type === "bad" ? refuse : { status: "succeeded", result: { of: path } },
): Promise<void> {
  for (;;) {
    const jobs = await db.query<Job>("select * from jobforge_claim_jobs('w1', 100, $1)", [types]);
    if (jobs.length === 0) return;
    const paths = new Map(
      (
        await db.query<{ id: string; path: string }>(
          "select job_id as id, path from jobforge.steps where job_id = any ($1)",
          [jobs.map(({ id }) => id)],
        )
      ).map(({ id, path }) => [id, path]),
    );
    await settle(
      db,
      jobs.map((job) => ({ id: job.id, attempt: job.attempts, ...handle(job, paths.get(job.id) ?? "") })),
    );
  }
}
