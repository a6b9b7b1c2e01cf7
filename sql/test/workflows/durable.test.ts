/** Steps in the code of a handler are saved, and a run waits without a worker and at the cost of no attempt. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { maintain } from "../support/archive.ts";
import {
  claim,
  claimIds,
  complete,
  connections,
  enqueue,
  expectError,
  type Job,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { settle, success } from "../support/settle.ts";
import { boundLogin } from "../support/tenants.ts";
import { claimSteps, drain, refuse, start, statusesOf, step, workflowOf } from "../support/workflows.ts";

type Json = Record<string, unknown>;

const suspend = async (db: Sql, job: Job, wait: Json) =>
  await settle(db, [{ id: job.id, attempt: job.attempts, status: "suspended", wait }]);

const save = async (db: Sql, job: Job, steps: Json[], attempt = job.attempts) =>
  await db.value<{ saved: number }>("select jobforge_save_steps($1, 'w1', $2, $3)", [
    job.id,
    JSON.stringify(steps),
    attempt,
  ]);

const load = async (db: Sql, job: Job) =>
  await db.value<{ steps: (Json & { name: string })[]; children: Json[] }>(
    "select jobforge_load_steps($1, 'w1', $2)",
    [job.id, job.attempts],
  );

const take = async (db: Sql, job: Job, wait: string) =>
  await db.value("select jobforge_take_signal($1, 'w1', $2, $3)", [job.id, wait, job.attempts]);

const signal = async (db: Sql, id: string, name: string, payload: unknown = null) =>
  await db.value("select jobforge_send_signal($1, $2, $3, $4)", [T, id, name, JSON.stringify(payload)]);

const results = async (db: Sql, job: Job, of: string) =>
  (
    await db.value<{ items: Json[] }>("select jobforge_read_results($1, 'w1', $2, $3)", [
      job.id,
      of,
      job.attempts,
    ])
  ).items;

/** Enqueues a job and claims it. */
async function begin(db: Sql, more: Json = {}): Promise<Job> {
  await enqueue(db, more);
  return await next(db);
}

async function next(db: Sql): Promise<Job> {
  const [job] = await claim(db);
  return job ?? expect.fail("no job is due");
}

test("checkpoints are saved once, under the fence, and loaded by the next run", async ({ db }) => {
  const job = await begin(db);
  expect(
    await save(db, job, [
      { name: "a", value: { x: 1 } },
      { name: "b", value: null },
    ]),
  ).toMatchObject({ saved: 2 });
  expect(await save(db, job, [{ name: "a", value: 2 }])).toMatchObject({ saved: 0 });
  await expectError(save(db, job, [{ name: "c", value: 1 }], 7), "JF003");
  await complete(db, job.id, { status: "failed" });
  await db.travel("1 hour");
  const again = await next(db);
  await expectError(save(db, job, [{ name: "c", value: 1 }]), "JF003");
  expect((await load(db, again)).steps).toMatchObject([
    { name: "a", value: { x: 1 }, done: true },
    { name: "b", value: null, done: true },
  ]);
});

test("a run that saves something new renews the budget of its job", async ({ db }) => {
  let job = await begin(db, { max_attempts: 2 });
  for (const [n, name] of ["a", "b", "c"].entries()) {
    await save(db, job, [{ name, value: 1 }]);
    await complete(db, job.id, { status: "failed" });
    await db.travel(`${n + 1} hours`);
    job = await next(db);
  }
  expect(job.attempts).toBe(4);
  await complete(db, job.id, { status: "failed" });
  expect(await db.value("select status from jobforge_jobs")).toBe("dead");
});

test("a run whose lease was lost saves nothing, and three losses in a row end its job all the same", async ({
  db,
}) => {
  let job = await begin(db);
  for (let losses = 1; losses <= 3; losses += 1) {
    await save(db, job, [{ name: `s${losses}`, value: losses }]);
    await db.travel(`${losses} hours`);
    await maintain(db);
    await expectError(save(db, job, [{ name: "late", value: 1 }]), "JF003");
    if (losses < 3) job = await next(db);
  }
  expect(await db.query("select status, reason, attempts from jobforge_jobs")).toEqual([
    { status: "dead", reason: "crashed", attempts: 3 },
  ]);
  expect(await db.value("select count(*)::int from jobforge_checkpoints")).toBe(3);
});

test("a sleep costs no attempt, and its end is kept", async ({ db }) => {
  const sleeps = 10;
  let job = await begin(db, { max_attempts: 1 });
  for (let n = 1; n <= sleeps; n++) {
    const until = await db.value<string>("select jobforge.now() + interval '1 minute'");
    await suspend(db, job, { name: `sleep#${n}`, until });
    expect(await claimIds(db)).toEqual([]);
    expect(await db.value("select count(*)::int from jobforge.runs")).toBe(0);
    await db.travel(`${n * 2} minutes`);
    job = await next(db);
  }
  expect(job.attempts).toBe(sleeps + 1);
  expect((await load(db, job)).steps.map((each) => [each["kind"], each["done"]])).toEqual(
    Array.from({ length: sleeps }, () => ["sleep", true]),
  );
  await complete(db, job.id);
  expect(await db.query("select status, uncounted from jobforge_jobs")).toEqual([
    { status: "succeeded", uncounted: sleeps },
  ]);
});

