/** Lists and searches in a long history: correct, and without reading all of it. */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { leastCost, tenant, warmCost } from "../support/cost.ts";
import { tenantSql, writeHistory } from "../support/history.ts";
import { cancel, claim, complete, enqueue, fail, type Job, T, U } from "../support/kernel.ts";

/** Twenty tenants, one of them with half of all jobs, eight types and a rare one, and few jobs that did not succeed. */
const history = {
  rows: 1_000_000,
  span: "28 days",
  tenant: tenantSql("case when n % 2 = 0 then 5 else 1 + n / 2 % 20 end"),
  type: "case when n % 50000 = 8 then 'rare' else 'type' || n / 40 % 8 end",
  status: `case when n % 20000 in (4, 5) then 'canceled' when n % 1000 in (10, 11) then 'dead'
    when n % 3000 in (14, 15) then 'failed' else 'succeeded' end`,
  subject: "case when n % 40000 in (0, 1) then 'rare' when n % 10 in (0, 1) then 'subject' || n % 5000 end",
  tags: "case when n % 25000 in (2, 3) then '{rare,other}' when n % 20 in (6, 7) then '{common}' else '{}' end",
  message: "case when n % 50000 in (10010, 10011) then 'A Needle' else 'hay' end || n",
};
const bigTenant = tenant(5);
const lastTenant = tenant(20);
const emptyTenant = tenant(99);

/** A scan of the archive would read over 25,000 pages, and a scan in index order a million. */
const fewBuffers = 6000;

/** Filters, and the same conditions in plain SQL. Times are in days relative to the end of the last job. */
const filters: readonly (readonly [Record<string, unknown>, string])[] = [
  [{}, "true"],
  [{ status: "succeeded" }, "status = 'succeeded'"],
  [{ status: "canceled" }, "status = 'canceled'"],
  [{ status: "failed" }, "status = 'failed'"],
  [{ status: "dead" }, "status = 'dead'"],
  [{ status: ["failed", "dead"] }, "status in ('failed', 'dead')"],
  [{ status: ["succeeded", "dead"] }, "status in ('succeeded', 'dead')"],
  [{ status: "queued" }, "false"],
  [{ status: "running" }, "false"],
  [{ type: "type3" }, "type = 'type3'"],
  [{ type: "rare" }, "type = 'rare'"],
  [{ type: ["rare", "type3"] }, "type in ('rare', 'type3')"],
  [{ type: "none" }, "false"],
  [{ type: "type3", status: "dead" }, "type = 'type3' and status = 'dead'"],
  [{ type: "type3", status: "canceled" }, "type = 'type3' and status = 'canceled'"],
  [{ tags: "common" }, "tags @> '{common}'"],
  [{ tags: "rare" }, "tags @> '{rare}'"],
  [{ tags: ["rare", "other"] }, "tags @> '{rare,other}'"],
  [{ tags: "none" }, "false"],
  [{ tags: ["rare", "common"] }, "false"],
  [{ tags: "rare", type: "type3" }, "tags @> '{rare}' and type = 'type3'"],
  [{ subject: "rare" }, "subject = 'rare'"],
  [{ subject: "subject10" }, "subject = 'subject10'"],
  [{ subject: "none" }, "false"],
  [{ error_contains: "needle" }, "error::text like '%Needle%'"],
  [{ error_contains: "nothing" }, "false"],
  [
    { created_after: "-20.5", created_before: "-20.4" },
    "created_at >= day(-20.5) and created_at < day(-20.4)",
  ],
  [{ created_before: "-27" }, "created_at < day(-27)"],
  [
    { finished_after: "-10.5", finished_before: "-10.4" },
    "finished_at >= day(-10.5) and finished_at < day(-10.4)",
  ],
  [
    { finished_after: "-10.500", finished_before: "-10.499" },
    "finished_at >= day(-10.500) and finished_at < day(-10.499)",
  ],
  [{ finished_before: "-27" }, "finished_at < day(-27)"],
  [{ finished_after: "-0.001" }, "finished_at >= day(-0.001)"],
  [{ status: "dead", finished_before: "-14" }, "status = 'dead' and finished_at < day(-14)"],
];

