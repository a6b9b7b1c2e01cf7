/** The hint that a settle returns and takes back: it makes a claim faster and never changes its guarantees. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { tenant } from "../support/cost.ts";
import {
  cancel,
  claim,
  connections,
  enqueue,
  enqueueAll,
  enqueueMany,
  type Sql,
  T,
  U,
  unknownId,
  workerHeartbeat,
} from "../support/kernel.ts";
import { hintedWorker, idsOf, settle, success } from "../support/settle.ts";

type Hint = Record<string, unknown>;

/** Hints as a faulty or malicious client might send them, made from one that the kernel returned. */
const doctored: Record<string, (hint: Hint) => unknown> = {
  unchanged: (hint) => hint,
  "a JSON null": () => null,
  "a text": () => "hint",
  "a number": () => 5,
  "an array": (hint) => [hint],
  "an empty object": () => ({}),
  "a huge text": () => "x".repeat(1_000_000),
  "huge in all fields": (hint) =>
    Object.fromEntries(Object.keys(hint).map((key) => [key, "x".repeat(100_000)])),
  "numbers in all fields": (hint) => Object.fromEntries(Object.keys(hint).map((key) => [key, 5])),
  "objects in all fields": (hint) => Object.fromEntries(Object.keys(hint).map((key) => [key, { a: 1 }])),
  "arrays in all fields": (hint) => Object.fromEntries(Object.keys(hint).map((key) => [key, [1]])),
  "nulls in all fields": (hint) => Object.fromEntries(Object.keys(hint).map((key) => [key, null])),
  ...Object.fromEntries(
    ["key", "at", "from", "due", "streams"].flatMap((part) => [
      [`without ${part}`, (hint: Hint) => ({ ...hint, [part]: undefined })],
      [`with nonsense as ${part}`, (hint: Hint) => ({ ...hint, [part]: "nonsense" })],
    ]),
  ),
  "a due time in the far future": (hint) => ({ ...hint, due: "2999-01-01T00:00:00Z" }),
  "an infinite due time": (hint) => ({ ...hint, due: "infinity" }),
  "a time in the far future": (hint) => ({ ...hint, at: "2999-01-01T00:00:00Z" }),
  "a lane out of range": (hint) => ({ ...hint, from: "99999999999999999999999" }),
  "the last lane": (hint) => ({ ...hint, from: "9223372036854775807" }),
  "streams of scalars": (hint) => ({ ...hint, streams: [1, "a", null, true] }),
  "streams of objects": (hint) => ({ ...hint, streams: [{ type: "a" }] }),
  "streams of nulls": (hint) => ({ ...hint, streams: [[null, null, null, null, null]] }),
  "empty streams": (hint) => ({ ...hint, streams: [[]] }),
  "no streams": (hint) => ({ ...hint, streams: [] }),
  "streams of a lane without a tenant": (hint) => ({ ...hint, streams: [["a", 0, "1", hint["at"], "1"]] }),
  "streams of a lower priority": (hint) => ({ ...hint, streams: [["a", 99, "1", hint["at"], "1"]] }),
  "streams of a higher priority": (hint) => ({ ...hint, streams: [["a", -99, "1", hint["at"], "1"]] }),
  "streams in the far future": (hint) => ({
    ...hint,
    streams: [["a", 0, "1", "2999-01-01", "9223372036854775807"]],
  }),
  "streams of unknown types": (hint) => ({ ...hint, streams: [["nope", 0, "1", hint["at"], "1"]] }),
  "streams with a number out of range": (hint) => ({
    ...hint,
    streams: [["a", 1e12, "1", hint["at"], "1"]],
  }),
  "too many streams": (hint) => ({ ...hint, streams: Array(5000).fill(["a", 0, "1", hint["at"], "1"]) }),
};

test.for(Object.keys(doctored))(
  "a modified hint hides no work and raises no error: %s",
  async (name, { db }) => {
    const app = await db.connect();
    await db.travel("10 seconds");
    const first = await enqueue(app);
    const { hint, jobs } = await settle(db, [], { claim: 1, hint: {} });
    expect(jobs.map((job) => job.id)).toEqual([first.id]);
    // For the application the last job is due in the future, for the worker it is due now.
    const ids = await enqueueAll(app, [
      {},
      { tenant_id: U },
      { priority: 5 },
      { type: "b" },
      { in: "5 seconds" },
    ]);
    const doctor = doctored[name] ?? (() => undefined);
    const answer = await settle(db, [success(first.id)], { claim: 10, hint: doctor(hint as Hint) });
    expect(answer.claim_error).toBeUndefined();
    expect(idsOf(answer).sort()).toEqual(ids.sort());
    const [next] = await enqueueAll(app, [{ tenant_id: unknownId }]);
    expect(idsOf(await settle(db, [], { claim: 10, hint: answer.hint }))).toEqual([next]);
  },
);