test("a job waits for the first of several signals, and a replay sees the same one", async ({ db }) => {
  const job = await begin(db);
  await suspend(db, job, { name: "reply", signals: ["yes", "no"] });
  expect(await claimIds(db)).toEqual([]);
  await signal(db, job.id, "other");
  expect(await claimIds(db)).toEqual([]);
  await signal(db, job.id, "no", { why: 1 });
  await signal(db, job.id, "yes");
  const again = await next(db);
  const taken = { signal: "no", payload: { why: 1 } };
  expect(await take(db, again, "reply")).toEqual(taken);
  expect(await take(db, again, "reply")).toEqual(taken);
  await suspend(db, again, { name: "second", signals: ["yes"] });
  const last = await next(db);
  expect(await take(db, last, "second")).toEqual({ signal: "yes", payload: null });
});

test("a wait for a signal times out, and the answer differs from null", async ({ db }) => {
  const job = await begin(db);
  const until = await db.value<string>("select jobforge.now() + interval '1 minute'");
  await suspend(db, job, { name: "reply", signals: ["yes"], until });
  expect(await claimIds(db)).toEqual([]);
  await db.travel("2 minutes");
  const again = await next(db);
  expect(await take(db, again, "reply")).toEqual({ timed_out: true });
  await signal(db, job.id, "yes");
  expect(await take(db, again, "reply")).toEqual({ timed_out: true });
});

test("the last child wakes its parent in a call that also ends a need of a busy step", async ({ db }) => {
  const other = await db.connect();
  await start(db, [step("a"), step("b", [], { type: "b" }), step("join", ["a", "b"], { type: "join" })]);
  await enqueue(db, { type: "parent" });
  const [parent] = await claim(db, "w1", { types: ["parent"] });
  if (parent === undefined) return expect.fail("no parent");
  await suspend(db, parent, { name: "all", children: [{ type: "child" }] });
  const [a] = await claim(db, "w1", { types: ["a"] });
  const [b, child] = await claim(db, "w1", { types: ["b", "child"] });
  // The join is busy: the end of its other need is under way.
  await other.query("begin");
  await settle(other, [success(a?.id ?? "")]);
  await settle(db, [success(b?.id ?? ""), success(child?.id ?? "")]);
  expect(await claim(db, "w1", { types: ["parent"] })).toHaveLength(1);
  await other.query("commit");
  expect(await claim(db, "w1", { types: ["join"] })).toHaveLength(1);
});

test("an update of a job that waits does not wake it, unless it says when the job is due", async ({ db }) => {
  const job = await begin(db);
  await suspend(db, job, { name: "reply", signals: ["yes"] });
  const update = async (changes: Json): Promise<unknown> => {
    await db.query("select jobforge_update_job($1, $2, $3)", [job.id, T, JSON.stringify(changes)]);
    return await db.value("select state from jobforge.queue");
  };
  expect(await update({ priority: 5, payload: { n: 2 } })).toBe("suspended");
  expect(await claim(db)).toEqual([]);
  expect(await update({ run_at: null })).toBe("ready");
});

test("an enqueue with the dedupe key of a job that has saved steps does not change it", async ({ db }) => {
  const job = await begin(db, { dedupe_key: "k", payload: { n: 1 } });
  await suspend(db, job, { name: "reply", signals: ["yes"] });
  for (const dedupe_mode of ["replace", "debounce"])
    expect(
      await enqueue(db, { dedupe_key: "k", dedupe_mode, payload: { n: 2 }, in: "1 hour" }),
    ).toMatchObject({ id: job.id, outcome: "existing", payload: { n: 1 } });
  expect(await db.value("select state from jobforge.queue")).toBe("suspended");
});

test("a signal that is sent while the run is being suspended is not lost", async ({ db }) => {
  const [one, two] = await connections(db, 2);
  for (let n = 0; n < 20; n++) {
    const job = await begin(db);
    const sender = one ?? db;
    const worker = two ?? db;
    await Promise.all([
      (async () => {
        await sender.query("begin");
        await signal(sender, job.id, "go");
        await sender.query("commit");
      })(),
      suspend(worker, job, { name: "w", signals: ["go"] }),
    ]);
    let again: Job | undefined;
    for (let look = 0; again === undefined && look < 100; look++) {
      await db.travel(`${n * 100 + look} seconds`);
      [again] = await claim(db);
    }
    expect(again?.id).toBe(job.id);
    await complete(db, job.id);
  }
});

