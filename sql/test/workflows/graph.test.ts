/** Steps start when their needs have ended, and get what these returned. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claimIds, codeOf, complete, connections, enqueue, expectError, T, U } from "../support/kernel.ts";
import { claimAll, settle, success } from "../support/settle.ts";
import {
  claimSteps,
  drain,
  expectNoErrors,
  start,
  statusesOf,
  step,
  stepsOf,
  succeed,
  workflowOf,
} from "../support/workflows.ts";

test("a chain runs step by step, and the result of the last one is the output", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"]), step("c", ["b"])]);
  expect(flow).toMatchObject({ outcome: "created", status: "running" });
  expect(Object.keys(flow.steps).sort()).toEqual(["a", "b", "c"]);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "queued", b: "blocked", c: "blocked" });
  for (const name of ["a", "b", "c"]) {
    const jobs = await claimSteps(db);
    expect(jobs.map((job) => job.path)).toEqual([name]);
    expect(jobs[0]?.id).toBe(flow.steps[name]);
    await complete(db, jobs[0]?.id ?? null, { result: { of: name } });
  }
  expect(await claimIds(db)).toEqual([]);
  expect(await workflowOf(db, flow.id)).toMatchObject({
    status: "succeeded",
    reason: "done",
    output: { of: "c" },
    counts: { succeeded: 3 },
  });
});

test("the call that settles a step claims the next one", async ({ db }) => {
  await start(db, [step("a"), step("b", ["a"])]);
  const [a] = await claimIds(db);
  const settled = await settle(db, [success(a ?? "")], { claim: 10, types: ["a"] });
  expect(settled.jobs).toMatchObject([{ step: "b" }]);
});

test("a diamond whose middle steps are settled at the same moment runs its end once, never before both", async ({
  db,
}) => {
  const diamonds = 200;
  const [one, two] = await connections(db, 2);
  const flows = [];
  for (let i = 0; i < diamonds; i++)
    flows.push(await start(db, [step("a"), step("b", ["a"]), step("c", ["a"]), step("d", ["b", "c"])]));
  for (let claimed = 0; claimed < diamonds; claimed += 100) {
    const firsts = await claimAll(db);
    await settle(
      db,
      firsts.map((id) => success(id)),
    );
  }
  for (const flow of flows) {
    const [b, c] = await claimSteps(db, "w1", 2);
    const order = await Promise.all([
      settle(one ?? db, [success(b?.id ?? "")]),
      settle(two ?? db, [success(c?.id ?? "")]),
    ]);
    expect(order.flatMap((each) => each.settled.map((row) => row.outcome))).toEqual(["ok", "ok"]);
    expect(flow.id).not.toBe("");
  }
  const ran = await drain(db);
  expect(ran).toEqual(Array.from({ length: diamonds }, () => "d"));
  for (const flow of flows) expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a start that is rolled back leaves nothing", async ({ db }) => {
  await db.query("begin");
  await start(db, [step("a"), step("b", ["a"])], { options: { idempotency_key: "k" } });
  await db.query("rollback");
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(0);
  expect(await db.value("select count(*)::int from jobforge.steps")).toBe(0);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(0);
  expect((await start(db, [step("a")], { options: { idempotency_key: "k" } })).outcome).toBe("created");
});

test("parallel starts with one idempotency key make one workflow", async ({ db }) => {
  const clients = await connections(db, 20);
  const options = { idempotency_key: "k" };
  const flows = await Promise.all(
    clients.map(async (client) => await start(client, [step("a")], { options })),
  );
  expect(flows.filter((flow) => flow.outcome === "created")).toHaveLength(1);
  expect(new Set(flows.map((flow) => flow.id)).size).toBe(1);
  expect(new Set(flows.map((flow) => flow.steps["a"])).size).toBe(1);
  expect((await start(db, [step("a")], { options, tenant: U })).outcome).toBe("created");
  expect((await start(db, [step("a")], { options, name: "other" })).outcome).toBe("created");
  await drain(db);
  expect(await start(db, [step("a")], { options })).toMatchObject({
    outcome: "existing",
    status: "succeeded",
  });
});

test("a dedupe key is free again when its workflow has ended", async ({ db }) => {
  const options = { dedupe_key: "k" };
  const first = await start(db, [step("a")], { options });
  expect(await start(db, [step("a")], { options })).toMatchObject({ id: first.id, outcome: "existing" });
  await drain(db);
  expect((await start(db, [step("a")], { options })).outcome).toBe("created");
});

test("references give a step its input and the results of others; a missing path is null", async ({ db }) => {
  const flow = await start(
    db,
    [
      step("first", [], { payload: { call: { $input: "callId" }, deep: [{ x: { $input: ["list", 1] } }] } }),
      step("second", [], {
        payload: {
          path: { $result: "first.file.path" },
          all: { $result: "first" },
          none: { $result: "first.nothing.at.all" },
          same: { $literal: { $result: "first" } },
        },
      }),
    ],
    { input: { callId: 7, list: ["x", "y"] } },
  );
  expect(await statusesOf(db, flow.id)).toEqual({ first: "queued", second: "blocked" });
  const [first] = await claimSteps(db);
  expect(first?.payload).toEqual({ call: 7, deep: [{ x: "y" }] });
  await complete(db, first?.id ?? null, { result: { file: { path: "/tmp/1" } } });
  const [second] = await claimSteps(db);
  expect(second?.payload).toEqual({
    path: "/tmp/1",
    all: { file: { path: "/tmp/1" } },
    none: null,
    same: { $result: "first" },
  });
  // The type knows nothing of workflows, and runs by itself with the payload that it is given.
  const alone = await enqueue(db, { payload: { path: "/tmp/2" } });
  const [job] = await claimSteps(db);
  expect(job).toMatchObject({ id: alone.id, payload: { path: "/tmp/2" } });
});

test("the jobs of a step have its subject and tags, or those of the workflow, and its priority and delay", async ({
  db,
}) => {
  await start(
    db,
    [step("plain"), step("own", [], { subject: "s", tags: ["t"], priority: 7, delay_ms: 60_000 })],
    {
      options: { subject: "whole", tags: ["w"], priority: 3 },
    },
  );
  const jobs = await db.query(
    `select subject, tags, priority, run_at > created_at as later from jobforge_jobs order by subject`,
  );
  expect(jobs).toEqual([
    { subject: "s", tags: ["t"], priority: 7, later: true },
    { subject: "whole", tags: ["w"], priority: 3, later: false },
  ]);
});

test("a workflow with run_at starts then, also with a signal", async ({ db }) => {
  const run_at = new Date(Date.now() + 3_600_000).toISOString();
  const flow = await start(db, [step("a"), { name: "wait", signal: {} }], { options: { run_at } });
  expect(await claimIds(db)).toEqual([]);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "queued", wait: "blocked" });
  await db.travel("61 minutes");
  expect(await claimIds(db)).toEqual([flow.steps["a"]]);
  expect(await statusesOf(db, flow.id)).toEqual({ a: "running", wait: "waiting" });
});

test("invalid graphs are refused with the place of the mistake, and nothing is written", async ({ db }) => {
  const cases: readonly (readonly [unknown, string, string])[] = [
    [[step("a", ["b"])], "JF002", "steps[0].needs[0]"],
    [[step("a", ["b"]), step("b")], "JF002", "steps[0].needs[0]"],
    [[step("a"), step("a")], "JF002", "steps[1].name"],
    [[step("")], "JF002", "steps[0].name"],
    [[step("a.b")], "JF002", "steps[0].name"],
    [[{ name: "a", type: "a", steps: [step("b")] }], "JF002", "steps[0]"],
    [[{ name: "a", typ: "a" }], "JF002", "steps[0].typ"],
    [[step("a"), { name: "b", type: "b c" }], "JF002", "steps[1].type"],
    [[step("a"), step("b", [{ step: "a", policy: "maybe" }])], "JF002", "steps[1].needs"],
    [[step("a", [], { payload: { x: { $resul: "b" } } })], "JF002", "steps[0].payload"],
    [[step("a", [], { payload: { x: { $item: "b" } } })], "JF002", "steps[0].payload"],
    [[step("a", [], { payload: "x".repeat(1_048_577) })], "JF008", "steps[0].payload"],
    [[{ name: "g", steps: [step("a"), step("b", ["c"])] }], "JF002", "steps[0].steps[1].needs[0]"],
    [[], "JF002", "steps"],
    [Array.from({ length: 50_001 }, (_, i) => step(`s${i}`)), "JF014", "steps"],
  ];
  for (const [steps, code, field] of cases) await expectError(start(db, steps), code, field);
  await expectError(start(db, [step("a")], { options: { on_failur: "x" } }), "JF002", "options.on_failur");
  await expectError(
    start(db, [step("a")], { options: { output: { $result: "z" } } }),
    "JF002",
    "options.output",
  );
  await expectError(start(db, [step("a")], { name: "no good" }), "JF002", "name");
  await expectError(start(db, [step("a")], { tenant: null }), "JF001");
  expect(await db.value("select count(*)::int from jobforge.steps")).toBe(0);
  expect(await db.value("select count(*)::int from jobforge.workflows")).toBe(0);
});

test("types that begin with workflow: are refused for jobs", async ({ db }) => {
  expect(await codeOf(db.query("select jobforge_enqueue_job($1, 'workflow:x')", [T]))).toBe("JF002");
});

test("several workflows start in one call, all or none", async ({ db }) => {
  const call = async (workflows: unknown) =>
    await db.value<{ outcome: string }[]>("select jobforge_start_workflows($1, $2)", [
      T,
      JSON.stringify(workflows),
    ]);
  const flow = { name: "flow", steps: [step("a")], options: { idempotency_key: "k" } };
  const results = await call([flow, flow, { name: "flow", steps: [step("a")] }]);
  expect(results.map((result) => result.outcome)).toEqual(["created", "existing", "created"]);
  await expectError(
    call([
      { name: "x", steps: [step("a")] },
      { name: "x", steps: [] },
    ]),
    "JF002",
    "workflows[1].steps",
  );
  expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(2);
});

test("a type that keeps no history keeps the jobs of its steps as long as the workflow", async ({ db }) => {
  await db.query("select jobforge_set_policy('a', '{\"keep_history\": false}')");
  const flow = await start(db, [step("a")], { options: { retention_days: 90 } });
  await drain(db);
  expect(await db.query("select step_id, keep_days from jobforge.archive")).toEqual([
    { step_id: flow.steps["a"], keep_days: 90 },
  ]);
});

test("steps and workflows are listed in pages, and a tenant sees its own", async ({ db }) => {
  const flow = await start(
    db,
    Array.from({ length: 5 }, (_, i) => step(`s${i}`)),
    { name: "one" },
  );
  await start(db, [step("x")], { name: "two" });
  await start(db, [step("x")], { tenant: U });
  const list = async (filters: unknown) =>
    await db.query<{ id: string; name: string }>("select id, name from jobforge_list_workflows($1, $2)", [
      T,
      JSON.stringify(filters),
    ]);
  expect((await list({})).map((row) => row.name)).toEqual(["two", "one"]);
  const [newest] = await list({ limit: 1 });
  expect((await list({ cursor: newest?.id })).map((row) => row.name)).toEqual(["one"]);
  expect((await list({ name: "two", status: ["running"] })).map((row) => row.name)).toEqual(["two"]);
  await expectError(list({ nam: "x" }), "JF002", "filters.nam");
  const steps = async (tenant: string, filters: unknown) =>
    await db.query<{ id: string; path: string }>("select id, path from jobforge_list_steps($1, $2, $3)", [
      flow.id,
      tenant,
      JSON.stringify(filters),
    ]);
  const page = await steps(T, { limit: 3 });
  const rest = await steps(T, { limit: 3, cursor: page[2]?.id });
  expect([...page, ...rest].map((row) => row.path).sort()).toEqual(["s0", "s1", "s2", "s3", "s4"]);
  expect(await steps(U, {})).toEqual([]);
  expect(await db.value("select jobforge_get_workflow($1, $2)", [flow.id, U])).toBeNull();
});

test("an end releases many dependents in slices, and many needs release theirs once", async ({ db }) => {
  const wide = Array.from({ length: 1500 }, (_, i) => step(`s${i}`, ["first"]));
  const flow = await start(db, [
    step("first"),
    ...wide,
    step(
      "last",
      wide.map((each) => each["name"]),
    ),
  ]);
  const ran = await drain(db);
  expect(ran).toHaveLength(1502);
  expect(ran.at(-1)).toBe("last");
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a complete in REPEATABLE READ leaves the next step to the next claim", async ({ db }) => {
  await start(db, [step("a"), step("b", ["a"])]);
  const [a] = await claimIds(db);
  await db.query("begin isolation level repeatable read");
  await complete(db, a ?? null);
  await db.query("commit");
  expect((await claimSteps(db)).map((job) => job.path)).toEqual(["b"]);
  await expectNoErrors(db);
});

test("the steps of a workflow know their job, and the jobs their step and workflow", async ({ db }) => {
  const flow = await start(db, [step("a")]);
  await drain(db, succeed);
  const [a] = await stepsOf(db, flow.id);
  expect(a).toMatchObject({ job_id: flow.steps["a"], status: "succeeded", result: { from: "a" } });
  expect(await db.query("select step_id, workflow_id from jobforge_jobs")).toEqual([
    { step_id: flow.steps["a"], workflow_id: flow.id },
  ]);
});
