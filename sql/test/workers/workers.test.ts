/** jobforge_heartbeat_worker and jobforge_list_workers: leases last as long as the worker that holds them. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  cancel,
  claim,
  claimIds,
  complete,
  enqueue,
  enqueueAll,
  expectError,
  find,
  heartbeat,
  type Sql,
  setPolicy,
  T,
  U,
  unknownId,
  workerHeartbeat,
} from "../support/kernel.ts";
import { claimAll } from "../support/settle.ts";
import { boundLogin, claimedByBound, login } from "../support/tenants.ts";

type Worker = {
  id: string;
  status: string;
  instance: string | null;
  tenant_id: string | null;
  started_at: Date;
  seen_at: Date;
  running: number;
};

async function workers(db: Sql): Promise<Worker[]> {
  return await db.query<Worker>("select * from jobforge_list_workers() order by id, tenant_id");
}

const held = (...ids: string[]): { id: string; attempt: number }[] => ids.map((id) => ({ id, attempt: 1 }));

/** Sorts values for comparison, because the order of `lost` is not defined. */
const sorted = (values: readonly unknown[]): string[] => values.map((value) => JSON.stringify(value)).sort();

test("a worker that sends heartbeats is listed with the information it reports", async ({ db }) => {
  const info = { types: ["a", "b"], concurrency: 8, host: "box", pid: 42, version: "1.2.3" };
  await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  await workerHeartbeat(db, "w1", { instance: "one", ...info });
  await workerHeartbeat(db, "w2");
  expect(await workers(db)).toMatchObject([
    { id: "w1", status: "alive", instance: "one", tenant_id: null, running: 2, ...info },
    { id: "w2", status: "alive", instance: null, types: null, concurrency: null, running: 0, pid: null },
  ]);
  const [before] = await workers(db);
  await db.travel("30 seconds");
  await workerHeartbeat(db, "w1", { instance: "one", ...info, concurrency: 3 });
  const [after] = await workers(db);
  expect(after).toMatchObject({ concurrency: 3, started_at: before?.started_at });
  expect(Number(after?.seen_at)).toBeGreaterThan(Number(before?.seen_at));
  await workerHeartbeat(db, "w1", { instance: "two" });
  const [anew] = await workers(db);
  expect(anew).toMatchObject({ instance: "two", types: null });
  expect(Number(anew?.started_at)).toBeGreaterThan(Number(before?.started_at));
});

test("a worker that stops no longer counts as alive, at once and everywhere", async ({ db }) => {
  const { id } = await enqueue(db, { type: "mail" });
  const counted = async (): Promise<unknown> => ({
    listed: (await workers(db)).map((worker) => worker.status),
    types: await db.query("select workers from jobforge_list_types() where type = 'mail'"),
    metrics: await db.value("select jobforge_metrics() -> 'workers'"),
    explained: await db.value('select jobforge_explain_job($1, $2) @> \'[{"code": "no_worker"}]\'', [id, T]),
    wakeUps: await db.value("select count(*)::int from jobforge.idle_workers"),
  });
  await workerHeartbeat(db, "w1", { types: ["mail"], instance: "one", idle: true });
  expect(await counted()).toEqual({
    listed: ["alive"],
    types: [{ workers: 1 }],
    metrics: { alive: 1, gone: 0 },
    explained: false,
    wakeUps: 1,
  });
  await workerHeartbeat(db, "w1", { types: ["mail"], instance: "one", idle: true, stopped: true });
  expect(await counted()).toEqual({
    listed: ["stopped"],
    types: [{ workers: 0 }],
    metrics: { alive: 0, gone: 0 },
    explained: true,
    wakeUps: 0,
  });
});

test("a worker that starts again after a stop is alive", async ({ db }) => {
  await workerHeartbeat(db, "w1", { instance: "one", stopped: true });
  await workerHeartbeat(db, "w1", { instance: "two" });
  expect(await workers(db)).toMatchObject([{ status: "alive", instance: "two" }]);
});

test("a worker that stops hands back the runs that it does not list, and keeps the leases of the others", async ({
  db,
}) => {
  const [listed, unknown] = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  await workerHeartbeat(db, "w1", { instance: "one", held: held(listed), stopped: true });
  expect(await find(db, unknown)).toMatchObject({ status: "queued" });
  expect(await find(db, listed)).toMatchObject({ status: "running" });
  await db.travel("61 seconds");
  await db.query("select jobforge_maintain()");
  expect(await find(db, listed)).toMatchObject({ status: "queued" });
});

