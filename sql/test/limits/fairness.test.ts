/** Limits and turns: a tenant with many jobs does not keep the room of a limit from other tenants. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, enqueueAll, type Job, type NewJob, T, U } from "../support/kernel.ts";
import { setLimit, statesOf } from "../support/limits.ts";

const jobs = (count: number, job: NewJob): NewJob[] => Array.from({ length: count }, () => job);

test("tenants take turns in the room of a type, whatever the age of their jobs", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 1 });
  await enqueueAll(db, jobs(100, { tenant_id: T, type: "a" }));
  await enqueueAll(db, jobs(100, { tenant_id: U, type: "a" }));
  const served = new Map<string, number>([
    [T, 0],
    [U, 0],
  ]);
  for (let round = 0; round < 60; round += 1) {
    // The claim asks for more jobs than there is room for, as a worker with free slots does.
    const started = await claim(db, "w1", { limit: 10 });
    expect(started).toHaveLength(1);
    const [{ id, tenant_id }] = started as [Job];
    served.set(tenant_id, (served.get(tenant_id) ?? 0) + 1);
    await complete(db, id);
  }
  // Each has 30 on average. Fewer than 8 of 60 happens once in a billion runs.
  expect(Math.min(...served.values())).toBeGreaterThanOrEqual(8);
});

test("a tenant's weight counts in the room of a type", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 4 });
  await db.query("select jobforge_set_tenant($1, $2)", [U, { weight: 3 }]);
  await enqueueAll(db, jobs(20, { tenant_id: T, type: "a" }));
  await enqueueAll(db, jobs(20, { tenant_id: U, type: "a" }));
  const started = await claim(db, "w1", { limit: 20 });
  expect(started).toHaveLength(4);
  expect(started.filter((job) => job.tenant_id === U)).toHaveLength(3);
});

test("a tenant at its own limit leaves the room of a type to others", async ({ db }) => {
  await setLimit(db, "type", "a", { max: 5 });
  await setLimit(db, "tenant", "*", { max: 1 });
  await enqueueAll(db, jobs(400, { tenant_id: T, type: "a" }));
  await enqueueAll(db, jobs(10, { tenant_id: U, type: "a" }));
  const started = await claim(db, "w1", { limit: 10 });
  expect(started.map((job) => job.tenant_id).sort()).toEqual([T, U].sort());
});

test("a full type leaves the room of a tenant to its other types, and parks none of them", async ({ db }) => {
  await setLimit(db, "type", "full", { max: 1 });
  await setLimit(db, "tenant", "*", { max: 1 });
  await enqueueAll(db, [{ tenant_id: U, type: "full" }]);
  expect(await claim(db)).toHaveLength(1);
  const ids = await enqueueAll(db, [
    { tenant_id: T, type: "full" },
    { tenant_id: T, type: "free" },
    { tenant_id: T, type: "free" },
  ]);
  const started = await claim(db);
  expect(started.map((job) => job.id)).toEqual([ids[1]]);
  expect(await statesOf(db)).toEqual({ running: 2, ready: 1, parked: 1 });
});

test("jobs are parked in a tenant's bucket only when it is full, however few a claim asks for", async ({
  db,
}) => {
  await setLimit(db, "key", "*", { max: 1 });
  await setLimit(db, "tenant", "*", { max: 3 });
  await enqueueAll(db, jobs(2, { type: "a", concurrency_key: "k" }));
  expect(await claim(db, "w1", { limit: 1 })).toHaveLength(1);
  await enqueueAll(db, jobs(5, { type: "a" }));
  // The second job of the key is refused. So the claim looks at four of the others, and starts one of them.
  expect(await claim(db, "w1", { limit: 1 })).toHaveLength(1);
  expect(await statesOf(db)).toEqual({ running: 2, parked: 1, ready: 4 });
});
