import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  backendOf,
  cancel,
  claim,
  claimIds,
  codeOf,
  complete,
  connections,
  countJobs,
  enqueue,
  fail,
  find,
  reschedule,
  setPolicy,
  started,
  T,
  U,
  untilBlocked,
} from "../support/kernel.ts";

const big = (text: string): { text: string } => ({ text: text.repeat(2_000) });

test("the same idempotency key returns the same job, as it was first enqueued", async ({ db }) => {
  const first = await enqueue(db, { payload: { x: 1 }, idempotency_key: "k1" });
  const second = await enqueue(db, { payload: { x: 2 }, idempotency_key: "k1", priority: 5 });
  expect(second).toEqual({ ...first, outcome: "existing" });
  expect(await countJobs(db)).toBe(1);
});

test("keys belong to one tenant and one type, and without a key each call creates a new job", async ({
  db,
}) => {
  const jobs = [
    await enqueue(db, { idempotency_key: "k", dedupe_key: "d" }),
    await enqueue(db, { idempotency_key: "k", dedupe_key: "d", tenant_id: U }),
    await enqueue(db, { idempotency_key: "k", dedupe_key: "d", type: "b" }),
    await enqueue(db),
    await enqueue(db),
  ];
  expect(jobs.map((job) => job.outcome)).toEqual(Array(5).fill("created"));
  expect(new Set(jobs.map((job) => job.id)).size).toBe(5);
});

test("an idempotency key returns its job while the job runs and after it finished, with any status", async ({
  db,
}) => {
  const ends = { succeeded: {}, failed: { status: "failed", retry: false }, dead: { status: "failed" } };
  for (const [status, ending] of Object.entries(ends)) {
    const asked = { idempotency_key: status, max_attempts: 1 };
    const { id } = await enqueue(db, asked);
    await claim(db);
    expect(await enqueue(db, asked)).toMatchObject({ id, outcome: "existing", status: "running" });
    await complete(db, id, ending);
    expect(await enqueue(db, asked)).toMatchObject({ id, outcome: "existing", status });
  }
  const { id } = await enqueue(db, { idempotency_key: "canceled" });
  await cancel(db, id);
  expect(await enqueue(db, { idempotency_key: "canceled" })).toMatchObject({ id, status: "canceled" });
  expect(await claim(db)).toEqual([]);
  expect(await countJobs(db)).toBe(4);
});

test.for<["idempotency_key" | "dedupe_key", string, string]>([
  ["idempotency_key", "skip", "existing"],
  ["dedupe_key", "skip", "existing"],
  ["dedupe_key", "replace", "replaced"],
  ["dedupe_key", "debounce", "replaced"],
])("twenty concurrent callers with one %s (%s) share one job", async ([key, dedupe_mode, other], { db }) => {
  const callers = await connections(db, 20);
  for (const round of ["first", "second", "third"]) {
    const answers = await Promise.all(
      callers.map((caller, n) => enqueue(caller, { [key]: round, dedupe_mode, payload: { n } })),
    );
    expect(new Set(answers.map((job) => job.id)).size).toBe(1);
    expect(answers.map((job) => job.outcome).sort()).toEqual(["created", ...Array(19).fill(other)].sort());
  }
  expect(await countJobs(db)).toBe(3);
});

test("a dedupe key is taken while its job is queued, running or retrying, and free when it is finished", async ({
  db,
}) => {
  const asked = { dedupe_key: "d" };
  const first = await enqueue(db, asked);
  expect(await enqueue(db, asked)).toMatchObject({ id: first.id, outcome: "existing", status: "queued" });
  await claim(db);
  expect(await enqueue(db, asked)).toMatchObject({ id: first.id, outcome: "existing", status: "running" });
  await fail(db, first.id);
  expect(await enqueue(db, asked)).toMatchObject({ id: first.id, outcome: "existing", status: "queued" });
  await reschedule(db, first.id);
  await claim(db);
  await complete(db, first.id);
  const second = await enqueue(db, asked);
  expect(second.outcome).toBe("created");
  await cancel(db, second.id);
  expect(await enqueue(db, asked)).toMatchObject({ outcome: "created" });
  expect(await countJobs(db)).toBe(3);
});

