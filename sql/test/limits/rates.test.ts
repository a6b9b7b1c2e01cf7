/** Limits on how many jobs start in a period: token buckets. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  claimIds,
  complete,
  enqueueAll,
  enqueueMany,
  fail,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { removeLimit, type Scope, setLimit, statesOf } from "../support/limits.ts";
import { settle } from "../support/settle.ts";

const rates: [what: string, scope: Scope, key: string][] = [
  ["a type", "type", "a"],
  ["a tenant", "tenant", T],
  ["any tenant's type", "type_tenant", "*"],
  ["a key", "key", "k"],
];

/** Stops the clock between the steps, so that the results of token buckets are exact. */
async function at(db: Sql, seconds: number): Promise<void> {
  await db.query(
    `create or replace function jobforge.now() returns timestamptz language sql stable as
     $$ select '2030-01-01T00:00:00Z'::timestamptz + ${seconds} * interval '1 second' $$`,
  );
}

async function enqueueKeyed(db: Sql, count: number): Promise<string[]> {
  return await enqueueAll(
    db,
    Array.from({ length: count }, () => ({ concurrency_key: "k", run_at: "2029-01-01T00:00:00Z" })),
  );
}

test.for(rates)(
  "a rate of %s allows its burst, then one start per interval",
  async ([, scope, key], { db }) => {
    await at(db, 0);
    await setLimit(db, scope, key, { rate: 6, per: "1 minute", burst: 3 });
    const ids = await enqueueKeyed(db, 9);
    expect(await claimIds(db)).toEqual(ids.slice(0, 3));
    await at(db, 9.999);
    expect(await claimIds(db)).toEqual([]);
    await at(db, 10);
    expect(await claimIds(db)).toEqual(ids.slice(3, 4));
    expect(await claimIds(db)).toEqual([]);
    await at(db, 30);
    expect(await claimIds(db)).toEqual(ids.slice(4, 6));
    // After a pause the burst is available again, and not more.
    await at(db, 200);
    expect(await claimIds(db)).toEqual(ids.slice(6, 9));
  },
);

test.for(rates)("a claim returns when the next token of %s comes", async ([, scope, key], { db }) => {
  await at(db, 0);
  await setLimit(db, scope, key, { rate: 6, per: "1 minute", burst: 2 });
  await enqueueKeyed(db, 3);
  expect((await settle(db, [], { claim: 10 })).jobs).toHaveLength(2);
  await at(db, 1);
  const { jobs, next_due_at } = await settle(db, [], { claim: 10 });
  expect(jobs).toEqual([]);
  expect(new Date(next_due_at ?? 0).toISOString()).toBe("2030-01-01T00:00:10.000Z");
});

test("tokens are spent by starts, not by waiting jobs, and failures return none", async ({ db }) => {
  await at(db, 0);
  await setLimit(db, "type", "a", { rate: 2, per: "1 hour" });
  const [first] = await enqueueKeyed(db, 1);
  await claim(db);
  await fail(db, first ?? "");
  await at(db, 2);
  expect(await claimIds(db)).toEqual([first]);
  await fail(db, first ?? "");
  await at(db, 100);
  expect(await claimIds(db)).toEqual([]);
  await at(db, 1800);
  expect(await claimIds(db)).toEqual([first]);
});

test("a rate and a number of running jobs hold together", async ({ db }) => {
  await at(db, 0);
  await setLimit(db, "tenant", T, { max: 1, rate: 1, per: "10 seconds", burst: 2 });
  const ids = await enqueueKeyed(db, 4);
  expect(await claimIds(db)).toEqual([ids[0]]);
  await at(db, 1);
  expect(await claimIds(db)).toEqual([]);
  await complete(db, ids[0] ?? "");
  expect(await claimIds(db)).toEqual([ids[1]]);
  await complete(db, ids[1] ?? "");
  expect(await claimIds(db)).toEqual([]);
  await at(db, 10);
  expect(await claimIds(db)).toEqual([ids[2]]);
  await at(db, 60);
  expect(await claimIds(db)).toEqual([]);
  await complete(db, ids[2] ?? "");
  expect(await claimIds(db)).toEqual([ids[3]]);
});

test("a tenant without tokens delays no other tenant, and continues when its limit is removed", async ({
  db,
}) => {
  await setLimit(db, "tenant", T, { rate: 1, per: "1 day" });
  await enqueueMany(db, 50);
  await enqueueMany(db, 5, { tenant_id: U });
  expect(await claim(db, "w1", { limit: 20 })).toHaveLength(6);
  expect(await statesOf(db)).toEqual({ running: 6, parked: 49 });
  await removeLimit(db, "tenant", T);
  expect(await claim(db, "w1", { limit: 100 })).toHaveLength(49);
});

test("no window of any length has more starts than burst and rate allow", async ({ db }) => {
  const [rate, per, burst] = [7, 3, 5];
  await setLimit(db, "type_tenant", "a:*", { rate, per: `${per} seconds`, burst });
  await enqueueMany(db, 200);
  const starts: number[] = [];
  // The steps have uneven lengths, so that tokens come between them.
  for (let n = 0, seconds = 0; n < 60; n += 1, seconds += 0.05 + (n % 7) * 0.11) {
    await db.travel(`${seconds} seconds`);
    for (const job of await claim(db, "w1", { limit: 1 + (n % 4) }))
      starts.push(job.locked_at?.getTime() ?? 0);
  }
  expect(starts.length).toBeGreaterThan(burst);
  for (const [from, start] of starts.entries()) {
    for (const [to, end] of starts.entries()) {
      if (to < from) continue;
      const allowed = burst + ((end - start + 1) / 1000) * (rate / per);
      expect(to - from + 1, `${from} to ${to}`).toBeLessThanOrEqual(allowed + 1e-9);
    }
  }
});