test.for(Object.keys(doctored))(
  "a modified hint does not affect a call that only settles: %s",
  async (name, { db }) => {
    const [id] = await enqueueAll(db, [{}, {}, { in: "1 hour" }]);
    const { hint } = await settle(db, [], { claim: 1, hint: {} });
    const doctor = doctored[name] ?? (() => undefined);
    const answer = await settle(db, [success(id)], { hint: doctor(hint as Hint) });
    expect(answer.settled).toMatchObject([{ id, outcome: "ok" }]);
    expect(answer.next_due_at).not.toBeNull();
  },
);

test("a hint survives the JSON of a client, including lanes of 64 bits", async ({ db }) => {
  // Enough tenants that the hint keeps the streams even though a full look is cheap.
  for (let n = 1; n <= 20; n += 1) await enqueueMany(db, 3, { tenant_id: tenant(n) });
  const text = await db.value<string>(
    "select (jobforge_settle_jobs('w1', null, 1, p_hint => '{}') -> 'hint')::text",
  );
  expect(text).toContain("streams");
  expect(await db.value("select $1::jsonb = $2::jsonb", [text, JSON.stringify(JSON.parse(text))])).toBe(true);
});

test.for<[string, Parameters<typeof settle>[2]]>([
  ["another worker", { worker: "w2" }],
  ["other types", { types: ["b", "a"] }],
  ["fewer types", { types: ["a"] }],
  ["one tenant", { tenant_id: T }],
])("a hint used for %s hides no job and reveals none", async ([, other], { db }) => {
  await enqueueAll(db, [{}, { tenant_id: U }, { type: "b" }]);
  const { hint } = await settle(db, [], { claim: 1, types: ["a", "b"], hint: {} });
  const expected = await db.query<{ id: string }>(
    "select id from jobforge_jobs where status = 'queued' and type = any ($1) and ($2::uuid is null or tenant_id = $2)",
    [other?.types ?? ["a", "b"], other?.tenant_id ?? null],
  );
  const answer = await settle(db, [], { claim: 10, types: ["a", "b"], ...other, hint });
  expect(idsOf(answer).sort()).toEqual(expected.map((row) => row.id).sort());
});

test("a hint older than a second is ignored: a tenant that was added in the meantime gets its turn", async ({
  db,
}) => {
  await enqueueMany(db, 20);
  const worker = hintedWorker(db, "w1");
  await worker.call(1);
  const { id } = await enqueue(db, { tenant_id: U });
  await db.travel("2 seconds");
  const served = [...idsOf(await worker.call(1)), ...idsOf(await worker.call(1))];
  expect(served).toContain(id);
});

test("a tenant's first job is in the next call, however many jobs another tenant has", async ({ db }) => {
  await enqueueMany(db, 100);
  const worker = hintedWorker(db, "w1");
  await worker.call(10);
  await worker.call(10);
  const { id } = await enqueue(db, { tenant_id: U });
  expect(idsOf(await worker.call(10))).toContain(id);
});

test("with many tenants, the first job of a new one is in the next call after a tenth of a second", async ({
  db,
}) => {
  for (let n = 1; n <= 20; n += 1) await enqueueMany(db, 20, { tenant_id: tenant(n) });
  const worker = hintedWorker(db, "w1");
  await worker.call(40);
  await worker.call(40);
  const { id } = await enqueue(db, { tenant_id: U });
  await db.travel("150 milliseconds");
  expect(idsOf(await worker.call(40))).toContain(id);
});

const arrivals: Record<string, (db: Sql) => Promise<string>> = {
  "a new tenant's job": async (db) => (await enqueue(db, { tenant_id: U })).id,
  "a job of another type": async (db) => (await enqueue(db, { type: "b" })).id,
  "a less urgent job": async (db) => (await enqueue(db, { priority: -5 })).id,
  "an older job of the same tenant": async (db) => (await enqueue(db, { in: "-1 day" })).id,
  "a retry": async (db) => await runAndRequeue(db, { status: "failed", retry_at: "2020-01-01" }),
  "a released job": async (db) => await runAndRequeue(db, { status: "released" }),
  "a deferred job": async (db) => await runAndRequeue(db, { status: "deferred", run_at: "2020-01-01" }),
  "a reclaimed job": async (db) => {
    const { id } = await enqueue(db, { type: "c" });
    await workerHeartbeat(db, "w9", { instance: "old" });
    await settle(db, [], { worker: "w9", claim: 1, types: ["c"] });
    await workerHeartbeat(db, "w9", { instance: "new", held: [] });
    return id;
  },
  "a job that has become due": async (db) => (await enqueue(db, { in: "-1 millisecond" })).id,
  "a rescheduled job": async (db) => {
    const { id } = await enqueue(db, { in: "1 hour" });
    await db.query("select jobforge_reschedule_job($1, $2)", [id, T]);
    return id;
  },
};

