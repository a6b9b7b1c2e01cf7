/** Hand-off: an enqueue gives its job to an idle worker, without a claim. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  claimIds,
  complete,
  enqueue,
  type NewJob,
  type Sql,
  T,
  U,
  workerHeartbeat,
} from "../support/kernel.ts";
import { setLimit, setWeight } from "../support/limits.ts";
import { listen } from "../support/listen.ts";
import { idsOf, settle, success } from "../support/settle.ts";
import { boundLogin } from "../support/tenants.ts";

/** What every heartbeat of the tests says. */
const about = { instance: "i1", types: ["a"], concurrency: 2, idle: true, hand_off: ["a"] };

interface Beat {
  readonly handed: string[];
}

async function beat(db: Sql, worker = "w1", info: Record<string, unknown> = {}): Promise<Beat> {
  return (await workerHeartbeat(db, worker, { ...about, held: [], ...info })) as unknown as Beat;
}

interface Made {
  readonly id: string;
  readonly status: string;
  readonly locked_by: string | null;
  readonly attempts: number;
}

async function handOff(db: Sql, job: NewJob = {}): Promise<Made> {
  return (await enqueue(db, { hand_off: true, ...job } as NewJob)) as unknown as Made;
}

interface Received {
  readonly id: string;
  readonly payload: unknown;
  readonly attempts: number;
}

async function receive(db: Sql, ids: string[], worker = "w1"): Promise<Received[]> {
  return JSON.parse(await db.value<string>("select jobforge_receive_jobs($1, $2)", [worker, ids]));
}

async function stateOf(db: Sql, id: string): Promise<Record<string, unknown> | undefined> {
  const rows = await db.query(
    "select state, attempts, uncounted, handed from jobforge.live_rows where id = $1",
    [id],
  );
  return rows[0];
}

const queuedAgain = { state: "ready", attempts: 1, uncounted: 1, handed: false };

test("an enqueue starts its job as a run of an idle worker, and notifies only that worker with the id", async ({
  db,
}) => {
  await beat(db);
  const channel = await db.value<string>("select jobforge.hand_channel('w1', 'i1')");
  const listener = await listen(db, channel);
  const job = await handOff(db, { payload: { n: 1 } });
  expect(job).toMatchObject({ status: "running", locked_by: "w1", attempts: 1 });
  expect(await listener.heard()).toEqual([`${channel}: ${job.id}`]);
  expect(await receive(db, [job.id])).toEqual([
    expect.objectContaining({ id: job.id, payload: { n: 1 }, attempts: 1, tenant_id: T }),
  ]);
  // A lost response is asked for again.
  expect(await receive(db, [job.id])).toHaveLength(1);
  const [reason] = await db.value<{ message: string }[]>("select jobforge_explain_job($1, $2)", [job.id, T]);
  expect(reason?.message).toMatch(/^Handed to worker w1 at .* by its enqueue, in attempt 1$/);
  const answer = await settle(db, [success(job.id)], { worker: "w1" });
  expect(answer.settled).toMatchObject([{ outcome: "ok", status: "succeeded" }]);
  expect(
    await db.query("select status, worker_id, handed from jobforge_job_attempts where job_id = $1", [job.id]),
  ).toEqual([{ status: "succeeded", worker_id: "w1", handed: true }]);
});

test("a large payload is handed over, too", async ({ db }) => {
  await beat(db);
  const payload = { text: "x".repeat(5000) };
  const job = await handOff(db, { payload });
  expect(await receive(db, [job.id])).toEqual([expect.objectContaining({ id: job.id, payload })]);
});

test("a worker gets as many jobs as it has free slots, and the next one is queued", async ({ db }) => {
  await beat(db);
  const jobs = [await handOff(db), await handOff(db), await handOff(db)];
  expect(jobs.map(({ status }) => status)).toEqual(["running", "running", "queued"]);
  await complete(db, jobs[0]?.id ?? "");
  await claim(db, "w2");
  expect(await handOff(db)).toMatchObject({ status: "running", locked_by: "w1" });
});

test("runs that the worker has claimed take up its slots", async ({ db }) => {
  await enqueue(db);
  await enqueue(db);
  await claim(db, "w1");
  await beat(db, "w1", { held: await idsAsHeld(db) });
  expect(await handOff(db)).toMatchObject({ status: "queued" });
});

async function idsAsHeld(db: Sql): Promise<unknown[]> {
  return await db.query("select id, attempts as attempt from jobforge.runs");
}

test("all workers that are idle get their share", async ({ db }) => {
  for (const worker of ["w1", "w2", "w3"]) await beat(db, worker, { concurrency: 100 });
  const workers = new Set<string | null>();
  for (let n = 0; n < 200 && workers.size < 3; n++) workers.add((await handOff(db)).locked_by);
  expect([...workers].sort()).toEqual(["w1", "w2", "w3"]);
});

