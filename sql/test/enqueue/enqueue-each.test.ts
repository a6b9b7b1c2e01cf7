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

const each = (db: Sql, jobs: unknown, tenant = T): Promise<Each[]> =>
  db.value("select jobforge_enqueue_each($1, $2)", [tenant, JSON.stringify(jobs)]);

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
  await db.value("select jobforge_enqueue_each($1, $2, false)", [T, '[{"type": "a"}]']);
  expect(await ear.heard()).toEqual([]);
  await each(db, [{ type: "a" }, { type: "b" }, { type: "a" }]);
  expect((await ear.heard()).sort()).toEqual(["jobforge_wake: a", "jobforge_wake: b"]);
});

test("a call that cannot be read enqueues nothing and names the job", async ({ db }) => {
  for (const jobs of [{}, null, Array.from({ length: 1001 }, () => ({ type: "a" }))])
    expect(await codeOf(each(db, jobs))).toBe("JF002");
  await expect(each(db, [{ type: "a" }, { typ: "a" }])).rejects.toThrow(/job 1: unknown key typ/);
  expect(await countJobs(db)).toBe(0);
});

test("a tenant enqueues for itself only", async ({ db }) => {
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(outcomes(await each(tenant, [{ type: "a" }]))).toEqual(["created"]);
  expect(await codeOf(each(tenant, [{ type: "a" }], U))).toBe("42501");
});

test("a call costs the same, however many jobs wait", async ({ db }) => {
  const jobs = JSON.stringify([{ type: "a" }, { type: "a" }, { type: "a", dedupe_key: "k" }]);
  const few = await warmCost(db, "select jobforge_enqueue_each($1, $2)", [T, jobs]);
  await load(db, { count: 30_000 });
  const many = await warmCost(await db.connect(), "select jobforge_enqueue_each($1, $2)", [T, jobs]);
  expect(many.buffers).toBeLessThan(few.buffers + 100);
});