/** Returns a job that worker w9 claimed and ended, and that is due again. */
async function runAndRequeue(db: Sql, end: Record<string, unknown>): Promise<string> {
  const { id } = await enqueue(db, { type: "c" });
  await settle(db, [], { worker: "w9", claim: 1, types: ["c"] });
  await settle(db, [{ id, attempt: 1, ...end }], { worker: "w9" });
  return id;
}

test.for(Object.keys(arrivals))("a hinted call that cannot fill its limit finds %s", async (name, { db }) => {
  const [, second] = await enqueueAll(db, [{}, {}]);
  const worker = hintedWorker(db, "w1");
  await worker.call(1);
  const id = await arrivals[name]?.(db);
  expect(idsOf(await worker.call(10)).sort()).toEqual([second, id].sort());
});

test("a job that became due while its transaction was open is found, however often the worker polled before", async ({
  db,
}) => {
  const [app, other] = await connections(db, 2);
  if (app === undefined || other === undefined) throw new Error("no connections");
  await app.query("begin");
  const { id } = await enqueue(app, { in: "5 seconds" });
  await other.travel("10 seconds");
  const worker = hintedWorker(other, "w1", { types: ["a"] });
  for (let n = 0; n < 3; n += 1) expect(idsOf(await worker.call(10))).toEqual([]);
  await app.query("commit");
  expect(idsOf(await worker.call(10))).toEqual([id]);
});

test("an urgent job of any tenant and type is in the next hinted claim", async ({ db }) => {
  await enqueueMany(db, 20);
  const worker = hintedWorker(db, "w1");
  await worker.call(1);
  for (const urgent of [{ priority: 1 }, { priority: 2, tenant_id: U }, { priority: 3, type: "b" }]) {
    const { id } = await enqueue(db, urgent);
    expect(idsOf(await worker.call(1))).toEqual([id]);
    await worker.call(1);
  }
});

test.for([
  ["everything", "all", null, []],
  ["the type", "type", "a", ["b"]],
  ["the tenant", "tenant", T, ["a", "b"]],
] as const)(
  "a gate that pauses %s after the hint was returned holds",
  async ([, scope, key, open], { db }) => {
    for (const tenant_id of [T, U]) {
      for (const type of ["a", "b"]) await enqueueMany(db, 5, { tenant_id, type });
    }
    const worker = hintedWorker(db, "w1", { types: ["a", "b"] });
    await worker.call(1);
    await db.query("select jobforge_set_gate($1, $2, true)", [scope, key]);
    const { jobs } = await worker.call(20);
    expect([...new Set(jobs.map((job) => job.type))].sort()).toEqual(open);
    if (scope === "tenant") expect(new Set(jobs.map((job) => job.tenant_id))).toEqual(new Set([U]));
    await db.query("select jobforge_set_gate($1, $2, false)", [scope, key]);
    expect(jobs.length + (await worker.call(20)).jobs.length).toBe(19);
  },
);

test("a job that was canceled after the hint was returned does not start", async ({ db }) => {
  const [, gone, kept] = await enqueueAll(db, [{}, {}, {}]);
  const worker = hintedWorker(db, "w1");
  await worker.call(1);
  await cancel(db, gone);
  expect(idsOf(await worker.call(10))).toEqual([kept]);
});

test("two workers with their own hints never get the same job, and leave none", async ({ db }) => {
  await db.query(
    "select count(jobforge_enqueue_job(md5((n % 20)::text)::uuid, 'a')) from generate_series(1, 400) n",
  );
  const drain = async (connection: Sql, name: string): Promise<string[]> => {
    const worker = hintedWorker(connection, name);
    const taken: string[] = [];
    for (let ids = idsOf(await worker.call(7)); ids.length > 0; ) {
      taken.push(...ids);
      ids = idsOf(
        await worker.call(
          7,
          ids.map((id) => success(id)),
        ),
      );
    }
    return taken;
  };
  const workers = await connections(db, 2);
  const taken = (await Promise.all(workers.map((connection, n) => drain(connection, `w${n}`)))).flat();
  taken.push(...(await drain(db, "last")));
  expect(new Set(taken).size).toBe(400);
  expect(taken).toHaveLength(400);
  expect(await claim(db)).toEqual([]);
});