describe("a job is queued, and workers are woken,", () => {
  const cases: [why: string, before: (db: TestDatabase) => Promise<unknown>, job?: NewJob][] = [
    ["if the call does not allow a hand-off", async () => undefined, { hand_off: false } as NewJob],
    ["if it is due later", async () => undefined, { run_at: "2100-01-01T00:00:00Z" }],
    ["if it has an idempotency key", async () => undefined, { idempotency_key: "k" }],
    ["if it has a dedupe key", async () => undefined, { dedupe_key: "k" }],
    ["if no worker takes its type", async () => undefined, { type: "b" }],
    ["if a job of its type is ready", (db) => enqueue(db)],
    [
      "if a job of its type waits and is due",
      async (db) => {
        await enqueue(db, { run_at: new Date(Date.now() + 2000).toISOString() });
        await db.travel("5 seconds");
      },
    ],
    ["if a gate pauses something", (db) => db.query("select jobforge_set_gate('type', 'other', true)")],
    ["if there is a limit", (db) => setLimit(db, "type", "other", { max: 1 })],
    ["if a tenant has a weight", (db) => setWeight(db, U, 3)],
    [
      "if its tenant has a quota",
      (db) => db.query("select jobforge_set_tenant($1, $2)", [T, { max_pending: 10 }]),
    ],
    [
      "if a workflow waits and is due",
      (db) =>
        db.query(
          "insert into jobforge.wakeups (tenant_id, node_id, what, due_at) values ($1, $1, 'look', now())",
          [T],
        ),
    ],
    [
      "if a schedule of its type is due",
      (db) => db.query("select jobforge_ensure_schedule($1, 'a', 's', '{\"dynamic\": true}')", [T]),
    ],
    [
      "if a concurrency key of its type is held",
      async (db) => {
        const job = await enqueue(db, { concurrency_key: "k" });
        await claim(db, "w2");
        await db.query("select jobforge_hold_key($1, 'w2', jobforge.now() + interval '1 hour')", [job.id]);
        await complete(db, String(job.id), { worker: "w2" });
      },
    ],
    ["if the worker was last seen long ago", (db) => db.travel("16 seconds")],
    ["if the worker has stopped", (db) => beat(db, "w1", { stopped: true })],
    ["if the worker is busy", (db) => beat(db, "w1", { idle: false })],
    ["if the worker takes nothing any more", (db) => beat(db, "w1", { hand_off: [] })],
  ];
  test.for(cases)("%s", async ([, before, job], { db }) => {
    await beat(db);
    await before(db);
    expect(await handOff(db, job)).toMatchObject({ status: "queued", locked_by: null });
  });
});

test("a rolled-back enqueue leaves the offer, and an open one makes no other enqueue wait", async ({
  db,
}) => {
  await beat(db, "w1", { concurrency: 1 });
  const open = await db.connect();
  await open.query("begin");
  expect(await handOff(open)).toMatchObject({ status: "running" });
  expect(await handOff(db)).toMatchObject({ status: "queued" });
  await beat(db, "w1", { concurrency: 1 });
  await claim(db, "w2");
  await open.query("rollback");
  expect(await handOff(db)).toMatchObject({ status: "running" });
});

test("what earlier calls of a session have read lets no offer rest", async ({ db }) => {
  await beat(db, "w1", { concurrency: 1000 });
  const made = await db.query<{ status: string }>(
    "select jobforge_enqueue_job($1, 'a', p_hand_off => true) ->> 'status' as status from generate_series(1, 200)",
    [T],
  );
  expect(made.filter(({ status }) => status === "running")).toHaveLength(200);
  expect(await db.value("select count(*)::int from jobforge.offers where rests_until > jobforge.now()")).toBe(
    0,
  );
});

test("a heartbeat names jobs whose notification was lost, until the worker lists them", async ({ db }) => {
  await beat(db);
  const { id } = await handOff(db);
  expect((await beat(db)).handed).toEqual([id]);
  expect((await beat(db, "w1", { held: [{ id, attempt: 1 }] })).handed).toEqual([]);
  expect(await stateOf(db, id)).toMatchObject({ state: "running" });
});

describe("a job that never arrived goes back to the queue without costing an attempt", () => {
  const cases: [when: string, then: (db: TestDatabase) => Promise<unknown>][] = [
    ["when the worker was restarted under the same id", (db) => beat(db, "w1", { instance: "i2" })],
    ["when the worker stops", (db) => beat(db, "w1", { stopped: true })],
    [
      "when the worker does not list it for ten seconds",
      async (db) => {
        await db.travel("11 seconds");
        await beat(db);
      },
    ],
    [
      "when the worker is gone",
      async (db) => {
        await db.travel("2 minutes");
        await beat(db, "w2", { hand_off: [] });
      },
    ],
  ];
  test.for(cases)("%s", async ([, then], { db }) => {
    await beat(db);
    const { id } = await handOff(db, { max_attempts: 1 });
    await then(db);
    expect(await stateOf(db, id)).toEqual(queuedAgain);
    expect(await receive(db, [id])).toEqual([]);
    expect(await claimIds(db, "w3")).toEqual([id]);
    await complete(db, id, { worker: "w3" });
  });
});

