/** Bad ends, maps, sub-workflows, signals, deadlines and cancels. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claimIds, complete, expectError, type Sql, T, U } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import {
  claimSteps,
  drain,
  refuse,
  start,
  statusesOf,
  step,
  stepsOf,
  succeed,
  workflowOf,
} from "../support/workflows.ts";

const failing = (name: string) => (job: Parameters<typeof succeed>[0]) =>
  job.path === name ? refuse : succeed(job);

const signal = async (
  db: Sql,
  id: string,
  name: string,
  payload: unknown = null,
  key: string | null = null,
) =>
  await db.value("select jobforge_send_signal($1, $2, $3, $4, $5)", [
    T,
    id,
    name,
    JSON.stringify(payload),
    key,
  ]);

const cancel = async (db: Sql, id: string, tenant = T) =>
  await db.value("select jobforge_cancel_workflow($1, $2, 'because')", [id, tenant]);

test("a bad end cancels what needs it at every depth, and other branches finish", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"]), step("c", ["b"]), step("other")]);
  await drain(db, failing("a"));
  expect(await statusesOf(db, flow.id)).toEqual({
    a: "failed",
    b: "canceled",
    c: "canceled",
    other: "succeeded",
  });
  expect(await workflowOf(db, flow.id)).toMatchObject({ status: "failed", failed: [{ step: "a" }] });
  expect((await stepsOf(db, flow.id)).map(({ reason }) => reason)).toEqual([
    "refused",
    "need_failed",
    "need_failed",
    "done",
  ]);
  expect(
    await db.value("select count(*)::int from jobforge_audit_log where action = 'WORKFLOW_FAILED'"),
  ).toBe(1);
});

test("run goes on after a bad end, compensate runs only then, and optional steps fail nothing", async ({
  db,
}) => {
  const steps = [
    step("a", [], { optional: true }),
    step("on", [{ step: "a", policy: "run" }]),
    step("undo", [{ step: "a", policy: "compensate" }]),
    step("after", ["undo"]),
  ];
  const bad = await start(db, steps);
  expect((await drain(db, failing("a"))).sort()).toEqual(["a", "after", "on", "undo"]);
  expect((await workflowOf(db, bad.id)).status).toBe("succeeded");
  const good = await start(db, steps);
  await drain(db);
  expect(await statusesOf(db, good.id)).toEqual({
    a: "succeeded",
    on: "succeeded",
    undo: "skipped",
    after: "skipped",
  });
  expect((await workflowOf(db, good.id)).status).toBe("succeeded");
});

test("a step that runs after a failure reads how its need ended", async ({ db }) => {
  await start(db, [step("a", [], { optional: true }), step("on", [{ step: "a", policy: "run" }])]);
  const [a] = await claimSteps(db);
  await settle(db, [{ id: a?.id, attempt: 1, ...refuse }]);
  const [on] = await claimSteps(db);
  expect(
    await db.value("select jobforge_read_results($1, 'w1', 'a') -> 'items' -> 0", [on?.id]),
  ).toMatchObject({
    status: "failed",
    result: null,
    error: { message: "refused" },
  });
});

test("a step whose job is canceled or expires has ended badly", async ({ db }) => {
  const flow = await start(db, [
    step("a"),
    step("b", [], { expires_at: new Date(Date.now() + 60_000).toISOString(), delay_ms: 30_000 }),
    step("after-a", ["a"]),
    step("after-b", ["b"]),
    step("anyway", [
      { step: "a", policy: "run" },
      { step: "b", policy: "compensate" },
    ]),
  ]);
  await db.query("select jobforge_cancel_job($1, $2)", [flow.steps["a"], T]);
  await db.travel("2 minutes");
  expect(await drain(db)).toEqual(["anyway"]);
  const ends = (await stepsOf(db, flow.id)).map(
    ({ path, status, reason }) => `${path}: ${status}, ${reason}`,
  );
  expect(ends.sort()).toEqual([
    "a: canceled, canceled",
    "after-a: canceled, need_failed",
    "after-b: canceled, need_failed",
    "anyway: succeeded, done",
    "b: canceled, expired",
  ]);
  expect((await workflowOf(db, flow.id)).status).toBe("failed");
});

test("a map over a result runs one job for each item, and its result has their order", async ({ db }) => {
  const flow = await start(db, [
    step("list"),
    step("each", [], {
      map: { over: { $result: "list.files" } },
      payload: { file: { $item: "" }, n: { $index: true } },
    }),
    step("join", [], { payload: { all: { $result: "each" } } }),
  ]);
  const [list] = await claimSteps(db);
  await complete(db, list?.id ?? null, { result: { files: ["x", "y"] } });
  const items = await claimSteps(db);
  expect(items.map((item) => item.path)).toEqual(["each[0]", "each[1]"]);
  for (const item of items.toReversed()) await complete(db, item.id, { result: item.path });
  const [join] = await claimSteps(db);
  expect(join?.payload).toEqual({ all: ["each[0]", "each[1]"] });
  await complete(db, join?.id ?? null);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("an empty map succeeds at once, a map over no list fails, and a large one is made in slices", async ({
  db,
}) => {
  const empty = await start(db, [step("each", [], { map: { over: [] } }), step("after", ["each"])]);
  expect(await drain(db)).toEqual(["after"]);
  expect((await workflowOf(db, empty.id)).status).toBe("succeeded");
  const wrong = await start(
    db,
    [
      step("each", [], { map: { over: { $input: "list" } } }),
      step("after", ["each"]),
      step("undo", [{ step: "each", policy: "compensate" }]),
    ],
    { input: { list: 7 } },
  );
  expect(await drain(db)).toEqual(["undo"]);
  const error = { message: "The map needs an array and got a value of the kind number" };
  expect(await workflowOf(db, wrong.id)).toMatchObject({
    status: "failed",
    failed: [{ reason: "no_list", error }],
    counts: { canceled: 1 },
  });
  const large = await start(db, [
    step("each", [], { map: { over: Array.from({ length: 1200 }, (_, i) => i) } }),
  ]);
  expect(await drain(db)).toHaveLength(1200);
  expect((await workflowOf(db, large.id)).status).toBe("succeeded");
});

test("a sub-workflow has names, input and output of its own", async ({ db }) => {
  const flow = await start(db, [
    step("a"),
    {
      name: "sub",
      payload: { from: { $result: "a.from" } },
      steps: [step("a", [], { payload: { got: { $input: "from" } } })],
    },
    step("end", [], { payload: { sub: { $result: "sub" } } }),
  ]);
  const seen: unknown[] = [];
  const ran = await drain(db, (job) => {
    seen.push(job.payload);
    return succeed(job);
  });
  expect(ran).toEqual(["a", "sub/a", "end"]);
  expect(seen).toEqual([{}, { got: "a" }, { sub: { from: "sub/a" } }]);
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("signals are kept until a step takes them, in order, and a key sends one once", async ({ db }) => {
  const flow = await start(db, [
    step("a"),
    { name: "ok", needs: ["a"], signal: { name: "go" } },
    { name: "again", needs: ["ok"], signal: { name: "go" } },
    step("b", [], { payload: { first: { $result: "ok" }, second: { $result: "again" } } }),
  ]);
  expect(await signal(db, flow.id, "go", 1, "k")).toEqual({ outcome: "created", taken: false });
  expect(await signal(db, flow.id, "go", 9, "k")).toEqual({ outcome: "existing", taken: false });
  const [a] = await claimIds(db);
  await complete(db, a ?? null);
  expect(await claimIds(db)).toEqual([]);
  expect((await workflowOf(db, flow.id)).waits).toMatchObject([{ step: "again", signal: "go" }]);
  expect(await signal(db, flow.id, "go", 2)).toEqual({ outcome: "created", taken: true });
  const [b] = await claimSteps(db);
  expect(b?.payload).toEqual({ first: 1, second: 2 });
  await complete(db, b?.id ?? null);
  await expectError(signal(db, flow.id, "go"), "JF011", "workflow_id");
});

test("a signal that does not come in time fails its step, or lets it continue", async ({ db }) => {
  const wait = (on_timeout: string) => [{ name: "ok", signal: { timeout_ms: 60_000, on_timeout } }];
  const fails = await start(db, wait("fail"));
  const goes = await start(db, wait("continue"));
  const empty = await start(db, wait("continue"));
  await signal(db, empty.id, "ok");
  expect(await claimIds(db)).toEqual([]);
  expect((await workflowOf(db, fails.id)).status).toBe("running");
  await db.travel("2 minutes");
  await claimIds(db);
  expect(await workflowOf(db, fails.id)).toMatchObject({
    status: "failed",
    failed: [{ reason: "timed_out" }],
  });
  expect(await workflowOf(db, goes.id)).toMatchObject({ status: "succeeded", output: { timed_out: true } });
  expect(await workflowOf(db, empty.id)).toMatchObject({ status: "succeeded", output: null });
});

test("a cancel ends what is queued, asks what runs, and starts cleanup steps only", async ({ db }) => {
  const flow = await start(db, [
    step("runs"),
    step("next", ["runs"]),
    step("tidy", [{ step: "runs", policy: "run" }], { cleanup: true }),
  ]);
  const [runs] = await claimIds(db);
  await start(db, [step("x")]).then(async ({ id }) => {
    expect(await cancel(db, id)).toMatchObject({ status: "canceled", canceled: 1, requested: 0 });
    await expectError(cancel(db, id), "JF011", "workflow_id");
  });
  await expectError(cancel(db, flow.id, U), "JF011", "workflow_id");
  expect(await cancel(db, flow.id)).toMatchObject({ status: "running", canceled: 0, requested: 1 });
  expect(await cancel(db, flow.id)).toMatchObject({ status: "running" });
  await complete(db, runs ?? null);
  expect(await drain(db)).toEqual(["tidy"]);
  expect(await statusesOf(db, flow.id)).toEqual({ runs: "canceled", next: "canceled", tidy: "succeeded" });
  expect(await workflowOf(db, flow.id)).toMatchObject({ status: "canceled", reason: "canceled" });
});

test("a cancel reaches every queued step, however many rounds it takes", async ({ db }) => {
  const flow = await start(
    db,
    Array.from({ length: 2500 }, (_, n) => step(`s${n}`)),
  );
  expect(await cancel(db, flow.id)).toMatchObject({ status: "running", canceled: 1000 });
  // As after the thirty rounds that a workflow of thirty thousand queued steps takes.
  await db.query("update jobforge.wakeups set tries = 30 where what = 'stop'");
  for (let round = 1; round <= 2; round += 1) {
    await db.travel(`${round} seconds`);
    await db.query("select jobforge_maintain()");
  }
  expect(await workflowOf(db, flow.id)).toMatchObject({ status: "canceled", counts: { canceled: 2500 } });
});

test("a deadline and on_failure cancel stop the rest", async ({ db }) => {
  const late = await start(db, [step("a", [], { delay_ms: 3_600_000 })], { options: { timeout_ms: 60_000 } });
  await db.travel("2 minutes");
  await claimIds(db);
  expect(await workflowOf(db, late.id)).toMatchObject({ status: "failed", reason: "deadline" });
  const fast = await start(db, [step("a"), step("later", [], { delay_ms: 3_600_000 })], {
    options: { on_failure: "cancel" },
  });
  await drain(db, failing("a"));
  expect(await statusesOf(db, fast.id)).toEqual({ a: "failed", later: "canceled" });
  expect((await workflowOf(db, fast.id)).status).toBe("failed");
});