test("a stopped worker is listed for an hour", async ({ db }) => {
  await workerHeartbeat(db, "w1", { stopped: true });
  await db.travel("59 minutes");
  await db.query("select jobforge_maintain()");
  expect(await workers(db)).toMatchObject([{ status: "stopped" }]);
  await db.travel("61 minutes");
  await db.query("select jobforge_maintain()");
  expect(await workers(db)).toEqual([]);
});

test("a worker is gone after the worker timeout and deleted after a day", async ({ db }) => {
  const status = async (): Promise<string[]> => (await workers(db)).map((worker) => worker.status);
  await workerHeartbeat(db, "w1");
  await db.travel("50 seconds");
  expect(await status()).toEqual(["alive"]);
  await db.travel("61 seconds");
  expect(await status()).toEqual(["gone"]);
  await db.travel("23 hours 59 minutes");
  await db.query("select jobforge_maintain()");
  expect(await status()).toEqual(["gone"]);
  await db.travel("24 hours 1 minute");
  await db.query("select jobforge_maintain()");
  expect(await status()).toEqual([]);
});

test("only operators and readers list workers, and only workers and operators send heartbeats", async ({
  db,
}) => {
  for (const [role, lists, beats] of [
    ["jobforge_reader", "ok", "42501"],
    ["jobforge_operator", "ok", "ok"],
    ["jobforge_worker", "42501", "ok"],
    ["jobforge_tenant", "42501", "42501"],
    ["jobforge_app", "42501", "42501"],
  ] as const) {
    const caller = await login(db, role);
    const code = async (call: Promise<unknown>): Promise<string> =>
      await call.then(
        () => "ok",
        (error: { code: string }) => error.code,
      );
    expect([role, await code(workers(caller)), await code(workerHeartbeat(caller, "w1"))]).toEqual([
      role,
      lists,
      beats,
    ]);
  }
});

test("worker heartbeats extend all leases of a worker, and the worker timeout ends them", async ({ db }) => {
  const { id } = await enqueue(db);
  await workerHeartbeat(db, "w1");
  await claim(db, "w1");
  for (const seconds of [50, 100, 150, 400]) {
    await db.travel(`${seconds} seconds`);
    await workerHeartbeat(db, "w1", { held: held(id) });
    expect(await claim(db, "w2")).toEqual([]);
  }
  await db.travel("450 seconds");
  expect(await claim(db, "w2")).toEqual([]);
  await db.travel("466 seconds");
  expect(await claim(db, "w2")).toMatchObject([{ id, attempts: 2 }]);
  expect((await attemptsOf(db, id)).map((run) => run.status)).toEqual(["lost", "running"]);
});

test("heartbeats of single jobs do not extend a lease when the worker's own heartbeats stop", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await workerHeartbeat(db, "w1");
  await claim(db, "w1");
  await db.travel("50 seconds");
  await heartbeat(db, id);
  await db.travel("66 seconds");
  expect(await claimIds(db, "w2")).toEqual([id]);
});

test("lease_ms of the type's policy replaces the worker timeout, shorter or longer", async ({ db }) => {
  await setPolicy(db, "short", { lease_ms: 20_000 });
  await setPolicy(db, "long", { lease_ms: 600_000 });
  const [short, long] = await enqueueAll(db, [{ type: "short" }, { type: "long" }]);
  await workerHeartbeat(db, "w1");
  await claim(db, "w1");
  await db.travel("15 seconds");
  expect(await claim(db, "w2")).toEqual([]);
  await db.travel("25 seconds");
  expect(await claimIds(db, "w2")).toEqual([short]);
  await complete(db, short, { worker: "w2" });
  await db.travel("9 minutes 55 seconds");
  expect(await claim(db, "w2")).toEqual([]);
  await db.travel("10 minutes 5 seconds");
  expect(await claimIds(db, "w2")).toEqual([long]);
});

test("a run that exceeds its timeout by a minute is lost although its worker is alive and holds it", async ({
  db,
}) => {
  await setPolicy(db, "a", { timeout_ms: 120_000 });
  const { id } = await enqueue(db);
  await claim(db, "w1");
  for (const seconds of [50, 100, 150, 175]) {
    await db.travel(`${seconds} seconds`);
    expect(await workerHeartbeat(db, "w1", { held: held(id) })).toMatchObject({ lost: [] });
  }
  await db.travel("185 seconds");
  expect(await workerHeartbeat(db, "w1", { held: held(id) })).toMatchObject({ lost: held(id) });
  expect(await claim(db, "w2")).toMatchObject([{ id, attempts: 2 }]);
});

