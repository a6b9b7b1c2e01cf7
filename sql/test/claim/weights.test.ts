/** Weights: tenants that take more turns than others. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { load, tenant } from "../support/cost.ts";
import { claim, type Sql } from "../support/kernel.ts";
import { setWeight } from "../support/limits.ts";
import { type ClaimedJob, settle } from "../support/settle.ts";

const heavyTenant = tenant(2);

/** Returns how many of the jobs belong to the heavy tenant. */
const heavy = (jobs: readonly { tenant_id: string }[]): number =>
  jobs.filter((job) => job.tenant_id === heavyTenant).length;

/** Gives three tenants many jobs, and one of them a weight of three. */
async function prepare(db: Sql): Promise<void> {
  await load(db, { count: 1500, tenants: 3 });
  await setWeight(db, heavyTenant, 3);
}

test("a tenant of weight three gets three shares of a batch", async ({ db }) => {
  await prepare(db);
  for (const limit of [5, 10, 100]) expect(heavy(await claim(db, "w", { limit }))).toBe((limit * 3) / 5);
});

test("a tenant of weight three gets three of five jobs that are claimed one at a time", async ({ db }) => {
  await prepare(db);
  const claims: ClaimedJob[] = [];
  for (let n = 0; n < 50; n += 1) {
    const [job] = await claim(db, "w", { limit: 1 });
    claims.push(job as unknown as ClaimedJob);
  }
  expect(heavy(claims)).toBe(30);
});

test("a tenant of weight three gets about three of five jobs that are claimed one at a time with a hint", async ({
  db,
}) => {
  await prepare(db);
  const claims: ClaimedJob[] = [];
  let hint: unknown = null;
  for (let n = 0; n < 300; n += 1) {
    const answer = await settle(db, [], { claim: 1, types: ["a"], hint });
    expect(answer.claim_error).toBeUndefined();
    claims.push(...answer.jobs);
    hint = answer.hint;
  }
  // The choice is random, so the count is within five standard deviations of the mean.
  expect(heavy(claims)).toBeGreaterThan(120);
  expect(heavy(claims)).toBeLessThan(240);
});

test("the share that a heavy tenant cannot use goes to the others", async ({ db }) => {
  await load(db, { count: 100, tenants: 1 });
  await load(db, { count: 2, firstTenant: 2 });
  await setWeight(db, heavyTenant, 3);
  const jobs = await claim(db, "w", { limit: 20 });
  expect(jobs).toHaveLength(20);
  expect(heavy(jobs)).toBe(2);
});

test("a tenant with jobs of several types gets its turns once, the oldest job first", async ({ db }) => {
  await load(db, { count: 300, type: "t", types: 2, tenants: 3 });
  await setWeight(db, heavyTenant, 3);
  const jobs = await claim(db, "w", { limit: 50 });
  expect(heavy(jobs)).toBe(30);
});
