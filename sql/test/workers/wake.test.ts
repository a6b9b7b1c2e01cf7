/** Notifications: which workers are woken, by which calls and how often, and which are not. */
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
  U,
  workerHeartbeat,
} from "../support/kernel.ts";
import { listen } from "../support/listen.ts";
import { claimAll, settle, success } from "../support/settle.ts";
import { boundLogin } from "../support/tenants.ts";

/** Registers an idle worker that waits for jobs of the types, or of all types if none are given. */
async function idleWorker(db: Sql, worker: string, types?: readonly string[]): Promise<void> {
  await workerHeartbeat(db, worker, { types, idle: true });
}

/** Returns the second line of a wake-up for a job that is due in the future. */
async function due(db: Sql, id: string): Promise<string> {
  return await db.value<string>(
    `select to_char(run_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') from jobforge_jobs where id = $1`,
    [id],
  );
}

test("no notification is sent while no worker is idle", async ({ db }) => {
  const listener = await listen(db);
  await workerHeartbeat(db, "w1", { types: ["a"] });
  const { id } = await enqueue(db);
  await enqueueJobs(db, [{ type: "a" }, { type: "a" }]);
  await claimAll(db);
  await fail(db, id);
  await reschedule(db, id);
  expect(await listener.heard()).toEqual([]);
});

test("an idle worker is woken for its types, and not for others", async ({ db }) => {
  const listener = await listen(db);
  await idleWorker(db, "w1", ["a", "b"]);
  await enqueue(db, { type: "c" });
  expect(await listener.heard()).toEqual([]);
  await enqueue(db, { type: "b" });
  expect(await listener.heard()).toEqual(["jobforge_wake: b"]);
});

test("a worker that is idle for all types is woken for each type", async ({ db }) => {
  const listener = await listen(db);
  await idleWorker(db, "w1");
  await enqueue(db, { type: "c" });
  await enqueue(db, { type: "d" });
  expect(await listener.heard()).toEqual(["jobforge_wake: c", "jobforge_wake: d"]);
});

test("a worker whose heartbeat does not say idle is no longer woken", async ({ db }) => {
  const listener = await listen(db);
  await idleWorker(db, "w1", ["a"]);
  await workerHeartbeat(db, "w1", { types: ["a"] });
  await enqueue(db);
  expect(await listener.heard()).toEqual([]);
});

test("a worker that is gone is no longer woken after maintenance", async ({ db }) => {
  const listener = await listen(db);
  await idleWorker(db, "w1", ["a"]);
  await db.travel("5 minutes");
  await db.query("select jobforge_maintain()");
  await enqueue(db);
  expect(await listener.heard()).toEqual([]);
});

test("a thousand jobs of two types in one call send one wake-up for each type", async ({ db }) => {
  const listener = await listen(db);
  await idleWorker(db, "w1");
  await enqueueJobs(
    db,
    Array.from({ length: 1000 }, (_, n) => ({ type: n % 2 === 0 ? "a" : "b" })),
  );
  expect((await listener.heard()).sort()).toEqual(["jobforge_wake: a", "jobforge_wake: b"]);
});

test("a wake-up for future jobs has the earliest time of the call, and one for due jobs has only the type", async ({
  db,
}) => {
  const listener = await listen(db);
  await idleWorker(db, "w1", ["a"]);
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

test("a caller that sends its own notifications can enqueue without one", async ({ db }) => {
  const listener = await listen(db);
  await idleWorker(db, "w1");
  await enqueue(db, { notify: false });
  await db.query("select jobforge_enqueue_jobs($1, $2, false)", [T, JSON.stringify([{ type: "a" }])]);
  expect(await listener.heard()).toEqual([]);
});

test("a transaction that rolls back wakes no worker", async ({ db }) => {
  const listener = await listen(db);
  await idleWorker(db, "w1");
  await db.query("begin");
  await enqueue(db);
  await db.query("rollback");
  expect(await listener.heard()).toEqual([]);
});

/** The calls that put a job of worker w9 back into the queue, and whether it is then due in the future. */
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
  await idleWorker(db, "w1", ["a"]);
  await act(db, id);
  expect(await listener.heard()).toEqual([`jobforge_wake: a${ahead ? `\n${await due(db, id)}` : ""}`]);
});

test("a child wakes the workers of its type", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const listener = await listen(db);
  await idleWorker(db, "w2", ["child"]);
  await settle(db, [success(id, { children: [{ type: "child" }, { type: "child" }] })]);
  expect(await listener.heard()).toEqual(["jobforge_wake: child"]);
});

test.for([
  ["all", null],
  ["type", "a"],
  ["tenant", T],
] as const)(
  "resuming a gate of scope %s wakes idle workers, pausing does not",
  async ([scope, key], { db }) => {
    const listener = await listen(db);
    await idleWorker(db, "w1", ["a"]);
    await db.query("select jobforge_set_gate($1, $2, true)", [scope, key]);
    expect(await listener.heard()).toEqual([]);
    await db.query("select jobforge_set_gate($1, $2, false)", [scope, key]);
    expect(await listener.heard()).toEqual(["jobforge_wake: a"]);
  },
);

test("canceling a running job notifies its worker once, and canceling a queued job notifies no worker", async ({
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

test("canceling by filter notifies each worker once", async ({ db }) => {
  await enqueueAll(db, Array(6).fill({}));
  for (const worker of ["w1", "w2"]) await claim(db, worker, { limit: 2 });
  const listener = await listen(db);
  await db.query('select jobforge_cancel_jobs($1, \'{"type": "a"}\')', [T]);
  expect((await listener.heard()).sort()).toEqual(["jobforge_cancel: w1", "jobforge_cancel: w2"]);
});

test("jobforge_wake_workers wakes idle workers for jobs that were enqueued without a notification", async ({
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

test("every notification of the kernel goes through the function that spares a full queue", async ({
  db,
}) => {
  expect(
    await db.query(
      `select p.proname as name from pg_proc p
       where (p.pronamespace = 'jobforge'::regnamespace or p.proname like 'jobforge\\_%')
         and (p.prosrc ~* '\\mpg_notify\\M' or p.prosrc ~* '\\mnotify\\s+\\w+\\s*[,;]')`,
    ),
  ).toEqual([{ name: "notify" }]);
});

test("a worker that is bound to a tenant is woken for that tenant's jobs only", async ({ db }) => {
  const listener = await listen(db);
  const bound = await boundLogin(db, T, "jobforge_worker");
  await idleWorker(bound, "w1", ["a"]);
  await enqueue(db, { tenant_id: U });
  await enqueueJobs(db, [{ type: "a" }], U);
  expect(await listener.heard()).toEqual([]);
  const { id } = await enqueue(db);
  await claim(db, "w2", { tenant_id: T });
  await fail(db, id, { worker: "w2" });
  expect((await listener.heard())[0]).toBe("jobforge_wake: a");
});
