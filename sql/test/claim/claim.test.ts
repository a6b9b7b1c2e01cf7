import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  cancel,
  claim,
  claimIds,
  complete,
  connections,
  countJobs,
  enqueue,
  enqueueAll,
  enqueueMany,
  expectError,
  fail,
  find,
  impatient,
  reschedule,
  type Sql,
  T,
  travelToRun,
  U,
  unknownId,
} from "../support/kernel.ts";

test("a claim takes the oldest due jobs and assigns them to the worker", async ({ db }) => {
  const [third, second, first] = await enqueueAll(db, [{ in: "-1 min" }, { in: "-2 min" }, { in: "-3 min" }]);
  const claimed = await claim(db, "w1", { limit: 2 });
  expect(claimed.map((job) => job.id)).toEqual([first, second]);
  for (const job of claimed) {
    expect(job).toMatchObject({ status: "running", locked_by: "w1", attempts: 1, finished_at: null });
    expect(job.locked_at).toBeInstanceOf(Date);
    expect(job.heartbeat_at).toBeInstanceOf(Date);
    expect(await find(db, job.id)).toEqual(job);
    expect(await attemptsOf(db, job.id)).toEqual([
      { attempt_no: 1, status: "running", worker_id: "w1", error: null },
    ]);
  }
  expect(await find(db, third)).toMatchObject({ status: "queued", attempts: 0, locked_by: null });
});

test("a job is claimed from its time on, and not before", async ({ db }) => {
  const { id } = await enqueue(db, { in: "1 hour" });
  await db.travel("59 minutes");
  expect(await claim(db)).toEqual([]);
  await travelToRun(db, id);
  expect(await claimIds(db)).toEqual([id]);
  expect(await claim(db)).toEqual([]);
});

test("of fifty workers that claim at the same time, exactly one gets the only job", async ({ db }) => {
  const workers = await connections(db, 50);
  const { id } = await enqueue(db);
  const claims = await Promise.all(workers.map((worker, n) => claimIds(worker, `w${n}`)));
  expect(claims.flat()).toEqual([id]);
  expect(await find(db, id)).toMatchObject({
    attempts: 1,
    locked_by: `w${claims.findIndex((ids) => ids.length)}`,
  });
});

test("twenty workers that claim 500 jobs in batches get each job exactly once", async ({ db }) => {
  await enqueueMany(db, 300);
  await enqueueMany(db, 100, { tenant_id: U });
  await enqueueMany(db, 100, { type: "b" });
  const drain = async (worker: Sql, name: string): Promise<string[]> => {
    const ids = await claimIds(worker, name, { limit: 7 });
    return ids.length === 0 ? [] : [...ids, ...(await drain(worker, name))];
  };
  const workers = await connections(db, 20);
  const taken = (await Promise.all(workers.map((worker, n) => drain(worker, `w${n}`)))).flat();
  taken.push(...(await drain(db, "last")));
  expect(taken).toHaveLength(500);
  expect(new Set(taken).size).toBe(500);
  expect(
    await db.value("select count(*)::int from jobforge_jobs where status = 'running' and attempts = 1"),
  ).toBe(500);
});

const holds: Record<string, (app: Sql, id: string) => Promise<unknown>> = {
  cancel: (app, id) => cancel(app, id),
  reschedule: (app, id) => reschedule(app, id),
  "dedupe replace": (app) => enqueue(app, { dedupe_key: "held", dedupe_mode: "replace" }),
  "enqueue with keys": (app) => enqueue(app, { idempotency_key: "new", dedupe_key: "new" }),
};

test.for(Object.keys(holds))(
  "an application transaction left open after %s delays no claim of other jobs",
  async (hold, { db }) => {
    const held = await enqueue(db, { dedupe_key: "held" });
    const free = await enqueue(db);
    const [app, worker] = [await db.connect(), await impatient(db)];
    await app.query("begin");
    await holds[hold]?.(app, held.id);
    const claimed = await claimIds(worker);
    expect(claimed).toContain(free.id);
    expect(claimed.includes(held.id)).toBe(hold === "enqueue with keys");
    expect(await complete(worker, free.id)).toMatchObject({ status: "succeeded" });
    await app.query("rollback");
    expect((await find(db, held.id)).status).toBe(hold === "enqueue with keys" ? "running" : "queued");
  },
);

test.for([
  ["another tenant", { tenant_id: U }],
  ["another type", { type: "b" }],
  ["the same tenant and type", {}],
] as const)(
  "a locked job at the head does not hide the next job of %s, even with limit 1",
  async ([, next], { db }) => {
    const held = await enqueue(db, { in: "-1 hour" });
    const free = await enqueue(db, next);
    const [app, worker] = [await db.connect(), await impatient(db)];
    await app.query("begin");
    await cancel(app, held.id);
    expect(await claimIds(worker, "w1", { limit: 1 })).toEqual([free.id]);
    await app.query("rollback");
    expect(await claimIds(worker, "w1", { limit: 1 })).toEqual([held.id]);
  },
);

test("invalid arguments are refused and claim nothing", async ({ db }) => {
  const { id } = await enqueue(db);
  for (const worker of [null, "", "  ", "x".repeat(1025)]) {
    await expectError(claim(db, worker), "JF002", "worker_id");
  }
  for (const limit of [null, 0, -1, 1001, 2_147_483_647]) {
    await expectError(claim(db, "w1", { limit }), "JF002", "limit");
  }
  expect(await find(db, id)).toMatchObject({ status: "queued", attempts: 0 });
  expect(await claimIds(db, "w1", { limit: 1000 })).toEqual([id]);
});