test("a parent waits for its children without a worker, and reads their results in order", async ({ db }) => {
  const parent = await begin(db, { type: "parent" });
  const children = [{ type: "child", payload: { $result: 1 } }, { type: "child" }, { type: "child" }];
  await suspend(db, parent, { name: "all", children });
  const running = await claim(db);
  expect(running.map((job) => [job.type, job.payload])).toContainEqual(["child", { $result: 1 }]);
  expect(running).toHaveLength(3);
  for (const job of running.slice(1).reverse()) await complete(db, job.id, { result: { of: job.id } });
  expect(await claimIds(db)).toEqual([]);
  expect(await db.value("select jobforge_explain_job($1, $2)", [parent.id, T])).toMatchObject([
    { code: "suspended" },
  ]);
  const [first] = running;
  await settle(db, [{ id: first?.id, attempt: 1, ...refuse }]);
  const again = await next(db);
  expect(again).toMatchObject({ id: parent.id, attempts: 2 });
  expect((await load(db, again)).children).toEqual([{ wait: "all", count: 3, open: 0 }]);
  expect((await load(db, again)).steps).toMatchObject([{ name: "all", done: true }]);
  expect(await results(db, again, "all")).toMatchObject([
    { index: 0, status: "failed", error: { message: "refused" } },
    { index: 1, status: "succeeded", result: { of: running[1]?.id } },
    { index: 2, status: "succeeded", result: { of: running[2]?.id } },
  ]);
  await complete(db, again.id);
});

test("views show a tenant the checkpoints and signals of its own jobs", async ({ db }) => {
  const job = await begin(db);
  await save(db, job, [{ name: "charge", value: { id: 7 } }]);
  await suspend(db, job, { name: "reply", signals: ["confirmed"] });
  await signal(db, job.id, "confirmed", { by: "ada" });
  const own = await boundLogin(db, T, "jobforge_tenant");
  const other = await boundLogin(db, U, "jobforge_tenant");
  const checkpoints = "select name, kind, value, signals, done from jobforge_checkpoints order by name";
  expect(await own.query(checkpoints)).toEqual([
    { name: "charge", kind: "step", value: { id: 7 }, signals: null, done: true },
    { name: "reply", kind: "wait", value: null, signals: ["confirmed"], done: false },
  ]);
  const signals = "select target_id, name, payload, taken_by from jobforge_signals";
  expect(await own.query(signals)).toEqual([
    { target_id: job.id, name: "confirmed", payload: { by: "ada" }, taken_by: null },
  ]);
  expect(await other.query(checkpoints)).toEqual([]);
  expect(await other.query(signals)).toEqual([]);
});

test("no children are no wait", async ({ db }) => {
  const parent = await begin(db);
  await suspend(db, parent, { name: "all", children: [] });
  const again = await next(db);
  expect(await results(db, again, "all")).toEqual([]);
});

test("the cancel of a suspended parent cancels its children", async ({ db }) => {
  const parent = await begin(db, { type: "parent" });
  await suspend(db, parent, { name: "all", children: [{ type: "x" }, { type: "x" }] });
  const [running] = await claim(db, "w1", { limit: 1 });
  await db.query("select jobforge_cancel_job($1, $2)", [parent.id, T]);
  const rows = await db.query(
    "select type, status, cancel_requested from jobforge_jobs order by type, status",
  );
  expect(rows).toEqual([
    { type: "parent", status: "canceled", cancel_requested: false },
    { type: "x", status: "canceled", cancel_requested: false },
    { type: "x", status: "running", cancel_requested: true },
  ]);
  await complete(db, running?.id ?? null);
  expect(await claimIds(db)).toEqual([]);
});

test("a step of a workflow suspends itself, and its workflow waits for it", async ({ db }) => {
  const flow = await start(db, [step("a"), step("b", ["a"])]);
  const [a] = await claimSteps(db);
  if (a === undefined) return expect.fail("no step");
  await suspend(db, a, { name: "all", children: [{ type: "child" }] });
  const [child] = await claim(db);
  expect(child).toMatchObject({ type: "child" });
  await complete(db, child?.id ?? null, { result: 5 });
  const again = await next(db);
  expect(await results(db, again, "all")).toMatchObject([{ index: 0, result: 5 }]);
  await complete(db, again.id);
  await drain(db);
  expect(await statusesOf(db, flow.id)).toMatchObject({ a: "succeeded", b: "succeeded" });
  expect((await workflowOf(db, flow.id)).status).toBe("succeeded");
});

test("a step reads the results of a map that it needs", async ({ db }) => {
  await start(db, [step("each", [], { map: { over: [1, 2] } }), step("sum", ["each"])]);
  for (const item of await claimSteps(db)) await complete(db, item.id, { result: item.path });
  const sum = await next(db);
  expect(await results(db, sum, "each")).toMatchObject([{ result: "each[0]" }, { result: "each[1]" }]);
  await expectError(results(db, sum, "nothing"), "JF002", "step");
});

test("a wait that is not valid fails the run, and a call with it is refused", async ({ db }) => {
  const job = await begin(db);
  const call = db.query("select jobforge_suspend_job($1, 'w1', $2)", [job.id, '{"name": "x"}']);
  await expectError(call, "JF002", "wait");
  await suspend(db, job, { name: "x", children: [{ type: "a", dedupe_key: "k" }] });
  expect(await db.value("select error ->> 'name' from jobforge_jobs")).toBe("InvalidWait");
});