describe("in a history of a million jobs", () => {
  let db: TestDatabase;
  let session: TestConnection;
  let now: Date;

  beforeAll(async () => {
    db = await cloneDatabase(inject("server"));
    await writeHistory(db, history);
    session = await db.connect();
    now = await db.value<Date>("select max(finished_at) from jobforge.archive");
    // The session has then read the catalog and cached its plans, so only the search is measured.
    for (let i = 0; i < 8; i += 1) {
      await session.query("select from jobforge_list_jobs($1)", [bigTenant]);
      await session.query("select from jobforge_search_jobs()");
    }
  });
  afterAll(() => db.drop());

  const day = (days: string): string => new Date(now.getTime() + Number(days) * 86_400_000).toISOString();
  const withTimes = (filter: Record<string, unknown>): string =>
    JSON.stringify(
      Object.fromEntries(
        Object.entries(filter).map(([key, value]) => [
          key,
          /_(after|before)$/.test(key) ? day(`${value}`) : value,
        ]),
      ),
    );

  /** Returns the ids that the plain SQL of a filter finds. */
  async function expected(where: string, scope: string | null): Promise<string[]> {
    const sql = where.replace(/day\((.*?)\)/g, (_, days: string) => `'${day(days)}'::timestamptz`);
    const rows = await db.query<{ id: string }>(
      `select id from jobforge.archive where ${scope === null ? "true" : `tenant_id = '${scope}'`} and ${sql}
       order by id desc limit 50`,
    );
    return rows.map((row) => row.id);
  }

  /** Runs all filters. Returns those with wrong results and those that cost more than `fewBuffers`. */
  async function check(
    call: string,
    scope: string | null,
  ): Promise<{ wrong: string[]; costly: string[]; found: number }> {
    const wrong: string[] = [];
    const costly: string[] = [];
    let found = 0;
    for (const [filter, where] of filters) {
      const json = withTimes(filter);
      const values = scope === null ? [json] : [scope, json];
      const ids = (await session.query<Job>(`select id from ${call}`, values)).map((job) => job.id);
      if (JSON.stringify(ids) !== JSON.stringify(await expected(where, scope))) wrong.push(json);
      const { buffers } = await leastCost(session, `select * from ${call}`, values);
      if (buffers >= fewBuffers) costly.push(`${json}: ${buffers} buffers`);
      found += ids.length;
    }
    return { wrong, costly, found };
  }

  test("every filter finds the big tenant's jobs and touches few buffers", async () => {
    const { wrong, costly, found } = await check("jobforge_list_jobs($1, $2)", bigTenant);
    expect(found).toBeGreaterThan(800);
    expect(wrong).toEqual([]);
    expect(costly).toEqual([]);
  });

  test("every filter finds a small tenant's jobs and touches few buffers, whatever the tenant's id", async () => {
    const { wrong, costly, found } = await check("jobforge_list_jobs($1, $2)", lastTenant);
    expect(found).toBeGreaterThan(400);
    expect(wrong).toEqual([]);
    expect(costly).toEqual([]);
  });

  test("every filter returns nothing for a tenant without jobs and touches few buffers", async () => {
    expect(await check("jobforge_list_jobs($1, $2)", emptyTenant)).toEqual({
      wrong: [],
      costly: [],
      found: 0,
    });
  });

  test("every filter finds jobs across tenants, with and without a type, and touches few buffers", async () => {
    const { wrong, costly, found } = await check("jobforge_search_jobs($1)", null);
    expect(found).toBeGreaterThan(1000);
    expect(wrong).toEqual([]);
    expect(costly).toEqual([]);
  });

  test("a page deep in the list does not cost more than the first", async () => {
    const rows = await db.query<{ id: string; status: string }>(
      `select distinct on (status) id, status from jobforge.archive
       where tenant_id = $1 and seq > 400000 order by status, seq`,
      [bigTenant],
    );
    expect(rows).toHaveLength(4);
    for (const { id, status } of rows) {
      for (const filter of [{ cursor: id }, { cursor: id, status }, { cursor: id, type: "type3" }]) {
        const values = [bigTenant, JSON.stringify(filter)];
        const page = await session.query<Job>("select * from jobforge_list_jobs($1, $2)", values);
        expect(page.map((job) => job.id)).toEqual(
          await expected(
            `id < '${id}' and ${"status" in filter ? `status = '${status}'` : "true"}
             and ${"type" in filter ? "type = 'type3'" : "true"}`,
            bigTenant,
          ),
        );
        expect(
          (await leastCost(session, "select * from jobforge_list_jobs($1, $2)", values)).buffers,
        ).toBeLessThan(fewBuffers);
      }
    }
  });

  test("a job is found by its id with few buffers, whether it is new or old", async () => {
    const jobs = await db.query<{ id: string; tenant_id: string }>(
      "select id, tenant_id from jobforge.archive where seq in (1, 500000, 999999) order by seq",
    );
    expect(jobs).toHaveLength(3);
    const costs: number[] = [];
    for (const { id, tenant_id } of jobs) {
      const call = "select * from jobforge_get_job($1, $2)";
      for (let i = 0; i < 8; i += 1) await session.query(call, [id, tenant_id]);
      const { buffers, rows } = await leastCost(session, call, [id, tenant_id]);
      expect(rows).toBe(1);
      costs.push(buffers);
    }
    // At most three for each of two dozen leaves. The newest job is in the last leaves.
    expect(Math.max(...costs)).toBeLessThan(100);
    expect(costs.at(-1)).toBeLessThan(40);
  });
});

