/** Statistics for people and for metrics. */
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { T, U } from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

/** Creates jobs in every state for two tenants. */
async function populate(db: TestDatabase): Promise<void> {
  await db.query("select jobforge_enqueue_jobs($1, $2)", [
    T,
    JSON.stringify([
      ...["a", "a", "a", "b", "b"].map((type) => ({ type })),
      { type: "a", run_at: "2099-01-01T00:00:00Z" },
    ]),
  ]);
  await db.query("select jobforge_enqueue_jobs($1, $2)", [U, JSON.stringify([{ type: "a" }, { type: "c" }])]);
  await db.query(
    "select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w', 1, array['a'], $1)",
    [T],
  );
  await db.query(
    "select jobforge_complete_job(id, 'w', 'failed', p_retry => false) from jobforge_claim_jobs('w', 1, array['b'], $1)",
    [T],
  );
  await db.query("select id from jobforge_claim_jobs('w', 1, array['a'], $1)", [T]);
  await db.query("select jobforge_cancel_job(id, tenant_id) from jobforge_jobs where type = 'c'");
}

describe("stats", () => {
  test("count live jobs by type, and the jobs that finished in the last hour", async ({ db }) => {
    await populate(db);
    const stats = await db.value("select jobforge_stats($1)", [T]);
    const none = { queued: 0, scheduled: 0, running: 0, succeeded: 0, failed: 0, dead: 0, canceled: 0 };
    expect(stats).toMatchObject({
      totals: { ...none, queued: 2, scheduled: 1, running: 1, succeeded: 1, failed: 1 },
      types: [
        {
          type: "a",
          ...none,
          queued: 1,
          scheduled: 1,
          running: 1,
          succeeded: 1,
          oldest_run_at: expect.any(String),
        },
        { type: "b", ...none, queued: 1, failed: 1 },
      ],
    });
    expect(await db.value("select jobforge_stats() -> 'totals'")).toMatchObject({ queued: 3, canceled: 1 });
    await db.travel("2 hours");
    const later = await db.value("select jobforge_stats($1) -> 'totals'", [T]);
    expect(later).toMatchObject({ queued: 2, succeeded: 0, failed: 0 });
    const since = await db.value(
      "select jobforge_stats($1, jobforge.now() - interval '3 hours') -> 'totals'",
      [T],
    );
    expect(since).toMatchObject({ succeeded: 1, failed: 1 });
  });

  test("are zero without jobs", async ({ db }) => {
    expect(await db.value("select jobforge_stats()")).toMatchObject({
      totals: { queued: 0, oldest_run_at: null },
      types: [],
    });
  });

  test("show a tenant its own figures; readers and operators see those of all tenants", async ({ db }) => {
    await populate(db);
    await using app = await db.connect((await db.createLogin("jobforge_app")).url);
    await app.query("select set_config('app.tenant_id', $1, false)", [T]);
    expect(await app.value("select jobforge_stats($1) -> 'totals' -> 'queued'", [T])).toBe(2);
    for (const tenant of [U, null])
      await expect(app.query("select jobforge_stats($1)", [tenant])).rejects.toMatchObject({ code: "42501" });
    await using reader = await db.connect((await db.createLogin("jobforge_reader")).url);
    expect(await reader.value("select jobforge_stats() -> 'totals' -> 'queued'")).toBe(3);
    expect(await reader.value("select jobforge_stats($1) -> 'totals' -> 'queued'", [U])).toBe(1);
    const bound = await db.createLogin("jobforge_reader", "jobforge_tenant");
    await db.query("select jobforge_bind_role($1, $2)", [bound.role, T]);
    await using own = await db.connect(bound.url);
    expect(await own.value("select jobforge_stats($1) -> 'totals' -> 'queued'", [T])).toBe(2);
    for (const tenant of [U, null])
      await expect(own.query("select jobforge_stats($1)", [tenant])).rejects.toMatchObject({ code: "42501" });
  });
});

