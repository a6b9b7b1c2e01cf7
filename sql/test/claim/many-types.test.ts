/** Claims next to tenants that have very many types, very many priorities, or many paused jobs. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { load, tenant } from "../support/cost.ts";
import { claim, claimIds, enqueue, enqueueAll, type Sql, setPolicy, T, U } from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

/** T has jobs of many types, U one job of its own. */
async function manyTypes(db: Sql, types: number): Promise<string> {
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'many' || n)) from generate_series(1, $2::int) n))`,
    [T, types],
  );
  return (await enqueue(db, { tenant_id: U, type: "own" })).id;
}

/** Claims of one job by a worker of any type, until U is served. Returns how many it took. */
async function claimsUntilU(db: Sql): Promise<number> {
  for (let n = 1; n <= 100; n += 1)
    if ((await claim(db, "w1", { limit: 1 })).some((job) => job.tenant_id === U)) return n;
  return Number.POSITIVE_INFINITY;
}

test.for([150, 1000])(
  "of %i types of one tenant and one of another, a worker of any type serves the other one soon",
  async (types, { db }) => {
    await manyTypes(db, types);
    expect(await claimsUntilU(db)).toBeLessThanOrEqual(2);
  },
);

test("claims of any type start all jobs of a thousand types, of one priority after the other in each claim", async ({
  db,
}) => {
  await manyTypes(db, 1000);
  let claimed = 0;
  for (let n = 0; n < 200 && claimed < 1001; n += 1) {
    const jobs = await claim(db, "w1", { limit: 100 });
    claimed += jobs.length;
    expect(jobs.length, "no claim finds nothing while jobs are ready").toBeGreaterThan(0);
  }
  expect(claimed).toBe(1001);
});

test("next to a thousand types, a claim for a tenant finds its job, and its scheduled runs", async ({
  db,
}) => {
  const id = await manyTypes(db, 1000);
  await db.query("select jobforge_ensure_schedule($1, 'tick', 'k', $2)", [
    U,
    { dynamic: true, next_run_at: "2020-01-01T00:00:00Z" },
  ]);
  const worker = await boundLogin(db, U, "jobforge_worker");
  const found = [...(await claim(worker, "w2")), ...(await claim(worker, "w2"))];
  expect(found.map((job) => job.type).sort()).toEqual(["own", "tick"]);
  expect(found.map((job) => job.id)).toContain(id);
});

test("next to a thousand types, a worker of any type fires the schedule of a tenant without jobs", async ({
  db,
}) => {
  await db.query("select jobforge_set_gate('tenant', $1, true)", [T]);
  await manyTypes(db, 1000);
  await claim(db);
  await db.query("select jobforge_ensure_schedule($1, 'tick', 'k', $2)", [
    U,
    { dynamic: true, next_run_at: "2020-01-01T00:00:00Z" },
  ]);
  expect((await claim(db)).map((job) => job.type)).toEqual(["tick"]);
});

test("next to a thousand types, a job that becomes due is found", async ({ db }) => {
  await db.query("select jobforge_set_gate('tenant', $1, true)", [T]);
  await manyTypes(db, 1000);
  await claim(db);
  const later = await enqueue(db, { tenant_id: U, type: "later", in: "1 hour" });
  expect(await claimIds(db)).toEqual([]);
  await db.travel("2 hours");
  expect(await claimIds(db, "w1", { limit: 1000 })).toContain(later.id);
});

test("a tenant of five hundred types drains them with a worker of its own", async ({ db }) => {
  await manyTypes(db, 500);
  const worker = await boundLogin(db, T, "jobforge_worker");
  let claimed = 0;
  for (let n = 0; n < 50 && claimed < 500; n += 1)
    claimed += (await claim(worker, "w2", { limit: 100 })).length;
  expect(claimed).toBe(500);
});

test("jobs behind three hundred priorities of a paused tenant are claimed in their order", async ({ db }) => {
  await setPolicy(db, "a", { max_priority: 1000 });
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'a', 'priority', n)) from generate_series(1, 300) n))`,
    [T],
  );
  await db.query("select jobforge_set_gate('tenant', $1, true)", [T]);
  const [low, high, other] = await enqueueAll(db, [
    { tenant_id: U, type: "a", priority: -1 },
    { tenant_id: U, type: "a", priority: 0 },
    { tenant_id: U, type: "b", priority: -2 },
  ]);
  expect(await claimIds(db, "w1", { types: ["a", "b"], limit: 1 })).toEqual([high]);
  expect(await claimIds(db, "w1", { types: ["a", "b"], limit: 5 })).toEqual([low, other]);
});

test("a hundred and fifty priorities of others are passed over exactly, paused or not", async ({ db }) => {
  await db.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'a', 'priority', n)) from generate_series(-50, 100) n))`,
    [T],
  );
  const priorities = [70, 3, -60];
  for (const priority of priorities) await enqueue(db, { tenant_id: U, type: "a", priority });
  const prioritiesOf = (jobs: readonly { priority: number }[]): number[] => jobs.map((job) => job.priority);
  expect(prioritiesOf(await claim(db, "w1", { tenant_id: U, limit: 2 }))).toEqual([70, 3]);
  await db.query("select jobforge_set_gate('tenant', $1, true)", [T]);
  expect(prioritiesOf(await claim(db, "w1", { types: ["a"] }))).toEqual([-60]);
  expect(await claim(db, "w1", { tenant_id: T })).toEqual([]);
});

test("a tenant of more than a thousand types lists its finished jobs exactly", async ({ db }) => {
  await manyTypes(db, 1100);
  await db.query(`select jobforge_cancel_jobs($1, '{"status": "queued"}', 10000)`, [T]);
  const pages: string[] = [];
  for (;;) {
    const rows = await db.query<{ id: string }>("select id from jobforge_list_jobs($1, $2)", [
      T,
      { limit: 500, ...(pages.length === 0 ? {} : { cursor: pages.at(-1) }) },
    ]);
    if (rows.length === 0) break;
    pages.push(...rows.map((row) => row.id));
  }
  expect(new Set(pages).size).toBe(1100);
  expect([...pages].sort().reverse()).toEqual(pages);
  expect(await db.query("select id from jobforge_list_jobs($1)", [U])).toHaveLength(1);
});

test("a heartbeat of a worker of any type says when the next job is due, next to many types", async ({
  db,
}) => {
  await load(db, { count: 300, type: "t", types: 300, due: "2 hours", firstTenant: 7 });
  const info = await db.value<{ next_due_at: string }>("select jobforge_heartbeat_worker('w1')");
  expect(new Date(info.next_due_at).getTime()).toBeGreaterThan(Date.now());
  expect(await db.value("select cardinality(jobforge.types_of($1, 1000))", [tenant(7)])).toBe(300);
});
