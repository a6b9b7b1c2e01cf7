/** jobforge_enqueue_each: the jobs of several callers in one call, each for itself. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { load, warmCost } from "../support/cost.ts";
import {
  claimIds,
  codeOf,
  complete,
  countJobs,
  enqueue,
  find,
  type Sql,
  setPolicy,
  T,
  U,
  workerHeartbeat,
} from "../support/kernel.ts";
import { listen } from "../support/listen.ts";
import { boundLogin } from "../support/tenants.ts";

interface Each {
  readonly id?: string;
  readonly outcome: string;
  readonly status?: string | null;
  readonly payload?: unknown;
}

/** Enqueues the jobs, each for the tenant at its place, by default T. */
const each = (db: Sql, jobs: unknown, tenants?: readonly (string | null)[]): Promise<Each[]> =>
  db.value("select jobforge_enqueue_each($1, $2)", [
    tenants ?? Array.from({ length: Array.isArray(jobs) ? jobs.length : 0 }, () => T),
    JSON.stringify(jobs),
  ]);

const outcomes = (rows: readonly Each[]): string[] => rows.map(({ outcome }) => outcome);

test("every job is returned with its columns, in order, and starts in that order", async ({ db }) => {
  const rows = await each(
    db,
    [3, 1, 2].map((n) => ({ type: `t${n}`, payload: { n }, tags: ["x"] })),
  );
  expect(outcomes(rows)).toEqual(["created", "created", "created"]);
  expect(rows.map(({ payload }) => payload)).toEqual([{ n: 3 }, { n: 1 }, { n: 2 }]);
  for (const { outcome: _, ...columns } of rows)
    expect(await db.value("select to_jsonb(j) from jobforge_jobs j where id = $1", [columns.id])).toEqual(
      columns,
    );
  expect(await claimIds(db, "w", { limit: 10 })).toEqual(rows.map(({ id }) => id));
});

test("an invalid job is rejected, and the others are enqueued", async ({ db }) => {
  const rows = await each(db, [
    { type: "a" },
    { type: "" },
    { type: "a", max_attempts: 0 },
    { type: "a", payload: "x".repeat(1024 * 1024) },
    { type: "a", payload: 5 },
  ]);
  expect(rows.slice(1, 4)).toEqual(Array(3).fill({ outcome: "rejected" }));
  expect(outcomes(rows)).toEqual(["created", "rejected", "rejected", "rejected", "created"]);
  expect(await countJobs(db)).toBe(2);
});

test("keys lead to the first job of the call, or to one that existed before", async ({ db }) => {
  const before = await enqueue(db, { type: "a", idempotency_key: "i", payload: { n: 0 } });
  const rows = await each(db, [
    { type: "a", idempotency_key: "i", payload: { n: 1 } },
    { type: "a", dedupe_key: "d", payload: { n: 2 } },
    { type: "a", dedupe_key: "d", payload: { n: 3 }, dedupe_mode: "replace" },
    { type: "a", dedupe_key: "d", payload: { n: 4 } },
  ]);
  expect(outcomes(rows)).toEqual(["existing", "created", "replaced", "existing"]);
  expect(rows[0]).toMatchObject({ id: before.id, payload: { n: 0 } });
  expect(new Set(rows.slice(1).map(({ id }) => id)).size).toBe(1);
  expect(await find(db, rows[1]?.id ?? "")).toMatchObject({ payload: { n: 3 } });
});

test("a job that is gone while its key is kept has a status of null", async ({ db }) => {
  await setPolicy(db, "a", { keep_history: false });
  const { id } = await enqueue(db, { type: "a", idempotency_key: "i" });
  await claimIds(db);
  await complete(db, id);
  expect(await each(db, [{ type: "a", idempotency_key: "i" }])).toEqual([
    { id, tenant_id: T, type: "a", idempotency_key: "i", status: null, outcome: "existing" },
  ]);
});

test("a key that an open transaction holds rejects the jobs with keys only, and nothing waits", async ({
  db,
}) => {
  const [holder, other] = [await db.connect(), await db.connect()];
  await holder.query("begin");
  await enqueue(holder, { type: "a", idempotency_key: "held" });
  const rows = await each(other, [
    { type: "a", payload: 1 },
    { type: "a", idempotency_key: "held" },
    { type: "a", dedupe_key: "free" },
    { type: "a", payload: 2 },
  ]);
  expect(outcomes(rows)).toEqual(["created", "rejected", "rejected", "created"]);
  await holder.query("rollback");
  expect(await countJobs(db)).toBe(2);
  expect(await other.value("show lock_timeout")).toBe("0");
});