describe("metrics", () => {
  type Metrics = {
    until: string;
    jobs: { type: string; tenant_id: string | null; queued: number }[];
    ended: { type: string; status: string; jobs: number }[];
    wait: { type: string; bucket: number; jobs: number }[];
    run: { type: string; bucket: number; jobs: number; seconds: number }[];
  };

  test("count every finished job once, in consecutive windows", async ({ db }) => {
    const first = await db.value<Metrics>("select jobforge_metrics()");
    expect(first).toMatchObject({ ended: [], wait: [], run: [], workers: { alive: 0, gone: 0 } });
    await populate(db);
    const early = await db.value<Metrics>("select jobforge_metrics($1)", [first.until]);
    await db.travel("1 minute");
    const late = await db.value<Metrics>("select jobforge_metrics($1)", [early.until]);
    const counted = [...early.ended, ...late.ended].map(
      ({ type, status, jobs }) => `${jobs} ${type} ${status}`,
    );
    expect(counted.sort()).toEqual(["1 a succeeded", "1 b failed", "1 c canceled"]);
    expect([...early.run, ...late.run].map(({ type, jobs }) => `${jobs} ${type}`).sort()).toEqual([
      "1 a",
      "1 b",
    ]);
    await db.travel("2 minutes");
    expect((await db.value<Metrics>("select jobforge_metrics($1)", [late.until])).ended).toEqual([]);
  });

  test("put waits and runs into bins, with their mean", async ({ db }) => {
    await db.query("select jobforge_enqueue_job($1, 'a')", [T]);
    await db.travel("30 seconds");
    await db.query("select id from jobforge_claim_jobs('w')");
    await db.travel("35 seconds");
    await db.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_jobs");
    await db.travel("1 minute");
    const metrics = await db.value<Metrics>(
      "select jobforge_metrics(now() - interval '1 hour', '{1,10,60}')",
    );
    expect(metrics).toMatchObject({ wait: [{ bucket: 2, jobs: 1 }], run: [{ bucket: 1, jobs: 1 }] });
    expect(metrics.run[0]?.seconds).toBeGreaterThanOrEqual(5);
    expect(metrics.run[0]?.seconds).toBeLessThan(30);
  });

  test("name tenants on request, and show a bound role its own tenant", async ({ db }) => {
    await populate(db);
    const [plain] = (await db.value<Metrics>("select jobforge_metrics()")).jobs.filter(
      ({ type }) => type === "a",
    );
    expect(plain).toMatchObject({ tenant_id: null, queued: 2 });
    const named = (await db.value<Metrics>("select jobforge_metrics(null, '{1}', true)")).jobs;
    expect(
      named
        .filter(({ type }) => type === "a")
        .map(({ tenant_id, queued }) => [tenant_id, queued])
        .sort(),
    ).toEqual([
      [T, 1],
      [U, 1],
    ]);
    const bound = await db.createLogin("jobforge_reader");
    await db.query("select jobforge_bind_role($1, $2)", [bound.role, U]);
    await using reader = await db.connect(bound.url);
    expect((await reader.value<Metrics>("select jobforge_metrics()")).jobs).toMatchObject([
      { type: "a", queued: 1 },
    ]);
  });

  test.for(["null", "'{}'", "'{1,null}'", "'{{1},{2}}'"])("refuse bins of %s", async (buckets, { db }) => {
    await expect(db.query(`select jobforge_metrics(null, ${buckets})`)).rejects.toMatchObject({
      code: "JF002",
    });
  });

  test("include the reports of workers, except workers that are bound to a tenant", async ({ db }) => {
    const beat = `select jobforge_heartbeat_worker($1, '{"instance": "i", "metrics": {"stale": 2}}')`;
    await db.query(beat, ["w1"]);
    await db.query("select jobforge_heartbeat_worker('silent')");
    await (await boundLogin(db, T, "jobforge_worker")).query(beat, ["forger"]);
    const reports = "select jobforge_metrics() -> 'reports'";
    expect(await db.value(reports)).toEqual([{ worker: "w1 i", metrics: { stale: 2 } }]);
    const own = await boundLogin(db, T, "jobforge_reader");
    expect(await own.value(reports)).toEqual([{ worker: "forger i", metrics: { stale: 2 } }]);
  });
});