test("a run of a schedule is lost a minute after six times its timeout, because its worker waits for the handler", async ({
  db,
}) => {
  await setPolicy(db, "a", { timeout_ms: 60_000 });
  await db.query(`select jobforge_ensure_schedule($1, 'a', 'k', '{"dynamic": true}')`, [T]);
  const [run] = await claim(db, "w1");
  const id = run?.id ?? "";
  for (const seconds of [50, 100, 150, 200, 250, 300, 350, 400, 415]) {
    await db.travel(`${seconds} seconds`);
    expect(await workerHeartbeat(db, "w1", { held: held(id) })).toMatchObject({ lost: [] });
  }
  await db.travel("425 seconds");
  expect(await workerHeartbeat(db, "w1", { held: held(id) })).toMatchObject({ lost: held(id) });
});

test("a new instance of a worker ends the leases of the old one at once, and keeps the runs that it reports as held", async ({
  db,
}) => {
  const [old, own] = await enqueueAll(db, [{}, {}]);
  await workerHeartbeat(db, "w1", { instance: "one", held: [] });
  await claimAll(db);
  await workerHeartbeat(db, "w1", { instance: "two", held: held(own) });
  expect(await find(db, old)).toMatchObject({ status: "queued", attempts: 1, locked_by: null });
  expect(await find(db, own)).toMatchObject({ status: "running", attempts: 1 });
  expect((await attemptsOf(db, old)).map((run) => run.status)).toEqual(["lost"]);
});

test("a worker's first heartbeat does not treat jobs it has just claimed as those of an old instance", async ({
  db,
}) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  await workerHeartbeat(db, "w1", { instance: "one", held: [] });
  expect(await find(db, id)).toMatchObject({ status: "running", attempts: 1 });
});

test("jobs that a worker does not report as held are queued again after ten seconds and not before", async ({
  db,
}) => {
  const [known, unknown] = await enqueueAll(db, [{}, {}]);
  await workerHeartbeat(db, "w1", { instance: "one" });
  await claimAll(db);
  await db.travel("4 seconds");
  await workerHeartbeat(db, "w1", { instance: "one", held: held(known) });
  expect(await find(db, unknown)).toMatchObject({ status: "running" });
  await db.travel("11 seconds");
  await workerHeartbeat(db, "w1", { instance: "one", held: held(known) });
  expect(await find(db, known)).toMatchObject({ status: "running" });
  expect(await find(db, unknown)).toMatchObject({ status: "queued", attempts: 1 });
});

test("a job that a worker reports in another attempt does not count as held", async ({ db }) => {
  const { id } = await enqueue(db);
  await workerHeartbeat(db, "w1", { instance: "one" });
  await claim(db, "w1");
  await db.travel("11 seconds");
  const answer = await workerHeartbeat(db, "w1", { instance: "one", held: [{ id, attempt: 2 }] });
  expect(answer.lost).toEqual([{ id, attempt: 2 }]);
  expect(await find(db, id)).toMatchObject({ status: "queued" });
});

test("a worker that does not report which jobs it holds keeps them", async ({ db }) => {
  const { id } = await enqueue(db);
  await workerHeartbeat(db, "w1", { instance: "one" });
  await claim(db, "w1");
  await db.travel("20 seconds");
  expect(await workerHeartbeat(db, "w1", { instance: "one" })).toMatchObject({ cancel: [], lost: [] });
  expect(await find(db, id)).toMatchObject({ status: "running" });
});

test("a heartbeat returns which runs to abort and which are lost, and nothing about other workers", async ({
  db,
}) => {
  const [kept, stopped, finished, others] = await enqueueAll(db, [{}, {}, {}, {}]);
  await claim(db, "w1", { limit: 3 });
  await claim(db, "w2");
  for (const id of [stopped, others]) await cancel(db, id);
  await complete(db, finished);
  const answer = await workerHeartbeat(db, "w1", { held: held(kept, stopped, finished, others, unknownId) });
  expect(answer.cancel).toEqual(held(stopped));
  expect(sorted(answer.lost)).toEqual(sorted(held(finished, others, unknownId)));
  expect((await workerHeartbeat(db, "w2", { held: held(others) })).cancel).toEqual(held(others));
});

