/** jobforge_count_jobs: how many jobs a filter selects. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { travelTo } from "../support/archive.ts";
import { enqueue, enqueueMany, expectError, type Sql, T, U } from "../support/kernel.ts";
import { jobsOfAllStatuses } from "../support/statuses.ts";
import { boundLogin, login } from "../support/tenants.ts";

type Count = {
  tenant_id: string;
  type: string;
  status: string;
  jobs: number;
  oldest_at: Date;
  newest_at: Date;
  counted_at: Date;
};

async function count(
  db: Sql,
  filters: unknown = {},
  tenant: string | null = null,
  change: string | null = null,
) {
  return await db.query<Count>("select * from jobforge_count_jobs($1, $2, $3)", [
    tenant,
    JSON.stringify(filters),
    change,
  ]);
}

describe("jobforge_count_jobs", () => {
  test("counts live and finished jobs by tenant, type and status, the largest count first", async ({
    db,
  }) => {
    await jobsOfAllStatuses(db);
    const found = await count(db);
    expect(found[0]).toMatchObject({ tenant_id: T, type: "a", status: "queued", jobs: 2, exact: true });
    expect(found.map(({ type, status, jobs }) => `${type} ${status} ${jobs}`).sort()).toEqual([
      "a canceled 1",
      "a failed 1",
      "a queued 2",
      "a running 1",
      "a succeeded 1",
      "b queued 1",
    ]);
  });

  test("says when the jobs were created, and when they were counted", async ({ db }) => {
    await travelTo(db, "'2027-03-01T10:00:00Z'");
    await enqueue(db);
    await travelTo(db, "'2027-03-01T11:00:00Z'");
    await enqueue(db);
    await travelTo(db, "'2027-03-01T12:00:00Z'");
    const [before] = await count(db);
    const times = [before?.oldest_at, before?.newest_at, before?.counted_at];
    expect(times.map((at) => at?.toISOString().slice(0, 16))).toEqual([
      "2027-03-01T10:00",
      "2027-03-01T11:00",
      "2027-03-01T12:00",
    ]);
    await enqueue(db);
    expect(await count(db, { created_before: before?.counted_at })).toMatchObject([{ jobs: 2 }]);
    expect(await count(db)).toMatchObject([{ jobs: 3 }]);
  });

  test("counts all jobs that a filter selects, not one page", async ({ db }) => {
    await enqueueMany(db, 120);
    await enqueue(db, { type: "b" });
    expect(await count(db, { type: "a" })).toMatchObject([
      { tenant_id: T, type: "a", status: "queued", jobs: 120, exact: true },
    ]);
    expect(await count(db, { type: "a", limit: 10 })).toMatchObject([{ jobs: 120 }]);
    expect(await count(db, { type: "nothing" })).toEqual([]);
  });

  test.for([
    ["cancel", ["queued", "running"]],
    ["reschedule", ["failed", "queued"]],
    ["purge", ["canceled", "failed", "succeeded"]],
  ] as const)("counts what a %s would touch", async ([change, statuses], { db }) => {
    await jobsOfAllStatuses(db);
    expect((await count(db, { type: "a" }, T, change)).map((each) => each.status).sort()).toEqual(statuses);
    expect(await count(db, { type: "a", status: "canceled" }, T, change)).toHaveLength(
      change === "purge" ? 1 : 0,
    );
  });

  test("refuses unknown filters and changes", async ({ db }) => {
    await expectError(count(db, {}, null, "explode"), "JF002", "change");
    await expectError(count(db, { nonsense: 1 }), "JF002", "nonsense");
  });

  test("a tenant counts its own jobs, an operator counts all", async ({ db }) => {
    await jobsOfAllStatuses(db);
    await using tenant = await boundLogin(db, U, "jobforge_tenant");
    expect(await count(tenant, {}, U)).toMatchObject([
      { tenant_id: U, type: "b", status: "queued", jobs: 1, exact: true },
    ]);
    await expectError(count(tenant, {}, T), "42501");
    await expectError(count(tenant), "42501");
    await using operator = await login(db, "jobforge_operator");
    expect(await count(operator)).toHaveLength(6);
  });
});
