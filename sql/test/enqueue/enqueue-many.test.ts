/** jobforge_enqueue_jobs: many jobs in one call, all or none. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueueJobs, outcomesOf } from "../support/bulk.ts";
import {
  claim,
  claimIds,
  codeOf,
  connections,
  countJobs,
  enqueue,
  find,
  setPolicy,
  T,
  U,
} from "../support/kernel.ts";

test("ten thousand jobs in one call are returned in the order of the input, each once", async ({ db }) => {
  const jobs = Array.from({ length: 10_000 }, (_, n) => ({ type: "a", payload: { n } }));
  const rows = await enqueueJobs(db, jobs);
  expect(rows).toHaveLength(10_000);
  expect(new Set(outcomesOf(rows))).toEqual(new Set(["created"]));
  const stored = await db.query<{ id: string; n: number }>(
    "select id, (payload ->> 'n')::int as n from jobforge_jobs",
  );
  const places = new Map(stored.map((job) => [job.id, job.n]));
  expect(rows.map((row) => places.get(row.id))).toEqual(jobs.map((job) => job.payload.n));
});

test("jobs of one call start in the order of the input, across types, in every call of a session", async ({
  db,
}) => {
  const types = ["b", "a", "b", "c", "a", "a", "c", "b"];
  for (let round = 0; round < 8; round += 1) {
    const ids = (
      await enqueueJobs(
        db,
        types.map((type) => ({ type })),
      )
    ).map((row) => row.id);
    expect(await claimIds(db, "w1", { limit: 100 })).toEqual(ids);
  }
});

test("every option is kept, and an option that is missing or null has its default", async ({ db }) => {
  await setPolicy(db, "a", { max_attempts: 9, max_priority: 5 });
  const options = {
    type: "a",
    payload: [1, { two: null }],
    idempotency_key: "i",
    run_at: "2999-01-01T00:00:00+00:00",
    max_attempts: 3,
    priority: 4,
    dedupe_key: "d",
    tags: ["x", "y"],
    subject: "s",
    concurrency_key: "c",
    expires_at: "2999-02-01T00:00:00+00:00",
    traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
  };
  const nulls = Object.fromEntries(Object.keys(options).map((key) => [key, null]));
  const [full, bare, empty, capped] = await enqueueJobs(db, [
    { ...options, dedupe_mode: "replace" },
    { type: "a" },
    { ...nulls, dedupe_mode: null, type: "a" },
    { type: "a", priority: 100 },
  ]);
  expect(await db.value("select to_jsonb(j) from jobforge_jobs j where id = $1", [full?.id])).toMatchObject({
    ...options,
    tenant_id: T,
    status: "queued",
  });
  // A payload may be any JSON value, including null.
  const payloads = [(await find(db, bare?.id ?? "")).payload, (await find(db, empty?.id ?? "")).payload];
  expect(payloads).toEqual([{}, null]);
  for (const row of [bare, empty]) {
    expect(await find(db, row?.id ?? "")).toMatchObject({ priority: 0, max_attempts: 9, tags: [] });
  }
  expect(await find(db, capped?.id ?? "")).toMatchObject({ priority: 5 });
});

test("a key that occurs twice in a call creates one job, and the later rows return it as existing", async ({
  db,
}) => {
  const rows = await enqueueJobs(db, [
    { type: "a", idempotency_key: "i", payload: 0 },
    { type: "a", dedupe_key: "d", payload: 1 },
    { type: "a", idempotency_key: "i", payload: 2 },
    { type: "b", idempotency_key: "i", payload: 3 },
    { type: "a", dedupe_key: "d", payload: 4 },
    { type: "a", dedupe_key: "d", dedupe_mode: "replace", payload: 5 },
    { type: "a", dedupe_key: "d", dedupe_mode: "debounce", payload: 6, run_at: "2999-01-01T00:00:00Z" },
    { type: "a", dedupe_key: "d", payload: 7 },
  ]);
  const [i, d, i2, other, ...ds] = rows;
  expect(outcomesOf(rows)).toEqual([
    "created",
    "created",
    "existing",
    "created",
    "existing",
    "replaced",
    "replaced",
    "existing",
  ]);
  expect(i2?.id).toBe(i?.id);
  expect(ds.map((row) => row.id)).toEqual(Array(4).fill(d?.id));
  expect(other?.id).not.toBe(i?.id);
  expect(await find(db, i?.id ?? "")).toMatchObject({ payload: 0 });
  expect(await find(db, d?.id ?? "")).toMatchObject({ payload: 6, run_at: new Date("2999-01-01T00:00:00Z") });
  expect(await countJobs(db)).toBe(3);
});

test("a key of an existing job returns that job, whether it is queued, running or finished", async ({
  db,
}) => {
  const running = await enqueue(db, { idempotency_key: "running", dedupe_key: "running", priority: 9 });
  await claim(db, "w1", { limit: 1 });
  const queued = await enqueue(db, { idempotency_key: "queued" });
  const waiting = await enqueue(db, { dedupe_key: "waiting", payload: { old: 1 } });
  const others = await enqueue(db, { tenant_id: U, idempotency_key: "theirs", dedupe_key: "theirs" });
  const rows = await enqueueJobs(db, [
    { type: "a" },
    { type: "a", idempotency_key: "queued" },
    { type: "a", dedupe_key: "running", dedupe_mode: "replace" },
    { type: "a", idempotency_key: "running" },
    { type: "a", dedupe_key: "waiting", dedupe_mode: "replace", payload: { new: 1 } },
    { type: "a", idempotency_key: "theirs", dedupe_key: "theirs" },
    { type: "a", idempotency_key: "mine" },
  ]);
  expect(outcomesOf(rows)).toEqual([
    "created",
    "existing",
    "existing",
    "existing",
    "replaced",
    "created",
    "created",
  ]);
  expect([1, 2, 3, 4].map((n) => rows[n]?.id)).toEqual([queued.id, running.id, running.id, waiting.id]);
  expect(rows[5]?.id).not.toBe(others.id);
  expect(await find(db, waiting.id)).toMatchObject({ payload: { new: 1 } });
});

test("a call repeated with the same keys changes nothing", async ({ db }) => {
  const jobs = Array.from({ length: 500 }, (_, n) => ({ type: "a", idempotency_key: `k${n}` }));
  const first = await enqueueJobs(db, jobs);
  const again = await enqueueJobs(db, jobs.toReversed());
  expect(new Set(outcomesOf(again))).toEqual(new Set(["existing"]));
  expect(again.map((row) => row.id)).toEqual(first.map((row) => row.id).toReversed());
  expect(await countJobs(db)).toBe(500);
});

test("large payloads are stored completely, in one call with small ones", async ({ db }) => {
  const sizes = [10, 1_400, 1_600, 100_000, 1_000_000, 5];
  const texts = sizes.map((size) =>
    Array.from({ length: size / 5 }, (_, n) => String(n % 99_999).padStart(5)).join(""),
  );
  const rows = await enqueueJobs(
    db,
    texts.map((text) => ({ type: "a", payload: { text } })),
  );
  for (const [n, row] of rows.entries()) expect((await find(db, row.id)).payload).toEqual({ text: texts[n] });
});

test("a call in a transaction that rolls back leaves no job and no key", async ({ db }) => {
  const jobs = [
    { type: "a", idempotency_key: "k" },
    { type: "a", dedupe_key: "d" },
  ];
  await db.query("begin");
  await enqueueJobs(db, jobs);
  await db.query("rollback");
  expect(await countJobs(db)).toBe(0);
  expect(outcomesOf(await enqueueJobs(db, jobs))).toEqual(["created", "created"]);
});

/** Returns the same numbers in a different order for each seed. */
function shuffled(count: number, seed: number): number[] {
  const numbers = Array.from({ length: count }, (_, n) => n);
  let state = seed + 1;
  for (let n = count - 1; n > 0; n -= 1) {
    state = (state * 48_271) % 2_147_483_647;
    const other = state % (n + 1);
    [numbers[n], numbers[other]] = [numbers[other] ?? 0, numbers[n] ?? 0];
  }
  return numbers;
}