test("skip leaves the queued job as it is", async ({ db }) => {
  const first = await enqueue(db, { dedupe_key: "d", payload: { n: 1 }, in: "1 hour", tags: ["one"] });
  const second = await enqueue(db, { dedupe_key: "d", payload: { n: 2 }, priority: 5, tags: ["two"] });
  expect(second).toEqual({ ...first, outcome: "existing" });
});

test("replace changes the payload, priority and tags of a queued job, but not its time", async ({ db }) => {
  const first = await enqueue(db, {
    dedupe_key: "d",
    payload: { n: 1 },
    in: "1 hour",
    subject: "s",
    max_attempts: 2,
  });
  const second = await enqueue(db, {
    dedupe_key: "d",
    dedupe_mode: "replace",
    payload: { n: 2 },
    priority: 5,
    tags: ["two"],
    subject: "other",
    max_attempts: 9,
  });
  const { updated_at: _, ...kept } = first;
  expect(second).toMatchObject({
    ...kept,
    payload: { n: 2 },
    priority: 5,
    tags: ["two"],
    outcome: "replaced",
  });
  expect(await claim(db)).toEqual([]);
});

test("debounce also moves the job to a later time or to now", async ({ db }) => {
  const asked = { dedupe_key: "d", dedupe_mode: "debounce" };
  const { id } = await enqueue(db, { ...asked, in: "1 minute" });
  const later = await enqueue(db, { ...asked, in: "10 minutes", payload: { n: 2 } });
  expect(later).toMatchObject({ id, outcome: "replaced", payload: { n: 2 } });
  await db.travel("5 minutes");
  expect(await claim(db)).toEqual([]);
  expect(await enqueue(db, { ...asked, payload: { n: 3 } })).toMatchObject({ id, outcome: "replaced" });
  expect(await claim(db)).toMatchObject([{ id, payload: { n: 3 } }]);
});

test("a queued job that debounce moves to a later time is no longer ready", async ({ db }) => {
  const asked = { dedupe_key: "d", dedupe_mode: "debounce" };
  const { id } = await enqueue(db, asked);
  await enqueue(db, { ...asked, in: "10 minutes" });
  expect(await claim(db)).toEqual([]);
  await db.travel("11 minutes");
  expect(await claimIds(db)).toEqual([id]);
});

test.for(["replace", "debounce"])(
  "%s does not change a running job and returns the outcome existing",
  async (dedupe_mode, { db }) => {
    const { id } = await enqueue(db, { dedupe_key: "d", payload: { n: 1 } });
    await claim(db);
    const before = await find(db, id);
    const answer = await enqueue(db, {
      dedupe_key: "d",
      dedupe_mode,
      payload: { n: 2 },
      priority: 9,
      in: "1 hour",
    });
    expect(answer).toMatchObject({ id, outcome: "existing", payload: { n: 1 }, status: "running" });
    expect(await find(db, id)).toEqual(before);
    expect(await complete(db, id)).toMatchObject({ status: "succeeded" });
  },
);

test("a replaced payload may grow above the size that is stored separately, and shrink again", async ({
  db,
}) => {
  const asked = { dedupe_key: "d", dedupe_mode: "replace" };
  const { id } = await enqueue(db, asked);
  for (const payload of [big("a"), big("b"), { small: true }, big("c"), null, big("d")]) {
    expect(await enqueue(db, { ...asked, payload })).toMatchObject({ id, payload, outcome: "replaced" });
  }
  expect(await claim(db)).toMatchObject([{ id, payload: big("d") }]);
});