test("quotas reject the jobs that they have no room for", async ({ db }) => {
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_pending: 3, max_types: 2 }]);
  const rows = await each(db, [
    { type: "a", idempotency_key: "k" },
    { type: "b" },
    { type: "c" },
    { type: "a" },
    { type: "a" },
    { type: "a", idempotency_key: "k" },
  ]);
  expect(outcomes(rows)).toEqual(["created", "created", "rejected", "created", "rejected", "existing"]);
});

test("workers are notified once per type, unless the caller notifies later", async ({ db }) => {
  await workerHeartbeat(db, "w", { types: ["a", "b"], idle: true });
  const ear = await listen(db);
  await db.value("select jobforge_enqueue_each($1, $2, false)", [[T], '[{"type": "a"}]']);
  expect(await ear.heard()).toEqual([]);
  await each(db, [{ type: "a" }, { type: "b" }, { type: "a" }]);
  expect((await ear.heard()).sort()).toEqual(["jobforge_wake: a", "jobforge_wake: b"]);
});

test("a call that cannot be read enqueues nothing and names the job", async ({ db }) => {
  for (const jobs of [{}, null, Array.from({ length: 1001 }, () => ({ type: "a" }))])
    expect(await codeOf(each(db, jobs))).toBe("JF002");
  for (const tenants of [[], [T], [T, T, T]])
    expect(await codeOf(each(db, [{ type: "a" }, { type: "a" }], tenants))).toBe("JF002");
  expect(outcomes(await each(db, [{ type: "a" }], [null]))).toEqual(["rejected"]);
  await expect(each(db, [{ type: "a" }, { typ: "a" }])).rejects.toThrow(/job 1: unknown key typ/);
  expect(await countJobs(db)).toBe(0);
});

test("jobs of several tenants are enqueued together, and those of each keep their order", async ({ db }) => {
  await db.query('select jobforge_set_tenant($1, \'{"label": "acme"}\')', [T]);
  const jobs = Array.from({ length: 6 }, (_, n) => ({ type: "a", payload: { n } }));
  // First the type is new for both tenants, then it is known to both.
  for (const round of [1, 2]) {
    const rows = await each(db, jobs, [T, U, T, U, T, U]);
    expect(outcomes(rows)).toEqual(Array(6).fill("created"));
    for (const { outcome: _, ...columns } of rows)
      expect(await db.value("select to_jsonb(j) from jobforge_jobs j where id = $1", [columns.id])).toEqual(
        columns,
      );
    const order = await db.query<{ tenant_id: string; ns: number[] }>(
      `select tenant_id, array_agg((payload ->> 'n')::int order by seq) as ns
       from jobforge.queue where id = any ($1) group by 1 order by 1`,
      [rows.map(({ id }) => id)],
    );
    expect(order, `round ${round}`).toEqual([
      { tenant_id: T, ns: [0, 2, 4] },
      { tenant_id: U, ns: [1, 3, 5] },
    ]);
  }
  const rows = await each(
    db,
    jobs.map((job, n) => (n === 2 ? { ...job, idempotency_key: "k" } : job)),
    [T, U, T, U, T, U],
  );
  expect(outcomes(rows)).toEqual(Array(6).fill("created"));
  expect(
    await db.value(
      "select array_agg((payload ->> 'n')::int order by seq) from jobforge.queue where id = any ($1) and tenant_id = $2",
      [rows.map(({ id }) => id), T],
    ),
  ).toEqual([0, 2, 4]);
});

test("the quota of one tenant rejects no job of another", async ({ db }) => {
  await each(db, [{ type: "a" }, { type: "a" }], [T, U]);
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_pending: 2 }]);
  const jobs = Array.from({ length: 4 }, () => ({ type: "a" }));
  expect(outcomes(await each(db, jobs, [T, U, T, U]))).toEqual(["created", "created", "rejected", "created"]);
});

test("a tenant enqueues for itself only", async ({ db }) => {
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(outcomes(await each(tenant, [{ type: "a" }]))).toEqual(["created"]);
  const jobs = [{ type: "a" }, { type: "b" }, { type: "a" }];
  expect(outcomes(await each(tenant, jobs, [U, T, U]))).toEqual(["rejected", "created", "rejected"]);
  expect(await countJobs(db)).toBe(2);
});

test("a call costs the same, however many jobs wait", async ({ db }) => {
  const jobs = JSON.stringify([{ type: "a" }, { type: "a" }, { type: "a", dedupe_key: "k" }]);
  const few = await warmCost(db, "select jobforge_enqueue_each($1, $2)", [[T, T, T], jobs]);
  await load(db, { count: 30_000 });
  const many = await warmCost(await db.connect(), "select jobforge_enqueue_each($1, $2)", [[T, T, T], jobs]);
  expect(many.buffers).toBeLessThan(few.buffers + 100);
});
