/**
 * Tenants take turns: with k waiting tenants and a claim limit of l, each tenant is served within ceil(k / l) claims.
 */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueueAll, type Sql, T, U } from "../support/kernel.ts";
import { hintedWorker, settle, success } from "../support/settle.ts";

/** Gives each tenant the same number of jobs, enqueued tenant by tenant or round by round. */
async function enqueueFor(db: Sql, tenants: number, jobs: number, order: "tenant" | "round" = "tenant") {
  await db.query(
    `select jobforge_enqueue_job(md5(t::text)::uuid, 'a')
     from generate_series(1, $1) t cross join generate_series(1, $2) n
     order by ${order === "tenant" ? "t, n" : "n, t"}`,
    [tenants, jobs],
  );
}

/** Expects that every ceil(tenants / limit) consecutive claims serve every tenant. */
function expectTurns(claims: readonly (readonly string[])[], tenants: number, limit: number): void {
  const cycle = Math.ceil(tenants / limit);
  for (let start = 0; start + cycle <= claims.length; start += 1) {
    const served = new Set(claims.slice(start, start + cycle).flat());
    expect(served.size, `tenants served by the ${cycle} claims from claim ${start} on`).toBe(tenants);
  }
}

/** Claims for two cycles and one claim more. `next` returns the tenants that one claim served. */
async function watch(tenants: number, limit: number, next: () => Promise<string[]>): Promise<void> {
  const claims: string[][] = [];
  for (let n = 0; n < 2 * Math.ceil(tenants / limit) + 1; n += 1) claims.push(await next());
  expectTurns(claims, tenants, limit);
}

/** Returns a number of jobs per tenant that is enough for all claims of `watch`. */
const enough = (tenants: number, limit: number): number => 4 + 4 * Math.ceil(limit / tenants);

test.for([
  [2, 1],
  [3, 2],
  [10, 3],
  [63, 64],
  [64, 1],
  [65, 1],
  [65, 7],
  [100, 64],
  [200, 1],
  [200, 7],
  [200, 63],
  [200, 64],
  [200, 150],
  [200, 500],
] as const)(
  "with a hint, each of %i tenants is served in turn by claims of %i jobs",
  async ([tenants, limit], { db }) => {
    await enqueueFor(db, tenants, enough(tenants, limit));
    const worker = hintedWorker(db, "w1");
    let ended: Record<string, unknown>[] = [];
    await watch(tenants, limit, async () => {
      const { jobs } = await worker.call(limit, ended);
      expect(jobs).toHaveLength(limit);
      ended = jobs.map((job) => success(job.id));
      return jobs.map((job) => job.tenant_id);
    });
  },
);

const few = [
  [2, 1, "tenant"],
  [2, 1, "round"],
  [3, 1, "round"],
  [3, 2, "tenant"],
  [3, 2, "round"],
  [10, 1, "round"],
  [10, 3, "tenant"],
  [10, 3, "round"],
  [60, 7, "round"],
] as const;

test.for(few)(
  "without a hint, each of %i tenants is served in turn by claims of %i jobs, enqueued by %s",
  async ([tenants, limit, order], { db }) => {
    await enqueueFor(db, tenants, enough(tenants, limit), order);
    await watch(tenants, limit, async () => (await claim(db, "w1", { limit })).map((job) => job.tenant_id));
  },
);

test.for(few)(
  "in a settle without a hint, each of %i tenants is served in turn by claims of %i jobs, enqueued by %s",
  async ([tenants, limit, order], { db }) => {
    await enqueueFor(db, tenants, enough(tenants, limit), order);
    await watch(tenants, limit, async () =>
      (await settle(db, [], { claim: limit })).jobs.map((job) => job.tenant_id),
    );
  },
);

test("two tenants alternate when jobs are claimed one at a time", async ({ db }) => {
  await enqueueAll(db, [{}, {}, {}, { tenant_id: U }, { tenant_id: U }, { tenant_id: U }]);
  const worker = hintedWorker(db, "w1");
  const served: (string | undefined)[] = [];
  for (let n = 0; n < 6; n += 1) served.push((await worker.call(1)).jobs[0]?.tenant_id);
  const [first, second] = served[0] === T ? [T, U] : [U, T];
  expect(served).toEqual([first, second, first, second, first, second]);
});

test("several workers with their own hints skip no tenant", async ({ db }) => {
  await enqueueFor(db, 100, 6);
  const workers = ["w1", "w2", "w3"].map((name) => hintedWorker(db, name));
  const served = new Set<string>();
  for (let n = 0; n < Math.ceil(100 / 7); n += 1) {
    for (const worker of workers) for (const job of (await worker.call(7)).jobs) served.add(job.tenant_id);
  }
  expect(served.size).toBe(100);
});