test("a search across a thousand tenants touches few buffers, with and without a type", async ({ db }) => {
  await writeHistory(db, {
    rows: 60_000,
    span: "28 days",
    tenant: tenantSql("1 + n % 1000"),
    type: "case when n % 20000 = 8 then 'rare' else 'type' || n / 1000 % 3 end",
    status: "case when n % 100 = 0 then 'dead' when n % 500 = 1 then 'canceled' else 'succeeded' end",
  });
  // A few for each tenant, because no index tells which tenant has the newest job.
  const most = 8 * 1000;
  const costly: string[] = [];
  for (const filter of [
    {},
    { type: "type1" },
    { type: "rare" },
    { type: "none" },
    { type: "type1", status: "dead" },
  ]) {
    const values = [JSON.stringify(filter)];
    const { buffers } = await warmCost(db, "select * from jobforge_search_jobs($1)", values);
    if (buffers >= most) costly.push(`${values}: ${buffers} buffers`);
  }
  for (const status of ["succeeded", "dead", "canceled"]) {
    const { buffers, rows } = await warmCost(db, "select * from jobforge_search_jobs($1)", [
      JSON.stringify({ status }),
    ]);
    expect(rows).toBe(50);
    if (buffers >= most) costly.push(`${status}: ${buffers} buffers`);
  }
  expect(costly).toEqual([]);
});

test("pages by cursor show every job once while jobs start, finish and are rescheduled between them", async ({
  db,
}) => {
  const worker = await db.connect();
  const ids: Record<string, string[]> = { [T]: [], [U]: [] };
  for (let i = 0; i < 240; i += 1) {
    const owner = i % 3 === 0 ? U : T;
    const { id } = await enqueue(worker, { tenant_id: owner, type: `t${i % 4}`, max_attempts: 1 });
    ids[owner]?.push(id);
  }
  /** Claims some jobs and ends them in different ways, reschedules a dead job and cancels the newest queued one. */
  const move = async (round: number): Promise<void> => {
    const jobs = await claim(worker, "w1", { limit: 12, types: [`t${round % 4}`] });
    for (const [i, job] of jobs.entries()) {
      if (i % 4 === 0) await complete(worker, job.id);
      if (i % 4 === 1) await fail(worker, job.id);
      if (i % 4 === 2) await fail(worker, job.id, { retry: false });
    }
    await worker.query('select jobforge_reschedule_jobs($1, \'{"status":"dead","type":"t0"}\', 1)', [T]);
    const [newest] = await worker.query<Job>(
      'select * from jobforge_list_jobs($1, \'{"status":"queued"}\')',
      [U],
    );
    if (newest !== undefined) await cancel(worker, newest.id, U);
  };
  /** Reads all pages. Jobs change between pages and while a page is read. */
  const walk = async (call: string, scope: readonly string[]): Promise<string[]> => {
    const seen: string[] = [];
    for (let cursor: string | null = null, round = 0; ; round += 1) {
      const filter: string = JSON.stringify({ limit: 7, cursor });
      const [page]: [Job[], unknown] = await Promise.all([
        db.query<Job>(`select * from ${call}`, [...scope, filter]),
        move(round),
      ]);
      if (page.length === 0) return seen;
      seen.push(...page.map((job) => job.id));
      cursor = page.at(-1)?.id ?? null;
    }
  };
  expect(await walk("jobforge_list_jobs($1, $2)", [T])).toEqual(ids[T]?.toReversed());
  const all = Object.values(ids).flat().sort().reverse();
  expect(await walk("jobforge_search_jobs($1)", [])).toEqual(all);
  const statuses = await db.query<{ status: string }>("select distinct status from jobforge_jobs");
  expect(statuses.length).toBeGreaterThan(4);
});