const keyed: Record<string, (n: number) => Record<string, unknown>> = {
  "idempotency keys": (n) => ({ idempotency_key: `k${n}` }),
  "dedupe keys": (n) => ({ dedupe_key: `k${n}` }),
  "both, crossed": (n) => ({ idempotency_key: `k${n}`, dedupe_key: `k${99 - n}` }),
  "dedupe keys that replace": (n) => ({ dedupe_key: `k${n}`, dedupe_mode: "replace" }),
  "dedupe keys that debounce": (n) => ({ dedupe_key: `k${n}`, dedupe_mode: "debounce" }),
};

test.for(Object.keys(keyed))(
  "twenty callers with the same %s in different orders never deadlock, and each key creates one job",
  async (name, { db }) => {
    const callers = await connections(db, 20);
    const codes = await Promise.all(
      callers.map(async (caller, c) => {
        const seen: string[] = [];
        for (const round of [0, 1, 2]) {
          const jobs = shuffled(100, c * 31 + round).map((n) => ({
            type: "a",
            payload: { c },
            ...keyed[name]?.(n),
          }));
          seen.push(await codeOf(enqueueJobs(caller, jobs)));
        }
        return seen;
      }),
    );
    expect(codes.flat()).toEqual(Array(60).fill("ok"));
    const keys = name.startsWith("dedupe") ? "dedupe_key" : "idempotency_key";
    expect(await db.value(`select count(distinct ${keys})::int from jobforge_jobs`)).toBe(
      await db.value("select count(*)::int from jobforge_jobs"),
    );
    expect(await countJobs(db)).toBe(100);
  },
);