describe("a job is not received but goes back", () => {
  const cases: [why: string, before: (db: TestDatabase, id: string) => Promise<unknown>][] = [
    ["if everything was paused meanwhile", (db) => db.query("select jobforge_set_gate('all', '', true)")],
    ["if a limit was set meanwhile", (db) => setLimit(db, "type", "a", { max: 0 })],
    ["if its enqueue was committed late", (db) => db.travel("11 seconds")],
    [
      "if it has expired",
      async (db, id) => {
        await db.query("update jobforge.runs set expires_at = now() - interval '1 second' where id = $1", [
          id,
        ]);
      },
    ],
  ];
  test.for(cases)("%s", async ([, before], { db }) => {
    await beat(db);
    const { id } = await handOff(db);
    await before(db, id);
    expect(await receive(db, [id])).toEqual([]);
    expect(await stateOf(db, id)).toEqual(queuedAgain);
  });

  test("and is canceled if that was requested meanwhile", async ({ db }) => {
    await beat(db);
    const { id } = await handOff(db);
    await db.query("select jobforge_cancel_job($1, $2)", [id, T]);
    expect(await receive(db, [id])).toEqual([]);
    expect(await db.value("select status from jobforge_jobs where id = $1", [id])).toBe("canceled");
  });
});

describe("a job that the worker has received is received again, and does not go back,", () => {
  const cases: [why: string, before: (db: TestDatabase, id: string) => Promise<unknown>][] = [
    [
      "although everything was paused meanwhile",
      (db) => db.query("select jobforge_set_gate('all', '', true)"),
    ],
    [
      "although its cancellation was requested",
      (db, id) => db.query("select jobforge_cancel_job($1, $2)", [id, T]),
    ],
    ["although it was enqueued long ago", (db) => db.travel("11 seconds")],
  ];
  test.for(cases)("%s", async ([, before], { db }) => {
    await beat(db);
    const { id } = await handOff(db);
    const first = await receive(db, [id]);
    await before(db, id);
    expect(await receive(db, [id])).toEqual(first);
    expect(await receive(db, [id, "no id"])).toEqual(first);
    expect(await stateOf(db, id)).toMatchObject({ state: "running", uncounted: 0 });
  });
});

test("a worker receives only what was handed to it", async ({ db }) => {
  await beat(db);
  const { id } = await handOff(db);
  const claimed = await enqueue(db);
  const got = await settle(db, [], { worker: "w1", claim: 1 });
  expect(idsOf(got)).toEqual([claimed.id]);
  expect(await receive(db, [id], "w2")).toEqual([]);
  expect(await receive(db, [claimed.id, "no id"])).toEqual([]);
});

describe("a job that the worker has received is lost", () => {
  const cases: [when: string, then: (db: TestDatabase) => Promise<unknown>][] = [
    ["when the worker was restarted under the same id", (db) => beat(db, "w1", { instance: "i2" })],
    [
      "when the worker is gone",
      async (db) => {
        await db.travel("2 minutes");
        await beat(db, "w2", { hand_off: [] });
      },
    ],
  ];
  test.for(cases)("%s", async ([, then], { db }) => {
    await beat(db);
    const { id } = await handOff(db);
    expect(await receive(db, [id])).toHaveLength(1);
    await then(db);
    expect(await stateOf(db, id)).toMatchObject({ state: "ready", attempts: 1, uncounted: 0 });
    expect(
      await db.query("select status, handed from jobforge_job_attempts where job_id = $1", [id]),
    ).toEqual([{ status: "lost", handed: true }]);
  });
});

test("a job that was handed to a bound worker is not for another worker of the same name", async ({ db }) => {
  const bound = await boundLogin(db, T, "jobforge_worker");
  await beat(bound);
  const { id, status } = await handOff(db);
  expect(status).toBe("running");
  expect((await beat(db, "w1", { instance: "i2" })).handed).toEqual([]);
  expect(await receive(db, [id])).toEqual([]);
  expect((await beat(bound)).handed).toEqual([id]);
  expect(await receive(bound, [id])).toHaveLength(1);
});

test("an earlier process with the same worker id does not hear of a job", async ({ db }) => {
  const [old, current] = await db.query<{ channel: string }>(
    "select jobforge.hand_channel('w1', i) as channel from unnest(array['i1', 'i2']) i",
  );
  const listener = await listen(db, String(old?.channel), String(current?.channel));
  await beat(db);
  await beat(db, "w1", { instance: "i2" });
  const { id } = await handOff(db);
  expect(await listener.heard()).toEqual([`${current?.channel}: ${id}`]);
});

test("a handler that hangs is a lost run, although its job was handed over", async ({ db }) => {
  await db.query("select jobforge_set_policy('a', '{\"timeout_ms\": 1000}')");
  await beat(db);
  const { id } = await handOff(db);
  expect(await receive(db, [id])).toHaveLength(1);
  await db.travel("2 minutes");
  await beat(db, "w1", { held: [{ id, attempt: 1 }] });
  await db.query("select jobforge_maintain()");
  expect(await stateOf(db, id)).toMatchObject({ attempts: 1, uncounted: 0 });
  expect(await stateOf(db, id)).not.toMatchObject({ state: "running" });
});
