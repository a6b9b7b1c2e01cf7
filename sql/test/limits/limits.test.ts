/** Limits on how many jobs run at once. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, claimIds, complete, enqueueAll, enqueueMany, T, U } from "../support/kernel.ts";
import { type LimitOptions, removeLimit, type Scope, setLimit, statesOf } from "../support/limits.ts";

const job = { concurrency_key: "account" };
const two: LimitOptions = { max: 2 };

/** Limits of two that apply to a job of tenant T, type a and key account. */
const limits: [what: string, scope: Scope, key: string][] = [
  ["a type", "type", "a"],
  ["any type", "type", "*"],
  ["a tenant", "tenant", T],
  ["a tenant in capitals", "tenant", T.toUpperCase()],
  ["any tenant", "tenant", "*"],
  ["a tenant's type", "type_tenant", `a:${T}`],
  ["any tenant's type", "type_tenant", "a:*"],
  ["any tenant's types", "type_tenant", "*"],
  ["a key", "key", "account"],
  ["any key", "key", "*"],
];

test.for(limits)(
  "a limit of %s holds, and every end of a run makes room for the next job",
  async ([, scope, key], { db }) => {
    await setLimit(db, scope, key, two);
    const ids = await enqueueAll(db, [job, job, job, job, job]);
    expect(await claimIds(db)).toEqual(ids.slice(0, 2));
    expect(await claimIds(db, "w2")).toEqual([]);
    await complete(db, ids[0]);
    expect(await claimIds(db)).toEqual([ids[2]]);
    expect(await claimIds(db, "w2")).toEqual([]);
    await complete(db, ids[1]);
    await complete(db, ids[2]);
    expect(await claimIds(db)).toEqual([ids[3], ids[4]]);
  },
);

test.for(limits)("runs that started before a limit of %s count", async ([, scope, key], { db }) => {
  const ids = await enqueueAll(db, [job, job, job]);
  await claim(db, "w1", { limit: 1 });
  await setLimit(db, scope, key, two);
  expect(await claimIds(db)).toEqual([ids[1]]);
  expect(await claimIds(db)).toEqual([]);
  await db.travel("11 seconds");
  expect(await claimIds(db)).toEqual([]);
  expect(await claimIds(db)).toEqual([]);
  await complete(db, ids[0]);
  expect(await claimIds(db)).toEqual([ids[2]]);
});

test.for(limits)(
  "after the limit of %s is removed, all jobs that it held back start",
  async ([, scope, key], { db }) => {
    await setLimit(db, scope, key, two);
    const ids = await enqueueAll(db, [job, job, job, job]);
    expect(await claimIds(db)).toEqual(ids.slice(0, 2));
    expect(await removeLimit(db, scope, key)).toMatchObject({ removed: true });
    expect(await removeLimit(db, scope, key)).toMatchObject({ removed: false });
    expect(await claimIds(db)).toEqual(ids.slice(2));
  },
);

test.for(limits)("raising a limit of %s lets more jobs start", async ([, scope, key], { db }) => {
  await setLimit(db, scope, key, two);
  const ids = await enqueueAll(db, [job, job, job, job, job]);
  expect(await claimIds(db)).toEqual(ids.slice(0, 2));
  await setLimit(db, scope, key, { max: 4 });
  expect(await claimIds(db)).toEqual(ids.slice(2, 4));
  expect(await claimIds(db)).toEqual([]);
});

test("jobs without room are not in the index of ready jobs, and other jobs continue", async ({ db }) => {
  await setLimit(db, "tenant", T, two);
  await enqueueMany(db, 300);
  await enqueueMany(db, 3, { tenant_id: U });
  expect(await claim(db, "w1", { limit: 10 })).toHaveLength(5);
  expect(await statesOf(db)).toEqual({ running: 5, parked: 298 });
});
