/**
 * jobforge_purge_jobs deletes finished jobs and everything that belongs to them before their retention ends, and
 * nothing else.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  complete,
  countJobs,
  enqueue,
  enqueueMany,
  expectError,
  fail,
  find,
  impatient,
  reschedule,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

async function purge(db: Sql, filters: unknown, limit = 1000, tenant: string | null = T) {
  return await db.value<{ matched: number; changed: number }>("select jobforge_purge_jobs($1, $2, $3)", [
    tenant,
    JSON.stringify(filters),
    limit,
  ]);
}

async function failed(db: Sql, job: Parameters<typeof enqueue>[1] = {}): Promise<string> {
  const { id } = await enqueue(db, job);
  await claim(db, "w1", { types: [job?.type ?? "a"] });
  await fail(db, id, { retry: false });
  return id;
}

test("jobs that a filter selects are deleted, with attempts, large payload, result and idempotency key", async ({
  db,
}) => {
  const { id } = await enqueue(db, { idempotency_key: "k", payload: { text: "x".repeat(5000) } });
  await claim(db);
  await fail(db, id);
  await db.travel("1 hour");
  await claim(db);
  await complete(db, id, { result: { done: true } });
  expect(await purge(db, { status: "succeeded" })).toEqual({ matched: 1, changed: 1 });
  for (const table of ["archive", "attempts", "payloads", "job_keys"])
    expect(await db.value(`select count(*)::int from jobforge.${table}`), table).toBe(0);
  expect((await enqueue(db, { idempotency_key: "k" })).outcome).toBe("created");
});

test("live jobs are never deleted, whatever the filter says", async ({ db }) => {
  await enqueue(db, { priority: 1 });
  await enqueue(db, { in: "1 hour" });
  await claim(db, "w1", { limit: 1 });
  expect(await purge(db, { type: "a" })).toEqual({ matched: 0, changed: 0 });
  expect(await purge(db, { status: ["queued", "running"] })).toEqual({ matched: 0, changed: 0 });
  expect(await countJobs(db)).toBe(2);
});

test("jobs of other tenants, and jobs that the filter does not select, stay", async ({ db }) => {
  const gone = await failed(db);
  const other = await failed(db, { type: "b" });
  const theirs = await failed(db, { tenant_id: U });
  const { id: canceled } = await enqueue(db);
  await cancel(db, canceled);
  expect(await purge(db, { status: ["failed", "dead"], type: "a" })).toEqual({ matched: 1, changed: 1 });
  expect(await db.query("select from jobforge_jobs where id = $1", [gone])).toEqual([]);
  for (const id of [other, theirs, canceled]) expect(await find(db, id)).toMatchObject({ id });
});

test("a call is bounded, and shows whether there is more", async ({ db }) => {
  await enqueueMany(db, 5);
  await db.query("select jobforge_cancel_jobs($1, $2)", [T, JSON.stringify({ type: "a" })]);
  expect(await purge(db, { type: "a" }, 3)).toEqual({ matched: 3, changed: 3 });
  expect(await purge(db, { type: "a" }, 3)).toEqual({ matched: 2, changed: 2 });
});

test("a job that another transaction is rescheduling is skipped without waiting", async ({ db }) => {
  const id = await failed(db);
  await using application = await db.connect();
  await application.query("begin");
  await reschedule(application, id);
  await using operator = await impatient(db);
  expect(await purge(operator, { status: "failed" })).toEqual({ matched: 1, changed: 0 });
  await application.query("commit");
  expect(await find(db, id)).toMatchObject({ status: "queued" });
});

test("a missing filter and a limit out of range are refused", async ({ db }) => {
  await expectError(purge(db, {}), "JF002", "filters");
  await expectError(purge(db, { nonsense: 1 }), "JF002", "nonsense");
  await expectError(purge(db, { type: "a" }, 0), "JF002", "limit");
  await expectError(purge(db, { type: "a" }, 10, null), "JF001", "tenant_id");
});

test("a purge is recorded in the audit log", async ({ db }) => {
  await failed(db);
  await purge(db, { status: "failed" });
  expect(
    await db.query("select tenant_id, action, meta from jobforge_audit_log where action = 'JOBS_PURGED'"),
  ).toEqual([
    { tenant_id: T, action: "JOBS_PURGED", meta: { matched: 1, changed: 1, filters: { status: "failed" } } },
  ]);
});

test("only operators may purge, and a bound operator only its own tenant's jobs", async ({ db }) => {
  await failed(db);
  await using tenant = await boundLogin(db, T, "jobforge_tenant");
  await expect(purge(tenant, { status: "failed" })).rejects.toMatchObject({ code: "42501" });
  await using elsewhere = await boundLogin(db, U, "jobforge_operator");
  await expectError(purge(elsewhere, { status: "failed" }), "42501");
  await using operator = await login(db, "jobforge_operator");
  expect(await purge(operator, { status: "failed" })).toEqual({ matched: 1, changed: 1 });
});
