/** NOTIFY: who is woken, by what, how often; and who is left in peace. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueueJobs } from "../support/bulk.ts";
import {
  cancel,
  claim,
  codeOf,
  enqueue,
  enqueueAll,
  fail,
  reschedule,
  type Sql,
  T,
  workerHeartbeat,
} from "../support/kernel.ts";
import { listen } from "../support/listen.ts";
import { claimAll, settle, success } from "../support/settle.ts";

/** A worker that sleeps and wants to be woken for the types; for any without them. */
async function sleeper(db: Sql, worker: string, types?: readonly string[]): Promise<void> {
  await workerHeartbeat(db, worker, { types, idle: true });
}

/** The second line of a wake for work that lies ahead. */
async function due(db: Sql, id: string): Promise<string> {
  return await db.value<string>(
    `select to_char(run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from jobforge_jobs where id = $1`,
    [id],
  );
}

test("nobody is notified while no worker sleeps", async ({ db }) => {
  const listener = await listen(db);
  await workerHeartbeat(db, "w1", { types: ["a"] });
  const { id } = await enqueue(db);
  await enqueueJobs(db, [{ type: "a" }, { type: "a" }]);
  await claimAll(db);
  await fail(db, id);
  await reschedule(db, id);
  expect(await listener.heard()).toEqual([]);
});

test("a sleeping worker is woken for its type, and not for others", async ({ db }) => {
  const listener = await listen(db);
  await sleeper(db, "w1", ["a", "b"]);
  await enqueue(db, { type: "c" });
  expect(await listener.heard()).toEqual([]);
  await enqueue(db, { type: "b" });
  expect(await listener.heard()).toEqual(["jobforge_wake: b"]);
});

test("a worker that sleeps for any type is woken for each", async ({ db }) => {
  const listener = await listen(db);
  await sleeper(db, "w1");
  await enqueue(db, { type: "c" });
  await enqueue(db, { type: "d" });
  expect(await listener.heard()).toEqual(["jobforge_wake: c", "jobforge_wake: d"]);
});

test("a worker that heartbeats without being idle sleeps no longer", async ({ db }) => {
  const listener = await listen(db);
  await sleeper(db, "w1", ["a"]);
  await workerHeartbeat(db, "w1", { types: ["a"] });
  await enqueue(db);
  expect(await listener.heard()).toEqual([]);
});

test("a worker that is gone is not woken for ever", async ({ db }) => {
  const listener = await listen(db);
  await sleeper(db, "w1", ["a"]);
  await db.travel("5 minutes");
  await db.query("select jobforge_maintain()");
  await enqueue(db);
  expect(await listener.heard()).toEqual([]);
});

test("a thousand jobs of two types in one call are one wake for each type", async ({ db }) => {
  const listener = await listen(db);
  await sleeper(db, "w1");
  await enqueueJobs(
    db,
    Array.from({ length: 1000 }, (_, n) => ({ type: n % 2 === 0 ? "a" : "b" })),
  );
  expect((await listener.heard()).sort()).toEqual(["jobforge_wake: a", "jobforge_wake: b"]);
});

test("work that lies ahead wakes with its time, the earliest of a call; work of the past with the type alone", async ({
  db,
}) => {
  const listener = await listen(db);
  await sleeper(db, "w1", ["a"]);
  const [later, sooner] = await enqueueJobs(db, [
    { type: "a", run_at: "2999-01-02T00:00:00Z" },
    { type: "a", run_at: "2999-01-01T00:00:00.123456Z" },
  ]);
  expect(later).toBeDefined();
  expect(await listener.heard()).toEqual([`jobforge_wake: a\n${await due(db, sooner?.id ?? "")}`]);
  expect(await due(db, sooner?.id ?? "")).toBe("2999-01-01T00:00:00.123456Z");
  await enqueueJobs(db, [{ type: "a", run_at: "2999-01-02T00:00:00Z" }, { type: "a" }]);
  await enqueue(db, { in: "-1 hour" });
  expect(await listener.heard()).toEqual(["jobforge_wake: a", "jobforge_wake: a"]);
});

test("a caller that notifies by itself asks for silence", async ({ db }) => {
  const listener = await listen(db);
  await sleeper(db, "w1");
  await enqueue(db, { notify: false });
  await db.query("select jobforge_enqueue_jobs($1, $2, false)", [T, JSON.stringify([{ type: "a" }])]);
  expect(await listener.heard()).toEqual([]);
});

test("a transaction that rolls back wakes nobody", async ({ db }) => {
  const listener = await listen(db);
  await sleeper(db, "w1");
  await db.query("begin");
  await enqueue(db);
  await db.query("rollback");
  expect(await listener.heard()).toEqual([]);
});

/** What brings a job of worker w9 back into the queue, and when it is due then. */
const returns: Record<
  string,
  { run: boolean; ahead: boolean; act: (db: Sql, id: string) => Promise<unknown> }