test.for<[string, (string | null)[] | null, string[]]>([
  ["null means every type", null, ["a", "b", "c"]],
  ["an empty list means no type", [], []],
  ["a list of null means no type", [null], []],
  ["unknown types match nothing", ["nope", "A", "*", ""], []],
  ["a type named twice is claimed once", ["b", "b"], ["b"]],
  ["nulls and unknown types next to a known one are ignored", [null, "c", "nope", "a"], ["a", "c"]],
])("types of a claim: %s", async ([, types, expected], { db }) => {
  await enqueueAll(db, [{ type: "a" }, { type: "b" }, { type: "c" }]);
  expect((await claim(db, "w1", { types })).map((job) => job.type)).toEqual(expected);
});

test("a worker limited to its types never claims another type, even when no other work is left", async ({
  db,
}) => {
  const [x, y] = await enqueueAll(db, [{ type: "X" }, { type: "Y" }]);
  expect(await claimIds(db, "w1", { types: ["X"] })).toEqual([x]);
  await db.travel("1 hour");
  expect(await claimIds(db, "w2", { types: ["X"] })).toEqual([x]);
  expect(await claimIds(db, "w3", { types: ["X"] })).toEqual([]);
  expect(await find(db, y)).toMatchObject({ status: "queued", attempts: 0 });
});

test("a claim for one tenant takes that tenant's jobs only, whatever their priority", async ({ db }) => {
  await enqueueAll(db, [{ priority: 9 }, { priority: 5 }]);
  const own = await enqueueAll(db, [{ tenant_id: U, priority: 1 }, { tenant_id: U }]);
  expect(await claimIds(db, "w1", { tenant_id: unknownId })).toEqual([]);
  expect(await claimIds(db, "w1", { tenant_id: U })).toEqual(own);
  expect(await claimIds(db, "w1", { tenant_id: U })).toEqual([]);
  expect(await claimIds(db, "w1", { tenant_id: T })).toHaveLength(2);
});

test.for(["repeatable read", "serializable"])(
  "a claim under %s is refused with a hint on what to do",
  async (level, { db }) => {
    const { id } = await enqueue(db);
    await db.query(`begin isolation level ${level}`);
    const error = await expectError(claim(db), "JF002");
    expect(error.message).toContain(level.toUpperCase());
    expect(error.hint).toContain("READ COMMITTED");
    await db.query("rollback");
    expect(await claimIds(db)).toEqual([id]);
  },
);

test("a claim that is rolled back has no effect", async ({ db }) => {
  const { id } = await enqueue(db);
  await db.query("begin");
  await claim(db, "w1");
  await db.query("rollback");
  expect(await find(db, id)).toMatchObject({ status: "queued", attempts: 0, locked_by: null });
  expect(await claim(db, "w2")).toMatchObject([{ id, attempts: 1, locked_by: "w2" }]);
});

test("a job that expires before it starts is canceled with the reason expired and never runs", async ({
  db,
}) => {
  const { id } = await enqueue(db, { expires_in: "10 seconds" });
  await db.travel("11 seconds");
  expect(await claim(db)).toEqual([]);
  expect(await find(db, id)).toMatchObject({
    status: "canceled",
    reason: "expired",
    attempts: 0,
    last_error: null,
  });
  expect(await attemptsOf(db, id)).toEqual([]);
});

test("a job that waits for its retry expires too, but a running job does not", async ({ db }) => {
  const [retrying, running] = await enqueueAll(db, [
    { expires_in: "10 seconds" },
    { expires_in: "10 seconds" },
  ]);
  await claim(db);
  await fail(db, retrying, { retry_at: new Date(Date.now() + 5_000) });
  await db.travel("11 seconds");
  expect(await claim(db)).toEqual([]);
  expect(await find(db, retrying)).toMatchObject({
    status: "canceled",
    reason: "expired",
    attempts: 1,
  });
  expect(await complete(db, running)).toMatchObject({ status: "succeeded" });
});

test("expired jobs at the head do not hide the jobs behind them", async ({ db }) => {
  expect(await claim(db)).toEqual([]);
  await enqueueAll(db, [{ expires_in: "2 seconds" }, { tenant_id: U, expires_in: "2 seconds" }]);
  const { id } = await enqueue(db, { tenant_id: unknownId });
  await db.travel("3 seconds");
  expect(await claimIds(db, "w1", { limit: 1 })).toEqual([id]);
});

test("a due job is claimed however many jobs of other types became due before it", async ({ db }) => {
  await db.query(
    `select count(jobforge_enqueue_job($1, 'crowd', p_run_at => clock_timestamp() + interval '1 minute'))
     from generate_series(1, 1500)`,
    [T],
  );
  const { id } = await enqueue(db, { type: "b", in: "2 minutes" });
  await db.travel("3 minutes");
  expect(await claimIds(db, "w1", { types: ["b"] })).toEqual([id]);
});

test("a claim writes only the claim: no audit row and no second row of the job", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  expect(await auditOf(db, id)).toEqual([]);
  expect(await countJobs(db)).toBe(1);
});