test.for<[string, unknown[]]>([
  ["scalars", [1, "text", null, true]],
  ["empty values", [{}, []]],
  ["malformed ids", [{ id: "x", attempt: 1 }, { id: 5, attempt: 1 }, { id: null }]],
  [
    "malformed attempts",
    [{ id: unknownId, attempt: "x" }, { id: unknownId, attempt: 1e30 }, { id: unknownId }],
  ],
])("%s among the held jobs are returned as lost, and harm nothing", async ([, garbage], { db }) => {
  const { id } = await enqueue(db);
  await claim(db, "w1");
  const answer = await workerHeartbeat(db, "w1", { held: [...garbage, ...held(id)] });
  expect(sorted(answer.lost)).toEqual(sorted(garbage));
  expect(await find(db, id)).toMatchObject({ status: "running" });
});

test("the information of a worker may have any content, but must be an object of limited size", async ({
  db,
}) => {
  for (const value of [null, 5, "x", true, [], ["a", null, 5], {}, { a: 1 }, 1e30, -1]) {
    const info = {
      types: value,
      concurrency: value,
      host: value,
      pid: value,
      version: value,
      instance: value,
      idle: true,
    };
    await workerHeartbeat(db, `w ${JSON.stringify(value)}`, info);
  }
  expect(await workers(db)).toHaveLength(10);
  for (const info of [{ held: {} }, { held: "x" }, { host: "x".repeat(20_000) }]) {
    await expectError(workerHeartbeat(db, "w1", info), "JF002", "info");
  }
  for (const info of ["[]", '"x"', "5"]) {
    await expectError(db.query("select jobforge_heartbeat_worker('w1', $1)", [info]), "JF002", "info");
  }
  for (const worker of ["", " ", "x".repeat(1025)]) {
    await expectError(workerHeartbeat(db, worker), "JF002", "worker_id");
  }
});

test("a heartbeat returns when the next job of the worker's types is due, without paused and other types", async ({
  db,
}) => {
  const [later, sooner] = await enqueueAll(db, [
    { type: "a", in: "3 hours" },
    { type: "b", in: "2 hours" },
    { type: "c", in: "1 hour" },
  ]);
  const due = async (types?: string[]): Promise<number> =>
    Date.parse((await workerHeartbeat(db, "w1", { types })).next_due_at ?? "never");
  const timeOf = async (id: string): Promise<number> => Number((await find(db, id)).run_at);
  expect(await due(["a", "b"])).toBe(await timeOf(sooner));
  expect(await due(["a"])).toBe(await timeOf(later));
  expect(await due(["nope"])).toBeNaN();
  await db.query("select jobforge_set_gate('type', 'b', true)");
  expect(await due(["a", "b"])).toBe(await timeOf(later));
  await db.query("select jobforge_set_gate('type', 'c', true)");
  expect(await due()).toBe(await timeOf(later));
});

test("a bound worker that uses another worker's name does not extend leases of other tenants", async ({
  db,
}) => {
  const { id } = await enqueue(db, { tenant_id: U });
  await workerHeartbeat(db, "w1");
  await claim(db, "w1");
  const impostor = await boundLogin(db, T, "jobforge_worker");
  for (const connection of [impostor, db]) await connection.travel("66 seconds");
  await workerHeartbeat(impostor, "w1", { held: held(id) });
  expect(await claimIds(db, "w2")).toEqual([id]);
});

test("a bound worker that uses another worker's name neither ends nor sees leases of other tenants", async ({
  db,
}) => {
  const [own, others] = await enqueueAll(db, [{}, { tenant_id: U }]);
  await workerHeartbeat(db, "w1", { instance: "one" });
  await claimAll(db);
  await claimedByBound(db, T);
  for (const [id, tenant] of [
    [own, T],
    [others, U],
  ] as const)
    await cancel(db, id, tenant);
  const impostor = await boundLogin(db, T, "jobforge_worker");
  for (const connection of [impostor, db]) await connection.travel("20 seconds");
  const answer = await workerHeartbeat(impostor, "w1", { instance: "two", held: held(own, others) });
  expect(answer).toMatchObject({ cancel: held(own), lost: held(others) });
  await workerHeartbeat(impostor, "w1", { instance: "three", held: [] });
  expect(await find(db, others)).toMatchObject({ status: "running", locked_by: "w1" });
  expect(await find(db, own)).toMatchObject({ status: "canceled" });
  expect(await workers(db)).toMatchObject([
    { id: "w1", tenant_id: T, instance: "three" },
    { id: "w1", tenant_id: null, instance: "one" },
  ]);
});