> = {
  "a retry": { run: true, ahead: true, act: (db, id) => fail(db, id, { worker: "w9" }) },
  "a deferral": {
    run: true,
    ahead: true,
    act: (db, id) =>
      db.query("select jobforge_defer_job($1, 'w9', clock_timestamp() + interval '1 hour')", [id]),
  },
  "a release": {
    run: true,
    ahead: false,
    act: (db, id) => settle(db, [{ id, attempt: 1, status: "released" }], { worker: "w9" }),
  },
  "a lost lease": {
    run: true,
    ahead: false,
    act: (db) => workerHeartbeat(db, "w9", { instance: "new", held: [] }),
  },
  "a reschedule": { run: false, ahead: false, act: (db, id) => reschedule(db, id) },
  "a reschedule to a later time": {
    run: false,
    ahead: true,
    act: (db, id) => reschedule(db, id, { run_at: "2999-01-01T00:00:00Z" }),
  },
  "a reschedule by filter": {
    run: false,
    ahead: false,
    act: (db) => db.query('select jobforge_reschedule_jobs($1, \'{"type": "a"}\')', [T]),
  },
  "an update": {
    run: false,
    ahead: true,
    act: (db, id) => db.query('select jobforge_update_job($1, $2, \'{"run_at": "2999-01-01"}\')', [id, T]),
  },
  "an update to now": {
    run: false,
    ahead: false,
    act: (db, id) => db.query("select jobforge_update_job($1, $2, '{\"run_at\": null}')", [id, T]),
  },
  "a debounce": {
    run: false,
    ahead: true,
    act: (db) => enqueue(db, { dedupe_key: "d", dedupe_mode: "debounce", run_at: "2999-01-01T00:00:00Z" }),
  },
};

test.for(Object.keys(returns))("%s wakes the workers of the type, once", async (name, { db }) => {
  const { run, ahead, act } = returns[name] ?? expect.fail(name);
  const { id } = await enqueue(db, { dedupe_key: "d", ...(run ? {} : { in: "10 hours" }) });
  await workerHeartbeat(db, "w9", { instance: "old" });
  if (run) await claim(db, "w9");
  const listener = await listen(db);
  await sleeper(db, "w1", ["a"]);
  await act(db, id);
  expect(await listener.heard()).toEqual([`jobforge_wake: a${ahead ? `\n${await due(db, id)}` : ""}`]);
});

test("a child wakes the workers of its type", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const listener = await listen(db);
  await sleeper(db, "w2", ["child"]);
  await settle(db, [success(id, { children: [{ type: "child" }, { type: "child" }] })]);
  expect(await listener.heard()).toEqual(["jobforge_wake: child"]);
});

test.for([
  ["all", null],
  ["type", "a"],
  ["tenant", T],
] as const)(
  "resuming a gate of %s wakes the workers that sleep, pausing does not",
  async ([scope, key], { db }) => {
    const listener = await listen(db);
    await sleeper(db, "w1", ["a"]);
    await db.query("select jobforge_set_gate($1, $2, true)", [scope, key]);
    expect(await listener.heard()).toEqual([]);
    await db.query("select jobforge_set_gate($1, $2, false)", [scope, key]);
    expect(await listener.heard()).toEqual(["jobforge_wake: a"]);
  },
);

test("canceling a running job tells its worker, once however often it is asked; a queued one concerns nobody", async ({
  db,
}) => {
  const [running, queued] = await enqueueAll(db, [{ priority: 1 }, {}]);
  await claim(db, "worker 7", { limit: 1 });
  const listener = await listen(db);
  await cancel(db, running);
  await cancel(db, running);
  await cancel(db, queued);
  expect(await listener.heard()).toEqual(["jobforge_cancel: worker 7"]);
});

test("canceling by filter tells each worker once", async ({ db }) => {
  await enqueueAll(db, Array(6).fill({}));
  for (const worker of ["w1", "w2"]) await claim(db, worker, { limit: 2 });
  const listener = await listen(db);
  await db.query('select jobforge_cancel_jobs($1, \'{"type": "a"}\')', [T]);
  expect((await listener.heard()).sort()).toEqual(["jobforge_cancel: w1", "jobforge_cancel: w2"]);
});

test("jobs enqueued without a notification wake idle workers of their types by a separate call", async ({
  db,
}) => {
  await db.query('select jobforge_heartbeat_worker(\'w1\', \'{"idle": true, "types": ["a", "later"]}\')');
  const listener = await listen(db);
  await enqueue(db, { type: "a", notify: false });
  await db.query("select jobforge_wake_workers($1)", [
    JSON.stringify({ a: null, b: null, later: "2999-01-01T00:00:00Z" }),
  ]);
  expect((await listener.heard()).sort()).toEqual([
    "jobforge_wake: a",
    "jobforge_wake: later\n2999-01-01T00:00:00.000000Z",
  ]);
  for (const wakes of [null, "[]", '{"a": "soon"}'])
    expect(await codeOf(db.query("select jobforge_wake_workers($1)", [wakes])), String(wakes)).toBe("JF002");
});