test("the cap on priorities also holds for a replaced job", async ({ db }) => {
  await setPolicy(db, "a", { max_priority: 3 });
  await enqueue(db, { dedupe_key: "d" });
  expect(await enqueue(db, { dedupe_key: "d", dedupe_mode: "replace", priority: 9 })).toMatchObject({
    priority: 3,
  });
});

test("of both keys the idempotency key is looked up first, and the key of a merged job returns the merged job", async ({
  db,
}) => {
  const first = await enqueue(db, { idempotency_key: "k1", dedupe_key: "d1" });
  const byKey = await enqueue(db, {
    idempotency_key: "k1",
    dedupe_key: "d2",
    dedupe_mode: "replace",
    payload: { n: 2 },
  });
  expect(byKey).toEqual({ ...first, outcome: "existing" });
  const byDedupe = await enqueue(db, { idempotency_key: "k2", dedupe_key: "d1" });
  expect(byDedupe).toEqual({ ...first, outcome: "existing" });
  await claim(db);
  await complete(db, first.id);
  for (const idempotency_key of ["k1", "k2"]) {
    expect(await enqueue(db, { idempotency_key, dedupe_key: "d1" })).toMatchObject({
      id: first.id,
      outcome: "existing",
    });
  }
  const fresh = await enqueue(db, { idempotency_key: "k3", dedupe_key: "d1" });
  expect(fresh.outcome).toBe("created");
  expect(await claimIds(db)).toEqual([fresh.id]);
});

test("a key is free for a waiting caller when the transaction that holds it rolls back", async ({ db }) => {
  for (const key of ["idempotency_key", "dedupe_key"]) {
    const waiting = await db.connect();
    const backend = await backendOf(waiting);
    await db.query("begin");
    await enqueue(db, { [key]: "k" });
    const answer = started(enqueue(waiting, { [key]: "k" }));
    await untilBlocked(db, backend);
    await db.query("rollback");
    expect((await answer).outcome).toBe("created");
  }
});

test("a caller under REPEATABLE READ gets a serialization error if a newer job has its key", async ({
  db,
}) => {
  const caller = await db.connect();
  for (const key of ["idempotency_key", "dedupe_key"]) {
    await caller.query("begin isolation level repeatable read");
    await caller.query("select 1 from jobforge_jobs limit 1");
    const { id } = await enqueue(db, { [key]: "k" });
    expect(await codeOf(enqueue(caller, { [key]: "k" }))).toBe("40001");
    await caller.query("rollback");
    expect(await enqueue(caller, { [key]: "k" })).toMatchObject({ id, outcome: "existing" });
  }
});

test("a type without history leaves no row after success, and its key still returns the job's id", async ({
  db,
}) => {
  await setPolicy(db, "a", { keep_history: false });
  const asked = { idempotency_key: "k", payload: big("x") };
  const { id } = await enqueue(db, asked);
  await claim(db);
  await fail(db, id, { retry_at: new Date() });
  await claim(db);
  expect(await complete(db, id, { result: { ok: true } })).toMatchObject({ status: "succeeded" });
  for (const view of ["jobforge_jobs", "jobforge_job_attempts", "jobforge_job_results"]) {
    expect(await db.query(`select * from ${view}`), view).toEqual([]);
  }
  expect(await enqueue(db, asked)).toMatchObject({ id, tenant_id: T, type: "a", outcome: "existing" });
  expect(await claim(db)).toEqual([]);
});

test("a type without history leaves no row after a cancel, but always leaves one after a failure", async ({
  db,
}) => {
  await setPolicy(db, "a", { keep_history: false });
  const running = await enqueue(db, { idempotency_key: "running" });
  await claim(db);
  await cancel(db, running.id);
  await complete(db, running.id);
  const queued = await enqueue(db, { idempotency_key: "queued" });
  await cancel(db, queued.id);
  expect(await countJobs(db)).toBe(0);
  const failed = await enqueue(db);
  await claim(db);
  await fail(db, failed.id, { retry: false });
  expect(await find(db, failed.id)).toMatchObject({ status: "failed" });
});
