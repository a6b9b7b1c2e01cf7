/** Bulk operations: many calls with one id, which look at each job once and have one entry in the audit log. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  codeOf,
  countJobs,
  enqueueAll,
  enqueueMany,
  expectError,
  fail,
  find,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

interface Step {
  readonly matched: number;
  readonly changed: number;
  readonly audit_id: number;
  readonly cursor: string | null;
  readonly total: { readonly matched: number; readonly changed: number };
}

type Verb = "cancel" | "reschedule" | "purge";

interface Call {
  readonly filters: object;
  readonly tenant?: string | null;
  readonly limit?: number;
  readonly operation?: string | null;
  readonly cursor?: string | null;
}

async function step(
  db: Sql,
  verb: Verb,
  { filters, tenant = T, limit = 1000, operation = randomUUID(), cursor = null }: Call,
): Promise<Step> {
  return await db.value<Step>(`select jobforge_${verb}_jobs($1, $2, $3, $4, $5)`, [
    tenant,
    JSON.stringify(filters),
    limit,
    operation,
    cursor,
  ]);
}

async function deadJobs<const Tenants extends readonly string[]>(
  db: Sql,
  tenants: Tenants,
): Promise<{ [K in keyof Tenants]: string }> {
  const ids = await enqueueAll(
    db,
    tenants.map((tenant_id) => ({ tenant_id, max_attempts: 1 })),
  );
  await claim(db);
  for (const id of ids) await fail(db, id);
  return ids as { [K in keyof Tenants]: string };
}

test("the calls of an operation cover all jobs once, add up, and have one entry in the audit log", async ({
  db,
}) => {
  await enqueueMany(db, 5);
  const operation = randomUUID();
  const filters = { status: "queued" };
  const steps: Step[] = [];
  let cursor: string | null = null;
  do {
    const done: Step = await step(db, "cancel", { filters, limit: 2, operation, cursor });
    steps.push(done);
    cursor = done.cursor;
  } while (cursor !== null);
  expect(steps.map(({ matched, total }) => [matched, total.changed])).toEqual([
    [2, 2],
    [2, 4],
    [1, 5],
  ]);
  const entries = await db.query(
    "select id::int, action, meta from jobforge_audit_log where action = 'JOBS_CANCELED'",
  );
  expect(entries).toEqual([
    { id: steps[0]?.audit_id, action: "JOBS_CANCELED", meta: { matched: 5, changed: 5, filters } },
  ]);
});

test("an operation by ids changes these jobs, and no other tenant's", async ({ db }) => {
  const [first, second, other] = await deadJobs(db, [T, T, U]);
  const filters = { ids: [first, other] };
  expect(await step(db, "purge", { filters })).toMatchObject({ matched: 1, changed: 1, cursor: null });
  expect(await countJobs(db)).toBe(2);
  expect((await find(db, second)).status).toBe("dead");
  expect((await find(db, other)).status).toBe("dead");
});

test("operators change the jobs of all tenants, but only in an operation", async ({ db }) => {
  const ids = await deadJobs(db, [T, U, T]);
  const operator = await login(db, "jobforge_operator");
  const filters = { status: "dead" };
  await expectError(step(operator, "reschedule", { filters, tenant: null, operation: null }), "JF001");
  expect(await step(operator, "reschedule", { filters, tenant: null })).toMatchObject({
    matched: 3,
    changed: 3,
  });
  for (const id of ids) expect((await find(db, id)).status).toBe("queued");
  expect(await step(operator, "cancel", { filters: { ids }, tenant: null })).toMatchObject({ changed: 3 });
  expect(await step(operator, "purge", { filters: { ids }, tenant: null })).toMatchObject({ changed: 3 });
  expect(await countJobs(db)).toBe(0);
});

test("a tenant changes its own jobs only, in an operation too", async ({ db }) => {
  await deadJobs(db, [T, U]);
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  for (const named of [U, null])
    expect(await codeOf(step(tenant, "reschedule", { filters: { status: "dead" }, tenant: named }))).toBe(
      "42501",
    );
  expect(await step(tenant, "reschedule", { filters: { status: "dead" } })).toMatchObject({ changed: 1 });
});

test("an id of an operation belongs to one change", async ({ db }) => {
  await enqueueMany(db, 2);
  const operation = randomUUID();
  await step(db, "cancel", { filters: { status: "queued" }, limit: 1, operation });
  await expectError(step(db, "cancel", { filters: { type: "a" }, operation }), "JF002", "operation");
  await expectError(
    step(db, "reschedule", { filters: { status: "queued" }, operation }),
    "JF002",
    "operation",
  );
});
